/* SPDX-License-Identifier: GPL-3.0-or-later */
// The channel estimator over tones and times: least squares and MMSE on patterns of
// pilots.
#define BOOST_TEST_MODULE channel_filter
#include "kernels/common/fused_testing.h"
#include "kernels/mimo/estimator/qa_channel_filter_channels.h"

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

//! Compares all backends with the reference.
void compare(const parameters& p, const std::vector<complex64>& received)
{
    const auto expected = run(p, received, backend::reference);
    const auto got = run(p, received);
    BOOST_TEST(got.status == expected.status);
    double worst = 0, largest = 0;
    for (size_t i = 0; i < got.h.size(); ++i) {
        worst = std::max<double>(worst, std::abs(got.h[i] - expected.h[i]));
        largest = std::max<double>(largest, std::abs(expected.h[i]));
    }
    BOOST_TEST(worst <= 1e-5 * largest);
    for (size_t i = 0; i < got.n0.size(); ++i) {
        BOOST_TEST(std::abs(got.n0[i] - expected.n0[i]) <=
                   1e-4 * expected.n0[i] + 1e-10 * largest * largest);
    }
}

//! Mean square error on tone k (k < 0: all tones) over slots of random channels.
double measured_error(const parameters& p, double n0, int slots, int k = -1)
{
    std::vector<complex64> received;
    std::vector<channel> channels;
    for (int i = 0; i < slots; ++i) {
        channels.push_back(random_channel(p));
        receive(p, channels.back(), n0, received);
    }
    const auto got = run(p, received);
    double error = 0;
    size_t count = 0, at = 0;
    const size_t times = std::max<size_t>(1, p.times.size());
    for (int i = 0; i < slots; ++i) {
        for (size_t u = 0; u < times; ++u) {
            for (int tone = 0; tone < p.tones; ++tone) {
                for (int r = 0; r < p.receive_antennas; ++r) {
                    for (int t = 0; t < p.layers; ++t, ++at) {
                        if (k < 0 || k == tone) {
                            const double time = p.times.empty() ? 0 : p.times[u];
                            error += std::norm(complex(got.h[at]) -
                                               channels[i](time, tone, r, t));
                            ++count;
                        }
                    }
                }
            }
        }
    }
    return error / count;
}

double db(double ratio) { return 10 * std::log10(ratio); }

parameters with(pilot_pattern pattern, int antennas, pilot_method method)
{
    auto p = pattern.estimator(antennas);
    p.method = method;
    return p;
}

pilot_pattern dmrs(int ports, int blocks, std::vector<int> symbols, bool twice)
{
    nr_dmrs d;
    d.ports = ports;
    d.resource_blocks = blocks;
    d.symbols = symbols;
    d.double_symbol = twice;
    return nr_dmrs_pilots(d);
}

std::vector<parameters> various()
{
    std::vector<parameters> all;
    for (const auto method : { pilot_method::least_squares, pilot_method::mmse }) {
        all.push_back(with(comb_pilots(1, 1, 9), 1, method));
        all.push_back(with(comb_pilots(2, 4, 53), 3, method));
        all.push_back(with(block_pilots(4, 3, 30), 5, method));
        all.push_back(with(block_pilots(2, 2, 65), 16, method));
        all.push_back(with(ht_ltf_pilots(3), 4, method));
        all.push_back(with(dmrs(4, 6, { 2 }, false), 4, method));
        all.push_back(with(dmrs(8, 3, { 2, 10 }, true), 2, method));
        auto timed = with(dmrs(3, 4, { 2, 7, 11 }, false), 2, method);
        timed.pilot_times = { 2, 7, 11 };
        timed.times = { 0, 1, 3, 5.5, 13 };
        all.push_back(timed);
        timed.doppler = 0.01;
        all.push_back(timed);
        // Pilots without any order: all layers belong to one group.
        parameters own{ 2, 3, 20, gaussian<complex64>(12) };
        own.method = method;
        own.tone_numbers.resize(20);
        for (int k = 0; k < 20; ++k) {
            own.tone_numbers[k] = k + k / 7;
        }
        all.push_back(own);
        parameters alike{ 3, 2, 700, orthogonal_pilots(2, 2) };
        alike.method = method;
        alike.tone_numbers = std::vector<int>(700);
        for (int k = 0; k < 700; ++k) {
            alike.tone_numbers[k] = k - 350;
        }
        all.push_back(alike);
    }
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_pattern_and_batch_agrees_with_the_reference)
{
    for (const auto& p : various()) {
        for (const size_t batch : { 0, 1, 3, 65 }) {
            if (batch > 3 && p.tones > 30) {
                continue;
            }
            std::vector<complex64> received;
            for (size_t i = 0; i < batch; ++i) {
                receive(p, random_channel(p), 0.1, received);
            }
            compare(p, received);
        }
    }
}

