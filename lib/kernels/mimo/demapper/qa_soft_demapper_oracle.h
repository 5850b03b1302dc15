/* SPDX-License-Identifier: GPL-3.0-or-later */
// What the soft demapper's LLRs are held against.
#pragma once

#include "kernels/common/testing.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/soft_demapper.h>

namespace gr::cudaphy::testing {

using namespace kernels;

//! |x - s|^2 / N of every point.
inline std::vector<double> exponents(const constellation& c, complex64 x, double noise)
{
    std::vector<double> all;
    for (const auto s : c.points) {
        all.push_back(std::norm(std::complex<double>(x) - std::complex<double>(s)) /
                      noise);
    }
    return all;
}

//! The definition, in double precision: sums over exp(-|x - s|^2 / N).
inline double
definition(const constellation& c, bool max_log, const std::vector<double>& of, int bit)
{
    double nearest[2] = { 1e300, 1e300 };
    const auto value = [&](size_t label) { return (label >> (c.bits - 1 - bit)) & 1; };
    for (size_t label = 0; label < of.size(); ++label) {
        auto& best = nearest[value(label)];
        best = std::min(best, of[label]);
    }
    double llr = nearest[1] - nearest[0];
    if (!max_log) {
        double sum[2] = { 0.0, 0.0 };
        for (size_t label = 0; label < of.size(); ++label) {
            sum[value(label)] += std::exp(nearest[value(label)] - of[label]);
        }
        llr += std::log(sum[0]) - std::log(sum[1]);
    }
    return llr;
}

inline double furthest_point(const constellation& c)
{
    double furthest = 0.0;
    for (const auto s : c.points) {
        furthest = std::max<double>(furthest, std::abs(s));
    }
    return furthest;
}

//! What single precision may lose: roundings of 2 Re(x s*) - |s|^2, and each exact sum's
//! logarithm.
inline double tolerance(
    const constellation& c, double furthest, bool max_log, complex64 x, double noise)
{
    const double metric = furthest * (2.0 * std::abs(x) + furthest) / noise;
    return 6e-7 * metric + (max_log ? 1e-6 : 4e-6 * c.bits);
}

struct symbols {
    std::vector<complex64> x;
    std::vector<float> noise;
};

//! Random points in Gaussian noise whose variance lies anywhere between -10 and 30 dB.
inline symbols noisy_symbols(const constellation& c, size_t count)
{
    std::uniform_int_distribution<size_t> any(0, c.points.size() - 1);
    std::uniform_real_distribution<float> decibels(-30.0f, 10.0f);
    const auto normal = gaussian<complex64>(count);
    symbols made;
    for (size_t i = 0; i < count; ++i) {
        made.noise.push_back(std::pow(10.0f, 0.1f * decibels(generator())));
        made.x.push_back(c.points[any(generator())] +
                         std::sqrt(made.noise[i]) * normal[i]);
    }
    return made;
}

//! LLRs of the tested backend.
inline std::vector<float> demap(const soft_demapper::parameters& p, const symbols& in)
{
    const auto q = queue::make(tested_backend());
    const array<complex64> x(*q, view<const complex64>(in.x));
    const array<float> noise(*q, view<const float>(in.noise));
    auto llr = poisoned<float>(*q, in.x.size() * p.points.bits);
    soft_demapper::make(p, tested_backend())->run(x, noise, llr, *q);
    return llr.to_host();
}

//! By the definition; positive for the bit that llr_positive says.
inline std::vector<double> definitions(const soft_demapper::parameters& p,
                                       const symbols& in)
{
    std::vector<double> all;
    for (size_t i = 0; i < in.x.size(); ++i) {
        const auto of =
            exponents(p.points, in.x[i], in.noise[in.noise.size() == 1 ? 0 : i]);
        for (int bit = 0; bit < p.points.bits; ++bit) {
            const double llr = definition(p.points, p.max_log, of, bit);
            all.push_back(p.llr_positive ? -llr : llr);
        }
    }
    return all;
}

//! \param wanted  definitions(p, in)
inline void check_against(const std::vector<double>& wanted,
                          const soft_demapper::parameters& p,
                          const symbols& in,
                          const std::vector<float>& llr)
{
    const int bits = p.points.bits;
    BOOST_REQUIRE_EQUAL(llr.size(), in.x.size() * bits);
    const double furthest = furthest_point(p.points);
    size_t wrong = 0;
    for (size_t i = 0; i < llr.size(); ++i) {
        const double allowed = tolerance(p.points,
                                         furthest,
                                         p.max_log,
                                         in.x[i / bits],
                                         in.noise[in.noise.size() == 1 ? 0 : i / bits]);
        // Written so that NaN is wrong.
        if (!(std::abs(llr[i] - wanted[i]) <= allowed) && ++wrong <= 3) {
            BOOST_ERROR("symbol " << i / bits << " bit " << i % bits << ": got " << llr[i]
                                  << ", wanted " << wanted[i] << " +- " << allowed);
        }
    }
    BOOST_TEST(wrong == 0u);
}

inline void check_against_definition(const soft_demapper::parameters& p,
                                     const symbols& in,
                                     const std::vector<float>& llr)
{
    check_against(definitions(p, in), p, in, llr);
}

} // namespace gr::cudaphy::testing
