/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/linalg/inverse_makers.h"
#include "kernels/linalg/inverse_pairs.cuh"
#include <climits>

// Orders 9 to 32; inverse_thread.cuh and inverse_pairs.cuh have the smaller ones.
//
// The patent's two-dimensional thread block, N threads a matrix by K matrices a block,
// with the matrix in registers instead of shared memory: a thread holds a column, so N
// threads read a row of N elements at once, device memory is touched once each way (16
// N^2 bytes a complex matrix), and shared memory carries the pivot's column only. A
// matrix's threads are lanes of one warp, so a step needs one __syncwarp and no
// __syncthreads.
//
// Registers can't be indexed at run time, which decides the rest:
// - Rows are registers. The pivot's row is swapped to register 0 by selects, and the
//   update writes row i to register i - 1, so the next step finds its rows from register
//   0 on, and the loop over steps needs no unrolling. N steps turn the rows round by N
//   registers.
// - Columns are lanes. A swap of columns swaps the lanes' numbers, not their data.
// - Both swaps are undone by the address to which an element is stored.
//
// Per step and element: 4 fused multiply-adds, some 5 instructions of pivot search on a
// third of the elements and 5 of row swap on half of them.

namespace gr::cudaphy::kernels {
namespace {

constexpr unsigned all_lanes = 0xffffffff;
constexpr int most_threads = 128; //!< a block
constexpr int fewest_threads = 32;

// Over the `Lanes` threads of a matrix; every lane of the warp must call.

template <int Lanes>
__device__ inline int largest_of_lanes(int value)
{
#if __CUDA_ARCH__ >= 800
    constexpr int by_shuffles = Lanes == 32 ? 0 : Lanes;
    value = Lanes == 32 ? __reduce_max_sync(all_lanes, value) : value;
#else
    constexpr int by_shuffles = Lanes;
#endif
#pragma unroll
    for (int distance = by_shuffles / 2; distance; distance /= 2) {
        value = max(value, __shfl_xor_sync(all_lanes, value, distance));
    }
    return value;
}

template <int Lanes>
__device__ inline int smallest_of_lanes(int value)
{
    return ~largest_of_lanes<Lanes>(~value);
}

struct found_pivot {
    float modulus = -1.0f;
    int row = 0; //!< the register
};

//! The first of the largest of a lane's registers 0 .. rows - 1. Blocks of rows beyond
//! are jumped over.
template <bool Scaled, int Rows, typename T>
__device__ inline found_pivot search_column(const T (&column)[Rows], int rows, float s)
{
    found_pivot found;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        if (i % 4 == 0 && i >= rows) {
            break;
        }
        const float candidate = modulus<Scaled>(column[i], s);
        if (i < rows && candidate > found.modulus) {
            found.modulus = candidate;
            found.row = i;
        }
    }
    return found;
}

template <int Rows, typename T>
__device__ inline int largest_component(const T (&column)[Rows], int first, int end)
{
    int largest = 0;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        if (i >= first && i < end) {
            largest = max(largest, component_bits(column[i]));
        }
    }
    return largest;
}