BOOST_AUTO_TEST_CASE(without_noise_least_squares_gives_a_channel_of_straight_lines_back)
{
    for (auto p : various()) {
        if (p.method != pilot_method::least_squares || p.doppler > 0) {
            continue;
        }
        // Over frequency; flat where ports share tones by a cover code over frequency.
        const auto start = gaussian<complex64>(16 * 16);
        const auto slope = gaussian<complex64>(16 * 16);
        const auto drift = gaussian<complex64>(16 * 16);
        const bool covered = p.tones % 12 == 0;
        const channel h = [&](double time, int k, int r, int t) {
            const int i = r * 16 + t;
            return complex(start[i]) +
                   (covered ? 0 : number(p, k) / 50.0) * complex(slope[i]) +
                   (p.times.empty() ? 0 : time / 10) * complex(drift[i]);
        };
        std::vector<complex64> received;
        receive(p, h, 0, received);
        const auto got = run(p, received);
        size_t at = 0;
        for (size_t u = 0; u < std::max<size_t>(1, p.times.size()); ++u) {
            for (int k = 0; k < p.tones; ++k) {
                for (int r = 0; r < p.receive_antennas; ++r) {
                    for (int t = 0; t < p.layers; ++t) {
                        const double time = p.times.empty() ? 0 : p.times[u];
                        BOOST_TEST(std::abs(complex(got.h[at++]) - h(time, k, r, t)) <
                                   2e-4);
                    }
                }
            }
        }
        BOOST_TEST(got.n0[0] < 1e-8);
    }
}

BOOST_AUTO_TEST_CASE(least_squares_has_the_error_of_theory)
{
    // N0 / E on each tone of its own, with E the energy of all its pilots.
    auto p = with(block_pilots(8, 4, 52), 4, pilot_method::least_squares);
    BOOST_TEST(std::abs(db(measured_error(p, 0.5, 40) / (0.5 / 8))) < 0.3);
    p = with(ht_ltf_pilots(4), 4, pilot_method::least_squares);
    BOOST_TEST(std::abs(db(measured_error(p, 0.5, 60) / (0.5 / 4))) < 0.3);
    // A comb of every other tone and energy 2. A pilot's tone has half the noise. The
    // tone between has the mean of two pilots, and a tone beyond the end 3/2 of the last
    // pilot and -1/2 of the pilot before.
    p = with(comb_pilots(1, 2, 40), 8, pilot_method::least_squares);
    p.delay_spread = 0;
    const double n0 = 0.1;
    BOOST_TEST(std::abs(db(measured_error(p, n0, 400, 10) / (n0 / 2 * 0.75))) < 0.3);
    p.layers = 1;
    std::vector<complex64> own;
    for (size_t i = 0; i < p.pilots.size(); i += 2) {
        own.push_back(p.pilots[i]);
    }
    p.pilots = own;
    BOOST_TEST(std::abs(db(measured_error(p, n0, 800, 10) / (n0 / 2))) < 0.3);
    BOOST_TEST(std::abs(db(measured_error(p, n0, 800, 11) / (n0 / 4))) < 0.3);
    BOOST_TEST(std::abs(db(measured_error(p, n0, 800, 39) / (n0 / 2 * 2.5))) < 0.3);
    // Cover codes: two pilots of energy 1 an estimate.
    p = with(dmrs(2, 2, { 2 }, false), 8, pilot_method::least_squares);
    p.delay_spread = 0;
    BOOST_TEST(std::abs(db(measured_error(p, n0, 800, 1) / (n0 / 2))) < 0.3);
}

