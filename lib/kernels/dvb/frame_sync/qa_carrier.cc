/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE carrier
#include "kernels/common/testing.h"
#include "kernels/dvb/frame_sync/frequency_search.h"
#include "kernels/dvb/frame_sync/phase_path.h"
#include "kernels/dvb/frame_sync/phase_table.h"
#include "kernels/dvb/frame_sync/phase_tracker.h"
#include "kernels/dvb/frame_sync/pl_scrambler.h"
#include <cmath>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using testing::gaussian;
using testing::generator;

namespace {

const std::vector<complex64> qpsk{ { 0.70710678f, 0.70710678f },
                                   { 0.70710678f, -0.70710678f },
                                   { -0.70710678f, 0.70710678f },
                                   { -0.70710678f, -0.70710678f } };

} // namespace

BOOST_AUTO_TEST_CASE(gold_codes_are_out_of_range_beyond_their_period)
{
    BOOST_CHECK_THROW(pl_scrambling(-1, 1), std::invalid_argument);
    BOOST_CHECK_THROW(pl_scrambling(262143, 1), std::invalid_argument);
    BOOST_TEST(pl_scrambling(262142, 9).size() == 9);
    BOOST_TEST(pl_scrambling(0, 1000) != pl_scrambling(1, 1000));
}

BOOST_AUTO_TEST_CASE(sums_over_blocks_tell_the_phase_of_qpsk)
{
    const auto table = phase_table::make(qpsk, 0.1);
    BOOST_REQUIRE(table.quarters[0] == 1);
    constexpr size_t blocks = 5, symbols = 301;
    constexpr double frequency = 0.03, phase = 0.2;
    std::vector<complex64> in, sums(blocks * table.quarters.size());
    for (size_t i = 0; i < blocks * symbols; ++i) {
        const auto noise = 0.1f * gaussian<complex64>(1)[0];
        const double turn = phase + 2 * M_PI * frequency * static_cast<double>(i);
        in.push_back(
            3.0f * (qpsk[generator()() % 4] * complex64(std::polar(1.0, turn)) + noise));
    }
    phase_sums(table, in.data(), blocks, symbols, frequency, 1 / 3.0f, sums.data());
    for (size_t b = 0; b < blocks; ++b) {
        const double middle = static_cast<double>(b * symbols) + (symbols - 1) / 2.0;
        const double turn = 4 * (phase + 2 * M_PI * frequency * middle);
        // Points lie at odd eighths of a turn, which the table takes off.
        const auto straight = std::complex<double>(sums[b * table.quarters.size()]) *
                              std::polar(1.0, -turn);
        BOOST_TEST(std::abs(std::arg(straight)) < 0.1); // 0.016 expected
    }
    // Nothing says nothing.
    const std::vector<complex64> zeros(symbols);
    phase_sums(table, zeros.data(), 1, symbols, frequency, 1, sums.data());
    BOOST_TEST(sums[0] == complex64(0));
}

BOOST_AUTO_TEST_CASE(a_ring_tells_the_phase_by_the_harmonic_of_its_points)
{
    for (int quarter = 1; quarter <= most_quarters; ++quarter) {
        const int count = 4 * quarter;
        std::vector<complex64> ring, in;
        for (int i = 0; i < count; ++i) {
            ring.push_back(std::polar(1.0f, static_cast<float>(2 * M_PI * i / count)));
        }
        const double phase = 0.3 / count;
        constexpr size_t symbols = 77;
        for (size_t i = 0; i < symbols; ++i) {
            in.push_back(ring[generator()() % ring.size()] *
                         complex64(std::polar(1.0, phase)));
        }
        const auto table = phase_table::make(ring, 1.0 / (count * count));
        BOOST_REQUIRE(table.quarters.size() > 0);
        BOOST_TEST(table.quarters[0] == quarter);
        std::vector<complex64> sums(table.quarters.size());
        phase_sums(table, in.data(), 1, symbols, 0, 1, sums.data());
        BOOST_TEST(std::abs(std::arg(sums[0]) - count * phase) < 1e-3);
    }
}

