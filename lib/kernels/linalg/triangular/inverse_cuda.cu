/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/linalg/triangular/as_published/rounds.cuh"
#include "kernels/linalg/triangular/inverse_makers.h"
#include "kernels/linalg/triangular/inverse_thread.cuh"

// Up to order 8, and for float of order 16, a thread has a matrix to itself. Otherwise
// one warp holds 32 / W matrices of padded order W = 2^n in shared memory. Device memory
// is touched once each way: rows are read and written by neighbouring lanes, of A only
// the triangle; an upper triangle is written to shared memory transposed.

namespace gr::cudaphy::kernels {
namespace {

//! Warps a block: as many tiles as fit the 48 KB that need no permission.
template <typename T>
constexpr int most_warps = sizeof(T) == 16 ? 2 : 4;

//! Blocks a multiprocessor that registers must leave room for: as many as tiles of order
//! 32 do, but no more than 32 warps.
template <typename T>
constexpr int fewest_blocks = sizeof(T) == 4 ? 8 : 6;

//! blockDim = (32, warps); a warp takes 32 / W matrices of order n <= W.
template <typename T, int W, bool Columns>
__global__ void __launch_bounds__(warp_lanes* most_warps<T>, fewest_blocks<T>)
    invert_triangles(
        const T* a, T* x, int* status, size_t batch, int n, bool lower, bool unit)
{
    constexpr int stride = W + 1;
    constexpr int matrices = warp_lanes / W;
    constexpr int rows_at_once = warp_lanes / W;
    constexpr int ahead = W < 8 ? W : 8; // loads in flight a lane
    constexpr unsigned matrix_lanes = all_lanes >> (warp_lanes - W);
    __shared__ T tiles[most_warps<T>][warp_lanes * stride];

    const int lane = threadIdx.x;
    const size_t first = (size_t(blockIdx.x) * blockDim.y + threadIdx.y) * matrices;
    if (first >= batch) {
        return; // the whole warp
    }
    T* tile = tiles[threadIdx.y];
    const int present = batch - first < matrices ? int(batch - first) : matrices;
    const size_t base = first * n * n;

    // Element (i, j) of matrix g, counted in the warp, that this lane moves in step t.
    const int j = lane % W;
    const int row_step = lower ? stride : 1;
    const int column_step = lower ? 1 : stride;
    const auto row_of = [&](int t) { return t * rows_at_once + lane / W; };
    const auto matrix_of = [&](int t) { return W == warp_lanes ? 0 : row_of(t) / W; };
    const auto in_matrix = [&](int g, int i) { return g < present && i < n && j < n; };
    const auto in_triangle = [&](int i) { return lower ? j <= i : j >= i; };
    const auto place = [&](int g, int i) {
        return g * W * stride + i * row_step + j * column_step;
    };

    unsigned not_finite = 0; // a bit for each matrix
#pragma unroll 1
    for (int t0 = 0; t0 < W; t0 += ahead) {
        T loaded[ahead];
#pragma unroll
        for (int t = 0; t < ahead; ++t) {
            const int g = matrix_of(t0 + t), i = row_of(t0 + t) % W;
            loaded[t] = make_element<T>(i == j ? 1 : 0);
            if (in_matrix(g, i) && in_triangle(i) && !(unit && i == j)) {
                loaded[t] = a[base + (g * n + i) * n + j];
            }
        }
#pragma unroll
        for (int t = 0; t < ahead; ++t) {
            const int g = matrix_of(t0 + t), i = row_of(t0 + t) % W;
            not_finite |= is_finite(loaded[t]) ? 0u : 1u << g;
            tile[place(g, i)] = loaded[t];
        }
    }
#pragma unroll
    for (int distance = warp_lanes / 2; distance; distance /= 2) {
        not_finite |= __shfl_xor_sync(all_lanes, not_finite, distance);
    }
    __syncwarp();

    // Round 1: from here on a lane has a row.
    T* diagonal = tile + lane * stride + lane % W;
    const bool zero = is_zero(*diagonal);
    *diagonal = reciprocal(*diagonal);
    bool finite = is_finite(*diagonal);
    __syncwarp();
    if constexpr (Columns) {
        finite = columns<T, W>(tile, lane) && finite;
    } else {
        finite = recursive_blocks<T, W>(tile, lane) && finite;
    }

    const int mine = lane / W;
    const unsigned zeros = __ballot_sync(all_lanes, zero) >> (mine * W) & matrix_lanes;
    const unsigned spoiled =
        __ballot_sync(all_lanes, !finite) >> (mine * W) & matrix_lanes;
    const int state = not_finite >> mine & 1 ? -1
                      : zeros                ? __ffs(int(zeros))
                      : spoiled              ? -1
                                             : 0;
    const unsigned succeeded = __ballot_sync(all_lanes, state == 0);

#pragma unroll ahead
    for (int t = 0; t < W; ++t) {
        const int g = matrix_of(t), i = row_of(t) % W;
        if (in_matrix(g, i)) {
            const bool keep = in_triangle(i) && (succeeded >> (g * W) & 1);
            x[base + (g * n + i) * n + j] = keep ? tile[place(g, i)] : make_element<T>(0);
        }
    }
    if (lane % W == 0 && mine < present) {
        status[first + mine] = state;
    }
}

template <typename T>
struct device_element {
    using type = T;
};
template <>
struct device_element<std::complex<float>> {
    using type = float2;
};
template <>
struct device_element<std::complex<double>> {
    using type = double2;
};

template <typename T>
class triangular_inverse_cuda : public triangular_inverse<T>
{
public:
    triangular_inverse_cuda(const typename triangular_inverse<T>::parameters& p,
                            int device)
        : d_parameters(p), d_device(device)
    {
        cuda_device_scope scope(device);
        cuda_check(
            cudaDeviceGetAttribute(&d_processors, cudaDevAttrMultiProcessorCount, device),
            "cudaDeviceGetAttribute");
    }