BOOST_AUTO_TEST_CASE(mmse_has_the_least_error_that_there_is)
{
    struct point {
        parameters p;
        double snr_db;
        int tone;
    };
    const auto mmse = pilot_method::mmse;
    for (auto [p, snr_db, tone] : { point{ with(comb_pilots(1, 4, 48), 4, mmse), 20, 21 },
                                    { with(comb_pilots(1, 4, 48), 4, mmse), 20, 0 },
                                    { with(block_pilots(2, 2, 40), 4, mmse), 5, 20 },
                                    { with(ht_ltf_pilots(2), 4, mmse), 10, 55 },
                                    { with(dmrs(4, 4, { 2 }, false), 4, mmse), 15, 7 },
                                    { with(dmrs(6, 2, { 2 }, true), 4, mmse), 0, 23 } }) {
        p.snr_db = snr_db;
        p.delay_spread = 0.03;
        p.first_delay = 0.05;
        p.window = 1024;
        const double n0 = std::pow(10, -snr_db / 10);
        const double least = least_error(p, n0, tone);
        double all = 0;
        // Layer 0 alone: other layers have other tones of the comb.
        std::vector<complex64> received;
        std::vector<channel> channels;
        const int slots = 400;
        for (int i = 0; i < slots; ++i) {
            channels.push_back(gaussian_channel(p));
            receive(p, channels.back(), n0, received);
        }
        const auto got = run(p, received);
        for (int i = 0; i < slots; ++i) {
            for (int r = 0; r < 4; ++r) {
                const size_t at = ((size_t(i) * p.tones + tone) * 4 + r) * p.layers;
                all += std::norm(complex(got.h[at]) - channels[i](0, tone, r, 0));
            }
        }
        const double error = all / (4 * slots);
        BOOST_TEST_MESSAGE("theory " << db(least) << " dB, measured " << db(error));
        // Of 1600 samples the mean has a standard deviation of 0.11 dB.
        BOOST_TEST(std::abs(db(error / least)) < 0.4);
    }
}

BOOST_AUTO_TEST_CASE(a_window_of_a_few_coherence_bandwidths_loses_little)
{
    auto p = with(block_pilots(1, 1, 300), 4, pilot_method::mmse);
    p.snr_db = 10;
    p.delay_spread = 0.01;
    p.window = 64;
    const double least = least_error(p, 0.1, 150);
    // 0.6 dB on average; of so many slots with a standard deviation of 0.08 dB
    BOOST_TEST(db(measured_error(p, 0.1, 200) / least) < 1);
    p.window = 1; // a pilot of its own: shrunk least squares
    BOOST_TEST(std::abs(db(measured_error(p, 0.1, 60) / (0.1 / 1.1))) < 0.3);
}

BOOST_AUTO_TEST_CASE(the_noise_variance_is_unbiased)
{
    for (auto p : various()) {
        p.delay_spread = 0.01;
        p.snr_db = 20;
        const int slots = 40000 / (p.tones * p.receive_antennas) + 60;
        std::vector<complex64> received;
        auto still = p; // constant over times
        still.doppler = 0;
        for (int i = 0; i < slots; ++i) {
            // Least squares needs a locally linear channel, or several pilots of it.
            if (p.method == pilot_method::least_squares) {
                still.delay_spread = 0.0005;
            }
            receive(p, random_channel(still), 0.01, received);
        }
        const auto got = run(p, received);
        double mean = 0;
        for (const float n0 : got.n0) {
            mean += n0 / got.n0.size();
        }
        BOOST_TEST(std::abs(mean / 0.01 - 1) < 0.08);
    }
}

