/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE pl_search
#include "kernels/common/testing.h"
#include "kernels/dvb/pl_search.h"
#include <cmath>

using namespace gr::cudaphy::kernels;
using gr::cudaphy::testing::generator;
using complex = std::complex<float>;

namespace {

//! QPSK with a header at `at`, at a frequency, in noise.
std::vector<complex> received(
    int pls, size_t at, size_t count, double frequency, double es_n0_db, complex gain)
{
    std::normal_distribution<float> normal(
        0, static_cast<float>(std::pow(10, -es_n0_db / 20) * std::sqrt(0.5)));
    std::vector<complex> out(count);
    const auto header = pl_header(pls);
    for (size_t i = 0; i < count; ++i) {
        const complex symbol =
            i >= at && i < at + header.size()
                ? header[i - at]
                : std::polar(1.0f, static_cast<float>(generator()() % 4 * M_PI / 2));
        const auto turn = std::polar(1.0, 2 * M_PI * frequency * static_cast<double>(i));
        out[i] = gain * (symbol * complex(turn) +
                         complex(normal(generator()), normal(generator())));
    }
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(without_noise_every_code_is_found_at_any_frequency)
{
    const pl_search search(0.25f);
    for (int pls = 0; pls < 256; ++pls) {
        const double frequency = -0.25 + pls * 0.5 / 255;
        const complex gain = std::polar(1e-3f, static_cast<float>(pls));
        const auto symbols = received(pls, 0, 90, frequency, 200, gain);
        const auto found = search.at(symbols.data());
        BOOST_TEST(found.pls == pls);
        BOOST_TEST(std::abs(found.frequency - frequency) < 3e-5);
        BOOST_TEST(std::abs(found.amplitude - gain) < 2e-2f * std::abs(gain));
        BOOST_TEST(found.score > 89.9f);
    }
}

BOOST_AUTO_TEST_CASE(a_header_is_found_at_the_lowest_es_n0_of_the_standard)
{
    // QPSK 1/4 needs -2.35 dB. Among 16,000 symbols a fourth of all headers or more are
    // among the 100 best places, and of these every one has the right code and frequency.
    const pl_search search(0.25f);
    std::uniform_real_distribution<double> any(-0.25, 0.25);
    int among = 0, right = 0;
    constexpr int trials = 40;
    for (int trial = 0; trial < trials; ++trial) {
        const int pls = generator()() % 256;
        const double frequency = any(generator());
        const size_t at = 1000 + generator()() % 14000;
        const auto symbols = received(pls, at, 16000, frequency, -2.35, 3);
        const auto here = search.at(symbols.data() + at);
        right += here.pls == pls && std::abs(here.frequency - frequency) < 4e-3;
        for (const auto& found : search.find(symbols.data(), symbols.size(), 100, 18)) {
            among += found.at == at;
        }
    }
    BOOST_TEST(right >= trials - 2);
    BOOST_TEST(among >= trials / 5);
}

BOOST_AUTO_TEST_CASE(at_three_decibels_it_is_among_the_best_five)
{
    const pl_search search(0.25f);
    std::uniform_real_distribution<double> any(-0.25, 0.25);
    int among = 0;
    for (int trial = 0; trial < 40; ++trial) {
        const int pls = generator()() % 256;
        const double frequency = any(generator());
        const size_t at = generator()() % 30000;
        const auto symbols = received(pls, at, 33000, frequency, 3, 1);
        for (const auto& found : search.find(symbols.data(), symbols.size(), 5, 30)) {
            among += found.at == at && found.pls == pls;
        }
    }
    BOOST_TEST(among >= 38);
}

BOOST_AUTO_TEST_CASE(little_and_nothing)
{
    const pl_search search(0.25f);
    const std::vector<complex> zeros(200);
    BOOST_TEST(search.find(zeros.data(), 89, 10, 0).empty());
    BOOST_TEST(search.find(zeros.data(), 200, 10, 1).empty());
    const auto one = received(40, 0, 90, 0.1, 100, 1);
    BOOST_REQUIRE(search.find(one.data(), 90, 10, 80).size() == 1);
    BOOST_CHECK_THROW(pl_search(0.6f), std::invalid_argument);
    BOOST_CHECK_THROW(pl_search(NAN), std::invalid_argument);
}
