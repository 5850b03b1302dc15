/* SPDX-License-Identifier: GPL-3.0-or-later */
// The plan of an estimator over several tones: observations, and what is summed of them.
#include "kernels/mimo/estimator/channel_filter.h"
#include "kernels/mimo/checks.h"
#include "kernels/mimo/estimator/channel_filter_weights.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace gr::cudaphy::kernels {
namespace {

using complex = std::complex<double>;
using parameters = channel_estimator::parameters;

constexpr argument_checks check{ "channel_estimator" };

//! Builds the plan for checked parameters.
class planner
{
public:
    planner(const parameters& p, channel_filter_plan& plan)
        : d_p(p), d_plan(plan), d_leader(p.layers)
    {
        std::iota(d_leader.begin(), d_leader.end(), 0);
        for (int k = 0; k < p.tones; ++k) {
            d_numbers.push_back(p.tone_numbers.empty() ? k : p.tone_numbers[k]);
        }
    }

    void build()
    {
        for (int g = 0; g < d_plan.groups; ++g) {
            for (int k = 0; k < d_p.tones; ++k) {
                project(g, k);
            }
        }
        order_observations();
        weigh();
    }

private:
    //! An observation before it has its place.
    struct found {
        int group, tone;
        std::vector<complex> project; //!< one a symbol of the group
        std::vector<complex> layers;  //!< its gain for each layer
    };

    complex pilot(int symbol, int tone, int layer) const
    {
        return d_p.pilots_by_tone
                   ? d_p.pilots[(size_t(symbol) * d_p.tones + tone) * d_p.layers + layer]
                   : d_p.pilots[size_t(symbol) * d_p.layers + layer];
    }

    void project(int group, int tone)
    {
        const int first = group * d_plan.group_symbols;
        std::vector<int> used;
        for (int s = 0; s < d_plan.group_symbols; ++s) {
            for (int t = 0; t < d_p.layers; ++t) {
                if (pilot(first + s, tone, t) != 0.0) {
                    used.push_back(s);
                    break;
                }
            }
        }
        if (used.empty()) {
            return;
        }
        const int n = int(used.size());
        dense_matrix p(n, d_p.layers);
        for (int i = 0; i < n; ++i) {
            for (int t = 0; t < d_p.layers; ++t) {
                p(i, t) = pilot(first + used[i], tone, t);
            }
        }
        const auto& f = factors_of(p);
        for (int j = 0; j < n; ++j) {
            found one{ group, tone, {}, {} };
            one.project.resize(d_plan.group_symbols);
            for (int i = 0; i < n; ++i) {
                one.project[used[i]] = std::conj(f.q(i, j));
            }
            if (j >= f.rank) {
                d_noise.push_back(std::move(one));
                continue;
            }
            int last = -1;
            for (int t = 0; t < d_p.layers; ++t) {
                one.layers.push_back(f.r(j, t));
                if (one.layers[t] != 0.0) {
                    if (last >= 0) {
                        join(last, t);
                    }
                    last = t;
                }
            }
            d_found.push_back(std::move(one));
        }
    }

    //! Tones that follow each other have mostly the same pilots.
    const unitary_factors& factors_of(const dense_matrix& p)
    {
        if (!(p == d_factorized)) {
            d_factors = factorize(p);
            d_factorized = p;
        }
        return d_factors;
    }

    int leader(int layer) const
    {
        while (d_leader[layer] != layer) {
            layer = d_leader[layer];
        }
        return layer;
    }
    void join(int a, int b)
    {
        d_leader[std::max(leader(a), leader(b))] = std::min(leader(a), leader(b));
    }

    //! Sorts by group, layers that belong together, and tone.
    void order_observations()
    {
        const auto set_of = [&](const found& one) {
            for (int t = 0;; ++t) {
                if (one.layers[t] != 0.0) {
                    return leader(t);
                }
            }
        };
        std::vector<std::array<int, 4>> order; // the last: places, which keep it stable
        for (const auto& one : d_found) {
            order.push_back({ one.group, set_of(one), one.tone, int(order.size()) });
        }
        std::sort(order.begin(), order.end());
        std::vector<found> sorted;
        for (const auto& place : order) {
            sorted.push_back(std::move(d_found[place[3]]));
        }
        d_found = std::move(sorted);
        d_plan.observations = int(d_found.size());
        for (const auto* all : { &d_found, &d_noise }) {
            for (const auto& one : *all) {
                d_plan.projections.push_back(
                    { one.tone, one.group * d_plan.group_symbols });
                d_plan.project.insert(
                    d_plan.project.end(), one.project.begin(), one.project.end());
            }
        }
        for (size_t first = 0, last; first < d_found.size(); first = last) {
            layer_set set{ d_found[first].group, int(first), {}, {} };
            const int lead = set_of(d_found[first]);
            for (int t = 0; t < d_p.layers; ++t) {
                if (leader(t) == lead) {
                    set.layers.push_back(t);
                }
            }
            for (last = first;
                 last < d_found.size() && d_found[last].group == set.group &&
                 set_of(d_found[last]) == lead;
                 ++last) {
                observation seen{ d_numbers[d_found[last].tone], {} };
                for (const int t : set.layers) {
                    seen.gains.push_back(d_found[last].layers[t]);
                }
                set.observations.push_back(seen);
            }
            d_sets.push_back(set);
        }
    }

