/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/estimator/channel_filter.h"
#include <cmath>
#include <limits>

namespace gr::cudaphy::kernels {
namespace {

using complex = std::complex<double>;

class channel_filter_reference : public channel_estimator
{
public:
    explicit channel_filter_reference(const channel_filter_plan& plan)
        : d_plan(plan), d_projected(plan.projections.size())
    {
    }

    void run(view<const complex64> received,
             view<complex64> h,
             view<float> n0,
             view<int> status,
             queue&) override
    {
        const size_t batch =
            channel_estimator_batch(d_plan.sizes(), { received, h, n0, status });
        for (size_t item = 0; item < batch; ++item) {
            const auto y =
                received.part(item * d_plan.sizes().received, d_plan.sizes().received);
            const auto to = h.part(item * d_plan.sizes().h, d_plan.sizes().h);
            double energy = 0;
            bool finite = true;
            for (int r = 0; r < d_plan.receive; ++r) {
                finite = project(y, r) && finite;
                estimate(to, r);
                energy += noise_energy();
            }
            for (int u = 0; u < d_plan.times; ++u) {
                n0[item * d_plan.times + u] =
                    finite ? float(energy / d_plan.divisor())
                           : std::numeric_limits<float>::quiet_NaN();
            }
            status[item] = finite ? 0 : -1;
            for (size_t i = 0; !finite && i < to.size(); ++i) {
                to[i] = 0;
            }
        }
    }

private:
    //! \returns false if a pilot is not finite
    bool project(view<const complex64> y, int r)
    {
        bool finite = true;
        for (size_t o = 0; o < d_plan.projections.size(); ++o) {
            const auto [tone, first] = d_plan.projections[o];
            d_projected[o] = 0;
            for (int s = 0; s < d_plan.group_symbols; ++s) {
                const complex weight = d_plan.project[o * d_plan.group_symbols + s];
                const complex sample =
                    y[(size_t(first + s) * d_plan.tones + tone) * d_plan.receive + r];
                if (weight != 0.0) {
                    finite = finite && std::isfinite(sample.real()) &&
                             std::isfinite(sample.imag());
                    d_projected[o] += weight * sample;
                }
            }
        }
        return finite;
    }

    complex add(const channel_filter_plan::sum& of) const
    {
        complex out = 0;
        for (int w = 0; w < d_plan.width && of.first + w < d_plan.observations; ++w) {
            out += d_plan.weights[size_t(of.row) * d_plan.width + w] *
                   d_projected[of.first + w];
        }
        return out;
    }

    void estimate(view<complex64> h, int r) const
    {
        const int tones = d_plan.tones;
        const int layers = d_plan.layers;
        for (int u = 0; u < d_plan.times; ++u) {
            for (int k = 0; k < tones; ++k) {
                for (int t = 0; t < layers; ++t) {
                    complex sum = 0;
                    for (int g = 0; g < d_plan.groups; ++g) {
                        sum +=
                            d_plan.over_time[u * d_plan.groups + g] *
                            add(d_plan.estimates[(size_t(g) * layers + t) * tones + k]);
                    }
                    h[((size_t(u) * tones + k) * d_plan.receive + r) * layers + t] =
                        complex64(sum);
                }
            }
        }
    }

    double noise_energy() const
    {
        double sum = 0;
        for (size_t o = d_plan.observations; o < d_projected.size(); ++o) {
            sum += std::norm(d_projected[o]);
        }
        for (const auto& each : d_plan.noise_sums) {
            sum += std::norm(add(each));
        }
        return sum;
    }

    channel_filter_plan d_plan;
    std::vector<complex> d_projected;
};

} // namespace

CUDAPHY_HOST_MAKER_1(reference,
                     channel_estimator,
                     channel_filter_reference,
                     channel_filter_plan)

} // namespace gr::cudaphy::kernels
