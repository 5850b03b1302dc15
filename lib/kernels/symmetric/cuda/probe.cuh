/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include "kernels/symmetric/cuda/passes.cuh"
#include "kernels/symmetric/cuda/workspace.cuh"

// How good an inverse is, in O(n^2): |I - A X|_1 by Hager's estimate (1984). R = I - A X
// takes random vectors z of +-1 to r, and s are the signs of r. The largest element of
// |R^H s| selects a column of R, and the norm of that column is the estimate. The element
// itself would be too low by the root of n if R is noise. Sums are in double precision.

namespace gr::cudaphy::kernels {
namespace {

constexpr int probes = 4;
constexpr int probe_threads = symmetric_tuning::probes::threads;

//! The result of the probes for one matrix and its inverse.
struct probe_verdict {
    double norm_a, norm_x; //!< the 1-norms
    double defect;         //!< |I - A X|_1
    unsigned state;        //!< of the matrix, see passes.cuh
};

//! z = +-1, by a hash of the index.
template <typename V>
__global__ void draw_probes(V* z, int n)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < n * probes) {
        unsigned h = unsigned(e) * 0x9e3779b1u + 0x7f4a7c15u;
        h = (h ^ (h >> 16)) * 0x7feb352du;
        h = (h ^ (h >> 15)) * 0x846ca68bu;
        z[size_t(blockIdx.z) * n * probes + e] = number<V>((h >> 31) ? 1 : -1);
    }
}

//! out = M v, or z - M v if z is not null; all of shape (n, probes). `norm`, if not null,
//! becomes the largest sum of a row's moduli. blockIdx.x: group of rows
template <typename E, typename V, int Rows>
__global__ void __launch_bounds__(probe_threads) apply_to_probes(
    device_matrix<const E> matrix, int n, const V* v, const V* z, V* out, double* norm)
{
    const int top = (blockIdx.x * (probe_threads / 32) + threadIdx.x / 32) * Rows;
    const int lane = threadIdx.x % 32;
    if (top >= n) {
        return;
    }
    const size_t item = size_t(blockIdx.z) * n * probes;
    const E* from[Rows];
    V total[Rows][probes];
    double size[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        from[r] = matrix.item() + size_t(min(top + r, n - 1)) * matrix.stride;
        size[r] = 0;
#pragma unroll
        for (int p = 0; p < probes; ++p) {
            total[r][p] = number<V>(0);
        }
    }
    using chunk = elements_of_16_bytes<V>;
    const chunk* const chunks = reinterpret_cast<const chunk*>(v + item);
#pragma unroll 4
    for (int j = lane; j < n; j += 32) {
        V by[probes];
#pragma unroll
        for (int c = 0; c < probes / chunk::count; ++c) {
            const chunk several = chunks[size_t(j) * (probes / chunk::count) + c];
#pragma unroll
            for (int p = 0; p < chunk::count; ++p) {
                by[c * chunk::count + p] = several.e[p];
            }
        }
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            const V element = converted<V>(from[r][j]);
            size[r] += modulus(element);
#pragma unroll
            for (int p = 0; p < probes; ++p) {
                total[r][p] = multiply_add(total[r][p], element, by[p]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        const int row = top + r;
        size[r] = warp_sum(size[r]);
#pragma unroll
        for (int p = 0; p < probes; ++p) {
            total[r][p] = warp_sum(total[r][p]);
        }
        if (lane == 0 && row < n) {
#pragma unroll
            for (int p = 0; p < probes; ++p) {
                const size_t at = item + size_t(row) * probes + p;
                out[at] = z ? sum(z[at], negative(total[r][p])) : total[r][p];
            }
            if (norm) {
                atomicMax(reinterpret_cast<unsigned long long*>(norm + blockIdx.z * 2),
                          static_cast<unsigned long long>(__double_as_longlong(size[r])));
            }
        }
    }
}

//! signs = each element divided by its modulus; 1 for 0.
template <typename V>
__global__ void take_signs(const V* r, V* signs, int n)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < n * probes) {
        const size_t at = size_t(blockIdx.z) * n * probes + e;
        const double size = modulus(r[at]);
        signs[at] = size > 0 && is_finite(size) ? scaled(r[at], 1 / size) : number<V>(1);
    }
}

//! For each probe: e = the column of the identity, y = the column of X, at the index
//! where |w| is largest. blockIdx.x: matrix, blockIdx.y: probe
template <typename E, typename V>
__global__ void __launch_bounds__(probe_threads)
    take_columns(device_matrix<const E> x, int n, const V* w, V* e, V* y)
{
    const size_t item = size_t(blockIdx.x) * n * probes + blockIdx.y;
    double most = -1;
    int column = 0;
    for (int i = threadIdx.x; i < n; i += probe_threads) {
        const double size = modulus(w[item + size_t(i) * probes]);
        if (size > most) {
            most = size;
            column = i;
        }
    }
    __shared__ double sizes[probe_threads];
    __shared__ int columns[probe_threads];
    sizes[threadIdx.x] = most;
    columns[threadIdx.x] = column;
    for (int apart = probe_threads / 2; apart; apart /= 2) {
        __syncthreads();
        const int t = threadIdx.x;
        if (t < apart && sizes[t + apart] > sizes[t]) {
            sizes[t] = sizes[t + apart];
            columns[t] = columns[t + apart];
        }
    }
    __syncthreads();
    column = columns[0];
    const E* row = x.data + blockIdx.x * x.to_next + size_t(column) * x.stride;
    for (int i = threadIdx.x; i < n; i += probe_threads) {
        e[item + size_t(i) * probes] = number<V>(i == column);
        y[item + size_t(i) * probes] = conjugate(converted<V>(row[i]));
    }
}