//! `Rows` lanes a matrix of order n <= Rows; blockDim = (Rows, K).
template <typename T, int Rows>
__global__ void __launch_bounds__(most_threads)
    gauss_jordan(const T* a, T* x, int* status, size_t batch, int n, bool partial)
{
    constexpr int most_matrices = most_threads / Rows;
    // Two of them: a lane may write the next step's column while another reads this
    // one's.
    __shared__ __align__(16) T shared_column[2][most_matrices][Rows];
    __shared__ int shared_origin[most_matrices][Rows];

    const int lane = threadIdx.x;
    const int group = threadIdx.y;
    const size_t item = size_t(blockIdx.x) * blockDim.y + group;
    const bool mine = item < batch && lane < n;
    const size_t base = item * n * n + lane;

    // Threads beyond the batch go along with the unit matrix.
    T v[Rows];
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        v[i] = make_element(i == lane ? 1.0f : 0.0f, T());
        if (mine && i < n) {
            v[i] = a[base + i * n];
        }
    }

    // Lanes n .. Rows - 1 hold nothing that counts.
    const int limit = lane < n ? n : 0;
    int largest = largest_of_lanes<Rows>(largest_component(v, 0, limit));
    int state = largest > largest_finite_bits ? -1 : 0;
    float s = scale_for(largest);
    bool scaled = is_complex<T> && __any_sync(all_lanes, s != 1.0f);
    int column = lane; // the number of this lane's column after the swaps so far
    int row = lane;    // what row of A is now row `lane`

    for (int k = 0; k < n; ++k) {
        const int rows = n - k;
        const bool active = partial ? column == k : column >= k && column < n;
        auto found =
            scaled ? search_column<true>(v, rows, s) : search_column<false>(v, rows, s);
        int mine_bits = __float_as_int(active ? found.modulus : -1.0f);
        int best_bits = largest_of_lanes<Rows>(mine_bits);

        const float smallest = is_complex<T> ? too_small : too_small_real;
        const bool small = state == 0 && __int_as_float(best_bits) < smallest;
        if (__any_sync(all_lanes, small)) {
            largest = largest_of_lanes<Rows>(largest_component(v, 0, active ? rows : 0));
            if (small) {
                state = largest > largest_finite_bits ? -1 : largest == 0 ? k + 1 : 0;
                s = scale_for(largest);
            }
            scaled = is_complex<T> && __any_sync(all_lanes, s != 1.0f);
            found = search_column<true>(v, rows, s);
            mine_bits = __float_as_int(active ? found.modulus : -1.0f);
            best_bits = largest_of_lanes<Rows>(mine_bits);
        }
        if (state == 0 && best_bits > largest_finite_bits) {
            state = -1;
        }

        // Of equal moduli the first in row-major order.
        const int place = smallest_of_lanes<Rows>(
            mine_bits == best_bits ? found.row << column_bits | column : INT_MAX);
        const int pivot_row = place >> column_bits; // counted from row k
        const int pivot_column = place & column_mask;

        column = column == pivot_column ? k : column == k ? pivot_column : column;
        const int row_k = __shfl_sync(all_lanes, row, k, Rows);
        const int row_p = __shfl_sync(all_lanes, row, k + pivot_row, Rows);
        row = lane == k + pivot_row ? row_k : row;
        row = lane == k ? row_p : row;
        T t = v[0];
#pragma unroll
        for (int i = 1; i < Rows; ++i) {
            if (i % 4 == 0 && i >= rows) {
                break;
            }
            const T other = v[i];
            v[i] = select(i == pivot_row, v[0], other);
            t = select(i == pivot_row, other, t);
        }

        // The pivot's lane starts again from 0, which makes its update -a(i,k) / p.
        const bool has_pivot = column == k;
        T* shared = shared_column[k & 1][group];
        if (has_pivot) {
            shared[0] = t;
#pragma unroll
            for (int i = 1; i < Rows; ++i) {
                shared[i] = v[i];
                v[i] = make_element(0.0f, T());
            }
        }
        __syncwarp();
        const T r = reciprocal(shared[0]);
        t = select(has_pivot, r, multiply(t, r));
#pragma unroll
        for (int i = 1; i < Rows; ++i) {
            v[i - 1] = subtract_product(v[i], shared[i], t);
        }
        v[Rows - 1] = t;
    }

    // Register i holds row i - turned.
    const int turned = Rows - n;
    largest =
        largest_of_lanes<Rows>(largest_component(v, turned, lane < n ? Rows : turned));
    if (state == 0 && largest > largest_finite_bits) {
        state = -1;
    }

    // (P A Q)^-1 = Q^-1 A^-1 P^-1: rows go where A's columns came from, columns where its
    // rows came from.
    shared_origin[group][column] = lane;
    __syncwarp();
    const int to_column = __shfl_sync(all_lanes, row, column, Rows);
    if (!mine) {
        return;
    }
    const size_t to = item * n * n + to_column;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        if (i >= turned) {
            x[to + shared_origin[group][i - turned] * n] =
                state == 0 ? v[i] : make_element(0.0f, T());
        }
    }
    if (lane == 0) {
        status[item] = state;
    }
}

template <typename T>
struct device_element {
    using type = float;
};
template <>
struct device_element<complex64> {
    using type = float2;
};

template <typename T>
class inverse_cuda : public inverse<T>
{
public:
    inverse_cuda(const typename inverse<T>::parameters& p, int device)
        : d_parameters(p), d_device(device)
    {
        cuda_device_scope scope(device);
        cuda_check(
            cudaDeviceGetAttribute(&d_processors, cudaDevAttrMultiProcessorCount, device),
            "cudaDeviceGetAttribute");
    }

