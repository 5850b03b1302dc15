/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE symbol_stream
#include "kernels/symbol_sync/signal_testing.h"
#include <gnuradio/cudaphy/kernels/symbol_stream.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

constexpr double turn = 6.283185307179586;

//! Turns items by `frequency` turns from item to item.
void rotate(std::vector<complex64>& items, double frequency)
{
    for (size_t n = 0; n < items.size(); ++n) {
        items[n] = complex64(complex128(items[n]) *
                             std::polar(1.0, turn * frequency * static_cast<double>(n)));
    }
}

struct streamed {
    std::vector<complex64> symbols;
    std::vector<symbol_block> blocks;
    std::vector<symbol_stream::carrier_change> changes;
};

streamed stream_of(const test_signal& signal,
                   double most_offset,
                   const std::vector<complex64>& samples,
                   size_t chunk = 50000)
{
    symbol_sync_parameters p;
    p.samples_per_symbol = signal.samples_per_symbol;
    p.roll_off = signal.roll_off;
    symbol_stream stream(p, most_offset, resolve(tested_backend()));
    streamed all;
    size_t at = 0;
    do {
        const size_t now = std::min(chunk, samples.size() - at);
        stream.feed(samples.data() + at, now, at + now == samples.size());
        const auto symbols = stream.symbols();
        const auto blocks = stream.blocks();
        all.symbols.insert(all.symbols.end(), symbols.begin(), symbols.end());
        all.blocks.insert(all.blocks.end(), blocks.begin(), blocks.end());
        all.changes.insert(
            all.changes.end(), stream.changes().begin(), stream.changes().end());
        at += now;
    } while (at < samples.size());
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_carrier_offset_is_found_and_removed_before_the_first_symbol)
{
    // All backends share the search; the reference's filters take long.
    const bool slow = tested_backend() == backend::reference;
    for (const double roll_off : { 0.35, 0.2 }) {
        for (const double rate : { 2.0, 3.3 }) {
            for (const double offset : { 0.25, -0.25, 0.1, -0.06 }) {
                if (slow && (rate == 2) != (offset > 0)) {
                    continue;
                }
                const test_signal signal{ rate, roll_off, 100e-6, 0.2 };
                const auto sent = random_qpsk(40000);
                auto samples = modulate(sent, signal);
                rotate(samples, offset / rate);
                add_noise(samples, 15, signal.period());
                const auto got = stream_of(signal, 0.25, samples);
                BOOST_TEST_CONTEXT(rate << " samples a symbol, roll-off " << roll_off
                                        << ", offset " << offset)
                {
                    BOOST_REQUIRE(got.symbols.size() >= sent.size());
                    BOOST_TEST(got.symbols.size() <= sent.size() + 1);
                    BOOST_REQUIRE(got.changes.size() == 1);
                    BOOST_TEST(got.changes[0].sample == 0);
                    const double removed = got.changes[0].frequency * rate;
                    BOOST_TEST(std::abs(removed - offset) < roll_off / 16);
                    auto symbols = got.symbols;
                    rotate(symbols, (removed - offset) * signal.period() / rate);
                    BOOST_TEST(error_in_db(symbols.data(), sent.data(), sent.size()) <
                               -14.7);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_small_offset_and_one_beyond_the_search_stay)
{
    const test_signal signal{ 2, 0.2, 0, 0.2 };
    const auto sent = random_qpsk(40000);
    const auto clean = modulate(sent, signal);
    for (const double offset : { 0.0, 0.015 }) {
        auto samples = clean;
        rotate(samples, offset / 2);
        const auto got = stream_of(signal, 0.25, samples);
        BOOST_TEST(got.changes.empty());
        // The same symbols as without a search.
        BOOST_TEST((got.symbols == stream_of(signal, 0, samples).symbols));
    }
    auto samples = clean;
    rotate(samples, 0.2 / 2);
    BOOST_TEST(stream_of(signal, 0.1, samples).changes.empty());
}

BOOST_AUTO_TEST_CASE(noise_and_carriers_change_nothing)
{
    const test_signal signal{ 2, 0.2, 0, 0.2 };
    const size_t count = 300000;
    std::vector<std::vector<complex64>> all(3, std::vector<complex64>(count));
    all[1] = gaussian<complex64>(count);
    all[2] = gaussian<complex64>(count);
    for (size_t n = 0; n < count; ++n) {
        all[2][n] += complex64(std::polar(3.0, 0.377 * static_cast<double>(n)));
    }
    for (const auto& samples : all) {
        const auto got = stream_of(signal, 0.25, samples);
        BOOST_TEST(got.changes.empty());
        BOOST_TEST((got.symbols == stream_of(signal, 0, samples).symbols));
    }
}

BOOST_AUTO_TEST_CASE(a_signal_that_comes_after_noise_loses_no_symbol)
{
    const test_signal signal{ 2, 0.35, 50e-6, 0.3 };
    const auto sent = random_qpsk(40000);
    auto burst = modulate(sent, signal);
    rotate(burst, 0.2 / 2);
    auto samples = gaussian<complex64>(100001);
    for (auto& s : samples) {
        s *= 0.1f;
    }
    samples.insert(samples.end(), burst.begin(), burst.end());
    const auto got = stream_of(signal, 0.25, samples);
    BOOST_REQUIRE(got.changes.size() >= 1);
    BOOST_TEST(got.changes[0].sample < 100001);
    auto symbols = got.symbols;
    rotate(symbols, (got.changes[0].frequency - 0.2 / 2) * signal.period());
    double best = 0;
    for (size_t k = 49900; k < 50100; ++k) {
        best = std::min(best,
                        error_in_db(symbols.data() + k + 600, sent.data() + 600, 30000));
    }
    BOOST_TEST(best < -25);
}

BOOST_AUTO_TEST_CASE(a_strong_signal_is_found_within_four_pairs_of_pieces)
{
    const test_signal signal{ 2, 0.2, 0, 0.3 };
    constexpr size_t pair = 4000, chunk = 500; // samples
    auto burst = modulate(random_qpsk(20000), signal);
    rotate(burst, 0.2 / 2);
    for (const size_t start : { 100000, 101500, 103999 }) {
        auto samples = gaussian<complex64>(start);
        for (auto& s : samples) {
            s *= 0.1f;
        }
        samples.insert(samples.end(), burst.begin(), burst.end());
        symbol_sync_parameters p;
        symbol_stream stream(p, 0.25, resolve(tested_backend()));
        size_t at = 0;
        do {
            stream.feed(samples.data() + at, chunk, false);
            at += chunk;
        } while (stream.changes().empty() && at + chunk <= samples.size());
        BOOST_TEST_CONTEXT("begins at " << start)
        {
            BOOST_REQUIRE(!stream.changes().empty());
            BOOST_TEST(stream.changes()[0].sample <= static_cast<int64_t>(start));
            BOOST_TEST(at <= start + 4 * pair);
        }
        // However the samples come, the symbols are the same.
        BOOST_TEST((stream_of(signal, 0.25, samples, chunk).symbols ==
                    stream_of(signal, 0.25, samples, 70000).symbols));
    }
}

// The first 64000 samples or so are searched together.
BOOST_AUTO_TEST_CASE(a_signal_that_begins_late_in_what_is_searched_loses_no_symbol)
{
    const test_signal signal{ 2, 0.2, 0, 0.3 };
    auto burst = modulate(random_qpsk(40000), signal);
    rotate(burst, 0.2 / 2);
    auto noise = gaussian<complex64>(100000 + burst.size());
    // All backends share the search; the reference's filters take long.
    const size_t step = tested_backend() == backend::reference ? 500 : 50;
    for (size_t start = 63000; start < 65000; start += step) {
        auto samples = noise;
        samples.resize(start + burst.size());
        for (auto& s : samples) {
            s *= 0.3f;
        }
        for (size_t i = 0; i < burst.size(); ++i) {
            samples[start + i] += burst[i];
        }
        const auto got = stream_of(signal, 0.25, samples);
        BOOST_REQUIRE(got.changes.size() >= 1);
        BOOST_TEST(got.changes[0].sample <= start, "begins at " << start);
    }
}

BOOST_AUTO_TEST_CASE(another_offset_is_followed)
{
    const test_signal signal{ 2, 0.35, 0, 0.3 };
    const auto sent = random_qpsk(700000);
    auto samples = modulate(sent, signal);
    rotate(samples, 0.1 / 2);
    for (size_t n = 200000; n < samples.size(); ++n) {
        samples[n] *=
            complex64(std::polar(1.0, -turn * 0.2 / 2 * static_cast<double>(n - 200000)));
    }
    const auto got = stream_of(signal, 0.25, samples);
    BOOST_REQUIRE(got.changes.size() == 2);
    BOOST_TEST(std::abs(got.changes[0].frequency - 0.1 / 2) < 0.01);
    BOOST_TEST(std::abs(got.changes[1].frequency + 0.1 / 2) < 0.01);
    BOOST_TEST(got.changes[1].sample > 200000);
}

BOOST_AUTO_TEST_CASE(short_streams_and_streams_one_after_the_other)
{
    const test_signal signal{ 2, 0.35, 0, 0.3 };
    for (const size_t count : { 0, 1, 100, 3000 }) {
        const std::vector<complex64> samples(count, complex64(1, 0));
        BOOST_TEST((stream_of(signal, 0.25, samples).symbols ==
                    stream_of(signal, 0, samples).symbols));
    }
    // A burst of 6000 symbols is enough without noise.
    const auto sent = random_qpsk(6000);
    auto samples = modulate(sent, signal);
    rotate(samples, 0.2 / 2);
    symbol_sync_parameters p;
    p.roll_off = 0.35;
    symbol_stream stream(p, 0.25, resolve(tested_backend()));
    for (int time = 0; time < 3; ++time) {
        stream.feed(samples.data(), samples.size(), true);
        BOOST_TEST(std::abs(stream.frequency() - 0.2 / 2) < 0.01);
        std::vector<complex64> symbols(stream.symbols().begin(), stream.symbols().end());
        BOOST_REQUIRE(symbols.size() >= sent.size());
        rotate(symbols, stream.frequency() * 2 - 0.2);
        BOOST_TEST(error_in_db(symbols.data(), sent.data(), sent.size()) < -30);
        BOOST_TEST(stream.changes().size() == (time == 0 ? 1 : 0));
    }
    stream.restart();
    BOOST_TEST(stream.frequency() == 0);
    // A stream of noise leaves nothing to the next one.
    const auto noise = gaussian<complex64>(90001);
    for (int time = 0; time < 2; ++time) {
        stream.feed(noise.data(), noise.size(), true);
        BOOST_TEST(stream.changes().empty());
        stream.feed(samples.data(), samples.size(), true);
        BOOST_TEST(std::abs(stream.frequency() - 0.2 / 2) < 0.01);
        BOOST_TEST(stream.symbols().size() >= sent.size());
    }
}

BOOST_AUTO_TEST_CASE(what_is_out_of_range_is_refused)
{
    const auto on = resolve(tested_backend());
    symbol_sync_parameters p;
    BOOST_CHECK_THROW(symbol_stream(p, -0.1, on), std::invalid_argument);
    BOOST_CHECK_THROW(symbol_stream(p, 0.51, on), std::invalid_argument);
    BOOST_CHECK_THROW(symbol_stream(p, std::nan(""), on), std::invalid_argument);
    p.most_samples = 10;
    symbol_stream stream(p, 0.25, on);
    const std::vector<complex64> samples(11);
    BOOST_CHECK_THROW(stream.feed(samples.data(), 11, false), std::invalid_argument);
    p.roll_off = 7;
    BOOST_CHECK_THROW(symbol_stream(p, 0, on), std::invalid_argument);
}
