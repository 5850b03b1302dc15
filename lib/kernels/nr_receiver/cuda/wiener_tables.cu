/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/pi.h"
#include "kernels/nr_receiver/cuda/wiener_tables.cuh"
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int table_threads = 160;

struct tables_job {
    int taps, spacing, rows, lowest;
    float2* weights;
    float *error, *gain;
};

__device__ double2 correlation(double spread, double distance)
{
    const double turns = spread * distance, x = 2 * pi * turns;
    double s, c;
    sincospi(2 * turns, &s, &c);
    const double scale = 1 / (1 + x * x);
    return { (c + s * x) * scale, (s - c * x) * scale };
}

__device__ double2 less_product(double2 a, double2 b, double2 c)
{
    return { c.x - (a.x * b.x - a.y * b.y), c.y - (a.x * b.y + a.y * b.x) };
}

// A table a block. The factor of the correlation is made together, then each thread
// solves for a row (wiener_table.cc).
__global__ void __launch_bounds__(table_threads) make_tables(const tables_job job)
{
    __shared__ double2 lower[most_taps * most_taps];
    const int n = job.taps;
    const int spread_at = job.lowest + int(blockIdx.x) / table_snrs;
    const int snr_at = table_lowest_snr + int(blockIdx.x) % table_snrs;
    const double spread =
        table_smallest_spread * pow(table_spread_step, double(spread_at));
    const double snr = pow(10.0, table_snr_step_db * snr_at / 10);
    for (int i = threadIdx.x; i < n * n; i += table_threads) {
        lower[i] = correlation(spread, double(job.spacing) * (i / n - i % n));
        if (i / n == i % n) {
            lower[i].x += 1 / snr;
        }
    }
    for (int j = 0; j < n; ++j) {
        __syncthreads();
        const int i = j + int(threadIdx.x);
        double2 sum{ 0, 0 };
        double diagonal = lower[j * n + j].x;
        for (int k = 0; k < j; ++k) {
            const double2 b = lower[j * n + k];
            diagonal -= b.x * b.x + b.y * b.y;
        }
        diagonal = sqrt(fmax(diagonal, 1e-15));
        if (i < n) {
            sum = lower[i * n + j];
            for (int k = 0; k < j; ++k) {
                const double2 b = lower[j * n + k];
                sum = less_product(lower[i * n + k], { b.x, -b.y }, sum);
            }
        }
        __syncthreads();
        if (i < n) {
            lower[i * n + j] = i == j ? double2{ diagonal, 0 }
                                      : double2{ sum.x / diagonal, sum.y / diagonal };
        }
    }
    __syncthreads();
    for (int row = threadIdx.x; row < job.rows; row += table_threads) {
        const int d = row - job.spacing + 1;
        double2 x[most_taps];
        const auto cross = [&](int i) {
            const double2 value = correlation(spread, d - double(job.spacing) * i);
            return double2{ value.x, -value.y };
        };
        for (int i = 0; i < n; ++i) {
            x[i] = cross(i);
            for (int k = 0; k < i; ++k) {
                x[i] = less_product(lower[i * n + k], x[k], x[i]);
            }
            x[i].x /= lower[i * n + i].x;
            x[i].y /= lower[i * n + i].x;
        }
        for (int i = n - 1; i >= 0; --i) {
            for (int k = i + 1; k < n; ++k) {
                const double2 a = lower[k * n + i];
                x[i] = less_product({ a.x, -a.y }, x[k], x[i]);
            }
            x[i].x /= lower[i * n + i].x;
            x[i].y /= lower[i * n + i].x;
        }
        double explained = 0, energy = 0;
        float2* const to = job.weights + size_t{ blockIdx.x } * n * job.rows + row;
        for (int i = 0; i < n; ++i) {
            to[size_t(i) * job.rows] = { float(x[i].x), float(-x[i].y) };
            const double2 c = cross(i);
            explained += x[i].x * c.x + x[i].y * c.y;
            energy += x[i].x * x[i].x + x[i].y * x[i].y;
        }
        job.error[size_t{ blockIdx.x } * job.rows + row] =
            float(fmax(0.0, 1 - explained));
        job.gain[size_t{ blockIdx.x } * job.rows + row] = float(energy);
    }
}

} // namespace

int table_of_spread(double spread)
{
    return static_cast<int>(std::lround(
        std::log(std::max(spread, table_smallest_spread) / table_smallest_spread) /
        std::log(table_spread_step)));
}

wiener_tables_cuda::wiener_tables_cuda(int the_taps, int the_spacing, table_index range)
    : taps(the_taps), spacing(the_spacing), rows(the_spacing * (the_taps + 1) - 1),
      which(range), weights(size_t(range.spreads) * table_snrs * taps * rows),
      error(size_t(range.spreads) * table_snrs * rows),
      gain(size_t(range.spreads) * table_snrs * rows)
{
    const tables_job job{ taps,           spacing,      rows,       range.lowest,
                          weights.data(), error.data(), gain.data() };
    make_tables<<<unsigned(range.spreads) * table_snrs, table_threads>>>(job);
    cuda_check_launch("nr receiver, tables of weights");
    cuda_check(cudaStreamSynchronize(nullptr), "nr receiver, tables of weights");
}

std::shared_ptr<const wiener_tables_cuda>
wiener_tables_cuda::find(int device, int taps, int spacing, table_index which)
{
    static std::mutex guard;
    static std::map<std::tuple<int, int, int, int, int>,
                    std::weak_ptr<const wiener_tables_cuda>>
        all;
    const std::lock_guard<std::mutex> lock(guard);
    auto& known = all[{ device, taps, spacing, which.lowest, which.spreads }];
    auto made = known.lock();
    if (!made) {
        made = std::make_shared<const wiener_tables_cuda>(taps, spacing, which);
        known = made;
    }
    return made;
}

} // namespace gr::cudaphy::kernels::nr