//! Writes the verdicts, one block a matrix. `norms`: of A and X, (batch, 2); c: columns
//! of R; w = R^H s
template <typename V>
__global__ void __launch_bounds__(probe_threads) judge(const V* c,
                                                       const V* w,
                                                       const double* norms,
                                                       const unsigned* states,
                                                       int n,
                                                       probe_verdict* verdicts)
{
    const size_t item = size_t(blockIdx.x) * n * probes;
    double most = 0;
    for (int p = 0; p < probes; ++p) {
        double total = 0;
        for (int i = threadIdx.x; i < n; i += probe_threads) {
            total += modulus(c[item + size_t(i) * probes + p]);
            const double size = modulus(w[item + size_t(i) * probes + p]);
            most = size > most || size != size ? size : most;
        }
        total = block_sum<probe_threads>(total);
        most = fmax(most, total) + 0 * total; // NaN stays
    }
    __shared__ double largest[probe_threads];
    largest[threadIdx.x] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < probe_threads; ++t) {
            most = largest[t] > most || largest[t] != largest[t] ? largest[t] : most;
        }
        verdicts[blockIdx.x] = {
            norms[2 * blockIdx.x], norms[2 * blockIdx.x + 1], most, states[blockIdx.x]
        };
    }
}

//! The verdicts on definite matrices, one block a matrix. The largest elements of a
//! matrix and of its inverse stand for the norms, because they are on the diagonals.
template <typename E>
__global__ void __launch_bounds__(probe_threads)
    look_at_diagonal(device_matrix<const E> x,
                     int n,
                     const unsigned long long* largest,
                     const unsigned* states,
                     probe_verdict* verdicts)
{
    const E* from = x.data + blockIdx.x * x.to_next;
    double most = 0;
    for (int i = threadIdx.x; i < n; i += probe_threads) {
        const double size = size_of(from[size_t(i) * x.stride + i]);
        most = size > most || size != size ? size : most;
    }
    __shared__ double sizes[probe_threads];
    sizes[threadIdx.x] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < probe_threads; ++t) {
            most = sizes[t] > most || sizes[t] != sizes[t] ? sizes[t] : most;
        }
        verdicts[blockIdx.x] = {
            __longlong_as_double(largest[blockIdx.x]), most, 0, states[blockIdx.x]
        };
    }
}

//! Writes the results that the caller asked for, one thread a matrix.
template <typename E>
__global__ void report(const probe_verdict* verdicts,
                       int n,
                       int batch,
                       const unsigned* states,
                       real_of<E>* residual,
                       int* refinements,
                       int steps)
{
    const int item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= batch) {
        return;
    }
    const auto verdict = verdicts[item];
    const double eps = unit_roundoff<real_of<E>>;
    if (residual) {
        residual[item] =
            states[item] == good_state
                ? real_of<E>(verdict.defect / verdict.norm_a / verdict.norm_x / eps / n)
                : real_of<E>(nan(""));
    }
    if (refinements) {
        refinements[item] = steps;
    }
}

//! The memory of the probes' vectors and verdicts, for a batch of order n.
template <typename E>
struct probe_space {
    using V = wide_of<E>;
    V* vectors[4];
    double* norms;
    probe_verdict* verdicts;

    void take(workspace_pieces& pieces, int n, size_t batch)
    {
        for (auto& vector : vectors) {
            vector = pieces.take<V>(batch * n * probes);
        }
        norms = pieces.take<double>(2 * batch);
        verdicts = pieces.take<probe_verdict>(batch);
    }

    //! Computes the verdicts on `count` inverses from item `item` on; a and x begin at
    //! that item.
    void probe(device_matrix<const E> a,
               device_matrix<const E> x,
               int n,
               int item,
               int count,
               const unsigned* states,
               cudaStream_t stream) const
    {
        const auto vector = [&](int v) { return vectors[v] + size_t(item) * n * probes; };
        V *const z = vector(0), *const y = vector(1);
        V *const r = vector(2), *const w = vector(3);
        double* const norm_a = norms + 2 * item;
        double* const norm_x = norm_a + 1;
        const V* const none = nullptr;
        const auto apply = [&](device_matrix<const E> matrix,
                               const V* v,
                               const V* from,
                               V* out,
                               double* norm) {
            const bool takes_two = n >= symmetric_tuning::probes::order_for_two_rows;
            const int at_once = probe_threads / 32 * (takes_two ? 2 : 1);
            const dim3 rows((n + at_once - 1) / at_once, 1, count);
            const auto kernel =
                takes_two ? apply_to_probes<E, V, 2> : apply_to_probes<E, V, 1>;
            kernel<<<rows, probe_threads, 0, stream>>>(matrix, n, v, from, out, norm);
        };
        const dim3 entries((n * probes + probe_threads - 1) / probe_threads, 1, count);
        cuda_check(cudaMemsetAsync(norm_a, 0, 2 * count * sizeof(double), stream),
                   "cudaMemsetAsync");
        draw_probes<V><<<entries, probe_threads, 0, stream>>>(z, n);
        apply(x, z, none, y, norm_x);
        apply(a, y, z, r, norm_a);
        take_signs<V><<<entries, probe_threads, 0, stream>>>(r, z, n);
        apply(a, z, none, y, nullptr);
        apply(x, y, z, w, nullptr);
        take_columns<E, V>
            <<<dim3(count, probes), probe_threads, 0, stream>>>(x, n, w, z, y);
        apply(a, y, z, r, nullptr);
        judge<V><<<count, probe_threads, 0, stream>>>(
            r, w, norm_a, states + item, n, verdicts + item);
        cuda_check_launch("symmetric_inverse: judge");
    }
};

} // namespace
} // namespace gr::cudaphy::kernels
