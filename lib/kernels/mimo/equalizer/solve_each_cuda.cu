/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/equalizer/solve_rows.cuh"

namespace gr::cudaphy::kernels {
namespace {

template <typename Antennas>
constexpr int width_of = Antennas::most_receive*(Antennas::most_layers + 1);

//! Warps of a block.
template <typename Antennas>
constexpr int warps_a_block =
    width_of<Antennas> > tuning::small_item ? tuning::large_warps : tuning::small_warps;

//! Elements of shared memory a thread: H's row, y's, and later those of x and its noise.
template <typename Antennas>
constexpr int shared_a_thread = (Antennas::most_receive * Antennas::most_layers | 1) +
                                (Antennas::most_receive | 1);

// One matrix with its one vector a thread, all in registers, of which the elimination
// frees more than it takes. Matrix and vector are read together, so that a warp waits for
// memory once. Rows follow one another, so a warp reads whole lines, and threads find
// their own rows in shared memory.
template <bool Mmse, typename Antennas>
__global__ void __launch_bounds__(32 * warps_a_block<Antennas>)
    solve_each(const cuda_job job)
{
    constexpr int threads = 32 * warps_a_block<Antennas>;
    __shared__ float2 shared[threads * shared_a_thread<Antennas>];
    const Antennas size{ job.receive, job.layers };
    const int nr = receive_of(size, job);
    const int nt = layers_of(size, job);
    const int lane = threadIdx.x % 32;
    const size_t first = size_t{ blockIdx.x } * threads + threadIdx.x / 32 * 32;
    if (first >= job.matrices) {
        return;
    }
    const int count = int(min(size_t{ 32 }, job.matrices - first));
    const size_t matrix = first + min(lane, count - 1);
    float2* const h_rows = shared + threadIdx.x / 32 * 32 * shared_a_thread<Antennas>;
    float2* const y_rows = h_rows + 32 * (nr * nt | 1);

    read_consecutive(job.h + first * (nr * nt), nr * nt, count * nr * nt, h_rows);
    read_consecutive(job.y + first * nr, nr, count * nr, y_rows);
    __syncwarp();
    float2* const own = h_rows + min(lane, count - 1) * (nr * nt | 1);
    float2* const own_y = y_rows + min(lane, count - 1) * (nr | 1);
    float n0;
    complex_lane y[Antennas::most_receive];
    load_received(size, nr, own_y, y);
    if (job.covariance) {
        // Threads beyond the last repeat its work: only one of them may write the row.
        const bool mine = lane < count;
        n0 = mine ? whiten_row(job, size, matrix, own) : 1.0f;
        if (mine) {
            lane_whitener<Antennas> whitener;
            find_whitener(job, size, matrix, whitener);
            whiten(size, whitener, y);
        }
        __syncwarp();
    } else {
        n0 = job.n0[variance_of(job, matrix)];
    }
    complex_lane q[Antennas::most_layers][Antennas::most_receive];
    load_columns(size, nr, nt, own, q);
    complex_lane x[Antennas::most_layers];
    lane_solution<Antennas> solution;
    solve<Mmse>(
        size,
        method_of(job),
        n0,
        q,
        solution,
        [&](int k, const complex_lane* column, const complex_lane* below, float last) {
            project<Mmse>(size, k, column, below, last, y, x);
        });
    __syncwarp();
    float2* const x_rows = h_rows;
    float* const noise_rows = reinterpret_cast<float*>(x_rows + 32 * (nt | 1));
    store_layers(
        size, nt, solution, x, x_rows + lane * (nt | 1), noise_rows + lane * (nt | 1));
    if (lane < count) {
        job.status[matrix] = int(solution.status);
    }
    __syncwarp();
    write_consecutive(x_rows, nt, count * nt, job.x + first * nt);
    write_consecutive(noise_rows, nt, count * nt, job.noise + first * nt);
}

template <typename Antennas>
void launch(const cuda_job& job, cudaStream_t stream)
{
    constexpr int threads = 32 * warps_a_block<Antennas>;
    const unsigned blocks = unsigned((job.matrices + threads - 1) / threads);
    if (job.mmse) {
        solve_each<true, Antennas><<<blocks, threads, 0, stream>>>(job);
    } else {
        solve_each<false, Antennas><<<blocks, threads, 0, stream>>>(job);
    }
}

} // namespace

void launch_solve_each(const equalizer_cuda_job& job, cudaStream_t stream)
{
    const auto are = [&](int nr, int nt) {
        return job.receive == nr && job.layers == nt;
    };
    if (are(2, 1)) {
        launch<antennas<2, 1>>(job, stream);
    } else if (are(2, 2)) {
        launch<antennas<2, 2>>(job, stream);
    } else if (are(4, 1)) {
        launch<antennas<4, 1>>(job, stream);
    } else if (are(4, 2)) {
        launch<antennas<4, 2>>(job, stream);
    } else if (are(4, 4)) {
        launch<antennas<4, 4>>(job, stream);
    } else if (job.receive <= 4) {
        launch<padded_antennas<4, 4>>(job, stream);
    } else {
        launch<padded_antennas<8, 4>>(job, stream);
    }
}

} // namespace gr::cudaphy::kernels