    void run(view<const T> a, view<T> x, view<int> status, queue& queue) override
    {
        const int n = d_parameters.order;
        const size_t batch = triangular_inverse_batch(
            n, a.size(), x.size(), status.size(), queue, backend::cuda);
        if (batch == 0) {
            return;
        }
        cuda_device_scope scope(d_device);
        if (d_parameters.algorithm == triangular_algorithm::fastest &&
            launch_threads<8>(a, x, status, batch, queue)) {
            return;
        }
        if (n == 1) {
            launch<1>(a, x, status, batch, queue);
        } else if (n == 2) {
            launch<2>(a, x, status, batch, queue);
        } else if (n <= 4) {
            launch<4>(a, x, status, batch, queue);
        } else if (n <= 8) {
            launch<8>(a, x, status, batch, queue);
        } else if (n <= 16) {
            launch<16>(a, x, status, batch, queue);
        } else {
            launch<32>(a, x, status, batch, queue);
        }
    }

private:
    using element = typename device_element<T>::type;

    //! Whether there is a kernel of a thread a matrix for them, the order up to N or 16.
    template <int N>
    bool launch_threads(
        view<const T> a, view<T> x, view<int> status, size_t batch, queue& queue)
    {
        if constexpr (N == 8 && std::is_same_v<T, float>) {
            if (d_parameters.order == 16) {
                return launch_thread<16>(a, x, status, batch, queue);
            }
        }
        if (d_parameters.order == N) {
            return launch_thread<N>(a, x, status, batch, queue);
        }
        if constexpr (N > 2) {
            return launch_threads<N - 1>(a, x, status, batch, queue);
        }
        return false;
    }

    template <int N>
    bool launch_thread(
        view<const T> a, view<T> x, view<int> status, size_t batch, queue& queue)
    {
        const auto aligned = [](const void* p) {
            return reinterpret_cast<uintptr_t>(p) % 16 == 0;
        };
        if (!aligned(a.data()) || !aligned(x.data())) {
            return false;
        }
        constexpr size_t threads = 32 * thread_tile<element, N>::warps;
        const auto grid = unsigned((batch + threads - 1) / threads);
        const auto kernel = d_parameters.lower ? substitute_in_threads<element, N, true>
                                               : substitute_in_threads<element, N, false>;
        kernel<<<grid, threads, 0, stream_of(queue)>>>(
            reinterpret_cast<const element*>(a.data()),
            reinterpret_cast<element*>(x.data()),
            status.data(),
            batch,
            d_parameters.unit_diagonal);
        cuda_check_launch("triangular_inverse: substitute_in_threads");
        return true;
    }

    template <int W>
    void launch(view<const T> a, view<T> x, view<int> status, size_t batch, queue& queue)
    {
        constexpr size_t matrices = warp_lanes / W;
        const size_t warps = (batch + matrices - 1) / matrices;
        // A small batch goes in blocks of one warp, to reach every multiprocessor.
        const bool small = warps < size_t(4) * d_processors * most_warps<element>;
        const dim3 block(warp_lanes, small ? 1 : most_warps<element>);
        const auto grid = unsigned((warps + block.y - 1) / block.y);
        const auto kernel = d_parameters.algorithm == triangular_algorithm::columns
                                ? invert_triangles<element, W, true>
                                : invert_triangles<element, W, false>;
        kernel<<<grid, block, 0, stream_of(queue)>>>(
            reinterpret_cast<const element*>(a.data()),
            reinterpret_cast<element*>(x.data()),
            status.data(),
            batch,
            d_parameters.order,
            d_parameters.lower,
            d_parameters.unit_diagonal);
        cuda_check_launch("triangular_inverse: invert_triangles");
    }

    typename triangular_inverse<T>::parameters d_parameters;
    int d_device;
    int d_processors = 0;
};

} // namespace

template <typename T>
std::unique_ptr<triangular_inverse<T>>
make_triangular_inverse_cuda(const typename triangular_inverse<T>::parameters& p,
                             int device)
{
    return std::make_unique<triangular_inverse_cuda<T>>(p, device);
}

template std::unique_ptr<triangular_inverse<float>>
make_triangular_inverse_cuda<float>(const triangular_inverse<float>::parameters&, int);
template std::unique_ptr<triangular_inverse<double>>
make_triangular_inverse_cuda<double>(const triangular_inverse<double>::parameters&, int);
template std::unique_ptr<triangular_inverse<std::complex<float>>>
make_triangular_inverse_cuda<std::complex<float>>(
    const triangular_inverse<std::complex<float>>::parameters&, int);
template std::unique_ptr<triangular_inverse<std::complex<double>>>
make_triangular_inverse_cuda<std::complex<double>>(
    const triangular_inverse<std::complex<double>>::parameters&, int);

} // namespace gr::cudaphy::kernels