BOOST_AUTO_TEST_CASE(information_is_the_variance_of_the_slope)
{
    // The mean of -d^2 ln p / d phi^2 is that of (d ln p / d phi)^2: the table's Fourier
    // series is that of the logarithm of a likelihood.
    constexpr double noise = 0.5;
    const auto table = phase_table::make(qpsk, noise);
    double information = 0, squares = 0;
    constexpr size_t trials = 200'000;
    std::vector<complex64> sums(table.quarters.size());
    for (size_t i = 0; i < trials; ++i) {
        const auto symbol =
            qpsk[i % 4] + complex64(std::sqrt(noise)) * gaussian<complex64>(1)[0];
        phase_sums(table, &symbol, 1, 1, 0, 1, sums.data());
        double slope = 0;
        for (size_t h = 0; h < sums.size(); ++h) {
            const double order = 4.0 * table.quarters[h];
            slope += order * sums[h].imag();
            information += order * order * sums[h].real();
        }
        squares += slope * slope;
    }
    BOOST_TEST(std::abs(information / squares - 1) < 0.1);
}

BOOST_AUTO_TEST_CASE(a_path_between_two_headers_does_not_slip)
{
    // Blocks of QPSK leave the phase open by a fourth of a turn. One of them is wrong.
    const std::vector<int> quarters{ 1 };
    constexpr size_t blocks = 40;
    std::vector<complex64> sums;
    const auto phase_at = [](double at) { return 1.0 + 2e-4 * at; };
    for (size_t b = 0; b < blocks; ++b) {
        const double phase = b == 20 ? 2.0 : phase_at(360.0 * static_cast<double>(b + 1));
        sums.push_back(complex64(std::polar(8.0, 4 * phase)));
    }
    std::vector<phase_likelihood> places(blocks + 2);
    places[0].first_harmonic = std::polar(50.0, phase_at(0));
    for (size_t b = 0; b < blocks; ++b) {
        places[b + 1].at = 360.0 * static_cast<double>(b + 1);
        places[b + 1].blocks = &sums[b];
    }
    places[blocks + 1].at = 360.0 * (blocks + 1);
    places[blocks + 1].first_harmonic = std::polar(50.0, phase_at(places.back().at));
    const auto path = likely_phase_path(places, quarters, 0, 1e-5, 2, 1e-4, 1e-3);
    for (size_t i = 0; i < places.size(); ++i) {
        const double missed = std::remainder(path[i] - phase_at(places[i].at), 2 * M_PI);
        BOOST_TEST(std::abs(missed) < 0.3); // a slip is 1.6
    }
}

BOOST_AUTO_TEST_CASE(the_tracker_follows_phase_and_drift)
{
    // Pilots without noise: the carrier at each of them is met, and the next frequency.
    constexpr double frequency = 0.1, drift = 1e-9, length = 33282;
    const auto cycles = [](double n) { return frequency * n + drift * n * n / 2; };
    phase_tracker tracker;
    tracker.begin(frequency, 3e-5, 4e-6);
    double worst = 0;
    for (int frame = 0; frame < 30; ++frame) {
        const double start = frame * length;
        phase_marks marks{ tracker.frequency(), 1, 1e-3, length, {}, {}, 0, 0, {} };
        for (double at = 44.5; at < length; at += 1476) {
            const double turn = std::remainder(cycles(start + at), 1.0);
            marks.known.push_back({ at, 36, std::polar(36.0, 2 * M_PI * turn) });
        }
        for (const auto& point : tracker.follow(marks)) {
            const double missed =
                std::remainder(point.phase / (2 * M_PI) + marks.frequency * point.at -
                                   cycles(start + point.at),
                               1.0);
            worst = frame < 10 ? worst : std::max(worst, std::abs(missed));
        }
    }
    BOOST_TEST(worst < 1e-3);
    BOOST_TEST(std::abs(tracker.frequency() - frequency - drift * 30 * length) < 1e-6);
}

BOOST_AUTO_TEST_CASE(frequencies_that_pilots_confuse_are_told_apart)
{
    // Pilots every 1,476 symbols confuse frequencies that differ by 1 / 1476; the header
    // behind the last pilots does not.
    constexpr double frequency = 0.0213, guess = 0.0205;
    frequency_search search(guess);
    std::vector<known_block> blocks;
    const auto add = [&](double at, int symbols) {
        known_block block{ symbols, {} };
        for (int i = 0; i < symbols; i += 9) {
            const double middle = at + i + 4;
            block.parts.push_back(
                { middle, std::polar(9.0, 2 * M_PI * frequency * middle) });
        }
        blocks.push_back(block);
    };
    add(0, 90);
    for (int pilot = 0; pilot < 22; ++pilot) {
        add(1530 + 1476.0 * pilot, 36);
    }
    add(33282, 90);
    search.add_known(blocks, 1.0);
    BOOST_TEST(search.is_found());
    BOOST_TEST(std::abs(search.frequency() - frequency) < 5e-6);
}
