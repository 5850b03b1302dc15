/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/demapper/makers.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::cudaphy::kernels {
namespace {

using point = std::complex<double>;

//! -|x - s|^2 / N without |x|^2, which is common to all points and would swallow their
//! differences if x is large.
double log_likelihood(point x, point s, double noise)
{
    return (2.0 * std::real(x * std::conj(s)) - std::norm(s)) / noise;
}

double log_sum(const std::vector<double>& terms, bool max_log)
{
    const double largest = *std::max_element(terms.begin(), terms.end());
    if (max_log) {
        return largest;
    }
    double sum = 0.0;
    for (const double term : terms) {
        sum += std::exp(term - largest);
    }
    return largest + std::log(sum);
}

class soft_demapper_reference : public soft_demapper
{
public:
    explicit soft_demapper_reference(const parameters& p) : d_p(p) {}

    void run(view<const complex64> x,
             const noise_variances& noise,
             view<float> llr,
             queue&) override
    {
        demap(x, noise, llr, [](float value) { return value; });
    }
    void run(view<const complex64> x,
             const noise_variances& noise,
             view<float16> llr,
             queue&) override
    {
        demap(x, noise, llr, halved);
    }
    void run(view<const complex64> x,
             const noise_variances& noise,
             view<int8_t> llr,
             queue&) override
    {
        demap(
            x, noise, llr, [&](float value) { return quantized(value, d_p.llr_steps); });
    }

private:
    template <typename T, typename Number>
    void demap(view<const complex64> x,
               const noise_variances& noise,
               view<T> llr,
               const Number& number) const
    {
        const int bits = d_p.points.bits;
        check_soft_demapper_sizes(d_p, x, noise, llr.size());
        const llr_columns columns(d_p);
        const auto variances = noise.in_memory();
        for (size_t i = 0; i < x.size(); ++i) {
            const float variance = noise.is_number()
                                       ? noise.number()
                                       : variances[variances.size() == 1 ? 0 : i];
            const bool usable = std::isfinite(x[i].real()) &&
                                std::isfinite(x[i].imag()) && std::isfinite(variance) &&
                                variance > 0.0f;
            for (int bit = 0; bit < bits; ++bit) {
                const T value = number(usable ? bit_llr(x[i], variance, bit) : 0.0f);
                if (columns.rows == 0) {
                    llr[i * bits + bit] = value;
                    continue;
                }
                const size_t place = columns.place(i % columns.rows, bit);
                if (place < columns.bits) {
                    llr[i / columns.rows * columns.bits + place] = value;
                }
            }
        }
    }

    float bit_llr(complex64 x, double noise, int bit) const
    {
        std::vector<double> terms[2];
        for (size_t label = 0; label < d_p.points.points.size(); ++label) {
            const int value = (label >> (d_p.points.bits - 1 - bit)) & 1;
            terms[value].push_back(log_likelihood(x, d_p.points.points[label], noise));
        }
        const double ratio =
            log_sum(terms[0], d_p.max_log) - log_sum(terms[1], d_p.max_log);
        const double limit = largest_llr;
        return std::clamp(d_p.llr_positive ? -ratio : ratio, -limit, limit);
    }

    const parameters d_p;
};

} // namespace

CUDAPHY_HOST_MAKER_1(reference,
                     soft_demapper,
                     soft_demapper_reference,
                     soft_demapper::parameters)

} // namespace gr::cudaphy::kernels
