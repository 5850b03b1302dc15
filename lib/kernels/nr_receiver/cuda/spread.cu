/* SPDX-License-Identifier: GPL-3.0-or-later */
// The delay spread that predicts pilots best (channel_estimate::best_spread).
//
// A pilot's error is e = sum_t v_t z[first + t], with v_t = [t is its own place] - w_t.
// In the middle of a run all pilots have the same v, so that the sum of |e|^2 over them
// is v^H R v with R_tu = sum conj(z[first + t]) z[first + u]: 24 lags of each row and
// what R gains and loses at the ends give all candidates' errors, in double precision
// because a small error is left of large products. At the ends each pilot is predicted by
// itself.
#include "kernels/common/cuda_check.cuh"
#include "kernels/nr_receiver/cuda/wiener_tables.cuh"

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int lags_a_warp = 4, predict_threads = 32 * spread_lags / lags_a_warp;
constexpr int choose_threads = 1024;
constexpr int most_pilots = 832; // of a comb in 275 resource blocks, and more

__device__ double2 add_conj_product(double2 a, double2 b, double2 sum)
{
    sum.x = fma(a.x, b.x, sum.x);
    sum.y = fma(a.x, b.y, sum.y);
    sum.x = fma(a.y, b.y, sum.x);
    sum.y = fma(-a.y, b.x, sum.y);
    return sum;
}

__device__ double2 wide(float2 z) { return { double(z.x), double(z.y) }; }

__device__ double2 warp_sum(double2 value)
{
    return { warp_sum(value.x), warp_sum(value.y) };
}

__device__ bool is_own(const estimate_cuda& job, int row)
{
    return job.own >> (row / 2 / job.antennas % job.sets) & 1;
}

//! A lane has neighbouring windows, an odd number of them, which spares the shared
//! memory's banks conflicts; a warp has some lags.
__device__ void
sum_lags(const estimate_cuda& job, const run_cuda& run, const double2* z, double2* to)
{
    const int inside = run.pilots - run.taps + 1;
    const int lane = threadIdx.x % 32, lag = threadIdx.x / 32 * lags_a_warp;
    const int each = (inside + 31) / 32 | 1;
    const int begin = lane * each, end = min(inside, begin + each);
    double2 sum[lags_a_warp] = {};
    if (begin < end) {
        const double2* const from = z + run.first_pilot + lag;
        double2 held[lags_a_warp];
#pragma unroll
        for (int k = 0; k + 1 < lags_a_warp; ++k) {
            held[k] = from[begin + k];
        }
        for (int j = begin; j < end; ++j) {
            const double2 own = z[run.first_pilot + j];
            held[lags_a_warp - 1] = from[j + lags_a_warp - 1];
#pragma unroll
            for (int k = 0; k < lags_a_warp; ++k) {
                sum[k] = add_conj_product(own, held[k], sum[k]);
            }
#pragma unroll
            for (int k = 0; k + 1 < lags_a_warp; ++k) {
                held[k] = held[k + 1];
            }
        }
    }
#pragma unroll
    for (int k = 0; k < lags_a_warp; ++k) {
        sum[k] = warp_sum(sum[k]);
        if (lane == 0) {
            to[lag + k] = sum[k];
        }
    }
}

