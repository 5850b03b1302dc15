/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/frame_sync/frequency_search.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double spacing = 1e-5; //!< cycles a symbol
constexpr int most_steps = 250;  //!< either way
constexpr int points = 2 * most_steps + 1;
constexpr size_t neighbours = 20; //!< points of the same peak, either way
//! Symbols between known blocks whose phases are compared: farther, they wander.
constexpr double most_distance = 3000;
constexpr double memory = 0.8; //!< of a frame to the next

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

} // namespace

frequency_search::frequency_search(double centre) : d_centre(centre), d_likelihood(points)
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
    for (const auto& block : blocks) {
        std::fill(here.begin(), here.end(), 0);
        for (const auto& part : block.parts) {
            const double at = part.at - origin;
            add_turned(part.sum * std::polar(1.0, -2 * pi * d_centre * at), at, here);
        }
        const bool is_near =
            last && block.parts[0].at - last->parts.back().at < most_distance;
        const double own = block.symbols * energy;
        for (int p = 0; p < points; ++p) {
            if (is_near) {
                // Of both together, less what each has counted for by itself.
                const double other = last->symbols * energy;
                d_likelihood[p] +=
                    (std::norm(before[p] + here[p]) / (own + other) -
                     std::norm(before[p]) / other + std::norm(here[p]) / own) /
                    2;
            } else {
                d_likelihood[p] += std::norm(here[p]) / own;
            }
        }
        std::swap(before, here);
        last = &block;
    }
}

void frequency_search::add_data(const std::complex<float>* sums,
                                size_t count,
                                size_t stride,
                                double symbols,
                                int order,
                                size_t parts_a_stretch)
{
    double energy = 0;
    for (size_t i = 0; i < count; ++i) {
        energy += std::norm(sums[i * stride]);
    }
    if (!(energy > 0)) {
        return;
    }
    energy /= static_cast<double>(count);
    std::vector<std::complex<double>> total;
    for (size_t first = 0; first < count; first += parts_a_stretch) {
        const size_t last = std::min(count, first + parts_a_stretch);
        total.assign(points, 0);
        for (size_t i = first; i < last; ++i) {
            const double at = symbols * static_cast<double>(i - first) * order;
            add_turned(std::complex<double>(sums[i * stride]) *
                           std::polar(1.0, -2 * pi * d_centre * at),
                       at,
                       total);
        }
        for (int p = 0; p < points; ++p) {
            d_likelihood[p] +=
                std::norm(total[p]) / (static_cast<double>(last - first) * energy);
        }
    }
}

void frequency_search::forget()
{
    for (auto& one : d_likelihood) {
        one *= memory;
    }
}

size_t frequency_search::best() const
{
    return std::max_element(d_likelihood.begin(), d_likelihood.end()) -
           d_likelihood.begin();
}

double frequency_search::frequency() const
{
    const size_t p = best();
    double fraction = 0;
    if (p > 0 && p + 1 < points) {
        const double left = d_likelihood[p - 1], right = d_likelihood[p + 1];
        const double curve = left - 2 * d_likelihood[p] + right;
        fraction = curve < 0 ? std::clamp((left - right) / (2 * curve), -0.5, 0.5) : 0;
    }
    return d_centre + offset_of(p) + fraction * spacing;
}

double frequency_search::lead() const
{
    const size_t p = best();
    double second = 0;
    for (size_t i = 0; i < points; ++i) {
        if (i + neighbours < p || i > p + neighbours) {
            second = std::max(second, d_likelihood[i]);
        }
    }
    return d_likelihood[p] - second;
}

} // namespace gr::cudaphy::kernels
