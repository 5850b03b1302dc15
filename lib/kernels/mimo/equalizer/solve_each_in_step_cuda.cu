/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/equalizer/in_step.cuh"
#include "kernels/mimo/equalizer/solve_rows.cuh"
#include <cuda_pipeline.h>

namespace gr::cudaphy::kernels {
namespace {

//! Elements of shared memory a thread: rows of H and y, and of x with its noise.
template <typename Antennas>
constexpr int input_elements = (Antennas::most_receive * Antennas::most_layers | 1) +
                               (Antennas::most_receive | 1);
template <typename Antennas>
constexpr size_t warp_bytes = 32 * (8 * input_elements<Antennas> +
                                    12 * (Antennas::most_layers | 1));

//! As read_consecutive(), but does not wait for the elements.
CUDAPHY_LANE void ask_consecutive(const float2* from, int width, int count, float2* rows)
{
    const int lane = threadIdx.x % 32;
    const int left = count - lane;
    const auto place = [&](int index) {
        return index / width * (width | 1) + index % width;
    };
    // If a pass moves the columns by whole rows or not at all, all places but one are
    // known at compile time.
    const bool regular = 32 % width == 0 || width % 32 == 0;
    float2* const first = rows + place(lane);
    from += lane;
    const auto ask = [&](int i) {
        __pipeline_memcpy_async(regular ? first + place(32 * i)
                                        : rows + place(32 * i + lane),
                                from + 32 * i,
                                sizeof(float2));
    };
    if (count == 32 * width) {
        CUDAPHY_UNROLL
        for (int i = 0; i < width; ++i) {
            ask(i);
        }
    } else {
        _Pragma("unroll 1") for (int i = 0; 32 * i < left; ++i) { ask(i); }
    }
}

// One matrix with its one vector a thread, all in registers, of which the elimination
// frees more than it takes (8 x 8: 144 for H and y, 18 beside them). As soon as a warp
// has them, it asks for its next ones, so that they have arrived when it is done. 8 x 8
// moves 676 bytes and computes 840 complex products: at 4.2 TB/s 6.2 G vectors/s, by the
// arithmetic 8 G.
template <bool Mmse, typename Antennas>
__global__ void __launch_bounds__(32 * most_warps<Antennas>)
    solve_each_in_step(const cuda_job job)
{
    extern __shared__ float2 shared[];
    const Antennas size{ job.receive, job.layers };
    const int nr = receive_of(size, job);
    const int nt = layers_of(size, job);
    const int lane = threadIdx.x % 32;
    float2* const h_rows =
        shared + threadIdx.x / 32 * (warp_bytes<Antennas> / sizeof(float2));
    float2* const y_rows = h_rows + 32 * (nr * nt | 1);
    float2* const x_rows = h_rows + 32 * input_elements<Antennas>;
    float* const noise_rows = reinterpret_cast<float*>(x_rows + 32 * (nt | 1));

    const auto count_at = [&](size_t first) {
        return first < job.matrices ? int(min(size_t{ 32 }, job.matrices - first)) : 0;
    };
    float next_n0 = 0;
    const auto ask = [&](size_t first) {
        const int count = count_at(first);
        ask_consecutive(job.h + first * (nr * nt), nr * nt, count * nr * nt, h_rows);
        ask_consecutive(job.y + first * nr, nr, count * nr, y_rows);
        __pipeline_commit();
        if (lane < count && !job.covariance) {
            next_n0 = job.n0[variance_of(job, first + lane)];
        }
    };

    const size_t step = size_t{ gridDim.x } * blockDim.x;
    size_t base = size_t{ blockIdx.x } * blockDim.x;
    ask(base + (threadIdx.x - lane));
    // All warps run this loop equally often, because of its barriers.
    for (; base < job.matrices; base += step) {
        const size_t first = base + (threadIdx.x - lane);
        const int count = count_at(first);
        const int own_row = min(lane, max(count, 1) - 1);
        float2* const own = h_rows + own_row * (nr * nt | 1);
        float n0 = next_n0;
        __pipeline_wait_prior(0);
        __syncwarp();

        complex_lane y[Antennas::most_receive];
        load_received(size, nr, y_rows + own_row * (nr | 1), y);
        if (job.covariance && lane < count) {
            n0 = whiten_row(job, size, first + lane, own);
            lane_whitener<Antennas> whitener;
            find_whitener(job, size, first + lane, whitener);
            whiten(size, whitener, y);
        }
        complex_lane q[Antennas::most_layers][Antennas::most_receive];
        load_columns(size, nr, nt, own, q);
        __syncwarp();
        ask(first + step);

        complex_lane x[Antennas::most_layers];
        lane_solution<Antennas> solution;
        solve<Mmse>(size,
                    method_of(job),
                    n0,
                    q,
                    solution,
                    [&](int k,
                        const complex_lane* column,
                        const complex_lane* below,
                        float last) {
                        meet<Antennas>();
                        project<Mmse>(size, k, column, below, last, y, x);
                    });
        store_layers(size,
                     nt,
                     solution,
                     x,
                     x_rows + lane * (nt | 1),
                     noise_rows + lane * (nt | 1));
        if (lane < count) {
            job.status[first + lane] = int(solution.status);
        }
        __syncwarp();
        write_consecutive(x_rows, nt, count * nt, job.x + first * nt);
        write_consecutive(noise_rows, nt, count * nt, job.noise + first * nt);
        __syncwarp();
    }
}

template <bool Mmse, typename Antennas>
void launch_in_steps(const cuda_job& job, cudaStream_t stream)
{
    const auto kernel = solve_each_in_step<Mmse, Antennas>;
    allow_in_step<Antennas>(kernel, warp_bytes<Antennas>, job.room);
    const auto of = launch_in_step<Antennas>(job, job.matrices, warp_bytes<Antennas>);
    const unsigned blocks = std::min(of.blocks, unsigned(job.processors));
    kernel<<<blocks, of.threads, of.shared, stream>>>(job);
}

template <typename Antennas>
void launch_in_steps(const cuda_job& job, cudaStream_t stream)
{
    job.mmse ? launch_in_steps<true, Antennas>(job, stream)
             : launch_in_steps<false, Antennas>(job, stream);
}

} // namespace

void launch_solve_each_in_step(const equalizer_cuda_job& job, cudaStream_t stream)
{
    if (job.receive == 8 && job.layers == 8) {
        launch_in_steps<antennas<8, 8>>(job, stream);
    } else {
        launch_in_steps<padded_antennas<8, 8>>(job, stream);
    }
}

} // namespace gr::cudaphy::kernels
