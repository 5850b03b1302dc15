/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_cell/spectrum.h"
#include "kernels/common/pi.h"
#include "kernels/fourier/fourier_transform.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

//! All rates that come out are multiples of 128 subcarriers of 15 kHz.
constexpr double base_rate = 15e3 * 128;

bool smooth(size_t n)
{
    for (const size_t prime : { 2, 3, 5, 7 }) {
        while (n % prime == 0) {
            n /= prime;
        }
    }
    return n == 1;
}

//! Size of a transform of at least `count` samples whose bins are whole fractions of
//! base_rate, if there is one, and quick to compute.
size_t transform_size(size_t count, double rate)
{
    size_t best = count;
    double best_error = 2;
    for (size_t n = count; n < count + count / 4 + 4096; ++n) {
        const double parts = double(n) * base_rate / rate;
        double error = std::abs(parts - std::round(parts));
        if (error < 1e-9 * parts) {
            error = smooth(n) ? -1 : 0;
        }
        if (error < best_error) {
            best = n;
            best_error = error;
        }
        if (error < 0) {
            break;
        }
    }
    return best;
}

} // namespace

recording levelled(view<const complex64> samples, double rate, double reference)
{
    std::complex<double> sum = 0;
    for (const auto& value : samples) {
        sum += std::complex<double>(value);
    }
    const auto mean = sum / double(std::max<size_t>(1, samples.size()));
    double energy = 0;
    for (const auto& value : samples) {
        energy += std::norm(std::complex<double>(value) - mean);
    }
    // What rounding leaves of a constant is nothing.
    const double power = energy / double(std::max<size_t>(1, samples.size()));
    const double scale = power > 1e-12 * std::norm(mean) ? 1 / std::sqrt(power) : 0;
    return { samples, rate, mean, scale, reference };
}

spectrum::spectrum(const recording& from, int64_t first, size_t count)
    : d_rate(from.rate), d_first(double(first) / from.rate),
      d_bins(transform_size(count, from.rate))
{
    const auto& samples = from.samples;
    const int64_t start = std::max<int64_t>(first, 0);
    const int64_t end =
        std::min<int64_t>(int64_t(samples.size()), first + int64_t(d_bins.size()));
    for (int64_t i = start; i < end; ++i) {
        d_bins[size_t(i - first)] = complex64(
            (std::complex<double>(samples[size_t(i)]) - from.carrier) * from.scale);
    }
    transform_of(d_bins.size(), true)->run(d_bins);
}

std::vector<complex64> spectrum::cut(const band& of, double start, size_t count) const
{
    const double bin = d_rate / double(d_bins.size());
    const size_t size = static_cast<size_t>(std::llround(of.rate / bin));
    const int64_t middle = std::llround(of.centre / bin);
    const double rest = of.centre / bin - double(middle); // of a bin
    const int64_t edge =
        std::min<int64_t>(int64_t(std::ceil(of.stop / bin)), int64_t(size - 1) / 2);
    const double delay = start - d_first;
    std::vector<complex64> out(size);
    const int64_t all = int64_t(d_bins.size());
    // Phases turn by the same angle from bin to bin.
    std::complex<double> turn = std::polar(1.0, -2 * pi * bin * delay * double(edge));
    const std::complex<double> step = std::polar(1.0, 2 * pi * bin * delay);
    for (int64_t i = -edge; i <= edge; ++i, turn *= step) {
        const double away = std::abs(double(i) - rest) * bin;
        const double weight =
            away <= of.pass ? 1
            : away >= of.stop
                ? 0
                : 0.5 + 0.5 * std::cos(pi * (away - of.pass) / (of.stop - of.pass));
        const auto& from = d_bins[size_t(((middle + i) % all + all) % all)];
        out[size_t((i + int64_t(size)) % int64_t(size))] =
            from * complex64(turn * weight);
    }
    transform_of(size, false)->run(out);
    out.resize(count);
    // x(t) exp(-j 2 pi centre t), of which the whole bins' part is done but for a phase.
    const double whole = double(middle) * bin;
    std::complex<double> phase =
        std::polar(1.0 / double(all),
                   -2 * pi * std::remainder(whole * d_first + rest * bin * start, 1.0));
    const std::complex<double> back = std::polar(1.0, -2 * pi * rest / double(size));
    for (auto& value : out) {
        value *= complex64(phase);
        phase *= back;
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr_cell
