/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE symbol_sync
#include "kernels/symbol_sync/signal_testing.h"
#include <algorithm>
#include <limits>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

symbol_sync_parameters parameters_of(const test_signal& signal)
{
    symbol_sync_parameters p;
    p.samples_per_symbol = signal.samples_per_symbol;
    p.roll_off = signal.roll_off;
    return p;
}

bool are_finite(const std::vector<complex64>& symbols)
{
    return std::all_of(symbols.begin(), symbols.end(), [](complex64 s) {
        return std::isfinite(s.real()) && std::isfinite(s.imag());
    });
}

double mean_energy(const std::vector<complex64>& symbols)
{
    double sum = 0;
    for (const auto s : symbols) {
        sum += std::norm(complex128(s));
    }
    return sum / static_cast<double>(symbols.size());
}

double mean_line(const synchronised& got)
{
    double sum = 0;
    for (const auto& block : got.blocks) {
        sum += block.line;
    }
    return sum / static_cast<double>(got.blocks.size());
}

//! Every symbol that was sent comes out, from the first one to the last one.
void recovers(const test_signal& signal, size_t count, double most_error)
{
    BOOST_TEST_CONTEXT(signal.samples_per_symbol << " samples a symbol, roll-off "
                                                 << signal.roll_off << ", clock error "
                                                 << signal.clock_error)
    {
        const auto sent = random_qpsk(count);
        const auto samples = modulate(sent, signal);
        const auto got =
            synchronise(parameters_of(signal), bytes(samples), tested_backend());
        // A last instant may lie half a symbol behind the last sample.
        BOOST_REQUIRE(got.symbols.size() >= count);
        BOOST_TEST(got.symbols.size() <= count + 1);
        BOOST_TEST(error_in_db(got.symbols.data(), sent.data(), count) < most_error);
        // The stream's beginning and its end are hardly worse, but for pulses that are
        // cut. Windows to one side make the timing twice as uncertain, and 500 symbols
        // are few.
        const size_t span = static_cast<size_t>(2 / signal.roll_off) + 8, part = 500;
        const size_t last = count - span - part;
        for (const size_t first : { span, last }) {
            BOOST_TEST(error_in_db(got.symbols.data() + first,
                                   sent.data() + first,
                                   part) < most_error + 6);
        }
        BOOST_TEST(mean_energy(got.symbols) == 1, boost::test_tools::tolerance(0.02));
        for (const auto& block : got.blocks) {
            const double sample_error = 1 / (1 + signal.clock_error) - 1;
            BOOST_TEST(std::abs(block.clock_error - sample_error) < 15e-6);
        }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_symbol_is_recovered_at_any_rate_and_roll_off)
{
    for (const double roll_off : { 0.35, 0.2 }) {
        for (const double rate : { 1.5, 2.0, 3.7, 8.0 }) {
            recovers({ rate, roll_off, 200e-6, 0.3 }, 12000, -45);
            recovers({ rate, roll_off, -200e-6, 0.45 }, 12000, -45);
        }
    }
    recovers({ 2.0, 0.05, 0, 0 }, 50000, -42);
    recovers({ 1.5, 0.05, -200e-6, -0.3 }, 50000, -42);
    recovers({ 2.0, 1.0, 100e-6, 0.1 }, 6000, -45);
}

BOOST_AUTO_TEST_CASE(noise_costs_little_more_than_with_perfect_timing)
{
    const struct {
        double roll_off, es_n0, most_loss;
        size_t count;
    } all[] = { { 0.35, -2.35, 0.07, 40000 }, { 0.2, -2.35, 0.07, 40000 },
                { 0.05, -2.35, 0.07, 80000 }, { 0.2, 3, 0.03, 40000 },
                { 0.2, 10, 0.02, 40000 },     { 0.2, 20, 0.02, 40000 },
                { 0.05, 20, 0.05, 80000 } };
    for (const auto& one : all) {
        BOOST_TEST_CONTEXT("roll-off " << one.roll_off << " at " << one.es_n0 << " dB")
        {
            const test_signal signal{ 2, one.roll_off, 150e-6, 0.3 };
            const auto sent = random_qpsk(one.count);
            auto samples = modulate(sent, signal);
            const auto clean = samples;
            add_noise(samples, one.es_n0, signal.period());
            const auto got =
                synchronise(parameters_of(signal), bytes(samples), tested_backend());
            BOOST_REQUIRE(got.symbols.size() >= one.count);
            // The same noise, filtered at the true instants.
            const symbol_sync_plan plan(parameters_of(signal));
            const size_t first = 200, count = one.count - 400;
            std::vector<complex64> perfect(one.count);
            for (size_t k = first; k < first + count; ++k) {
                const double at = signal.instant(k);
                const auto whole = static_cast<int64_t>(at);
                complex128 sum = 0;
                for (int i = -plan.filter_half; i <= plan.filter_half + 1; ++i) {
                    sum += complex128(samples[whole + i]) *
                           plan.filter(static_cast<double>(whole + i) - at);
                }
                perfect[k] = complex64(sum);
            }
            const double loss =
                error_in_db(got.symbols.data() + first, sent.data() + first, count) -
                error_in_db(perfect.data() + first, sent.data() + first, count);
            BOOST_TEST(loss < one.most_loss);
            BOOST_TEST(loss > -0.01);
        }
    }
}

BOOST_AUTO_TEST_CASE(backends_agree)
{
    for (const double rate : { 1.5, 2.0, 3.3, 8.0 }) {
        for (const auto format :
             { sample_format::complex64, sample_format::sc16, sample_format::sc8 }) {
            const test_signal signal{ rate, 0.3, 60e-6, 0.1 };
            auto samples = modulate(random_qpsk(9000), signal);
            add_noise(samples, 8, signal.period());
            std::vector<unsigned char> raw(bytes(samples).begin(), bytes(samples).end());
            if (format != sample_format::complex64) {
                raw.clear();
                for (const auto s : samples) {
                    for (const float part : { s.real(), s.imag() }) {
                        const float scaled = std::clamp(part / 4, -1.0f, 0.999f);
                        if (format == sample_format::sc8) {
                            raw.push_back(static_cast<unsigned char>(
                                static_cast<int8_t>(scaled * 127)));
                        } else {
                            const auto value = static_cast<int16_t>(scaled * 32767);
                            raw.push_back(static_cast<unsigned char>(value & 255));
                            raw.push_back(static_cast<unsigned char>(value >> 8 & 255));
                        }
                    }
                }
            }
            auto p = parameters_of(signal);
            p.format = format;
            const auto expected =
                synchronise(p, view<const unsigned char>(raw), backend::reference);
            const auto got =
                synchronise(p, view<const unsigned char>(raw), tested_backend(), 20000);
            BOOST_TEST_CONTEXT(rate << " samples a symbol, format " << int(format))
            {
                BOOST_REQUIRE(got.symbols.size() == expected.symbols.size());
                BOOST_REQUIRE(got.blocks.size() == expected.blocks.size());
                // The table's phases are 1/512 of a symbol apart.
                BOOST_TEST(error_in_db(got.symbols.data(),
                                       expected.symbols.data(),
                                       got.symbols.size()) < -52);
                for (size_t b = 0; b < got.blocks.size(); ++b) {
                    const auto &one = got.blocks[b], &other = expected.blocks[b];
                    BOOST_TEST(one.symbols == other.symbols);
                    BOOST_TEST(std::abs(one.instant - other.instant) < 1e-4);
                    BOOST_TEST(std::abs(one.step - other.step) < 1e-6);
                    BOOST_TEST(std::abs(one.clock_error - other.clock_error) < 1e-7);
                    BOOST_TEST(std::abs(one.line - other.line) < 1e-4);
                    BOOST_TEST(std::abs(one.gain / other.gain - 1) < 1e-3);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_result_does_not_depend_on_the_pieces)
{
    const test_signal signal{ 2.7, 0.25, -100e-6, 0.2 };
    auto samples = modulate(random_qpsk(15000), signal);
    add_noise(samples, 5, signal.period());
    auto p = parameters_of(signal);
    const auto whole = synchronise(p, bytes(samples), tested_backend());
    p.most_samples = 5000;
    for (const size_t chunk : { 5000, 4999, 777, 131 }) {
        const auto pieces = synchronise(p, bytes(samples), tested_backend(), chunk);
        BOOST_TEST((pieces.symbols == whole.symbols));
    }
    // A second stream begins anew.
    auto q = queue::make(tested_backend());
    auto sync = symbol_sync::make(p, tested_backend());
    for (int time = 0; time < 2; ++time) {
        const auto got = feed(*sync, bytes(samples).part(0, 8 * 5000), true, *q);
        const auto part =
            synchronise(p, bytes(samples).part(0, 8 * 5000), tested_backend());
        BOOST_TEST((got.symbols == part.symbols));
        feed(*sync, bytes(samples).part(0, 8 * 3000), false, *q);
        sync->restart();
    }
}

BOOST_AUTO_TEST_CASE(a_frequency_is_removed_without_a_jump_of_the_phase)
{
    const test_signal signal{ 2, 0.35, 0, 0.3 };
    const auto sent = random_qpsk(15000);
    const auto clean = modulate(sent, signal);
    // Two frequencies, one after the other.
    const double first = 0.2371, second = -0.4503;
    const size_t change = 12345;
    auto samples = clean;
    for (size_t n = 0; n < samples.size(); ++n) {
        const double turns =
            n < change ? first * static_cast<double>(n)
                       : first * change + second * static_cast<double>(n - change);
        samples[n] = complex64(complex128(samples[n]) *
                               std::polar(1.0, 6.283185307179586 * turns));
    }
    const auto removed = [&](backend where, size_t chunk) {
        auto q = queue::make(where);
        auto sync = symbol_sync::make(parameters_of(signal), where);
        std::vector<complex64> symbols;
        sync->set_frequency(first);
        for (size_t at = 0; at < samples.size();) {
            if (at == change) {
                sync->set_frequency(second);
            }
            const size_t end = at < change ? change : samples.size();
            const size_t now = std::min(chunk, end - at);
            const auto part = feed(*sync,
                                   bytes(samples).part(8 * at, 8 * now),
                                   at + now == samples.size(),
                                   *q);
            symbols.insert(symbols.end(), part.symbols.begin(), part.symbols.end());
            at += now;
        }
        return symbols;
    };
    const auto got = removed(tested_backend(), 100000);
    BOOST_REQUIRE(got.size() >= sent.size());
    BOOST_TEST(error_in_db(got.data(), sent.data(), sent.size()) < -45);
    BOOST_TEST((got == removed(tested_backend(), 777)));
    const auto expected = removed(backend::reference, 100000);
    BOOST_TEST(error_in_db(got.data(), expected.data(), sent.size()) < -52);
    const auto sync = symbol_sync::make(parameters_of(signal), tested_backend());
    BOOST_CHECK_THROW(sync->set_frequency(std::nan("")), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(instants_say_where_symbols_lie)
{
    const test_signal signal{ 3.3, 0.3, 120e-6, 0.37 };
    const auto sent = random_qpsk(9000);
    const auto got = synchronise(
        parameters_of(signal), bytes(modulate(sent, signal)), tested_backend());
    // Near the stream's ends up to half of the symbols that estimate an instant are
    // missing.
    const size_t half_window =
        symbol_sync_plan(parameters_of(signal)).half_window * symbol_sync::block_symbols;
    size_t k = 0;
    for (const auto& block : got.blocks) {
        for (int i = 0; i < block.symbols; ++i, ++k) {
            const bool whole = k >= half_window && k + half_window < sent.size();
            BOOST_REQUIRE(std::abs(block.instant + i * block.step - signal.instant(k)) <
                          (whole ? 0.025 : 0.05));
        }
    }
}

BOOST_AUTO_TEST_CASE(short_streams_give_all_their_symbols)
{
    auto p = parameters_of({ 2, 0.35, 0, 0 });
    for (const size_t count : { 0, 1, 2, 3, 10, 100, 511, 1024, 1537, 5000 }) {
        std::vector<complex64> samples(count, complex64(1, 0));
        const auto got = synchronise(p, bytes(samples), tested_backend());
        const double most = count ? static_cast<double>(count + 1) / 2 : 0;
        BOOST_TEST_CONTEXT(count << " samples")
        {
            BOOST_TEST(static_cast<double>(got.symbols.size()) <= most + 1);
            BOOST_TEST(static_cast<double>(got.symbols.size()) >= most - 1);
            BOOST_TEST(are_finite(got.symbols));
        }
    }
    // A burst of 300 symbols is enough without noise.
    const test_signal signal{ 2, 0.35, 0, 0.2 };
    const auto sent = random_qpsk(300);
    const auto got = synchronise(p, bytes(modulate(sent, signal)), tested_backend());
    BOOST_REQUIRE(got.symbols.size() >= 300);
    BOOST_TEST(error_in_db(got.symbols.data(), sent.data(), 300) < -25);
}

BOOST_AUTO_TEST_CASE(bad_samples_count_as_zeros_and_harm_no_others)
{
    const test_signal signal{ 2, 0.35, 50e-6, 0.2 };
    const auto sent = random_qpsk(20000);
    auto samples = modulate(sent, signal);
    auto zeroed = samples;
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const complex64 bad[] = { { nan, 0 },  { 0, nan },   { inf, 1 },
                              { 1, -inf }, { 3e38f, 1 }, { 0, 2e15f } };
    for (size_t n = 20000; n < 20300; ++n) {
        samples[n] = bad[n % 6];
        zeroed[n] = 0;
    }
    samples.back() = zeroed.back() = 0;
    const auto p = parameters_of(signal);
    const auto got = synchronise(p, bytes(samples), tested_backend());
    const auto expected = synchronise(p, bytes(zeroed), tested_backend());
    BOOST_TEST(are_finite(got.symbols));
    BOOST_TEST((got.symbols == expected.symbols));
    BOOST_TEST(error_in_db(got.symbols.data() + 100, sent.data() + 100, 9800) < -45);
    BOOST_TEST(error_in_db(got.symbols.data() + 10200, sent.data() + 10200, 9700) < -45);
}

BOOST_AUTO_TEST_CASE(signals_without_symbols_give_finite_numbers_at_the_nominal_rate)
{
    const size_t count = 60000;
    const symbol_sync_parameters p;
    std::vector<std::vector<complex64>> all(6, std::vector<complex64>(count));
    for (size_t n = 0; n < count; ++n) {
        const double t = static_cast<double>(n);
        all[1][n] = { 1, 1 };                                  // DC
        all[2][n] = complex64(std::polar(1.0, 0.1234 * t));    // a carrier
        all[3][n] = { 9e14f, n % 2 ? 9e14f : -9e14f };         // as large as can be
        all[4][n] = complex64(std::polar(1.0, 1.5707963 * t)); // at a band's edge
        all[5][n] = { 1e-38f, 0 };
    }
    all.push_back(gaussian<complex64>(count));
    for (size_t i = 0; i < all.size(); ++i) {
        const auto got = synchronise(p, bytes(all[i]), tested_backend());
        BOOST_TEST_CONTEXT("signal " << i)
        {
            BOOST_TEST(are_finite(got.symbols));
            const auto symbols = static_cast<double>(got.symbols.size());
            BOOST_TEST(std::abs(symbols - count / 2.0) < 30);
            BOOST_TEST(mean_line(got) < 0.2);
        }
    }
    // The lines of some twenty windows.
    const auto long_noise = gaussian<complex64>(400000);
    const auto noise = synchronise(p, bytes(long_noise), tested_backend());
    const double expected = symbol_sync::make(p)->line_of_noise();
    BOOST_TEST(mean_line(noise) < 1.5 * expected);
    BOOST_TEST(mean_line(noise) > 0.5 * expected);
    BOOST_TEST(mean_energy(noise.symbols) == 1, boost::test_tools::tolerance(0.02));
}

BOOST_AUTO_TEST_CASE(a_strong_carrier_amid_the_band_leaves_the_timing)
{
    const test_signal signal{ 2, 0.2, 50e-6, 0.2 };
    const auto sent = random_qpsk(20000);
    auto samples = modulate(sent, signal);
    for (size_t n = 0; n < samples.size(); ++n) {
        samples[n] += complex64(2, 0); // DC of 6 dB more than the signal's energy
    }
    const auto got = synchronise(parameters_of(signal), bytes(samples), tested_backend());
    for (const auto& block : got.blocks) {
        const double off = block.instant / signal.period() - signal.delay;
        BOOST_TEST(std::abs(off - std::rint(off)) < 0.02);
    }
}

BOOST_AUTO_TEST_CASE(the_gain_follows_a_level_at_once)
{
    const test_signal signal{ 2, 0.3, 0, 0.3 };
    const auto sent = random_qpsk(30000);
    auto samples = modulate(sent, signal);
    for (size_t n = 0; n < samples.size(); ++n) {
        samples[n] *= n < 20000 ? 1e-6f : n < 40000 ? 1e6f : 1.0f;
    }
    const auto got = synchronise(parameters_of(signal), bytes(samples), tested_backend());
    size_t k = 0, blocks = 0;
    for (const auto& block : got.blocks) {
        double energy = 0;
        for (int i = 0; i < block.symbols; ++i, ++k) {
            energy += std::norm(got.symbols[k]);
        }
        const double first = block.instant, last = first + block.symbols * block.step;
        const bool jumps =
            (first < 20100 && last > 19900) || (first < 40100 && last > 39900);
        if (block.symbols > 100 && !jumps) {
            BOOST_TEST(energy / block.symbols == 1, boost::test_tools::tolerance(0.05));
            ++blocks;
        }
    }
    BOOST_TEST(blocks >= 50);
}

BOOST_AUTO_TEST_CASE(a_signal_that_comes_back_is_synchronised_from_its_beginning)
{
    const test_signal signal{ 2, 0.3, 80e-6, 0.3 };
    const auto sent = random_qpsk(12000);
    const auto burst = modulate(sent, signal);
    auto samples = gaussian<complex64>(30001);
    for (auto& s : samples) {
        s *= 0.01f;
    }
    samples.insert(samples.end(), burst.begin(), burst.end());
    const auto got = synchronise(parameters_of(signal), bytes(samples), tested_backend());
    double best = 0;
    for (size_t k = 14900; k < 15100; ++k) {
        best = std::min(
            best, error_in_db(got.symbols.data() + k + 600, sent.data() + 600, 11000));
    }
    BOOST_TEST(best < -30);
}

BOOST_AUTO_TEST_CASE(parameters_and_sizes_out_of_range_are_refused)
{
    const auto refused = [](auto change) {
        symbol_sync_parameters p;
        change(p);
        BOOST_CHECK_THROW(symbol_sync::make(p, tested_backend()), std::invalid_argument);
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    refused([](auto& p) { p.samples_per_symbol = 1.4; });
    refused([](auto& p) { p.samples_per_symbol = 17; });
    refused([&](auto& p) { p.samples_per_symbol = nan; });
    refused([](auto& p) { p.roll_off = 0; });
    refused([](auto& p) { p.roll_off = 1.1; });
    refused([&](auto& p) { p.roll_off = nan; });
    refused([](auto& p) { p.samples_per_symbol = 1.5, p.roll_off = 0.6; });
    refused([](auto& p) { p.span = -1; });
    refused([](auto& p) { p.span = 129; });
    refused([](auto& p) { p.averaging = -1; });
    refused([](auto& p) { p.averaging = 131073; });
    refused([](auto& p) { p.most_samples = 0; });
    refused([](auto& p) { p.format = sample_format(3); });

    symbol_sync_parameters p;
    p.most_samples = 100;
    auto q = queue::make(tested_backend());
    auto sync = symbol_sync::make(p, tested_backend());
    array<unsigned char> samples(*q, 8 * 101);
    array<complex64> symbols(*q, 100 * sync->most_symbols());
    array<symbol_block> blocks(*q, 100);
    const auto refuses = [&](size_t bytes, size_t places, size_t described) {
        BOOST_CHECK_THROW(sync->run(samples.all().part(0, bytes),
                                    true,
                                    symbols.all().part(0, places),
                                    blocks.all().part(0, described),
                                    *q),
                          std::invalid_argument);
    };
    refuses(8 * 101, symbols.size(), 2);
    refuses(7, symbols.size(), 2);
    refuses(800, symbols.size(), 1);
    refuses(800, 2 * sync->most_symbols() - 1, 2);
}
