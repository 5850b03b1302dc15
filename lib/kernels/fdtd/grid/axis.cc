/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/grid/axis.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

// Beyond these the coefficients leave a float's range.
constexpr double least_spacing = 1e-15, most_spacing = 1e15; // m

} // namespace

fdtd_axis::fdtd_axis(const std::string& name,
                     int64_t count,
                     const std::vector<double>& given,
                     std::array<fdtd_boundary, 2> boundary)
    : active(true), cells(count), low(boundary[0]), high(boundary[1])
{
    if (cells < 1) {
        throw std::invalid_argument("fdtd_grid: " + std::to_string(cells) +
                                    " cells along " + name + ", must be at least 1");
    }
    if (given.size() != 1 && int64_t(given.size()) != cells) {
        throw std::invalid_argument("fdtd_grid: " + std::to_string(given.size()) +
                                    " spacings along " + name +
                                    ", must be 1 or one for "
                                    "each of its " +
                                    std::to_string(cells) + " cells");
    }
    for (const double d : given) {
        if (!(d >= least_spacing && d <= most_spacing)) {
            std::ostringstream text;
            text << "fdtd_grid: a spacing of " << d << " m along " << name
                 << ", must be from " << least_spacing << " to " << most_spacing;
            throw std::invalid_argument(text.str());
        }
    }
    if ((low == fdtd_boundary::periodic) != (high == fdtd_boundary::periodic)) {
        throw std::invalid_argument("fdtd_grid: one face along " + name +
                                    " is periodic, the other is not");
    }
    spacing = given.size() == 1 ? std::vector<double>(cells, given[0]) : given;
    stored = cells + (high == fdtd_boundary::pmc);
    dual.resize(stored);
    for (int64_t i = 0; i < stored; ++i) {
        const double below = i > 0 ? spacing[i - 1] : periodic() ? spacing.back() : 0;
        const double above = i < cells ? spacing[i] : 0;
        // At a conductor E does not move; the number only has to be finite.
        dual[i] = (below + above) / 2;
    }
    node.resize(stored);
    half.resize(stored);
}

// Along one axis the scheme's -curl curl is the second difference
//   (u[i+1] - u[i]) / d[i] - (u[i] - u[i-1]) / d[i-1], over the dual spacing,
// and on a product grid the largest eigenvalues of the axes add up. Free ends have the
// largest ones, and exactly 4 / d^2 for equal cells.
double fdtd_axis::largest_eigenvalue() const
{
    if (!active) {
        return 0;
    }
    const auto [least, most] = std::minmax_element(spacing.begin(), spacing.end());
    if (*least == *most) {
        return 4 / (*least * *least);
    }
    const int64_t n = cells;
    const auto width = [&](int64_t i) {
        const double below = i > 0 ? spacing[i - 1] : periodic() ? spacing.back() : 0;
        const double above = i < n ? spacing[i] : periodic() ? spacing.front() : 0;
        return (below + above) / 2;
    };
    const auto diagonal = [&](int64_t i) {
        const double below = i > 0        ? 1 / spacing[i - 1]
                             : periodic() ? 1 / spacing.back()
                                          : 0;
        const double above = i < n        ? 1 / spacing[i]
                             : periodic() ? 1 / spacing.front()
                                          : 0;
        return (below + above) / width(i);
    };
    double bound = 0;
    for (int64_t i = 0; i <= n; ++i) {
        bound = std::max(bound, 2 * diagonal(i)); // the row's sum
    }
    if (periodic()) {
        return bound;
    }
    // Bisection by the signs of the tri-diagonal matrix' leading minors.
    const auto all_below = [&](double x) {
        double pivot = 1;
        for (int64_t i = 0; i <= n; ++i) {
            const double coupling =
                i == 0 ? 0
                       : 1 / (spacing[i - 1] * spacing[i - 1] * width(i - 1) * width(i));
            pivot = diagonal(i) - x - (i == 0 ? 0 : coupling / pivot);
            if (!(pivot < 0)) {
                return false;
            }
        }
        return true;
    };
    double from = 0, to = bound;
    for (int round = 0; round < 60; ++round) {
        const double middle = (from + to) / 2;
        (all_below(middle) ? to : from) = middle;
    }
    return to;
}

void fdtd_axis::absorb(const std::string& name, const fdtd_absorber& a, double time_step)
{
    const bool below = low == fdtd_boundary::cpml, above = high == fdtd_boundary::cpml;
    if (!active || !(below || above)) {
        return;
    }
    if (a.thickness >= cells || a.thickness * (below + above) >= cells) {
        throw std::invalid_argument("fdtd_grid: absorbing layers of " +
                                    std::to_string(a.thickness) +
                                    " cells leave nothing of the " +
                                    std::to_string(cells) + " cells along " + name);
    }
    if (below) {
        absorb_face(a, time_step, false);
    }
    if (above) {
        absorb_face(a, time_step, true);
    }
}

void fdtd_axis::absorb_face(const fdtd_absorber& a, double time_step, bool at_high)
{
    const int64_t first = at_high ? cells - a.thickness : 0, last = first + a.thickness;
    const double depth =
        std::accumulate(spacing.begin() + first, spacing.begin() + last, 0.0);
    const double cell = depth / a.thickness;
    const double strongest = a.sigma * 0.8 * (a.order + 1) / (physics::impedance * cell);
    const double slowest =
        a.alpha >= 0 ? a.alpha : 2 * pi * physics::eps0 * physics::c / (500 * cell);
    const auto stretch = [&](fdtd_stretch& point, double distance, int64_t& slots) {
        const double d = std::pow(distance / depth, a.order);
        const double sigma = strongest * d, kappa = 1 + (a.kappa - 1) * d;
        const double alpha = slowest * (1 - distance / depth);
        point.kappa = kappa;
        point.decay = std::exp(-(sigma / kappa + alpha) * time_step / physics::eps0);
        point.gain = sigma == 0
                         ? 0
                         : sigma / (kappa * (sigma + kappa * alpha)) * (point.decay - 1);
        point.slot = slots++;
    };
    // Distance from the layer's inner side; the node at depth 0 needs no stretch, and at
    // depth 1 is the conductor.
    double distance = at_high ? 0 : depth;
    for (int64_t i = first; i < last; ++i) {
        const double middle = distance + (at_high ? 0.5 : -0.5) * spacing[i];
        if (i != (at_high ? first : 0)) {
            stretch(node[i], distance, node_slots);
        }
        stretch(half[i], middle, half_slots);
        distance += at_high ? spacing[i] : -spacing[i];
    }
}

} // namespace gr::cudaphy::kernels