    void run(view<const T> a, view<T> x, view<int> status, queue& queue) override
    {
        const size_t batch = inverse_batch(
            d_parameters.order, a.size(), x.size(), status.size(), queue, backend::cuda);
        if (batch == 0) {
            return;
        }
        cuda_device_scope scope(d_device);
        const int n = d_parameters.order;
        // The fewer threads a matrix, the less work is done twice; registers set the end.
        if (n <= 4) {
            launch_thread<1>(a, x, status, batch, queue);
        } else if (n <= 8) {
            launch_pairs<5>(a, x, status, batch, queue);
        } else if (n <= 16) {
            launch<16>(a, x, status, batch, queue);
        } else {
            launch<32>(a, x, status, batch, queue);
        }
    }

private:
    using element = typename device_element<T>::type;

    //! A small batch goes in blocks of one warp, to reach every multiprocessor.
    int threads_a_block(size_t threads) const
    {
        const size_t wanted = size_t(4) * d_processors * most_threads;
        return threads < wanted ? fewest_threads : most_threads;
    }

    static bool is_aligned(view<const T> a, view<T> x)
    {
        const auto addresses =
            reinterpret_cast<uintptr_t>(a.data()) | reinterpret_cast<uintptr_t>(x.data());
        return addresses % sizeof(float4) == 0;
    }

    //! The order is N, or more.
    template <int N>
    void launch_thread(
        view<const T> a, view<T> x, view<int> status, size_t batch, queue& queue)
    {
        if constexpr (N < 4) {
            if (d_parameters.order > N) {
                launch_thread<N + 1>(a, x, status, batch, queue);
                return;
            }
        }
        const auto kernel = d_parameters.pivot == pivoting::partial
                                ? gauss_jordan_thread<element, N, true>
                                : gauss_jordan_thread<element, N, false>;
        const int threads = threads_a_block(batch);
        const auto grid = unsigned((batch + threads - 1) / threads);
        kernel<<<grid, threads, 0, stream_of(queue)>>>(
            reinterpret_cast<const element*>(a.data()),
            reinterpret_cast<element*>(x.data()),
            status.data(),
            batch,
            is_aligned(a, x));
        cuda_check_launch("inverse: gauss_jordan_thread");
    }

    template <int N>
    void
    launch_pairs(view<const T> a, view<T> x, view<int> status, size_t batch, queue& queue)
    {
        if constexpr (N < 8) {
            if (d_parameters.order > N) {
                launch_pairs<N + 1>(a, x, status, batch, queue);
                return;
            }
        }
        const int threads = threads_a_block(batch * pair_lanes);
        const size_t matrices = threads / pair_lanes;
        const auto grid = unsigned((batch + matrices - 1) / matrices);
        gauss_jordan_pairs<element, N><<<grid, threads, 0, stream_of(queue)>>>(
            reinterpret_cast<const element*>(a.data()),
            reinterpret_cast<element*>(x.data()),
            status.data(),
            batch,
            d_parameters.pivot == pivoting::partial,
            is_aligned(a, x));
        cuda_check_launch("inverse: gauss_jordan_pairs");
    }

    template <int Rows>
    void launch(view<const T> a, view<T> x, view<int> status, size_t batch, queue& queue)
    {
        const int threads = threads_a_block(batch * Rows);
        const dim3 block(Rows, threads / Rows);
        const auto grid = unsigned((batch + block.y - 1) / block.y);
        gauss_jordan<element, Rows><<<grid, block, 0, stream_of(queue)>>>(
            reinterpret_cast<const element*>(a.data()),
            reinterpret_cast<element*>(x.data()),
            status.data(),
            batch,
            d_parameters.order,
            d_parameters.pivot == pivoting::partial);
        cuda_check_launch("inverse: gauss_jordan");
    }

    typename inverse<T>::parameters d_parameters;
    int d_device;
    int d_processors = 0;
};

} // namespace

template <typename T>
std::unique_ptr<inverse<T>> make_inverse_cuda(const typename inverse<T>::parameters& p,
                                              int device)
{
    return std::make_unique<inverse_cuda<T>>(p, device);
}

template std::unique_ptr<inverse<float>>
make_inverse_cuda<float>(const inverse<float>::parameters&, int);
template std::unique_ptr<inverse<complex64>>
make_inverse_cuda<complex64>(const inverse<complex64>::parameters&, int);

} // namespace gr::cudaphy::kernels
