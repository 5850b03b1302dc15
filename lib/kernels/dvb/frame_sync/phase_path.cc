/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/frame_sync/phase_path.h"
#include "kernels/common/pi.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

//! A grid of phases.
template <int phases>
struct phase_grid {
    static constexpr int most_step = phases / 16;
    static constexpr double spacing = 2 * pi / phases;
    using row = std::array<float, phases>;

    struct circle {
        row cosine, sine;

        circle()
        {
            for (int k = 0; k < phases; ++k) {
                cosine[k] = static_cast<float>(std::cos(k * spacing));
                sine[k] = static_cast<float>(std::sin(k * spacing));
            }
        }
    };

    //! Adds Re(value exp(-j order phase)) to each phase.
    static void add_harmonic(std::complex<double> value, int order, row& to)
    {
        static const circle table;
        const auto re = static_cast<float>(value.real()),
                   im = static_cast<float>(value.imag());
        // Data's orders are multiples of 4: the values of a quarter come four times.
        const int period = order % 4 == 0 ? phases / 4 : phases;
        std::array<float, phases> once;
        for (int k = 0; k < period; ++k) {
            const int at = k * order % phases;
            once[k] = re * table.cosine[at] + im * table.sine[at];
        }
        for (int first = 0; first < phases; first += period) {
            for (int k = 0; k < period; ++k) {
                to[first + k] += once[k];
            }
        }
    }

    static row likelihood(const phase_likelihood& place, const std::vector<int>& quarters)
    {
        row out{};
        if (!place.blocks) {
            add_harmonic(place.first_harmonic, 1, out);
            return out;
        }
        for (size_t h = 0; h < quarters.size(); ++h) {
            const int order = 4 * quarters[h];
            add_harmonic(std::complex<double>(place.blocks[h]) *
                             std::polar(1.0, order * place.turn),
                         order,
                         out);
        }
        return out;
    }

    //! The best way to each phase from the place before, in either direction of time.
    static row step_from(const row& before, double symbols, double walk)
    {
        // A walk that is slower than the grid is fine may still take a step now and then.
        const double variance = walk * symbols + spacing * spacing / 2;
        const int reach =
            std::min(most_step, 1 + static_cast<int>(3 * std::sqrt(variance) / spacing));
        std::array<float, phases + 2 * most_step> around;
        std::copy(before.end() - most_step, before.end(), around.begin());
        std::copy(before.begin(), before.end(), around.begin() + most_step);
        std::copy_n(before.begin(), most_step, around.end() - most_step);
        row out = before;
        for (int step = 1; step <= reach; ++step) {
            const auto cost =
                static_cast<float>(step * step * spacing * spacing / (2 * variance));
            const float* const up = around.data() + most_step + step;
            const float* const down = around.data() + most_step - step;
            for (int k = 0; k < phases; ++k) {
                out[k] = std::max(out[k], std::max(up[k], down[k]) - cost);
            }
        }
        return out;
    }

    static void add(const row& from, row& to)
    {
        for (int k = 0; k < phases; ++k) {
            to[k] += from[k];
        }
    }

    //! The path of a phase that does not turn steadily, and its likelihood.
    static std::vector<double> steady_path(const std::vector<phase_likelihood>& places,
                                           const std::vector<int>& quarters,
                                           std::complex<double> start,
                                           double walk,
                                           float& likelihood_of_path)
    {
        const size_t count = places.size();
        std::vector<row> own(count), forward(count);
        for (size_t i = 0; i < count; ++i) {
            own[i] = likelihood(places[i], quarters);
            forward[i] = own[i];
            if (i == 0) {
                add_harmonic(start, 1, forward[0]);
            } else {
                add(step_from(forward[i - 1], places[i].at - places[i - 1].at, walk),
                    forward[i]);
            }
        }
        std::vector<double> path(count);
        row behind{};
        for (size_t i = count; i-- > 0;) {
            row all = forward[i];
            add(behind, all);
            const auto best = std::max_element(all.begin(), all.end());
            likelihood_of_path = *best;
            path[i] = static_cast<double>(best - all.begin()) * spacing;
            if (i > 0) {
                add(own[i], behind);
                behind = step_from(behind, places[i].at - places[i - 1].at, walk);
            }
        }
        for (size_t i = 1; i < count; ++i) {
            path[i] = path[i - 1] + std::remainder(path[i] - path[i - 1], 2 * pi);
        }
        return path;
    }
};

} // namespace

std::vector<double> likely_phase_path(const std::vector<phase_likelihood>& places,
                                      const std::vector<int>& quarters,
                                      std::complex<double> start,
                                      double walk,
                                      int steps,
                                      double step,
                                      double deviation)
{
    // A harmonic's period must be many points wide, or its slips cost too little.
    constexpr int coarse = 128, fine = 512, most_coarse = 4;
    const bool is_dense = std::any_of(
        quarters.begin(), quarters.end(), [](int one) { return one > most_coarse; });
    const auto find_path =
        is_dense ? phase_grid<fine>::steady_path : phase_grid<coarse>::steady_path;
    std::vector<double> best(places.size());
    float most = -HUGE_VALF;
    for (int turn = -steps; turn <= steps; ++turn) {
        auto turned = places;
        for (auto& place : turned) {
            const double phase = turn * step * (place.at - places[0].at);
            place.first_harmonic *= std::polar(1.0, -phase);
            place.turn -= phase;
        }
        float likelihood;
        auto path = find_path(turned, quarters, start, walk, likelihood);
        const double unlikely = turn * step / deviation;
        likelihood -= static_cast<float>(unlikely * unlikely / 2);
        if (likelihood > most) {
            most = likelihood;
            for (size_t i = 0; i < path.size(); ++i) {
                path[i] += turn * step * (places[i].at - places[0].at);
            }
            best = std::move(path);
        }
    }
    return best;
}

} // namespace gr::cudaphy::kernels