BOOST_AUTO_TEST_CASE(over_time_mmse_follows_a_channel_that_turns_and_lines_do_less_well)
{
    auto p = with(dmrs(2, 4, { 2, 5, 8, 11 }, false), 4, pilot_method::mmse);
    p.pilot_times = { 2, 5, 8, 11 };
    for (int l = 0; l < 14; ++l) {
        p.times.push_back(l);
    }
    p.delay_spread = 0.005;
    p.snr_db = 15;
    const double n0 = std::pow(10, -1.5);
    p.doppler = 0.05; // 0.15 turns from pilots to pilots
    const double by_mmse = measured_error(p, n0, 60);
    auto lines = p;
    // The same channels by an estimator with doppler 0, which interpolates by lines.
    std::vector<complex64> received;
    std::vector<channel> channels;
    for (int i = 0; i < 60; ++i) {
        channels.push_back(random_channel(p));
        receive(p, channels.back(), n0, received);
    }
    lines.doppler = 0;
    const auto got = run(lines, received);
    double by_lines = 0;
    size_t at = 0;
    for (const auto& h : channels) {
        for (int u = 0; u < 14; ++u) {
            for (int k = 0; k < p.tones; ++k) {
                for (int i = 0; i < 8; ++i, ++at) {
                    by_lines += std::norm(complex(got.h[at]) - h(u, k, i / 2, i % 2));
                }
            }
        }
    }
    by_lines /= at;
    BOOST_TEST_MESSAGE("MMSE " << db(by_mmse) << " dB, lines " << db(by_lines));
    BOOST_TEST(by_mmse < 0.8 * by_lines);
    BOOST_TEST(by_mmse < n0); // better than one pilot alone
}

