/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE soft_demapper_interleaver
#include "kernels/common/testing.h"
#include "kernels/mimo/demapper/qa_soft_demapper_oracle.h"
#include <algorithm>
#include <cstring>
#include <gnuradio/cudaphy/kernels/soft_demapper.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

//! With an item of poison on either side, which must stay.
template <typename T>
std::vector<T> demap(const soft_demapper::parameters& p, const symbols& in, size_t llrs)
{
    const auto q = queue::make(tested_backend());
    const array<complex64> x(*q, view<const complex64>(in.x));
    const array<float> noise(*q, view<const float>(in.noise));
    auto llr = poisoned<T>(*q, llrs + 2);
    soft_demapper::make(p, tested_backend())->run(x, noise, llr.all().part(1, llrs), *q);
    auto got = llr.to_host();
    const auto poison = poisoned<T>(*q, 1).to_host();
    BOOST_TEST(std::memcmp(&got.front(), poison.data(), sizeof(T)) == 0);
    BOOST_TEST(std::memcmp(&got.back(), poison.data(), sizeof(T)) == 0);
    return { got.begin() + 1, got.end() - 1 };
}

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() &&
           std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

//! Symbol by symbol -> frame by frame, by the definition.
template <typename T>
std::vector<T> in_columns(const std::vector<T>& llr, const soft_demapper::parameters& p)
{
    const auto& how = p.interleaver;
    const size_t rows = how.symbols, bits = p.points.bits;
    const size_t frame_bits = how.bits ? how.bits : rows * bits;
    const size_t frames = llr.size() / (rows * bits);
    std::vector<T> made(frames * frame_bits);
    for (size_t frame = 0; frame < frames; ++frame) {
        for (size_t row = 0; row < rows; ++row) {
            for (size_t bit = 0; bit < bits; ++bit) {
                const size_t place = (how.columns[bit] - '0') * rows + row;
                if (place < frame_bits) {
                    made[frame * frame_bits + place] =
                        llr[(frame * rows + row) * bits + bit];
                }
            }
        }
    }
    return made;
}

template <typename T>
void check(const soft_demapper::parameters& p, const symbols& in)
{
    auto plain = p;
    plain.interleaver = {};
    const auto wanted = in_columns(demap<T>(plain, in, in.x.size() * p.points.bits), p);
    BOOST_TEST(same_bits(demap<T>(p, in, wanted.size()), wanted));
}

std::string any_order(int bits)
{
    auto columns = std::string("0123456789").substr(0, bits);
    std::shuffle(columns.begin(), columns.end(), generator());
    return columns;
}

} // namespace

BOOST_AUTO_TEST_CASE(llrs_come_in_the_order_of_the_frames_bits)
{
    for (const char* name : { "qpsk",
                              "dvbs2_8psk",
                              "qam16",
                              "dvbs2_16apsk_3/4",
                              "dvbs2_32apsk_3/4",
                              "wifi_qam64",
                              "dvbs2x_64apsk_4/5",
                              "dvbs2x_128apsk_135/180",
                              "dvbs2x_256apsk_128/180",
                              "qam1024" }) {
        for (const int rows : { 1, 7, 255, 256, 257, 1000 }) {
            if (tested_backend() == backend::reference && rows > 7 && rows != 257) {
                continue; // slow, and one loop for all sizes
            }
            for (const size_t frames : { 1, 3 }) {
                soft_demapper::parameters p{ constellation::make(name) };
                p.interleaver = { any_order(p.points.bits), rows };
                auto in = noisy_symbols(p.points, frames * rows);
                BOOST_TEST_CONTEXT(name << ", " << p.interleaver.columns << ", " << frames
                                        << " frames of " << rows << " symbols")
                {
                    check<float>(p, in);
                    check<float16>(p, in);
                    check<int8_t>(p, in);
                    in.noise = { 0.1f };
                    check<float>(p, in);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(padding_behind_a_frames_bits_is_left_out)
{
    soft_demapper::parameters p{ constellation::make("dvbs2x_128apsk_135/180") };
    for (const auto& [symbols_a_frame, bits] :
         { std::pair(9258, 64800), { 2, 8 }, { 300, 1800 }, { 300, 1 } }) {
        p.interleaver = { "4250316", symbols_a_frame, bits };
        const auto in = noisy_symbols(p.points, 2 * symbols_a_frame);
        check<float>(p, in);
        check<int8_t>(p, in);
    }
}

BOOST_AUTO_TEST_CASE(a_noise_variance_may_be_a_number)
{
    for (const char* name : { "qpsk", "dvbs2_8psk", "dvbs2x_64apsk_4/5" }) {
        const auto c = constellation::make(name);
        for (const bool interleaved : { false, true }) {
            soft_demapper::parameters p{ c };
            if (interleaved) {
                p.interleaver = { any_order(c.bits), 100 };
            }
            const auto q = queue::make(tested_backend());
            auto in = noisy_symbols(c, 300);
            in.noise = { 0.2f };
            const array<complex64> x(*q, view<const complex64>(in.x));
            array<float> llr(*q, in.x.size() * c.bits);
            soft_demapper::make(p, tested_backend())->run(x, 0.2f, llr, *q);
            BOOST_TEST(same_bits(llr.to_host(), demap<float>(p, in, llr.size())));
            soft_demapper::make(p, tested_backend())->run(x, std::nanf(""), llr, *q);
            const auto erased = llr.to_host();
            BOOST_TEST(std::count(erased.begin(), erased.end(), 0.0f) == llr.size());
        }
    }
}

BOOST_AUTO_TEST_CASE(an_interleaver_that_does_not_fit_is_refused)
{
    const auto refused = [](const bit_interleaver& how, const std::string& saying) {
        soft_demapper::parameters p{ constellation::make("dvbs2_8psk") };
        p.interleaver = how;
        BOOST_CHECK_EXCEPTION(soft_demapper::make(p, tested_backend()),
                              std::invalid_argument,
                              [&](const std::invalid_argument& problem) {
                                  return std::string(problem.what()).find(saying) !=
                                         std::string::npos;
                              });
    };
    refused({ "01", 10 }, "bit_interleaver \"01\" is no order of the columns of 3 bits");
    refused({ "0123", 10 }, "each digit of \"012\" once");
    refused({ "011", 10 }, "no order");
    refused({ "abc", 10 }, "no order");
    refused({ "012", 0 }, "frames of 0 symbols");
    refused({ "012", -5 }, "frames of -5 symbols");
    refused({ "012", (1 << 24) + 1 }, "they have 1 to 16777216");
    refused({ "012", 10, 31 }, "31 bits in 10 symbols, which carry 30");
    refused({ "012", 10, -1 }, "-1 bits");

    soft_demapper::parameters p{ constellation::make("dvbs2_8psk") };
    p.interleaver = { "012", 10, 28 };
    const auto q = queue::make(tested_backend());
    const auto plan = soft_demapper::make(p, tested_backend());
    const array<complex64> x(*q, 20);
    array<float> llr(*q, 60);
    const view<const complex64> some = x;
    BOOST_CHECK_THROW(plan->run(some.part(0, 19), 0.1f, llr.all().part(0, 56), *q),
                      std::invalid_argument);
    BOOST_CHECK_THROW(plan->run(x, 0.1f, llr, *q), std::invalid_argument);
    plan->run(x, 0.1f, llr.all().part(0, 56), *q);
}
