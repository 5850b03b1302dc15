/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/equilibrate.cuh"
#include "kernels/symmetric/cuda/probe.cuh"
#include "kernels/symmetric/cuda/small.cuh"
#include "kernels/symmetric/cuda/workspace.cuh"
#include "kernels/symmetric/symmetric_inverse_makers.h"

// The condition |A|_1 |X|_1 of a batch's matrices. A matrix is singular to its precision
// if that condition is too large after a symmetric scaling of its rows and columns.

namespace gr::cudaphy::kernels {
namespace {

constexpr int sum_side = 32;
constexpr int sum_threads_down = symmetric_tuning::passes::sum_threads_down;

/*!
 * norms[4 * matrix], 0 before, becomes the largest sum of a row's moduli of S M S. Only
 * the lower triangle of the Hermitian M is read. blockIdx.x: group of rows. The order of
 * the additions is always the same.
 *
 * factors: the diagonal of S, (batch, n), or null; over: take their reciprocals
 * verdicts: by the diagonals, or null. A matrix keeps 0 if its verdict and `limit` say
 * that it is not singular.
 */
template <typename E>
__global__ void largest_symmetric_sum(device_matrix<const E> m,
                                      int n,
                                      const double* factors,
                                      bool over,
                                      const probe_verdict* verdicts,
                                      double limit,
                                      double* norms)
{
    if (verdicts) {
        const auto& v = verdicts[blockIdx.z];
        if (double(n) * n * v.norm_a * v.norm_x <= limit) {
            return;
        }
    }
    __shared__ double columns[sum_threads_down][sum_side];
    __shared__ double rows[sum_side];
    const E* const from = m.item();
    const double* const scale = factors ? factors + size_t(blockIdx.z) * n : nullptr;
    const auto factor = [&](int i) {
        return scale ? over ? 1 / scale[i] : scale[i] : 1.0;
    };
    const auto size = [&](int i, int j) {
        const auto value = converted<wide_of<E>>(from[size_t(i) * m.stride + j]);
        return double(i == j ? fabs(re(value)) : modulus(value)) * factor(i) * factor(j);
    };
    const int x = threadIdx.x, y = threadIdx.y;
    const int top = blockIdx.x * sum_side;
    for (int r = y; r < sum_side; r += sum_threads_down) {
        const int i = top + r;
        double total = 0;
        for (int j = x; i < n && j <= i; j += sum_side) {
            total += size(i, j);
        }
        total = warp_sum(total);
        if (x == 0) {
            rows[r] = total;
        }
    }
    double below = 0; // of column top + x
    for (int i = top + y; top + x < n && i < n; i += sum_threads_down) {
        below += i > top + x ? size(i, top + x) : 0;
    }
    columns[y][x] = below;
    __syncthreads();
    if (y == 0) {
        double total = rows[x];
        for (int part = 0; part < sum_threads_down; ++part) {
            total += columns[part][x];
        }
        if (top + x < n) { // the bits of a NaN are above those of all other numbers
            atomicMax(reinterpret_cast<unsigned long long*>(norms + 4 * blockIdx.z),
                      static_cast<unsigned long long>(__double_as_longlong(total)));
        }
    }
}

//! The factors that scale the diagonal of a definite matrix to ones. blockIdx.z: matrix
template <typename E>
__global__ void factors_to_ones(device_matrix<const E> a, int n, double* factors)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const double diagonal = re(a.item()[size_t(i) * a.stride + i]);
        factors[size_t(blockIdx.z) * n + i] = diagonal > 0 ? 1 / sqrt(diagonal) : 1;
    }
}

__global__ void factors_of_exponents(const int* exponents, int n, double* factors)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        factors[i] = scalbn(1.0, exponents[i]);
    }
}

//! Singular matrices get the state n, and NaN as residual, unless `residual` is null.
//! norms: of S A S and of its inverse, (batch, 4)
template <typename R>
__global__ void mark_singular(
    const double* norms, int n, double limit, int count, unsigned* states, R* residual)
{
    const int item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item < count && states[item] == good_state &&
        norms[4 * item] * norms[4 * item + 1] > limit) {
        states[item] = n;
        if (residual) {
            residual[item] = R(nan(""));
        }
    }
}

/*!
 * Probes matrices whose condition is above `least`: X must take A y back to y, where y =
 * X w lies in the directions in which X is largest. If X does not, the matrix is marked
 * as by mark_singular(). Reads A's lower triangle and both triangles of X. vectors: 3 n a
 * matrix. blockIdx.z: matrix
 */
