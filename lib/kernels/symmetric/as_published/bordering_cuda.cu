/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/symmetric/cuda/blocked.cuh"
#include "kernels/symmetric/cuda/condition.cuh"
#include "kernels/symmetric/cuda/probe.cuh"

// Source 2 (Huo, Wang, Peng, Fang: a large real symmetric matrix inverted by bordering).
// inverse_cuda.cu chooses it only for symmetric_algorithm::bordering.
//
// Step t takes the inverse W of the leading block of order t to that of order t + 1 by
// W + u u^H / s, where u = W r and s = rho - r^H u.
//
// The paper launches five kernels a step: a product of matrix and vector, a dot product
// in two stages, an outer product, a scaling and an addition. They go over W several
// times. Here one kernel a step does all of them for a row while the row is in registers.
// The kernel adds the step's outer product. From the new elements it forms the next
// step's u and each block's part of r^H u. The next kernel begins with the second stage
// of that sum. So a step reads and writes t^2 elements, which is its bound. No graph is
// needed, because a step takes longer than its launch from t = 1000 on.

namespace gr::cudaphy::kernels {
namespace {

using tuning = symmetric_tuning::bordering;
constexpr int border_threads = tuning::threads;
constexpr int rows_a_warp = tuning::rows_a_warp;
constexpr int border_rows = border_threads / 32 * rows_a_warp;
constexpr int groups_at_once = tuning::groups_at_once;

//! The arguments of step t: row and column t of A, and the results of the step before.
template <typename E>
struct border_step {
    const E* a; //!< lower triangle, rows of n
    int n;
    int t;
    E* w; //!< the leading block's inverse, rows of `stride`
    int stride;
    const E* u; //!< W r of this step, and -1 at t
    E* next_u;
    const double* partial; //!< each block's part of r^H u
    int parts;
    double* next_partial;
    unsigned* state;
    bool positive;
    bool aligned; //!< whether rows of a are aligned to 16 bytes
};

/*!
 * Element t of u is -1, and the new row and column of W count as zero. So W + u u^H / s
 * is the whole new inverse.
 */
template <typename E>
__global__ void __launch_bounds__(border_threads) take_border_step(border_step<E> step)
{
    using real = real_of<E>;
    using group = elements_of_16_bytes<E>;
    const int t = step.t;
    if (*step.state != good_state) {
        return;
    }
    double product_of_rows = 0;
    for (int part = threadIdx.x; part < step.parts; part += border_threads) {
        product_of_rows += step.partial[part];
    }
    product_of_rows = block_sum<border_threads>(product_of_rows);
    const double rho = re(step.a[size_t(t) * step.n + t]);
    const double s = rho - product_of_rows;
    const double least =
        2 * double(unit_roundoff<real>) * (fabs(rho) + fabs(product_of_rows));
    if (fabs(s) <= least || (step.positive && s < 0)) {
        // Each block finds the same. Blocks that start later read it from the state.
        if (threadIdx.x == 0) {
            atomicMin(step.state, unsigned(t + 1));
        }
        return;
    }
    const real over_s = real(1 / s);
    const bool last = t + 1 == step.n;
    const E* const r = step.a + size_t(last ? 0 : t + 1) * step.n; // conjugate of r_(t+1)
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double weight = 0;
    for (int top = blockIdx.x * border_rows + warp * rows_a_warp; top <= t;
         top += gridDim.x * border_rows) {
        E mine[rows_a_warp], total[rows_a_warp];
#pragma unroll
        for (int k = 0; k < rows_a_warp; ++k) {
            mine[k] = top + k <= t ? step.u[top + k] : number<E>(0);
            total[k] = number<E>(0);
        }
        int from = 0;
        constexpr int columns = 32 * group::count * groups_at_once;
        for (; from + columns <= t; from += columns) {
            group w[rows_a_warp][groups_at_once], u[groups_at_once], by[groups_at_once];
#pragma unroll
            for (int g = 0; g < groups_at_once; ++g) {
                const int j = from + (32 * g + lane) * group::count;
                u[g] = *reinterpret_cast<const group*>(step.u + j);
                if (step.aligned) {
                    by[g] = *reinterpret_cast<const group*>(r + j);
                } else {
#pragma unroll
                    for (int c = 0; c < group::count; ++c) {
                        by[g].e[c] = r[j + c];
                    }
                }
#pragma unroll
                for (int k = 0; k < rows_a_warp; ++k) {
                    if (top + k < t) {
                        w[k][g] = *reinterpret_cast<const group*>(
                            step.w + size_t(top + k) * step.stride + j);
                    } else {
#pragma unroll
                        for (int c = 0; c < group::count; ++c) {
                            w[k][g].e[c] = number<E>(0);
                        }
                    }
                }
            }
#pragma unroll
            for (int g = 0; g < groups_at_once; ++g) {
                const int j = from + (32 * g + lane) * group::count;
#pragma unroll
                for (int k = 0; k < rows_a_warp; ++k) {
#pragma unroll
                    for (int c = 0; c < group::count; ++c) {
                        E& element = w[k][g].e[c];
                        element = multiply_add(element,
                                               product(mine[k], conjugate(u[g].e[c])),
                                               number<E>(over_s));
                        total[k] = multiply_add(total[k], element, conjugate(by[g].e[c]));
                    }
                    if (top + k <= t) {
                        *reinterpret_cast<group*>(step.w + size_t(top + k) * step.stride +
                                                  j) = w[k][g];
                    }
                }
            }
        }
        for (int j = from + lane; j <= t; j += 32) {
            const E beside = conjugate(step.u[j]), by_r = conjugate(r[j]);
#pragma unroll
            for (int k = 0; k < rows_a_warp; ++k) {
                if (top + k <= t) {
                    E& element = step.w[size_t(top + k) * step.stride + j];
                    const E old = top + k == t || j == t ? number<E>(0) : element;
                    const E value =
                        multiply_add(old, product(mine[k], beside), number<E>(over_s));
                    element = value;
                    total[k] = multiply_add(total[k], value, by_r);
                }
            }
        }
#pragma unroll
        for (int k = 0; k < rows_a_warp; ++k) {
            total[k] = warp_sum(total[k]);
            if (lane == 0 && top + k <= t && !last) {
                step.next_u[top + k] = total[k];
                weight += double(re(product(r[top + k], total[k])));
            }
        }
    }
    if (last) {
        return;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        step.next_u[t + 1] = number<E>(-1);
    }
    weight = block_sum<border_threads>(weight);
    if (threadIdx.x == 0) {
        step.next_partial[blockIdx.x] = weight;
    }
}

//! The first step's u.
template <typename E>
__global__ void begin_border(E* u)
{
    *u = number<E>(-1);
}

template <typename T>
class symmetric_bordering_cuda : public symmetric_inverse<T>
{
public:
    using E = typename device_element<T>::type;
    using results = typename symmetric_inverse<T>::results;
    using parameters = typename symmetric_inverse<T>::parameters;

