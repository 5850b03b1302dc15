/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/estimator/makers.h"
#include <cmath>
#include <limits>

namespace gr::cudaphy::kernels {
namespace {

using complex = std::complex<double>;

class channel_estimator_reference : public channel_estimator
{
public:
    explicit channel_estimator_reference(const channel_estimator_plan& plan)
        : d_plan(plan), d_h(plan.elements() * plan.layers)
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
        const size_t pilots = d_plan.symbols * d_plan.elements();
        for (size_t item = 0; item < batch; ++item) {
            const auto* y = received.data() + item * pilots;
            status[item] = 0;
            for (int tone = 0; tone < d_plan.tones; ++tone) {
                if (!estimate(y, tone)) {
                    status[item] = -1;
                }
            }
            n0[item] = status[item] ? std::numeric_limits<float>::quiet_NaN()
                                    : noise_variance(y);
            for (size_t i = 0; i < d_h.size(); ++i) {
                h[item * d_h.size() + i] = complex64(d_h[i]);
            }
        }
    }

private:
    complex pilot(const complex64* y, int symbol, int tone, int r) const
    {
        return y[symbol * d_plan.elements() + size_t(tone) * d_plan.receive + r];
    }

    complex& h(int tone, int r, int t)
    {
        return d_h[(size_t(tone) * d_plan.receive + r) * d_plan.layers + t];
    }

    //! H^T = (P^H P)^-1 P^H Y on one tone; false, and H = 0, where Y is not finite.
    bool estimate(const complex64* y, int tone)
    {
        bool finite = true;
        for (int r = 0; r < d_plan.receive; ++r) {
            for (int t = 0; t < d_plan.layers; ++t) {
                complex sum = 0;
                for (int s = 0; s < d_plan.symbols; ++s) {
                    const complex sample = pilot(y, s, tone, r);
                    finite = finite && std::isfinite(sample.real()) &&
                             std::isfinite(sample.imag());
                    sum += d_plan.inverse[t * d_plan.symbols + s] * sample;
                }
                h(tone, r, t) = sum;
            }
        }
        for (int e = 0; !finite && e < d_plan.receive * d_plan.layers; ++e) {
            (&h(tone, 0, 0))[e] = 0;
        }
        return finite;
    }

    float noise_variance(const complex64* y)
    {
        double sum = 0;
        for (int tone = 0; tone < d_plan.tones; ++tone) {
            for (int r = 0; r < d_plan.receive; ++r) {
                sum += d_plan.residual() ? residual(y, tone, r) : difference(tone, r);
            }
        }
        return float(sum / d_plan.divisor());
    }

    double residual(const complex64* y, int tone, int r)
    {
        double sum = 0;
        for (int s = 0; s < d_plan.symbols; ++s) {
            complex left = pilot(y, s, tone, r);
            for (int t = 0; t < d_plan.layers; ++t) {
                left -= d_plan.pilots[s * d_plan.layers + t] * h(tone, r, t);
            }
            sum += std::norm(left);
        }
        return sum;
    }

    double difference(int tone, int r)
    {
        double sum = 0;
        for (int t = 0; tone > 0 && tone < d_plan.tones - 1 && t < d_plan.layers; ++t) {
            const complex second =
                h(tone - 1, r, t) - 2.0 * h(tone, r, t) + h(tone + 1, r, t);
            sum += std::norm(second) / (6 * d_plan.spread[t]);
        }
        return sum;
    }

    channel_estimator_plan d_plan;
    std::vector<complex> d_h;
};

} // namespace

CUDAPHY_HOST_MAKER_1(reference,
                     channel_estimator,
                     channel_estimator_reference,
                     channel_estimator_plan)

} // namespace gr::cudaphy::kernels