template <typename E>
__global__ void __launch_bounds__(probe_threads) mark_lost(device_matrix<const E> a,
                                                           device_matrix<const E> x,
                                                           int n,
                                                           const double* norms,
                                                           double least,
                                                           wide_of<E>* vectors,
                                                           unsigned* states,
                                                           real_of<E>* residual)
{
    using V = wide_of<E>;
    const unsigned item = blockIdx.z;
    if (states[item] != good_state || norms[4 * item] * norms[4 * item + 1] <= least) {
        return;
    }
    V* const w = vectors + size_t(item) * 3 * n;
    V* const y = w + n;
    V* const back = y + n;
    const auto multiply = [&](const auto& element, const V* from, V* to) {
        for (int i = threadIdx.x / 32; i < n; i += probe_threads / 32) {
            V total = number<V>(0);
            for (int j = threadIdx.x % 32; j < n; j += 32) {
                total = multiply_add(total, element(i, j), from[j]);
            }
            total = warp_sum(total);
            if (threadIdx.x % 32 == 0) {
                to[i] = total;
            }
        }
        __syncthreads();
    };
    const auto of_a = [&](int i, int j) {
        return element_of_lower<V>(a.item(), a.stride, i, j);
    };
    const auto of_x = [&](int i, int j) {
        return converted<V>(x.item()[size_t(i) * x.stride + j]);
    };
    for (int i = threadIdx.x; i < n; i += probe_threads) {
        // Of different sizes, because equal ones could cancel in a direction of few
        // elements.
        const unsigned h = (unsigned(i) * 0x9e3779b1u + 0x7f4a7c15u) * 0x846ca68bu;
        const double size = 0.75 + (h & 0xffff) / 131072.0;
        w[i] = number<V>(h >> 31 ? size : -size);
    }
    __syncthreads();
    multiply(of_x, w, y);
    multiply(of_a, y, w);
    multiply(of_x, w, back);
    double error = 0, size = 0;
    for (int i = threadIdx.x; i < n; i += probe_threads) {
        const double missed = modulus(sum(y[i], negative(back[i])));
        const double whole = modulus(y[i]);
        error += missed * missed;
        size += whole * whole;
    }
    error = block_sum<probe_threads>(error);
    size = block_sum<probe_threads>(size);
    if (threadIdx.x == 0 && !(error < 0.25 * size)) {
        states[item] = n;
        if (residual) {
            residual[item] = real_of<E>(nan(""));
        }
    }
}

//! norms: those of A and X follow those of mark_singular()
template <typename R>
__global__ void
write_rcond(const double* norms, int count, const unsigned* states, R* rcond)
{
    const int item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item < count) {
        rcond[item] = states[item] == good_state
                          ? R(1 / (norms[4 * item + 2] * norms[4 * item + 3]))
                          : R(0);
    }
}

template <typename E>
class symmetric_condition
{
public:
    void take(workspace_pieces& pieces, int order, size_t batch)
    {
        n = order;
        d_norms = pieces.take<double>(4 * batch);
        d_factors = pieces.take<double>(batch * n);
        d_vectors = pieces.take<wide_of<E>>(3 * batch * n);
    }
    void begin(int count, cudaStream_t stream)
    {
        d_count = count;
        d_stream = stream;
        cuda_check(cudaMemsetAsync(d_norms, 0, 4 * count * sizeof(double), stream),
                   "cudaMemsetAsync");
    }

    //! (batch, 4): a kernel that knows the condition writes its two factors to elements 0
    //! and 1 of each matrix.
    double* norms() const { return d_norms; }

    //! Measures A for judge() if the matrices are definite.
    //! \param verdicts  by the diagonals
    void look_at_definite(device_matrix<const E> a, const probe_verdict* verdicts)
    {
        const dim3 grid((n + 127) / 128, 1, d_count);
        factors_to_ones<E><<<grid, 128, 0, d_stream>>>(a, n, d_factors);
        sum(a, d_factors, false, 0, verdicts);
    }
    //! Measures A for judge(), one matrix with both triangles.
    //! \param exponents  room for 2 n
    void look_at_any(device_matrix<const E> a, int* exponents)
    {
        find_exponents(a, n, exponents, d_stream);
        factors_of_exponents<<<(n + 127) / 128, 128, 0, d_stream>>>(
            exponents, n, d_factors);
        sum(a, d_factors, false, 0, nullptr);
    }
    //! Marks matrices that are singular by A and X.
    void judge(device_matrix<const E> a,
               device_matrix<const E> x,
               const probe_verdict* verdicts,
               unsigned* states,
               real_of<E>* residual)
    {
        sum(x, d_factors, true, 1, verdicts);
        mark_singular<<<(d_count + 127) / 128, 128, 0, d_stream>>>(
            d_norms,
            n,
            least_singular_condition<real_of<E>>(n),
            d_count,
            states,
            residual);
        cuda_check_launch("symmetric_inverse: mark_singular");
        mark_lost_inverses(a, x, states, residual);
    }
    //! Marks matrices whose X lost all digits, if norms() are known.
    void mark_lost_inverses(device_matrix<const E> a,
                            device_matrix<const E> x,
                            unsigned* states,
                            real_of<E>* residual)
    {
        mark_lost<E><<<dim3(1, 1, d_count), probe_threads, 0, d_stream>>>(
            a,
            x,
            n,
            d_norms,
            suspicious * least_singular_condition<real_of<E>>(n),
            d_vectors,
            states,
            residual);
        cuda_check_launch("symmetric_inverse: mark_lost");
    }

    //! |A|_1, before X takes its place.
    void measure(device_matrix<const E> a) { sum(a, nullptr, false, 2, nullptr); }
    void write(device_matrix<const E> x, const unsigned* states, real_of<E>* rcond)
    {
        sum(x, nullptr, false, 3, nullptr);
        write_rcond<<<(d_count + 127) / 128, 128, 0, d_stream>>>(
            d_norms, d_count, states, rcond);
        cuda_check_launch("symmetric_inverse: write_rcond");
    }

private:
    void sum(device_matrix<const E> m,
             const double* factors,
             bool over,
             int which,
             const probe_verdict* verdicts)
    {
        const dim3 groups((n + sum_side - 1) / sum_side, 1, d_count);
        largest_symmetric_sum<E>
            <<<groups, dim3(sum_side, sum_threads_down), 0, d_stream>>>(
                m,
                n,
                factors,
                over,
                verdicts,
                suspicious * least_singular_condition<real_of<E>>(n),
                d_norms + which);
        cuda_check_launch("symmetric_inverse: largest_symmetric_sum");
    }

    int n = 0, d_count = 0;
    double* d_norms = nullptr;
    double* d_factors = nullptr;
    wide_of<E>* d_vectors = nullptr;
    cudaStream_t d_stream = nullptr;
};

} // namespace
} // namespace gr::cudaphy::kernels
