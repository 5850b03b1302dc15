/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/frame_sync/phase_table.h"
#include "kernels/common/pi.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace gr::cudaphy::kernels {

phase_table phase_table::make(const std::vector<std::complex<float>>& points,
                              double noise_variance)
{
    constexpr int angles = 128;
    std::complex<double> all[most_quarters][phase_bins];
    double strength[most_quarters] = {};
    for (int bin = 0; bin < phase_bins; ++bin) {
        const double amplitude = (bin + 0.5) * most_amplitude / phase_bins;
        double mean = 0;
        std::complex<double> series[most_quarters] = {};
        for (int a = 0; a < angles; ++a) {
            const auto r = std::polar(amplitude, 2 * pi * a / angles);
            double least = 1e300;
            for (const auto& point : points) {
                least = std::min(least, std::norm(r - std::complex<double>(point)));
            }
            double sum = 0;
            for (const auto& point : points) {
                const double distance = std::norm(r - std::complex<double>(point));
                sum += std::exp((least - distance) / noise_variance);
            }
            const double logarithm = std::log(sum) - least / noise_variance;
            mean += std::exp(logarithm) * amplitude / angles;
            for (int q = 0; q < most_quarters; ++q) {
                series[q] +=
                    logarithm * std::polar(2.0 / angles, -8 * pi * (q + 1) * a / angles);
            }
        }
        for (int q = 0; q < most_quarters; ++q) {
            // ln p(theta) = ... + Re(conj(c) ...): c turns a point's angle to 0.
            all[q][bin] = series[q];
            strength[q] += mean * std::norm(series[q]) * 16 * (q + 1) * (q + 1);
        }
    }
    int order[most_quarters];
    std::iota(order, order + most_quarters, 0);
    std::sort(order, order + most_quarters, [&](int a, int b) {
        return strength[a] > strength[b];
    });
    phase_table table;
    for (const int q : order) {
        if (table.quarters.size() == most_harmonics ||
            strength[q] < 0.02 * strength[order[0]]) {
            break;
        }
        const size_t h = table.quarters.size();
        table.quarters.push_back(q + 1);
        for (int bin = 0; bin < phase_bins; ++bin) {
            table.re[h][bin] = static_cast<float>(all[q][bin].real());
            table.im[h][bin] = static_cast<float>(all[q][bin].imag());
        }
    }
    return table;
}

} // namespace gr::cudaphy::kernels
