/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/equalizer/in_step.cuh"
#include "kernels/mimo/equalizer/kept_columns.cuh"

namespace gr::cudaphy::kernels {
namespace {

template <typename Antennas>
constexpr int row_elements = Antennas::most_receive | 1;
template <typename Antennas>
constexpr int warp_elements = 32 * (kept_elements<Antennas> + row_elements<Antennas>);
template <typename Antennas>
constexpr size_t solve_warp_bytes = sizeof(float2) * warp_elements<Antennas>;

//! Asks for a warp's vectors, one a thread, at `at`.
template <typename Antennas>
CUDAPHY_LANE void ask_vector(const cuda_job& job,
                             int nr,
                             size_t at,
                             float2 (&ahead)[Antennas::most_receive])
{
    CUDAPHY_UNROLL
    for (int i = 0; i < Antennas::most_receive; ++i) {
        if (i < nr) {
            const int index = i * 32 + threadIdx.x % 32;
            const int row = index / nr;
            const size_t start = __shfl_sync(whole_warp, at, row);
            ahead[i] = job.y[start + index - row * nr];
        }
    }
}

//! Waits for the vectors and gives each thread its own.
template <typename Antennas>
CUDAPHY_LANE void take_vector(Antennas size,
                              int nr,
                              const float2 (&ahead)[Antennas::most_receive],
                              float2* rows,
                              complex_lane (&y)[Antennas::most_receive])
{
    CUDAPHY_UNROLL
    for (int i = 0; i < Antennas::most_receive; ++i) {
        if (i < nr) {
            const int index = i * 32 + threadIdx.x % 32;
            const int row = index / nr;
            rows[row * (nr | 1) + index - row * nr] = ahead[i];
        }
    }
    __syncwarp();
    load_received(size, nr, rows + threadIdx.x % 32 * (nr | 1), y);
    __syncwarp();
}

//! Writes a thread's layers x and their noise to its place `to`.
template <typename Antennas>
CUDAPHY_LANE void give_layers(const cuda_job& job,
                              int nt,
                              const complex_lane (&x)[Antennas::most_layers],
                              const float (&noise)[Antennas::most_layers],
                              float2* rows,
                              size_t to)
{
    const int own = threadIdx.x % 32 * (nt | 1);
    CUDAPHY_UNROLL
    for (int t = 0; t < Antennas::most_layers; ++t) {
        if (t < nt) {
            rows[own + t] = { x[t].re, x[t].im };
        }
    }
    write_rows_of(rows, nt, job.x, to);
    float* const numbers = reinterpret_cast<float*>(rows);
    CUDAPHY_UNROLL
    for (int t = 0; t < Antennas::most_layers; ++t) {
        if (t < nt) {
            numbers[own + t] = noise[t];
        }
    }
    write_rows_of(numbers, nt, job.noise, to);
}

//! Projects the columns of one half, from `from` on, out of the vector y, by the same
//! operations as project(). An element that a column lacks counts as 0 times 0. Only the
//! layers of x that the half reaches are used.
template <int Half, bool Mmse, typename Antennas>
CUDAPHY_LANE void project_half(const float2* from,
                               int columns,
                               complex_lane (&y)[Antennas::most_receive],
                               complex_lane (&x)[Antennas::most_layers])
{
    constexpr int nr = Antennas::most_receive;
    constexpr int below = half_columns * (Half + 1);
    _Pragma("unroll 1") for (int k = 0; k < columns; ++k)
    {
        complex_lane column[nr + below];
        CUDAPHY_UNROLL
        for (int i = 0; i < nr + below; ++i) {
            column[i] = lane_of(from[i * 32]);
        }
        from += (nr + below) * 32;
        complex_lane dot{ 0, 0 };
        CUDAPHY_UNROLL
        for (int r = 0; r < nr; ++r) {
            dot = add_dot(column[r], y[r], dot);
        }
        CUDAPHY_UNROLL
        for (int i = 0; Mmse && i < below; ++i) {
            dot = add_dot(column[nr + i], x[i], dot);
        }
        CUDAPHY_UNROLL
        for (int r = 0; r < nr; ++r) {
            y[r] = less_product(column[r], dot, y[r]);
        }
        CUDAPHY_UNROLL
        for (int i = 0; i < below; ++i) {
            x[i] = less_product(column[nr + i], dot, x[i]);
        }
    }
}

// One matrix with several vectors a thread. Its orthogonal columns go to shared memory as
// they are found, a thread's own at a pitch of 32, so that no bank is asked twice. Then
// vectors are projected on them by loops that the innermost instruction cache holds.
// Written out, the loops took 16 KB a vector, whose fetches bounded the kernel. The next
// vector is asked for while one is projected.
template <bool Mmse, typename Antennas>
__global__ void __launch_bounds__(32 * most_warps<Antennas>,
                                  most_warps<Antennas> > 1 ? 1 : tuning::many_blocks)
    solve_many(const cuda_job job)
{
    extern __shared__ float2 shared[];
    const Antennas size{ job.receive, job.layers };
    const int nr = receive_of(size, job);
    const int nt = layers_of(size, job);
    const int lane = threadIdx.x % 32;
    const auto place = find_place(job, size_t{ blockIdx.x } * blockDim.x + threadIdx.x);
    float2* const kept = shared + threadIdx.x / 32 * warp_elements<Antennas>;
    float2* const rows = kept + 32 * kept_elements<Antennas>;
    float2 ahead[Antennas::most_receive]; // of the next vector
    const auto vector_at = [&](size_t s) {
        return place.vector + min(s, place.left - 1) * job.tones;
    };
    ask_vector<Antennas>(job, nr, vector_at(0) * nr, ahead);

    // H lies in the place of Q, whose pitch is no less.
    read_rows_of(job.h, place.matrix * (nr * nt), nr * nt, kept);
    complex_lane q[Antennas::most_layers][Antennas::most_receive];
    load_columns(size, nr, nt, kept + lane * (nr * nt | 1), q);
    __syncwarp();
    lane_solution<Antennas> solution;
    solve<Mmse>(
        size,
        method_of(job),
        job.n0[variance_of(job, place.matrix)],
        q,
        solution,
        [&](int k, const complex_lane* column, const complex_lane* below, float last) {
            meet<Antennas>();
            keep_column<Antennas>(kept, lane, k, column, below, last);
        });
    if (place.active && place.first) {
        job.status[place.matrix] = int(solution.status);
    }

    for (size_t s = 0; s < job.chunk; ++s) {
        complex_lane y[Antennas::most_receive];
        take_vector(size, nr, ahead, rows, y);
        if (s + 1 < job.chunk) {
            ask_vector<Antennas>(job, nr, vector_at(s + 1) * nr, ahead);
        }
        complex_lane x[Antennas::most_layers];
        CUDAPHY_UNROLL
        for (int t = 0; t < Antennas::most_layers; ++t) {
            x[t] = { 0, 0 };
        }
        project_half<0, Mmse, Antennas>(kept + lane, min(nt, half_columns), y, x);
        if constexpr (Antennas::most_layers > half_columns) {
            project_half<1, Mmse, Antennas>(
                kept + column_at<Antennas>(half_columns) * 32 + lane,
                nt - half_columns,
                y,
                x);
        }
        float noise[Antennas::most_layers];
        CUDAPHY_UNROLL
        for (int t = 0; t < Antennas::most_layers; ++t) {
            if (t < nt) {
                layer_of(solution, t, x[t], noise[t]);
            }
        }
        const bool wanted = place.active && s < place.left;
        give_layers<Antennas>(
            job, nt, x, noise, rows, wanted ? vector_at(s) * nt : nowhere);
    }
}

template <bool Mmse, typename Antennas>
void launch_solves(const cuda_job& job, cudaStream_t stream)
{
    const auto kernel = solve_many<Mmse, Antennas>;
    allow_in_step<Antennas>(kernel, solve_warp_bytes<Antennas>, job.room);
    const auto of = launch_in_step<Antennas>(job, job.items, solve_warp_bytes<Antennas>);
    kernel<<<of.blocks, of.threads, of.shared, stream>>>(job);
}

template <typename Antennas>
void launch_solves(const cuda_job& job, cudaStream_t stream)
{
    job.mmse ? launch_solves<true, Antennas>(job, stream)
             : launch_solves<false, Antennas>(job, stream);
}

//! Shares the vectors of a matrix among several threads, each of which eliminates, if
//! there are too few matrices for a warp on each quarter of every multiprocessor. Fewer
//! than four vectors take no time beside the elimination.
equalizer_cuda_job spread(equalizer_cuda_job job)
{
    const size_t wanted = tuning::wanted_warps * size_t(job.processors);
    const size_t warps = (job.items + 31) / 32;
    const size_t parts = std::max<size_t>(1, wanted / warps);
    job.chunk = std::min(
        job.chunk,
        std::max<size_t>(tuning::least_vectors, (job.chunk + parts - 1) / parts));
    job.items = job.matrices * ((job.symbols + job.chunk - 1) / job.chunk);
    return job;
}

} // namespace

void launch_solve_many(const equalizer_cuda_job& given, cudaStream_t stream)
{
    const auto job = spread(given);
    if (job.receive == 8 && job.layers == 8) {
        launch_weights_many(job, stream);
    } else if (job.layers <= 4) {
        launch_solves<padded_antennas<8, 4>>(job, stream);
    } else {
        launch_solves<padded_antennas<8, 8>>(job, stream);
    }
}

} // namespace gr::cudaphy::kernels
