/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/sizes.h"
#include "kernels/mimo/checks.h"
#include "kernels/mimo/estimator/channel_filter.h"
#include "kernels/mimo/estimator/makers.h"
#include <cmath>
#include <numeric>

namespace gr::cudaphy::kernels {
namespace {

using complex = std::complex<double>;

constexpr argument_checks check{ "channel_estimator" };

//! Whether a tone's estimate takes its own pilots alone.
bool tone_by_tone(const channel_estimator::parameters& p)
{
    return !p.pilots_by_tone && p.method == pilot_method::least_squares &&
           p.times.empty() && p.tone_numbers.empty();
}

void check_pilots(const channel_estimator::parameters& p)
{
    const size_t given = p.pilots.size();
    if (p.pilots_by_tone) {
        const size_t row = size_t(p.tones) * p.layers;
        if (given % row || given == 0 || given > size_t{ 1 } << 22) {
            check.refuse("pilots has " + std::to_string(given) +
                         " items, allowed are multiples of " + std::to_string(row) +
                         " (tones * layers), up to 4194304");
        }
    } else {
        if (given % p.layers || given / p.layers < size_t(p.layers)) {
            check.refuse("pilots has " + std::to_string(given) +
                         " items, allowed are multiples of " + std::to_string(p.layers) +
                         " (layers) from " + std::to_string(p.layers * p.layers) +
                         ", as many pilot symbols as layers");
        }
        if (given > 65536) {
            check.refuse("pilots has " + std::to_string(given) +
                         " items, allowed are up to 65536");
        }
    }
    for (size_t i = 0; i < given; ++i) {
        if (!std::isfinite(p.pilots[i].real()) || !std::isfinite(p.pilots[i].imag())) {
            check.refuse("pilot " + std::to_string(i) + " is not finite");
        }
    }
}

//! What matters to estimates over several tones, or times.
void check_filter(const channel_estimator::parameters& p, int symbols)
{
    check.range("group_symbols", p.group_symbols, 0, symbols);
    const int group = p.times.empty() || !p.group_symbols ? symbols : p.group_symbols;
    check.range("the number of pilot symbols estimated together", group, 1, 64);
    if (symbols % group || symbols / group > most_groups) {
        check.refuse("group_symbols is " + std::to_string(group) +
                     ", allowed are divisors of " + std::to_string(symbols) +
                     " (pilot symbols) that leave up to 16 groups");
    }
    check.range(
        "the number of times", int(std::min<size_t>(p.times.size(), 65536)), 0, 1024);
    if (!p.pilot_times.empty() && p.pilot_times.size() != size_t(symbols)) {
        check.refuse("pilot_times has " + std::to_string(p.pilot_times.size()) +
                     " items, allowed are 0 and " + std::to_string(symbols) +
                     " (pilot symbols)");
    }
    for (const auto* all : { &p.times, &p.pilot_times }) {
        for (const double time : *all) {
            check.range("a time", time, -1e6, 1e6);
        }
    }
    for (size_t s = 1; s < p.pilot_times.size(); ++s) {
        if (p.pilot_times[s] <= p.pilot_times[s - 1]) {
            check.refuse("pilot_times do not ascend");
        }
    }
    if (!p.tone_numbers.empty() && p.tone_numbers.size() != size_t(p.tones)) {
        check.refuse("tone_numbers has " + std::to_string(p.tone_numbers.size()) +
                     " items, allowed are 0 and " + std::to_string(p.tones) + " (tones)");
    }
    for (size_t k = 0; k < p.tone_numbers.size(); ++k) {
        check.range("a tone number", p.tone_numbers[k], -1000000, 1000000);
        if (k && p.tone_numbers[k] <= p.tone_numbers[k - 1]) {
            check.refuse("tone_numbers do not ascend");
        }
    }
    check.range("delay_spread", p.delay_spread, 0.0, 1.0);
    check.range("first_delay", p.first_delay, -1.0, 1.0);
    check.range("snr_db", p.snr_db, -50.0, 100.0);
    check.range("doppler", p.doppler, 0.0, 0.5);
    check.range("window", p.window, 1, 1024);
}

void check_all(const channel_estimator::parameters& p)
{
    check.range("receive_antennas", p.receive_antennas, 1, 128);
    check.range("layers", p.layers, 1, 16);
    check.range("tones", p.tones, 1, 65536);
    check_pilots(p);
    const auto pilot_symbols =
        int64_t(p.pilots.size()) / p.layers / (p.pilots_by_tone ? p.tones : 1);
    checked_product("channel_estimator: pilot symbols * tones * receive_antennas",
                    1 << 30,
                    { pilot_symbols, p.tones, p.receive_antennas });
    checked_product(
        "channel_estimator: times * tones * receive_antennas * layers",
        1 << 30,
        { std::max<int64_t>(1, p.times.size()), p.tones, p.receive_antennas, p.layers });
    if (!tone_by_tone(p)) {
        check_filter(p, static_cast<int>(pilot_symbols));
    } else if (p.pilots.size() / p.layers == size_t(p.layers) && p.tones < 3) {
        check.refuse(
            "tones is " + std::to_string(p.tones) +
            ", allowed are 3 to 65536 where there are as many pilot symbols as layers "
            "and the noise variance comes from second differences over tones");
    }
}

/*
 * P = Q R by Gram-Schmidt with each column orthogonalised twice, then (P^H P)^-1 P^H =
 * R^-1 Q^H. A layer whose pilots lie within 1e-5 of their length in the span of those
 * before has no estimate worth having in floats.
 */
void invert(channel_estimator_plan& plan)
{
    const int np = plan.symbols;
    const int nt = plan.layers;
    auto q = plan.pilots;
    std::vector<complex> r(nt * nt);
    const auto length = [&](int t) {
        double sum = 0;
        for (int s = 0; s < np; ++s) {
            sum += std::norm(q[s * nt + t]);
        }
        return std::sqrt(sum);
    };
    for (int k = 0; k < nt; ++k) {
        const double before = length(k);
        for (int pass = 0; pass < 2; ++pass) {
            for (int j = 0; j < k; ++j) {
                complex dot = 0;
                for (int s = 0; s < np; ++s) {
                    dot += std::conj(q[s * nt + j]) * q[s * nt + k];
                }
                for (int s = 0; s < np; ++s) {
                    q[s * nt + k] -= q[s * nt + j] * dot;
                }
                r[j * nt + k] += dot;
            }
        }
        const double left = length(k);
        if (!(left > 1e-5 * before)) {
            check.refuse(
                "pilots has no full column rank: the pilots of layer " +
                std::to_string(k) +
                " are zero or a combination of those of the layers before it, allowed "
                "are " +
                std::to_string(nt) + " independent columns");
        }
        r[k * nt + k] = left;
        for (int s = 0; s < np; ++s) {
            q[s * nt + k] /= left;
        }
    }
    // Row i of R^-1 B, from the last row up; B is Q^H, and then I.
    plan.inverse.resize(nt * np);
    plan.spread.assign(nt, 0);
    for (int column = 0; column < np + nt; ++column) {
        std::vector<complex> x(nt);
        for (int i = nt - 1; i >= 0; --i) {
            x[i] =
                column < np ? std::conj(q[column * nt + i]) : complex(column - np == i);
            for (int j = i + 1; j < nt; ++j) {
                x[i] -= r[i * nt + j] * x[j];
            }
            x[i] /= r[i * nt + i];
            if (column < np) {
                plan.inverse[i * np + column] = x[i];
            } else {
                plan.spread[i] += std::norm(x[i]);
            }
        }
    }
}

} // namespace

std::vector<complex64> channel_estimator_plan::rounded() const
{
    std::vector<complex64> out;
    for (int s = 0; s < symbols; ++s) {
        for (int t = 0; t < layers; ++t) {
            out.emplace_back(inverse[t * symbols + s]);
        }
    }
    for (const auto& pilot : pilots) {
        out.emplace_back(pilot);
    }
    return out;
}

std::vector<float> channel_estimator_plan::difference_weights() const
{
    std::vector<float> out;
    for (const double variance : spread) {
        out.push_back(float(1 / (6 * variance)));
    }
    return out;
}

std::unique_ptr<channel_estimator>
channel_estimator::make(const parameters& p, backend where, int device)
{
    check_all(p);
    if (!tone_by_tone(p)) {
        return make_kernel<channel_estimator>(where, device, make_channel_filter_plan(p));
    }
    channel_estimator_plan plan{ p.receive_antennas,
                                 p.layers,
                                 p.tones,
                                 int(p.pilots.size() / p.layers),
                                 { p.pilots.begin(), p.pilots.end() },
                                 {},
                                 {},
                                 1 };
    invert(plan);
    if (p.errors_as_noise) {
        plan.noise_factor += std::accumulate(plan.spread.begin(), plan.spread.end(), 0.0);
    }
    return make_kernel<channel_estimator>(where, device, plan);
}

size_t channel_estimator_batch(const estimator_sizes& item, const estimator_arrays& run)
{
    if (run.received.size() % item.received) {
        check.refuse("received has " + std::to_string(run.received.size()) +
                     " items, allowed are multiples of " + std::to_string(item.received) +
                     " (pilot symbols * tones * Nr)");
    }
    const size_t batch = run.received.size() / item.received;
    const char* const given = "the pilots received";
    check.size("h", run.h.size(), batch * item.h, given);
    check.size("n0", run.n0.size(), batch * item.n0, given);
    check.size("status", run.status.size(), batch, given);
    return batch;
}

pilot_method pilot_method_from_name(const std::string& name)
{
    if (name == "ls") {
        return pilot_method::least_squares;
    }
    if (name == "mmse") {
        return pilot_method::mmse;
    }
    throw std::invalid_argument("channel_estimator: no method \"" + name +
                                "\", allowed are \"ls\" and \"mmse\"");
}

std::vector<complex64> orthogonal_pilots(int pilot_symbols, int layers)
{
    if (layers < 1 || layers > pilot_symbols) {
        throw std::invalid_argument("orthogonal_pilots: layers is " +
                                    std::to_string(layers) +
                                    ", allowed are 1 to the number of pilot symbols, " +
                                    std::to_string(pilot_symbols));
    }
    checked_product(
        "orthogonal_pilots: pilot_symbols * layers", 1 << 22, { pilot_symbols, layers });
    std::vector<complex64> out;
    for (int64_t s = 0; s < pilot_symbols; ++s) {
        for (int64_t t = 0; t < layers; ++t) {
            // The angle reduced first, so that it is as exact for the last pilot as for
            // the first.
            const double turn = double(s * t % pilot_symbols) / pilot_symbols;
            out.emplace_back(std::polar(1.0, -2 * M_PI * turn));
        }
    }
    return out;
}

} // namespace gr::cudaphy::kernels