//! A row of pilots a block: as if the mean delay were 0; then its lags, and what each
//! candidate leaves of pilots at the ends.
__global__ void __launch_bounds__(predict_threads) predict(const estimate_cuda job)
{
    __shared__ double2 wide_z[most_pilots];
    __shared__ float2 z[most_pilots];
    const int slot = blockIdx.y, row = blockIdx.x;
    const slot_state& state = job.state[slot];
    if (!state.usable) {
        return;
    }
    float2* const from = job.z + (size_t(slot) * job.rows() + row) * job.pilots;
    const int start =
        job.comb_start(row / 2 / job.antennas % job.sets % job.groups, row % 2);
    for (int j = threadIdx.x; j < job.pilots; j += predict_threads) {
        const int tone = j * job.spacing + start;
        const float2 phase =
            delay_phase(state.delay, tone - job.run_of_tone(tone).first_tone);
        const float2 value = times_conj(from[j], phase);
        from[j] = z[j] = value;
        wide_z[j] = wide(value);
    }
    if (state.candidates == 1 || !is_own(job, row)) {
        return;
    }
    __syncthreads();
    double2* to = job.lags +
                  (size_t(slot) * job.rows() + row) * job.long_runs * size_t(spread_lags);
    for (int i = 0; i < job.runs; ++i) {
        if (is_long(job.run[i])) {
            sum_lags(job, job.run[i], wide_z, to);
            to += spread_lags;
        }
    }
    // Pilots that are predicted by themselves: a candidate a warp.
    const int lane = threadIdx.x % 32;
    for (int at = threadIdx.x / 32; at < state.candidates; at += predict_threads / 32) {
        const int table = state.candidate_table[at];
        double sum = 0;
        for (int i = 0; i < job.runs; ++i) {
            const run_cuda run = job.run[i];
            const float2* const weights = weights_of(run, table);
            const int half = run.taps / 2 - 1, inside = run.pilots - run.taps + 1;
            const bool at_ends = is_long(run);
            const int count = at_ends ? run.taps - 1 : run.pilots;
            for (int k = lane; k < count; k += 32) {
                const int own = at_ends && k >= half ? k + inside : k;
                const int tap = max(0, min(own - half, inside - 1));
                const int row_at = job.spacing * (own - tap) + job.spacing - 1;
                float2 estimate{ 0, 0 };
                for (int t = 0; t < run.taps; ++t) {
                    estimate = add_product(z[run.first_pilot + tap + t],
                                           weights[t * run.rows + row_at],
                                           estimate);
                }
                const float others = 1 - weights[(own - tap) * run.rows + row_at].x;
                const float2 own_z = z[run.first_pilot + own];
                const float a = own_z.x - estimate.x, b = own_z.y - estimate.y;
                sum += (a * a + b * b) / (others * others);
            }
        }
        sum = warp_sum(sum);
        if (lane == 0) {
            job.errors[(size_t(slot) * most_candidates + at) * job.rows() + row] = sum;
        }
    }
}

//! What choose() sums over the rows of a long run, and R.
struct run_products {
    static constexpr int pairs = spread_lags * (spread_lags - 1) / 2; // t <= u < 23
    static constexpr int parts = choose_threads / pairs;
    double2 lag[spread_lags];
    double2 change[parts][pairs];
    double2 r[spread_lags][spread_lags];
};

//! R of a long run, over all rows that are the user's own.
__device__ void find_products(const estimate_cuda& job,
                              const run_cuda& run,
                              int slot,
                              int long_run,
                              run_products& out)
{
    const int rows = job.rows(), inside = run.pilots - run.taps + 1;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (warp < spread_lags) {
        double2 sum{ 0, 0 };
        for (int row = lane; row < rows; row += 32) {
            if (is_own(job, row)) {
                const double2 value =
                    job.lags[((size_t(slot) * rows + row) * job.long_runs + long_run) *
                                 spread_lags +
                             warp];
                sum.x += value.x;
                sum.y += value.y;
            }
        }
        sum = warp_sum(sum);
        if (lane == 0) {
            out.lag[warp] = sum;
        }
    }
    // R's next element of a diagonal, less this one.
    const int pair = threadIdx.x % run_products::pairs;
    const int part = threadIdx.x / run_products::pairs;
    int u = 0;
    while ((u + 1) * (u + 2) / 2 <= pair) {
        ++u;
    }
    const int t = pair - u * (u + 1) / 2;
    if (part < run_products::parts) {
        double2 sum{ 0, 0 };
        for (int row = part; row < rows; row += run_products::parts) {
            if (is_own(job, row)) {
                const float2* const z =
                    job.z + (size_t(slot) * rows + row) * job.pilots + run.first_pilot;
                const double2 lost = wide(z[t]);
                sum = add_conj_product(wide(z[t + inside]), wide(z[u + inside]), sum);
                sum = add_conj_product({ -lost.x, -lost.y }, wide(z[u]), sum);
            }
        }
        out.change[part][pair] = sum;
    }
    __syncthreads();
    if (threadIdx.x < spread_lags * (spread_lags + 1) / 2) {
        int column = 0;
        while ((column + 1) * (column + 2) / 2 <= int(threadIdx.x)) {
            ++column;
        }
        const int line = int(threadIdx.x) - column * (column + 1) / 2;
        double2 sum = out.lag[column - line];
        for (int s = 0; s < line; ++s) {
            const int end = s + column - line;
            for (int p = 0; p < run_products::parts; ++p) {
                const double2 change = out.change[p][end * (end + 1) / 2 + s];
                sum.x += change.x;
                sum.y += change.y;
            }
        }
        out.r[line][column] = sum;
        out.r[column][line] = { sum.x, -sum.y };
    }
    __syncthreads();
}

