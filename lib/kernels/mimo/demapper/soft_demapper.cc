/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/checks.h"
#include "kernels/mimo/demapper/makers.h"
#include "kernels/mimo/demapper/tables.h"
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

constexpr argument_checks check{ "soft_demapper" };

void check_all(const soft_demapper::parameters& p)
{
    const auto& c = p.points;
    if (c.bits < 1 || c.bits > 10) {
        check.refuse("a constellation of " + std::to_string(c.bits) +
                     " bits per symbol; 1 to 10 are possible");
    }
    if (c.points.size() != size_t{ 1 } << c.bits) {
        check.refuse(std::to_string(c.points.size()) + " points for " +
                     std::to_string(c.bits) + " bits per symbol; it takes " +
                     std::to_string(1 << c.bits));
    }
    for (size_t label = 0; label < c.points.size(); ++label) {
        const auto point = c.points[label];
        // Written so that NaN is refused.
        if (!(std::abs(point.real()) <= largest_coordinate &&
              std::abs(point.imag()) <= largest_coordinate)) {
            check.refuse("point " + std::to_string(label) + " is (" +
                         std::to_string(point.real()) + ", " +
                         std::to_string(point.imag()) +
                         "); coordinates lie in -1e6 to 1e6");
        }
    }
    if (c.bits > 8 && !make_square_table(c)) {
        check.refuse(
            "a constellation of more than 8 bits per symbol is the product of two axes, "
            "as square QAM is");
    }
    if (!(p.llr_steps > 0 && p.llr_steps <= 1e6f)) {
        check.refuse("llr_steps is " + std::to_string(p.llr_steps) +
                     "; it is above 0 and at most 1e6");
    }
    if (p.llr_positive != 0 && p.llr_positive != 1) {
        check.refuse("llr_positive is " + std::to_string(p.llr_positive) +
                     "; it is 0 or 1");
    }
}

} // namespace

std::unique_ptr<soft_demapper>
soft_demapper::make(const parameters& p, backend where, int device)
{
    check_all(p);
    return make_kernel<soft_demapper>(where, device, p);
}

void check_soft_demapper_sizes(int bits,
                               view<const complex64> x,
                               view<const float> noise,
                               size_t llrs)
{
    const auto count = std::to_string(x.size()) + " symbols";
    if (noise.size() != x.size() && noise.size() != 1) {
        check.refuse(std::to_string(noise.size()) + " noise variances for " + count +
                     "; there is one for each, or one for all");
    }
    if (llrs != x.size() * bits) {
        check.refuse("room for " + std::to_string(llrs) + " LLRs for " + count + " of " +
                     std::to_string(bits) + " bits; it takes " +
                     std::to_string(x.size() * bits));
    }
}

} // namespace gr::cudaphy::kernels
