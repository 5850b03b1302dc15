/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/frame_sync/frequency_search.h"
#include "kernels/common/pi.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

constexpr double spacing = 1e-5; //!< cycles a symbol
constexpr int most_steps = 250;  //!< either way
constexpr int points = 2 * most_steps + 1;
constexpr double most_neighbours = 20; //!< points of a peak, either way
//! Symbols between known blocks whose phases are compared: farther, they wander.
constexpr double most_distance = 9000;
//! Data symbols over which the phase is steady, times the harmonic's order: with phase
//! noise, and as far as the grid tells frequencies apart.
constexpr double wandering_stretch = 4 * 1440, steady_stretch = 0.5 / spacing;
constexpr double longest_told = 12000; //!< distance whose cycles are told apart
constexpr double memory = 145'000;     //!< symbols until the frequency may have drifted

double offset_of(size_t point)
{
    return (static_cast<double>(point) - most_steps) * spacing;
}

//! to[p] += value exp(-2 pi j order offset(p) at), at every point.
void add_turned(std::complex<double> value,
                double cycles_a_unit,
                std::vector<std::complex<double>>& to)
{
    std::complex<double> turn =
        value * std::polar(1.0, 2 * pi * cycles_a_unit * most_steps * spacing);
    const auto step = std::polar(1.0, -2 * pi * cycles_a_unit * spacing);
    for (auto& one : to) {
        one += turn;
        turn *= step;
    }
}

//! ln I0(x): the likelihood of a sum whose phase may be any. Within 0.04.
double log_bessel(double x)
{
    const double square = x * x;
    return x < 1.7 ? square / 4 - square * square / 64 + square * square * square / 576
                   : x - std::log(2 * pi * x) / 2 + 1 / (8 * x);
}

} // namespace

frequency_search::frequency_search(double centre)
    : d_centre(centre), d_neighbours(most_neighbours), d_likelihood(points)
{
}

void frequency_search::add_known(const std::vector<known_block>& blocks, double energy)
{
    if (blocks.empty()) {
        return;
    }
    std::vector<std::complex<double>> before(points), here(points);
    const double origin = blocks[0].parts[0].at;
    const known_block* last = nullptr;
    double shortest = 1e9;
    for (const auto& block : blocks) {
        std::fill(here.begin(), here.end(), 0);
        for (const auto& part : block.parts) {
            const double at = part.at - origin;
            add_turned(part.sum * std::polar(1.0, -2 * pi * d_centre * at), at, here);
        }
        const bool is_near =
            last && block.parts[0].at - last->parts.back().at < most_distance;
        const double own = block.symbols * energy;
        if (last) {
            shortest = std::min(shortest, block.parts[0].at - last->parts[0].at);
        }
        for (int p = 0; p < points; ++p) {
            if (is_near) {
                // Of both together, less what each has counted for by itself.
                const double other = last->symbols * energy;
                d_likelihood[p] +=
                    (std::norm(before[p] + here[p]) / (own + other) -
                     std::norm(before[p]) / other + std::norm(here[p]) / own) /
                    2;
            } else if (last || !d_has_known) { // else the frame before had it
                d_likelihood[p] += std::norm(here[p]) / own;
            }
        }
        std::swap(before, here);
        last = &block;
    }
    d_has_known = true;
    // Frequencies are confused that are a cycle apart from block to block. Over longer
    // distances the drift is as large from frame to frame.
    if (shortest < longest_told) {
        d_neighbours = std::max(1.0, std::min(0.4 / (shortest * spacing), d_neighbours));
    }
}

void frequency_search::add_data(const std::complex<float>* sums,
                                size_t count,
                                size_t stride,
                                double symbols,
                                int order)
{
    // As if the phase wandered, and as if it did not; either may be true.
    const auto wandering =
        data_likelihood(sums, count, stride, symbols * order, wandering_stretch);
    const auto steady =
        data_likelihood(sums, count, stride, symbols * order, steady_stretch);
    for (int p = 0; p < points; ++p) {
        const auto [least, most] = std::minmax(wandering[p], steady[p]);
        d_likelihood[p] += most + std::log1p(std::exp(least - most));
    }
}

//! \param distance  of neighbouring sums, in symbols times the harmonic's order
//! \param stretch   of sums that are added up coherently, likewise
std::vector<double> frequency_search::data_likelihood(const std::complex<float>* sums,
                                                      size_t count,
                                                      size_t stride,
                                                      double distance,
                                                      double stretch) const
{
    const auto parts = std::max<size_t>(1, static_cast<size_t>(stretch / distance));
    std::vector<double> likelihood(points);
    std::vector<std::complex<double>> total;
    for (size_t first = 0; first < count; first += parts) {
        const size_t last = std::min(count, first + parts);
        total.assign(points, 0);
        for (size_t i = first; i < last; ++i) {
            const double at = distance * static_cast<double>(i - first);
            add_turned(std::complex<double>(sums[i * stride]) *
                           std::polar(1.0, -2 * pi * d_centre * at),
                       at,
                       total);
        }
        for (int p = 0; p < points; ++p) {
            likelihood[p] += log_bessel(std::abs(total[p]));
        }
    }
    return likelihood;
}

void frequency_search::forget(double symbols)
{
    const double keep = std::exp(-symbols / memory);
    for (auto& one : d_likelihood) {
        one *= keep;
    }
}

//! The likelihood's peak at a point of the grid, by a parabola, and its distance from the
//! point in parts of the spacing.
std::pair<double, double> frequency_search::peak(size_t point) const
{
    const double here = d_likelihood[point];
    if (point > 0 && point + 1 < points) {
        const double left = d_likelihood[point - 1], right = d_likelihood[point + 1];
        if (left <= here && right <= here && left + right < 2 * here) {
            const double curve = left - 2 * here + right, slope = left - right;
            return { here - slope * slope / (8 * curve), slope / (2 * curve) };
        }
    }
    return { here, 0 };
}

size_t frequency_search::best() const
{
    size_t most = 0;
    for (size_t i = 1; i < points; ++i) {
        most = peak(i).first > peak(most).first ? i : most;
    }
    return most;
}

double frequency_search::frequency() const
{
    const size_t p = best();
    return d_centre + offset_of(p) + peak(p).second * spacing;
}

double frequency_search::lead() const
{
    const size_t p = best();
    const auto neighbours = static_cast<size_t>(d_neighbours);
    double second = 0;
    for (size_t i = 0; i < points; ++i) {
        if (i + neighbours < p || i > p + neighbours) {
            second = std::max(second, peak(i).first);
        }
    }
    return peak(p).first - second;
}

} // namespace gr::cudaphy::kernels
