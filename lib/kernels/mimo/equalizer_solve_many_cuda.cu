/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/equalizer_in_step.cuh"
#include "kernels/mimo/equalizer_solve_rows.cuh"

namespace gr::cudaphy::kernels {
namespace {

//! Elements of shared memory a thread: Q with what is below it, or before it H's row; and
//! a row for y, x or its noise.
template <typename Antennas>
constexpr int kept_elements = Antennas::most_layers* Antennas::most_receive +
                              Antennas::most_layers*(Antennas::most_layers + 1) / 2;
template <typename Antennas>
constexpr int warp_elements = 32 *
                              (kept_elements<Antennas> + (Antennas::most_receive | 1));
template <typename Antennas>
constexpr size_t warp_bytes = sizeof(float2) * warp_elements<Antennas>;

//! Column k of Q begins here, before its part below.
template <typename Antennas>
CUDAPHY_LANE constexpr int column_at(int k)
{
    return k * Antennas::most_receive + k * (k + 1) / 2;
}

// One matrix with several vectors a thread: the first is eliminated along with the
// matrix, whose orthogonal columns go to shared memory as they are found, a thread's own
// at a pitch of 32, so that no bank is asked twice. The others are projected on them from
// there: 8 x 8 reads 100 elements for 184 complex products a vector, and moves 160 bytes.
// Each vector is asked for while the one before is projected.
template <bool Mmse, typename Antennas>
__global__ void __launch_bounds__(32 * most_warps<Antennas>,
                                  most_warps<Antennas> > 1 ? 1 : 10)
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
    float2 ahead[Antennas::most_receive]; // of the warp's next vectors
    const auto vector_at = [&](size_t s) {
        return place.vector + min(s, place.left - 1) * job.tones;
    };
    const auto ask = [&](size_t s) {
        const size_t at = vector_at(s) * nr;
        CUDAPHY_UNROLL
        for (int i = 0; i < Antennas::most_receive; ++i) {
            if (i < nr) {
                const int index = i * 32 + lane;
                const int row = index / nr;
                const size_t start = __shfl_sync(whole_warp, at, row);
                ahead[i] = job.y[start + index - row * nr];
            }
        }
    };
    ask(0);

    // H lies where Q will: a row's pitch is no more than that.
    read_rows_of(job.h, place.matrix * (nr * nt), nr * nt, kept);
    complex_lane q[Antennas::most_layers][Antennas::most_receive];
    load_columns(size, nr, nt, kept + lane * (nr * nt | 1), q);
    __syncwarp();

    complex_lane y[Antennas::most_receive];
    lane_solution<Antennas> solution;
    const auto take = [&](size_t s) {
        CUDAPHY_UNROLL
        for (int i = 0; i < Antennas::most_receive; ++i) {
            if (i < nr) {
                const int index = i * 32 + lane;
                const int row = index / nr;
                rows[row * (nr | 1) + index - row * nr] = ahead[i];
            }
        }
        __syncwarp();
        load_received(size, nr, rows + lane * (nr | 1), y);
        __syncwarp();
        if (s + 1 < job.chunk) {
            ask(s + 1);
        }
    };
    const auto give = [&](size_t s) {
        const size_t to = place.active && s < place.left ? vector_at(s) * nt : nowhere;
        float* const noise = reinterpret_cast<float*>(rows);
        CUDAPHY_UNROLL
        for (int t = 0; t < Antennas::most_layers; ++t) {
            if (t < nt) {
                complex_lane x;
                float unused;
                layer_of(solution, t, x, unused);
                rows[lane * (nt | 1) + t] = { x.re, x.im };
            }
        }
        write_rows_of(rows, nt, job.x, to);
        CUDAPHY_UNROLL
        for (int t = 0; t < Antennas::most_layers; ++t) {
            if (t < nt) {
                complex_lane unused;
                layer_of(solution, t, unused, noise[lane * (nt | 1) + t]);
            }
        }
        write_rows_of(noise, nt, job.noise, to);
    };

    take(0);
    solve<Mmse>(
        size,
        method_of(job),
        job.n0[variance_of(job, place.matrix)],
        q,
        y,
        solution,
        [&](int k, const complex_lane* column, const complex_lane* below, float last) {
            meet<Antennas>();
            float2* to = kept + column_at<Antennas>(k) * 32 + lane;
            CUDAPHY_UNROLL
            for (int r = 0; r < Antennas::most_receive; ++r) {
                to[r * 32] = { column[r].re, column[r].im };
            }
            to += Antennas::most_receive * 32;
            CUDAPHY_UNROLL
            for (int i = 0; i < k; ++i) {
                to[i * 32] = { below[i].re, below[i].im };
            }
            to[k * 32] = { last, 0 };
        });
    if (place.active && place.first) {
        job.status[place.matrix] = int(solution.status);
    }
    give(0);
    for (size_t s = 1; s < job.chunk; ++s) {
        take(s);
        CUDAPHY_UNROLL
        for (int k = 0; k < Antennas::most_layers; ++k) {
            if (!size.has(k)) {
                continue;
            }
            if (k % 4 == 0) {
                meet<Antennas>();
            }
            const float2* from = kept + column_at<Antennas>(k) * 32 + lane;
            complex_lane column[Antennas::most_receive];
            complex_lane below[Antennas::most_layers];
            CUDAPHY_UNROLL
            for (int r = 0; r < Antennas::most_receive; ++r) {
                column[r] = { from[r * 32].x, from[r * 32].y };
            }
            from += Antennas::most_receive * 32;
            CUDAPHY_UNROLL
            for (int i = 0; i < k; ++i) {
                below[i] = { from[i * 32].x, from[i * 32].y };
            }
            project<Mmse>(size, k, column, below, from[k * 32].x, y, solution);
        }
        give(s);
    }
}

template <bool Mmse, typename Antennas>
void launch(const cuda_job& job, cudaStream_t stream)
{
    const auto kernel = solve_many<Mmse, Antennas>;
    allow_in_step<Antennas>(kernel, warp_bytes<Antennas>, job.room);
    const auto of = launch_in_step<Antennas>(job, job.items, warp_bytes<Antennas>);
    kernel<<<of.blocks, of.threads, of.shared, stream>>>(job);
}

template <typename Antennas>
void launch(const cuda_job& job, cudaStream_t stream)
{
    job.mmse ? launch<true, Antennas>(job, stream) : launch<false, Antennas>(job, stream);
}

} // namespace

void launch_solve_many(const equalizer_cuda_job& job, cudaStream_t stream)
{
    if (job.receive == 8 && job.layers == 8) {
        launch<antennas<8, 8>>(job, stream);
    } else if (job.layers <= 4) {
        launch<padded_antennas<8, 4>>(job, stream);
    } else {
        launch<padded_antennas<8, 8>>(job, stream);
    }
}

} // namespace gr::cudaphy::kernels
