/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/pi.h"
#include "kernels/common/testing.h"
#include "kernels/symbol_sync/plan.h"
#include <cmath>
#include <utility>

// Signals for the tests of symbol_sync.

namespace gr::cudaphy::testing {

using kernels::pi;

//! Symbol k is at sample (k + delay) * samples_per_symbol * (1 + clock_error).
struct test_signal {
    double samples_per_symbol = 2, roll_off = 0.2, clock_error = 0, delay = 0.3;

    double period() const { return samples_per_symbol * (1 + clock_error); }
    double instant(size_t symbol) const
    {
        return (static_cast<double>(symbol) + delay) * period();
    }
};

inline std::vector<complex64> random_qpsk(size_t count)
{
    std::vector<complex64> symbols(count);
    for (auto& s : symbols) {
        const auto bits = generator()();
        s = complex64(bits & 1 ? 1 : -1, bits & 2 ? 1 : -1) * 0.70710678f;
    }
    return symbols;
}

//! root_raised_cosine(f - j) for whole j up to `reach` on both sides. Sines of
//! differences come from tables of j, but for where the formula divides by nearly 0.
class pulses
{
public:
    pulses(double roll_off, int reach) : d_roll_off(roll_off), d_reach(reach)
    {
        for (int j = -reach; j <= reach; ++j) {
            d_tables.push_back(
                { turned(-j * (1 - roll_off)), turned(-j * (1 + roll_off)) });
        }
    }

    //! The fraction f, from -1 to 1.
    void move_to(double fraction)
    {
        d_fraction = fraction;
        d_inner = turned(fraction * (1 - d_roll_off));
        d_outer = turned(fraction * (1 + d_roll_off));
    }

    double operator()(int j) const
    {
        const double t = d_fraction - j, u = 4 * d_roll_off * t, rest = t * (1 - u * u);
        if (std::abs(t) < 1e-3 || std::abs(1 - u * u) < 1e-3) {
            return kernels::root_raised_cosine(t, d_roll_off);
        }
        const auto& [inner, outer] = d_tables[j + d_reach];
        const double sine = d_inner.imag() * inner.real() + d_inner.real() * inner.imag();
        const double cosine =
            d_outer.real() * outer.real() - d_outer.imag() * outer.imag();
        return (sine + u * cosine) / (pi * rest);
    }

private:
    static complex128 turned(double halves) { return std::polar(1.0, pi * halves); }

    double d_roll_off, d_fraction = 0;
    int d_reach;
    complex128 d_inner, d_outer;
    std::vector<std::pair<complex128, complex128>> d_tables;
};

//! Samples of symbols with unit energy, up to half a symbol after the last one. The
//! matched filter's output is the symbols.
inline std::vector<complex64> modulate(const std::vector<complex64>& symbols,
                                       const test_signal& signal)
{
    const double period = signal.period();
    const int reach = static_cast<int>(std::min(100.0, 24 + 3 / signal.roll_off));
    std::vector<complex64> samples(
        static_cast<size_t>(signal.instant(symbols.size() - 1) + period / 2) + 1);
    pulses pulse(signal.roll_off, reach);
    for (size_t n = 0; n < samples.size(); ++n) {
        const double t = static_cast<double>(n) / period - signal.delay;
        const auto middle = static_cast<int64_t>(std::lround(t));
        pulse.move_to(t - static_cast<double>(middle));
        complex128 sum = 0;
        for (int64_t k = std::max<int64_t>(0, middle - reach);
             k <= middle + reach && k < static_cast<int64_t>(symbols.size());
             ++k) {
            sum += complex128(symbols[k]) * pulse(static_cast<int>(k - middle));
        }
        samples[n] = complex64(sum);
    }
    return samples;
}

//! Adds noise so that symbols after the matched filter have this Es/N0 in dB.
inline void add_noise(std::vector<complex64>& samples, double es_n0, double per_symbol)
{
    const auto noise = gaussian<complex64>(samples.size());
    const auto factor =
        static_cast<float>(std::sqrt(std::pow(10, -es_n0 / 10) * per_symbol));
    for (size_t n = 0; n < samples.size(); ++n) {
        samples[n] += noise[n] * factor;
    }
}

inline view<const unsigned char> bytes(const std::vector<complex64>& samples)
{
    return { reinterpret_cast<const unsigned char*>(samples.data()),
             samples.size() * sizeof(complex64) };
}

struct synchronised {
    std::vector<complex64> symbols;
    std::vector<kernels::symbol_block> blocks;
};

//! The next samples of a stream. What lies behind the result must stay as it was.
inline synchronised feed(kernels::symbol_sync& sync,
                         view<const unsigned char> samples,
                         bool end,
                         queue& q,
                         size_t each = sizeof(complex64))
{
    const size_t blocks = sync.blocks(samples.size() / each, end);
    const size_t room = blocks * sync.most_symbols();
    const std::vector<unsigned char> host(samples.begin(), samples.end());
    const array<unsigned char> from(q, view<const unsigned char>(host));
    auto symbols = poisoned<complex64>(q, room + 8);
    auto described = poisoned<kernels::symbol_block>(q, blocks);
    sync.run(from, end, symbols.all().part(0, room), described, q);
    synchronised result{ symbols.to_host(), described.to_host() };
    size_t count = 0;
    for (const auto& block : result.blocks) {
        count += static_cast<size_t>(block.symbols);
    }
    BOOST_REQUIRE(count <= room);
    const auto* const behind =
        reinterpret_cast<const unsigned char*>(result.symbols.data() + room);
    BOOST_TEST(std::all_of(behind,
                           behind + 8 * sizeof(complex64),
                           [](unsigned char byte) { return byte == 0xBD; }));
    result.symbols.resize(count);
    return result;
}

//! A whole stream, `chunk` samples a call.
inline synchronised synchronise(const kernels::symbol_sync_parameters& p,
                                view<const unsigned char> samples,
                                backend where,
                                size_t chunk = 0)
{
    const size_t each = kernels::bytes_of(p.format), count = samples.size() / each;
    auto q = queue::make(where);
    auto sync = kernels::symbol_sync::make(p, where);
    synchronised all;
    size_t at = 0;
    do {
        const size_t now =
            std::min({ count - at, p.most_samples, chunk ? chunk : p.most_samples });
        const bool end = at + now == count;
        const auto part = feed(*sync, samples.part(at * each, now * each), end, *q, each);
        all.symbols.insert(all.symbols.end(), part.symbols.begin(), part.symbols.end());
        all.blocks.insert(all.blocks.end(), part.blocks.begin(), part.blocks.end());
        at += now;
    } while (at < count);
    return all;
}

//! Mean energy of `got` minus `sent` times the best factor, in dB of the symbols'.
inline double error_in_db(const complex64* got, const complex64* sent, size_t count)
{
    complex128 product = 0;
    double energy = 0, error = 0;
    for (size_t k = 0; k < count; ++k) {
        product += complex128(got[k]) * std::conj(complex128(sent[k]));
        energy += std::norm(complex128(sent[k]));
    }
    const auto factor = product / energy;
    for (size_t k = 0; k < count; ++k) {
        error += std::norm(complex128(got[k]) / factor - complex128(sent[k]));
    }
    return 10 * std::log10(error / energy);
}

} // namespace gr::cudaphy::testing
