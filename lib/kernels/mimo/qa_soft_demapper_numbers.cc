/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE soft_demapper_numbers
#include "kernels/common/testing.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/soft_demapper.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

struct symbols {
    std::vector<complex64> x;
    std::vector<float> noise;
};

symbols noisy_symbols(size_t count)
{
    symbols made{ gaussian<complex64>(count), {} };
    std::uniform_real_distribution<float> decibels(-30.0f, 10.0f);
    for (size_t i = 0; i < count; ++i) {
        made.noise.push_back(std::pow(10.0f, 0.1f * decibels(generator())));
    }
    return made;
}

} // namespace

BOOST_AUTO_TEST_CASE(int8_and_float16_are_the_floats_rounded)
{
    const auto q = queue::make(tested_backend());
    for (const char* name : { "bpsk", "qam16", "qam1024", "dvbs2_32apsk_3/4" }) {
        for (const float steps : { 0.5f, 12.0f, 100.0f }) {
            const auto p =
                soft_demapper::parameters{ constellation::make(name), true, 1, steps };
            auto in = noisy_symbols(3001);
            in.noise[7] = 0;
            in.noise[8] = 1e-30f; // LLRs beyond what float16 holds
            const array<complex64> x(*q, view<const complex64>(in.x));
            const array<float> noise(*q, view<const float>(in.noise));
            const size_t count = in.x.size() * p.points.bits;
            const auto plan = soft_demapper::make(p, tested_backend());
            auto floats = poisoned<float>(*q, count);
            auto halves = poisoned<float16>(*q, count);
            auto bytes = poisoned<int8_t>(*q, count);
            plan->run(x, noise, floats, *q);
            plan->run(x, noise, halves, *q);
            plan->run(x, noise, bytes, *q);
            const auto llr = floats.to_host();
            const auto half = halves.to_host();
            const auto byte = bytes.to_host();
            for (size_t i = 0; i < count; ++i) {
                const float wanted =
                    std::nearbyint(std::clamp(llr[i] * steps, -127.0f, 127.0f));
                BOOST_TEST(int(byte[i]) == int(wanted));
                const int exponent = half[i].bits >> 10 & 31;
                const int mantissa = half[i].bits & 1023;
                const float size = exponent
                                       ? std::ldexp(1024.0f + mantissa, exponent - 25)
                                       : std::ldexp(float(mantissa), -24);
                const float value = half[i].bits >> 15 ? -size : size;
                const float held = std::clamp(llr[i], -65504.0f, 65504.0f);
                BOOST_TEST(exponent < 31);
                BOOST_TEST(std::abs(value - held) <=
                           std::max(std::abs(held) / 2048, 3e-8f));
            }
        }
    }
    auto bad = soft_demapper::parameters{ constellation::make("qpsk") };
    for (const float steps : { 0.0f, -1.0f, NAN, 2e6f }) {
        bad.llr_steps = steps;
        BOOST_CHECK_THROW(soft_demapper::make(bad, tested_backend()),
                          std::invalid_argument);
    }
}
