/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/checks.h"
#include "kernels/mimo/demapper/makers.h"
#include "kernels/mimo/demapper/tables.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

constexpr argument_checks check{ "soft_demapper" };

void check_interleaver(const bit_interleaver& asked, int bits)
{
    if (asked.columns.empty()) {
        return;
    }
    const auto named = "bit_interleaver \"" + asked.columns + "\" ";
    auto sorted = asked.columns;
    std::sort(sorted.begin(), sorted.end());
    const auto all = std::string("0123456789").substr(0, bits);
    if (sorted != all) {
        check.refuse(named + "is no order of the columns of " + std::to_string(bits) +
                     " bits per symbol: it has each digit of \"" + all + "\" once");
    }
    constexpr int most_symbols = 1 << 24;
    if (asked.symbols < 1 || asked.symbols > most_symbols) {
        check.refuse(named + "has frames of " + std::to_string(asked.symbols) +
                     " symbols; they have 1 to " + std::to_string(most_symbols));
    }
    if (asked.bits < 0 || asked.bits > asked.symbols * bits) {
        check.refuse(named + "has frames of " + std::to_string(asked.bits) + " bits in " +
                     std::to_string(asked.symbols) + " symbols, which carry " +
                     std::to_string(asked.symbols * bits));
    }
}

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
    check_interleaver(p.interleaver, c.bits);
}

} // namespace

std::unique_ptr<soft_demapper>
soft_demapper::make(const parameters& p, backend where, int device)
{
    check_all(p);
    return make_kernel<soft_demapper>(where, device, p);
}

void check_soft_demapper_sizes(const soft_demapper::parameters& p,
                               view<const complex64> x,
                               const noise_variances& noise,
                               size_t llrs)
{
    const auto count = std::to_string(x.size()) + " symbols";
    const size_t variances = noise.is_number() ? 1 : noise.in_memory().size();
    if (variances != x.size() && variances != 1) {
        check.refuse(std::to_string(variances) + " noise variances for " + count +
                     "; there is one for each, or one for all");
    }
    const llr_columns columns(p);
    if (columns.rows && x.size() % columns.rows) {
        check.refuse(count + " are no whole number of frames of " +
                     std::to_string(columns.rows) + " symbols");
    }
    const size_t wanted =
        columns.rows ? x.size() / columns.rows * columns.bits : x.size() * p.points.bits;
    if (llrs != wanted) {
        check.refuse("room for " + std::to_string(llrs) + " LLRs for " + count + " of " +
                     std::to_string(p.points.bits) + " bits; it takes " +
                     std::to_string(wanted));
    }
}

} // namespace gr::cudaphy::kernels