//! v^H R v over the square of 1 - w of the pilot's own: a warp a candidate.
__device__ double middle_error(const estimate_cuda& job,
                               const run_cuda& run,
                               int table,
                               const run_products& of)
{
    const int half = run.taps / 2 - 1, lane = threadIdx.x % 32;
    const float2* const weights =
        weights_of(run, table) + job.spacing * half + job.spacing - 1;
    double2 v{ 0, 0 }, sum{ 0, 0 };
    if (lane < spread_lags) {
        const float2 w = weights[lane * run.rows];
        v = { (lane == half) - double(w.x), -double(w.y) };
    }
    for (int t = 0; t < spread_lags; ++t) {
        const double2 left{ __shfl_sync(0xFFFFFFFFu, v.x, t),
                            __shfl_sync(0xFFFFFFFFu, v.y, t) };
        if (lane < spread_lags) {
            sum = add_conj_product(left, of.r[t][lane], sum);
        }
    }
    const double error = warp_sum(v.x * sum.x - v.y * sum.y);
    const double others = __shfl_sync(0xFFFFFFFFu, v.x, half);
    return fmax(0.0, error) / (others * others);
}

// Downhill from the first candidate: upwards, or else downwards. A candidate a warp.
__global__ void __launch_bounds__(choose_threads) choose(const estimate_cuda job)
{
    __shared__ double error[most_candidates];
    __shared__ run_products products;
    const int slot = blockIdx.x, at = threadIdx.x / 32, lane = threadIdx.x % 32;
    slot_state& state = job.state[slot];
    if (!state.usable) {
        return;
    }
    if (state.candidates > 1) {
        double sum = 0;
        for (int row = lane; at < state.candidates && row < job.rows(); row += 32) {
            if (is_own(job, row)) {
                sum +=
                    job.errors[(size_t(slot) * most_candidates + at) * job.rows() + row];
            }
        }
        sum = warp_sum(sum);
        for (int i = 0, long_run = 0; i < job.runs; ++i) {
            const run_cuda run = job.run[i];
            if (is_long(run)) {
                find_products(job, run, slot, long_run++, products);
                if (at < state.candidates) {
                    sum += middle_error(job, run, state.candidate_table[at], products);
                }
                __syncthreads();
            }
        }
        if (lane == 0) {
            error[at] = sum;
        }
    }
    __syncthreads();
    if (threadIdx.x) {
        return;
    }
    int best = 0;
    if (state.candidates > 1) {
        for (int i = 1; i <= state.upwards && error[i] < error[best]; ++i) {
            best = i;
        }
        if (best == 0) {
            for (int i = state.upwards + 1;
                 i < state.candidates && error[i] < error[best];
                 ++i) {
                best = i;
            }
        }
    }
    state.spread = state.candidate[best];
    state.table = state.candidate_table[best];
}

} // namespace

void launch_spread(const estimate_cuda& job, int slots, cudaStream_t stream)
{
    predict<<<dim3(job.rows(), slots), predict_threads, 0, stream>>>(job);
    choose<<<slots, choose_threads, 0, stream>>>(job);
    cuda_check_launch("nr receiver, delay spread");
}

} // namespace gr::cudaphy::kernels::nr