BOOST_AUTO_TEST_CASE(a_slot_with_a_bad_pilot_is_an_erasure_and_harms_no_other)
{
    for (const auto& p : various()) {
        std::vector<complex64> received;
        for (int i = 0; i < 4; ++i) {
            receive(p, random_channel(p), 0.1, received);
        }
        const auto clean = run(p, received);
        size_t bad = 2 * items_of(p);
        while (std::isnan(received[bad].real())) {
            bad += p.receive_antennas; // no pilot there
        }
        for (const float value : { NAN, INFINITY }) {
            received[bad] = { 0, value };
            const auto got = run(p, received);
            const size_t one = got.h.size() / 4, times = got.n0.size() / 4;
            for (size_t slot = 0; slot < 4; ++slot) {
                BOOST_TEST(got.status[slot] == (slot == 2 ? -1 : 0));
                for (size_t i = slot * one; i < (slot + 1) * one; ++i) {
                    if (got.h[i] != (slot == 2 ? complex64(0) : clean.h[i])) {
                        BOOST_ERROR("estimate " << i << " is " << got.h[i]);
                    }
                }
                for (size_t i = slot * times; i < (slot + 1) * times; ++i) {
                    BOOST_TEST(std::isnan(got.n0[i]) == (slot == 2));
                    BOOST_TEST((slot == 2 || got.n0[i] == clean.n0[i]));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(errors_as_noise_adds_what_unit_noise_puts_into_the_estimates)
{
    auto all = various();
    all.push_back({ 2, 4, 12, orthogonal_pilots(4, 4) }); // tone by tone
    all.push_back({ 3, 2, 9, orthogonal_pilots(5, 2) });
    for (const auto& p : all) {
        if (items_of(p) > 600) {
            continue;
        }
        // One slot for each received pilot, which is 1 while all others are 0. The
        // estimates of these slots are the estimator's weights.
        const size_t slots = items_of(p);
        std::vector<complex64> units(slots * slots);
        for (size_t i = 0; i < slots; ++i) {
            units[i * slots + i] = 1;
        }
        double energy = 0;
        const auto weights = run(p, units);
        for (const auto& weight : weights.h) {
            energy += std::norm(complex(weight));
        }
        const double estimates = double(weights.h.size()) / slots / p.layers;
        std::vector<complex64> received;
        receive(p, random_channel(p), 0.3, received);
        auto with_errors = p;
        with_errors.errors_as_noise = true;
        const auto plain = run(p, received), with_error = run(with_errors, received);
        BOOST_TEST((plain.h == with_error.h));
        for (size_t u = 0; u < plain.n0.size(); ++u) {
            const double factor = double(with_error.n0[u]) / plain.n0[u];
            BOOST_TEST(std::abs(factor / (1 + energy / estimates) - 1) < 1e-5);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_out_of_range_is_refused_with_its_name)
{
    const auto good = [] {
        auto p = with(dmrs(4, 2, { 2, 7, 11 }, false), 2, pilot_method::mmse);
        p.pilot_times = { 2, 7, 11 };
        p.times = { 0, 5 };
        return p;
    };
    channel_estimator::make(good(), tested_backend());
    const auto refused = [&](const std::string& text, auto change) {
        auto p = good();
        change(p);
        try {
            channel_estimator::make(p, tested_backend());
            BOOST_ERROR("accepted " << text);
        } catch (const std::invalid_argument& problem) {
            BOOST_TEST(std::string(problem.what()).find(text) != std::string::npos,
                       problem.what());
        }
    };
    refused("receive_antennas", [](parameters& p) { p.receive_antennas = 129; });
    refused("pilots", [](parameters& p) { p.pilots.pop_back(); });
    refused("pilots", [](parameters& p) { p.pilots.clear(); });
    refused("finite", [](parameters& p) { p.pilots[0] = { NAN, 0 }; });
    refused("tone_numbers", [](parameters& p) { p.tone_numbers.pop_back(); });
    refused("ascend", [](parameters& p) { p.tone_numbers[3] = p.tone_numbers[2]; });
    refused("delay_spread", [](parameters& p) { p.delay_spread = -0.1; });
    refused("delay_spread", [](parameters& p) { p.delay_spread = NAN; });
    refused("first_delay", [](parameters& p) { p.first_delay = 2; });
    refused("snr_db", [](parameters& p) { p.snr_db = INFINITY; });
    refused("window", [](parameters& p) { p.window = 0; });
    refused("doppler", [](parameters& p) { p.doppler = 0.6; });
    refused("pilot_times", [](parameters& p) { p.pilot_times = { 1, 2 }; });
    refused("ascend", [](parameters& p) { p.pilot_times = { 1, 3, 2 }; });
    refused("time", [](parameters& p) { p.times[0] = NAN; });
    refused("times", [](parameters& p) { p.times.resize(1025); });
    refused("group_symbols", [](parameters& p) { p.group_symbols = 2; });
    refused("group_symbols", [](parameters& p) { p.group_symbols = -1; });
    refused("layer 3", [](parameters& p) {
        for (size_t i = 3; i < p.pilots.size(); i += 4) {
            p.pilots[i] = 0; // silent
        }
        p.method = pilot_method::least_squares;
    });
    refused("noise variance", [](parameters& p) {
        p = with(comb_pilots(1, 4, 8), 2, pilot_method::least_squares);
    });
}

BOOST_AUTO_TEST_CASE(the_gpu_gives_the_bits_of_the_cpu_over_tones_and_times)
{
    if (!cuda_can_be_held_to_the_cpu()) {
        return;
    }
    for (const auto& p : various()) {
        std::vector<complex64> received;
        for (int i = 0; i < 5; ++i) {
            receive(p, random_channel(p), 0.1, received);
        }
        const auto here = run(p, received, backend::cpu);
        const auto there = run(p, received, backend::cuda);
        BOOST_TEST((here.h == there.h));
        BOOST_TEST(here.n0 == there.n0);
    }
}