    symmetric_bordering_cuda(const parameters& p, int device)
        : d_parameters(p), d_device(device), n(p.order), d_stride((n + 31) / 32 * 32)
    {
        cuda_device_scope scope(device);
        expect_memory_for(workspace_bytes(),
                          "symmetric_inverse of order " + std::to_string(n));
    }

    size_t workspace_bytes() const override
    {
        workspace_pieces pieces;
        take_memory(pieces);
        return pieces.bytes();
    }

    void run(view<const T> a,
             const results& out,
             view<unsigned char> workspace,
             queue& queue) override
    {
        const size_t batch = symmetric_inverse_batch(
            *this, d_parameters, a, out, workspace, queue, backend::cuda);
        cuda_device_scope scope(d_device);
        workspace_pieces pieces(workspace.data());
        auto space = take_memory(pieces);
        const auto stream = stream_of(queue);
        const size_t elements = size_t(n) * n;
        for (size_t item = 0; item < batch; ++item) {
            const device_matrix<const E> from{
                reinterpret_cast<const E*>(a.data()) + item * elements, n
            };
            const device_matrix<E> x{
                reinterpret_cast<E*>(out.x.data()) + item * elements, n
            };
            const auto report_progress = [&](double share) {
                if (d_parameters.progress) {
                    d_parameters.progress((item + share) / batch);
                }
            };
            invert(from,
                   x,
                   out.status.data() + item,
                   out.residual.empty() ? nullptr : out.residual.data() + item,
                   out.refinements.empty() ? nullptr : out.refinements.data() + item,
                   out.rcond.empty() ? nullptr : out.rcond.data() + item,
                   space,
                   stream,
                   report_progress);
        }
    }

private:
    struct space_of_run {
        unsigned* state;
        unsigned long long* largest;
        E* u[2];
        double* partial[2];
        E* w;
        E* kept;
        int* exponents;
        probe_space<E> probes;
        symmetric_condition<E> condition;
    };