    void weigh()
    {
        filter_weights weights(d_p, d_numbers);
        std::vector<channel_filter_plan::sum> none(size_t(d_plan.groups) * d_p.layers *
                                                   d_p.tones);
        for (auto& each : none) {
            each.row = -1;
        }
        d_plan.estimates = none;
        for (const auto& set : d_sets) {
            for (size_t i = 0; i < set.layers.size(); ++i) {
                auto* const to =
                    d_plan.estimates.data() +
                    (size_t(set.group) * d_p.layers + set.layers[i]) * d_p.tones;
                weights.estimates(set, int(i), to);
            }
        }
        for (size_t i = 0; i < d_plan.estimates.size(); ++i) {
            if (d_plan.estimates[i].row < 0) {
                check.refuse(
                    "pilots can't tell layer " +
                    std::to_string(i / d_p.tones % d_p.layers) +
                    " from the others in pilot symbols " +
                    std::to_string(i / d_p.tones / d_p.layers * d_plan.group_symbols) +
                    " and up to " + std::to_string(d_plan.group_symbols - 1) +
                    " more: it is silent, or there are too few tones");
            }
        }
        if (!d_plan.noise_projections()) {
            for (const auto& set : d_sets) {
                weights.noise_sums(set, d_plan.noise_sums);
            }
            if (d_plan.noise_sums.empty()) {
                check.refuse(
                    "nothing tells the noise variance: each tone has as many pilot "
                    "symbols as layers, and " +
                    std::to_string(d_sets.front().observations.size()) +
                    " pilots of a layer are too few over frequency, at least " +
                    std::to_string(weights.least_for_noise(d_sets.front())) +
                    " are needed (tones: 3 where pilots are alike on all of them)");
            }
        }
        d_plan.width = weights.width();
        d_plan.weights = weights.rows();
        const double gain = weights.noise_gain(d_plan.estimates);
        interpolate(gain * weights.noise_ratio());
        if (d_p.errors_as_noise) {
            double squares = 0;
            for (const double weight : d_plan.over_time) {
                squares += weight * weight;
            }
            d_plan.noise_factor += d_p.layers * gain * squares / d_plan.times;
        }
    }

    void interpolate(double error)
    {
        d_plan.times = std::max<int>(1, int(d_p.times.size()));
        if (d_p.times.empty()) {
            d_plan.over_time.assign(1, 1.0);
            return;
        }
        std::vector<double> centres;
        for (int g = 0; g < d_plan.groups; ++g) {
            double sum = 0;
            for (int s = 0; s < d_plan.group_symbols; ++s) {
                const int symbol = g * d_plan.group_symbols + s;
                sum += d_p.pilot_times.empty() ? symbol : d_p.pilot_times[symbol];
            }
            centres.push_back(sum / d_plan.group_symbols);
        }
        d_plan.over_time = time_interpolation(d_p, centres, error);
    }

    const parameters& d_p;
    channel_filter_plan& d_plan;
    std::vector<int> d_leader; // of the layers that belong together
    std::vector<int> d_numbers;
    std::vector<found> d_found, d_noise;
    std::vector<layer_set> d_sets;
    dense_matrix d_factorized{ 0, 0 };
    unitary_factors d_factors{ { 0, 0 }, { 0, 0 }, 0 };
};

} // namespace

channel_filter_plan make_channel_filter_plan(const parameters& p)
{
    channel_filter_plan plan{};
    plan.receive = p.receive_antennas;
    plan.layers = p.layers;
    plan.tones = p.tones;
    plan.symbols = int(p.pilots.size() / p.layers / (p.pilots_by_tone ? p.tones : 1));
    plan.group_symbols =
        p.times.empty() || !p.group_symbols ? plan.symbols : p.group_symbols;
    plan.groups = plan.symbols / plan.group_symbols;
    planner(p, plan).build();
    return plan;
}

} // namespace gr::cudaphy::kernels
