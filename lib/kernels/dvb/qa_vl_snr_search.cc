/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE vl_snr_search
#include "kernels/common/testing.h"
#include "kernels/dvb/vl_snr_search.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace gr::cudaphy::kernels;
using gr::cudaphy::testing::generator;
using complex = std::complex<float>;

namespace {

constexpr int numbers[] = { 0, 1, 2, 3, 4, 5, 9, 10, 11, 12 };
constexpr size_t both = vl_snr_headers_symbols;

//! QPSK with the headers of a VL-SNR frame at `at`, at a frequency, in noise; of unit
//! energy with the noise.
std::vector<complex>
received(int number, size_t at, size_t count, double frequency, double es_n0_db)
{
    const double noise = std::pow(10, -es_n0_db / 10);
    std::normal_distribution<double> normal(0, std::sqrt(noise / 2));
    const auto first = pl_header(first_vl_snr + number);
    std::vector<complex> headers(first.begin(), first.end());
    const auto second = vl_snr_header(number);
    headers.insert(headers.end(), second.begin(), second.end());
    std::vector<complex> out(count);
    for (size_t i = 0; i < count; ++i) {
        const complex symbol =
            i >= at && i < at + both
                ? headers[i - at]
                : std::polar(1.0f, static_cast<float>(generator()() % 4 * M_PI / 2));
        const auto turn = std::polar(1.0, 2 * M_PI * frequency * static_cast<double>(i));
        out[i] =
            complex((std::complex<double>(symbol) * turn +
                     std::complex<double>(normal(generator()), normal(generator()))) /
                    std::sqrt(1 + noise));
    }
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(headers_are_as_the_standard_has_them)
{
    // EN 302 307-2, section 5.5.2.5: two bits 0, 896 bits, two bits 0 as pi/2-BPSK.
    const auto header = vl_snr_header(0), other = vl_snr_header(11);
    BOOST_TEST(header.size() == 900u);
    const float part = std::sqrt(0.5f);
    BOOST_TEST((header[0] == complex(part, part)));
    BOOST_TEST((header[1] == complex(-part, part)));
    BOOST_TEST((header[2] == complex(-part, -part))); // bit 1: the row is fbf23e837f9bc4
    BOOST_TEST((header[7] == complex(-part, part)));  // its first bit 0
    BOOST_TEST((header[898] == complex(part, part)));
    BOOST_TEST((other[2] == -header[2]));    // table 18b: ff00
    BOOST_TEST((other[57] == -header[57]));  // the end of the first row
    BOOST_TEST((other[897] == header[897])); // of the last one
    BOOST_TEST((other[1] == header[1]));
    for (const int wrong : { -1, 16 }) {
        BOOST_CHECK_THROW(vl_snr_header(wrong), std::invalid_argument);
    }
    for (const int number : numbers) {
        const auto mode = dvb_mode::of(first_vl_snr + number).value();
        BOOST_TEST(mode.length() == (number < 9 ? 33282 : 16686));
        BOOST_TEST(mode.pl_code() == (number < 9 ? 129 : 131));
        BOOST_TEST(mode.header_symbols() == 990);
        BOOST_TEST(mode.is_vl_snr());
        BOOST_TEST(mode.dummy == (number == 12));
    }
    for (const int reserved : { 6, 7, 8, 13, 14, 15, 16 }) {
        BOOST_TEST(!dvb_mode::of(first_vl_snr + reserved));
    }
}

BOOST_AUTO_TEST_CASE(without_noise_every_header_is_found_at_any_frequency)
{
    const vl_snr_search search(0.25);
    for (const int number : numbers) {
        for (const double frequency : { -0.25, -0.1234, 0.0, 0.001, 0.25 }) {
            const auto symbols = received(number, 0, both, frequency, 100);
            const auto found = search.at(symbols.data());
            BOOST_TEST(found.pls == first_vl_snr + number);
            BOOST_TEST(std::abs(found.frequency - frequency) < 3e-6);
            BOOST_TEST(found.score > 989);
            const auto near = search.near(symbols.data(), frequency + 0.003, 0.004);
            BOOST_TEST(near.pls == found.pls);
            BOOST_TEST(std::abs(near.frequency - frequency) < 3e-6);
        }
    }
}

BOOST_AUTO_TEST_CASE(headers_are_found_at_minus_ten_decibels)
{
    const vl_snr_search search(0.25);
    std::uniform_real_distribution<double> any(-0.25, 0.25);
    constexpr size_t places = 4096;
    constexpr int trials = 30;
    int among = 0, right = 0;
    double squares = 0;
    for (int trial = 0; trial < trials; ++trial) {
        const int number = numbers[trial % 10];
        const double frequency = any(generator());
        const size_t at = generator()() % places;
        const auto symbols = received(number, at, places + both - 1, frequency, -10);
        std::vector<float> metric(places);
        search.differences(symbols.data(), symbols.size(), metric.data());
        const auto better = std::count_if(
            metric.begin(), metric.end(), [&](float one) { return one > metric[at]; });
        among += better < 32;
        const auto found = search.at(symbols.data() + at);
        BOOST_TEST(found.score > 45);
        // Now and then another header is likelier, half a cycle a row away.
        if (found.pls == first_vl_snr + number) {
            ++right;
            squares += std::pow(found.frequency - frequency, 2);
        }
    }
    BOOST_TEST(among >= trials - 2); // 3 of 1000 are missed
    // The Cramer-Rao bound is 4e-5.
    BOOST_TEST(right >= trials - 3);
    BOOST_TEST(std::sqrt(squares / right) < 6e-5);
}

BOOST_AUTO_TEST_CASE(noise_tones_and_zeros_are_no_headers)
{
    const vl_snr_search search(0.25);
    for (int trial = 0; trial < 100; ++trial) {
        const auto symbols = received(0, both, both, 0.1, trial % 2 ? -30 : 0);
        BOOST_TEST(search.at(symbols.data()).score < 30);
    }
    for (int i = 0; i < 50; ++i) {
        std::vector<complex> tone(both);
        for (size_t k = 0; k < both; ++k) {
            tone[k] = complex(std::polar(1.0, 0.03 * i * static_cast<double>(k)));
        }
        BOOST_TEST(search.at(tone.data()).score < 30);
    }
    const std::vector<complex> zeros(both + 10);
    BOOST_TEST(search.at(zeros.data()).score == 0);
    std::vector<float> metric(11, -1);
    search.differences(zeros.data(), zeros.size(), metric.data());
    BOOST_TEST(*std::max_element(metric.begin(), metric.end()) == 0);
    std::vector<float> none(1, -1);
    search.differences(zeros.data(), both - 1, none.data()); // no place
    BOOST_TEST(none[0] == -1);
}

BOOST_AUTO_TEST_CASE(frequencies_beyond_the_limit_are_not_found)
{
    const auto symbols = received(3, 0, both, 0.2, 100);
    BOOST_TEST(vl_snr_search(0.1).at(symbols.data()).score < 30);
    BOOST_TEST(vl_snr_search(0.2).at(symbols.data()).score > 900);
    for (const double wrong : { -0.1, 0.6, std::numeric_limits<double>::quiet_NaN() }) {
        BOOST_CHECK_THROW(vl_snr_search{ wrong }, std::invalid_argument);
    }
}