    space_of_run take_memory(workspace_pieces& pieces) const
    {
        space_of_run space;
        space.state = pieces.take<unsigned>(1);
        space.largest = pieces.take<unsigned long long>(1);
        for (int which = 0; which < 2; ++which) {
            space.u[which] = pieces.take<E>(d_stride);
            space.partial[which] = pieces.take<double>(tuning::most_blocks);
        }
        space.w = pieces.take<E>(size_t(n) * d_stride);
        space.kept = pieces.take<E>(size_t(n) * n);
        space.exponents = pieces.take<int>(2 * size_t(n));
        space.probes.take(pieces, n, 1);
        space.condition.take(pieces, n, 1);
        return space;
    }

    template <typename Report>
    void invert(device_matrix<const E> a,
                device_matrix<E> x,
                int* status,
                typename symmetric_inverse<T>::real* residual,
                int* refinements,
                typename symmetric_inverse<T>::real* rcond,
                space_of_run& space,
                cudaStream_t stream,
                const Report& report_progress) const
    {
        const auto both = [&](device_matrix<const E> from,
                              device_matrix<E> to,
                              unsigned* s) {
            write_both<E, E>
                <<<tiles_of(n, n), tile_block(), 0, stream>>>(from, n, to, 1, nullptr, s);
            cuda_check_launch("symmetric_inverse: write_both");
        };
        cuda_check(cudaMemsetAsync(space.state, 0xff, sizeof(unsigned), stream),
                   "cudaMemsetAsync");
        examine_symmetric<E><<<row_groups(n), examine_threads, 0, stream>>>(
            a, n, space.state, space.largest);
        cuda_check_launch("symmetric_inverse: examine_symmetric");
        both(a, { space.kept, n }, nullptr);
        space.condition.begin(1, stream);
        space.condition.look_at_any({ space.kept, n }, space.exponents);
        if (rcond) {
            space.condition.measure(a);
        }
        begin_border<E><<<1, 1, 0, stream>>>(space.u[0]);
        cuda_check_launch("symmetric_inverse: begin_border");
        const bool aligned =
            reinterpret_cast<uintptr_t>(a.data) % 16 == 0 && n * sizeof(E) % 16 == 0;
        int parts = 0;
        const int stage = n / 20 + 1;
        for (int t = 0; t < n; ++t) {
            const int blocks = std::min(tuning::most_blocks, t / border_rows + 1);
            take_border_step<E><<<blocks, border_threads, 0, stream>>>(
                { a.data,
                  n,
                  t,
                  space.w,
                  d_stride,
                  space.u[t % 2],
                  space.u[1 - t % 2],
                  space.partial[t % 2],
                  parts,
                  space.partial[1 - t % 2],
                  space.state,
                  d_parameters.definite == definiteness::positive,
                  aligned });
            cuda_check_launch("symmetric_inverse: take_border_step");
            parts = blocks;
            if (d_parameters.progress && t % stage == stage - 1) {
                cuda_check(cudaStreamSynchronize(stream), "take_border_step");
                const double share = double(t + 1) / n;
                report_progress(share * share * share);
            }
        }
        both({ space.w, d_stride }, x, space.state);
        space.condition.judge(
            { space.kept, n }, { x.data, n }, nullptr, space.state, residual);
        if (rcond) {
            space.condition.write({ x.data, n }, space.state, rcond);
        }
        if (refinements) {
            cuda_check(cudaMemsetAsync(refinements, 0, sizeof(int), stream),
                       "cudaMemsetAsync");
        }
        if (residual) {
            space.probes.probe(
                { space.kept, n }, { x.data, n }, n, 0, 1, space.state, stream);
            report<E><<<1, 1, 0, stream>>>(
                space.probes.verdicts, n, 1, space.state, residual, nullptr, 0);
            cuda_check_launch("symmetric_inverse: report");
        }
        finish_symmetric<E>
            <<<row_groups(n), examine_threads, 0, stream>>>(x, n, space.state, status);
        cuda_check_launch("symmetric_inverse: finish_symmetric");
        report_progress(1);
    }

    const parameters d_parameters;
    const int d_device;
    const int n;
    const int d_stride;
};

} // namespace

template <typename T>
std::unique_ptr<symmetric_inverse<T>>
make_symmetric_bordering_cuda(const typename symmetric_inverse<T>::parameters& p,
                              int device)
{
    return std::make_unique<symmetric_bordering_cuda<T>>(p, device);
}

#define CUDAPHY_INSTANTIATE(T)                                                       \
    template std::unique_ptr<symmetric_inverse<T>> make_symmetric_bordering_cuda<T>( \
        const typename symmetric_inverse<T>::parameters&, int);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
CUDAPHY_INSTANTIATE(complex64)
CUDAPHY_INSTANTIATE(complex128)

} // namespace gr::cudaphy::kernels
