/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE soft_demapper_numbers
#include "kernels/common/testing.h"
#include <algorithm>
#include <cmath>
#include <cstring>
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

//! LLRs of the first `count` symbols from element `offset` of memory on; what stands
//! around them must stay.
template <typename T>
std::vector<T> demap_at(queue& q,
                        soft_demapper& plan,
                        const symbols& in,
                        size_t count,
                        int bits,
                        size_t offset)
{
    array<complex64> x(q, view<const complex64>(in.x));
    array<float> noise(q, view<const float>(in.noise));
    const size_t llrs = count * bits;
    auto room = poisoned<T>(q, offset + llrs + 9);
    const auto before = room.to_host();
    plan.run(x.all().part(0, count),
             noise.all().part(0, count),
             room.all().part(offset, llrs),
             q);
    const auto after = room.to_host();
    const auto same = [&](size_t first, size_t last) {
        return std::memcmp(&before[first], &after[first], (last - first) * sizeof(T)) ==
               0;
    };
    BOOST_TEST(same(0, offset));
    BOOST_TEST(same(offset + llrs, room.size()));
    return { after.begin() + offset, after.begin() + offset + llrs };
}

template <typename T>
void check_places_and_sizes(const std::string& name, bool max_log)
{
    const auto q = queue::make(tested_backend());
    const auto points = constellation::make(name);
    const auto plan = soft_demapper::make({ points, max_log, 0 }, tested_backend());
    const auto in = noisy_symbols(1025);
    const auto all = demap_at<T>(*q, *plan, in, in.x.size(), points.bits, 0);
    for (const size_t count : { 0, 1, 191, 192, 257, 385, 513, 641, 1024 }) {
        for (const size_t offset : { 0, 1, 2, 3 }) {
            const auto some = demap_at<T>(*q, *plan, in, count, points.bits, offset);
            const bool equal =
                some.empty() || // memcmp takes no null pointer
                std::memcmp(some.data(), all.data(), some.size() * sizeof(T)) == 0;
            BOOST_TEST(equal,
                       name << ", " << count << " symbols, from element " << offset);
        }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(numbers_depend_neither_on_their_place_nor_on_how_many_they_are)
{
    if (tested_backend() == backend::reference) {
        return; // one symbol at a time, and slow
    }
    for (const char* name : { "bpsk",
                              "qpsk",
                              "dvbs2_8psk",
                              "qam16",
                              "dvbs2_32apsk_3/4",
                              "qam64",
                              "qam256",
                              "qam1024" }) {
        for (const bool max_log : { true, false }) {
            check_places_and_sizes<float>(name, max_log);
            check_places_and_sizes<float16>(name, max_log);
            check_places_and_sizes<int8_t>(name, max_log);
        }
    }
}

BOOST_AUTO_TEST_CASE(int8_and_float16_are_the_floats_rounded)
{
    const auto q = queue::make(tested_backend());
    for (const char* name :
         { "bpsk", "dvbs2_8psk", "qam16", "qam1024", "dvbs2_32apsk_3/4" }) {
        for (const float steps : { 0.5f, 12.0f, 100.0f }) {
            const auto p = soft_demapper::parameters{
                constellation::make(name), steps != 100, 1, steps
            };
            auto in = noisy_symbols(1001);
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
