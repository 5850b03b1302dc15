/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/mimo/equalizer/groups.cuh"

namespace gr::cudaphy::kernels {
namespace {

constexpr int register_threads = tuning::register_threads;

// One item of several vectors a thread, for the commonest numbers of antennas. Q, R and
// the part below H live in registers (4x4: 32 + 20 + 20), so that device memory is
// touched once. A 4x4 item of 14 vectors moves 2.4 KB and computes about 450 complex
// products. A thread's own rows of H, y and x lie apart by their length, so a warp moves
// them through shared memory, whole lines at a time.
template <int Nr, int Nt>
__global__ void __launch_bounds__(register_threads)
    equalize_in_registers(const cuda_job job)
{
    __shared__ float2 shared[register_threads * pitch<Nr * Nt>];
    float2* const rows = shared + threadIdx.x / 32 * 32 * pitch<Nr * Nt>;
    const int lane = threadIdx.x % 32;
    const auto place =
        find_place(job, size_t{ blockIdx.x } * register_threads + threadIdx.x);

    read_rows_of(job.h, place.matrix * (Nr * Nt), Nr * Nt, rows);
    lane_weights<antennas<Nr, Nt>> weights;
    float2* const own = rows + lane * pitch<Nr * Nt>;
    const float n0 = whiten_row(job, antennas<Nr, Nt>{}, place.matrix, own);
    find_weights(
        antennas<Nr, Nt>{},
        method_of(job),
        n0,
        [&](int r, int t) {
            return complex_lane{ own[r * Nt + t].x, own[r * Nt + t].y };
        },
        weights);
    if (job.covariance) {
        // Factored again, because the factor and the weights do not fit the registers
        // together.
        lane_whitener<antennas<Nr, Nt>> whitener;
        find_whitener(job, antennas<Nr, Nt>{}, place.matrix, whitener);
        CUDAPHY_UNROLL
        for (int t = 0; t < Nt; ++t) {
            weigh_unwhitened(antennas<Nr, Nt>{}, whitener, weights.q[t]);
        }
    }
    if (place.active && place.first) {
        job.status[place.matrix] = int(weights.status);
    }

    for (size_t s = 0; s < job.chunk; ++s) {
        const size_t vector = place.vector + min(s, place.left - 1) * job.tones;
        read_rows_of(job.y, vector * Nr, Nr, rows);
        complex_lane y[Nr];
        CUDAPHY_UNROLL
        for (int r = 0; r < Nr; ++r) {
            const float2 value = rows[lane * pitch<Nr> + r];
            y[r] = { value.x, value.y };
        }
        __syncwarp();
        bool present[Nt];
        CUDAPHY_UNROLL
        for (int t = 0; t < Nt; ++t) {
            complex_lane sum{ 0, 0 };
            CUDAPHY_UNROLL
            for (int r = 0; r < Nr; ++r) {
                sum = add_product(weights.q[t][r], y[r], sum);
            }
            present[t] = is_finite(sum);
            rows[lane * pitch<Nt> + t] =
                present[t] ? float2{ sum.re, sum.im } : float2{ 0, 0 };
        }
        const size_t to = place.active && s < place.left ? vector * Nt : nowhere;
        write_rows_of(rows, Nt, job.x, to);
        float* const numbers = reinterpret_cast<float*>(rows);
        CUDAPHY_UNROLL
        for (int t = 0; t < Nt; ++t) {
            numbers[lane * pitch<Nt> + t] =
                present[t] ? weights.noise[t] : float_infinity;
        }
        write_rows_of(numbers, Nt, job.noise, to);
    }
}

template <int Nr, int Nt>
bool launch_in_registers(const cuda_job& job, cudaStream_t stream)
{
    if (job.receive != Nr || job.layers != Nt) {
        return false;
    }
    const size_t blocks = (job.items + register_threads - 1) / register_threads;
    equalize_in_registers<Nr, Nt><<<unsigned(blocks), register_threads, 0, stream>>>(job);
    return true;
}

void launch(const cuda_job& job, cudaStream_t stream)
{
    // One vector a matrix: no weights. Several vectors: weights pay up to 4x4, where a
    // thread holds them. Up to 8x8 the orthogonal columns are kept; groups form weights
    // only with a covariance or by max-ratio.
    constexpr int most = tuning::most_for_threads;
    const bool small = job.receive <= tuning::most_for_register_weights;
    if (job.receive <= most && job.layers <= most && !job.ratio &&
        (job.symbols == 1 || (!small && !job.covariance))) {
        if (job.symbols == 1) {
            job.layers <= tuning::most_layers_without_step
                ? launch_solve_each(job, stream)
                : launch_solve_each_in_step(job, stream);
        } else {
            launch_solve_many(job, stream);
        }
        return;
    }
    if (launch_in_registers<1, 1>(job, stream) ||
        launch_in_registers<2, 1>(job, stream) ||
        launch_in_registers<2, 2>(job, stream) ||
        launch_in_registers<4, 1>(job, stream) ||
        launch_in_registers<4, 2>(job, stream) ||
        launch_in_registers<4, 4>(job, stream)) {
        return;
    }
    int group_size = 2;
    while (group_size < job.receive || group_size < job.layers) {
        group_size *= 2;
    }
    const size_t items = group_threads / group_size;
    const size_t memory = items *
                          group_memory(job.receive, job.layers, job.covariance).size *
                          sizeof(float2);
    equalize_in_groups<<<unsigned((job.items + items - 1) / items),
                         group_threads,
                         memory,
                         stream>>>(job, group_size);
}

class equalizer_cuda : public equalizer_backend
{
public:
    equalizer_cuda(const parameters& p, int device)
        : equalizer_backend(p), d_device(device),
          d_processors(attribute(cudaDevAttrMultiProcessorCount)),
          d_room(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin))
    {
    }

private:
    int attribute(cudaDeviceAttr which) const
    {
        int value = 0;
        cuda_check(cudaDeviceGetAttribute(&value, which, d_device),
                   "cudaDeviceGetAttribute");
        return value;
    }

    void equalize(const equalizer_shape& shape,
                  const equalizer_run& given,
                  queue& queue) override
    {
        const equalizer_items cut(shape);
        if (cut.items == 0) {
            return;
        }
        const cuda_job job{ reinterpret_cast<const float2*>(given.y.data()),
                            reinterpret_cast<const float2*>(given.h.data()),
                            given.n0.data(),
                            reinterpret_cast<const float2*>(given.covariance.data()),
                            shape.matrices_a_variance(),
                            reinterpret_cast<float2*>(given.x.data()),
                            given.noise.data(),
                            given.status.data(),
                            cut.matrices,
                            cut.items,
                            shape.symbols,
                            cut.chunk,
                            shape.receive,
                            shape.layers,
                            shape.tones,
                            d_p.method == detector::mmse ||
                                d_p.method == detector::mmse_irc,
                            d_p.unbiased,
                            d_p.method == detector::max_ratio,
                            rank_tolerance_per_antenna * float(d_p.receive_antennas),
                            d_processors,
                            d_room };
        cuda_device_scope scope(d_device);
        launch(job, stream_of(queue));
        cuda_check_launch("equalizer");
    }

    const int d_device, d_processors, d_room;
};

} // namespace

template <>
std::unique_ptr<equalizer>
make_on_cuda<equalizer, equalizer::parameters>(int device, const equalizer::parameters& p)
{
    if (p.receive_antennas > most_solved_antennas) {
        return make_equalizer_by_gram_cuda(p, device);
    }
    return std::make_unique<equalizer_cuda>(p, device);
}

} // namespace gr::cudaphy::kernels
