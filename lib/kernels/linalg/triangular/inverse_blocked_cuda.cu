/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/linalg/triangular/inverse_makers.h"
#include "kernels/linalg/triangular/product.cuh"
#include "kernels/linalg/triangular/state.cuh"

// Source 3's recursion beyond a warp. A warp inverts each diagonal block of order 32.
// Then, for H = 32, 64 .. 512, every square L21 of order H below two inverted triangles
// X11 and X22 becomes X21 = -X22 (L21 X11), in two products over all squares of all
// matrices. The product in the bracket waits, transposed, in the place of X12, which is
// unused until the end. Therefore no workspace is needed, and x may be a.
//
// The code is for a lower triangle. An upper triangle is read and written transposed. It
// takes N^3 / 3 multiply-adds, a third of them with zeros in the tiles on the diagonals.

namespace gr::cudaphy::kernels {
namespace {

using namespace triangular;

constexpr int warp_order = triangular_inverse_warp_order;

//! The place of element (i, j) of the lower triangle.
template <bool Upper>
__device__ inline size_t place(int n, int i, int j)
{
    return Upper ? size_t(j) * n + i : size_t(i) * n + j;
}

//! Calls step(row, column, element) for a block's share of a matrix, in memory's order.
template <typename Step>
__device__ inline void for_each_element(int n, const Step& step)
{
    const int first = blockIdx.y * scan_rows;
    const int last = min(n, first + scan_rows);
    for (int e = first * n + threadIdx.x; e < last * n; e += scan_threads) {
        step(e / n, e % n, e);
    }
}

//! blockIdx = (matrix, group of rows)
template <typename T>
__global__ void examine(const T* a, unsigned* states, int n, bool lower, bool unit)
{
    const T* matrix = a + size_t(blockIdx.x) * n * n;
    bool finite = true;
    for_each_element(n, [&](int i, int j, int e) {
        if ((lower ? j > i : j < i) || (unit && i == j)) {
            return;
        }
        const T value = matrix[e];
        finite = finite && element<T>::is_finite(value);
        if (i == j && element<T>::is_zero(value)) {
            atomicMin(states + blockIdx.x, unsigned(i + 1));
        }
    });
    if (!finite) {
        atomicMin(states + blockIdx.x, input_not_finite);
    }
}

//! A warp a block of order 32, blockIdx = (matrix, block): from the last column to the
//! first, -X22 l x_jj, a lane a row.
template <typename T, bool Upper>
__global__ void
invert_diagonal_blocks(const T* a, T* x, unsigned* states, int n, bool unit)
{
    using number = element<T>;
    __shared__ T tile[warp_order][warp_order + 1];
    const int lane = threadIdx.x;
    const int first = blockIdx.y * warp_order;
    const int order = min(warp_order, n - first);
    const size_t corner = size_t(blockIdx.x) * n * n + size_t(first) * (n + 1);
    for (int t = 0; t < warp_order; ++t) {
        const int i = Upper ? lane : t, j = Upper ? t : lane;
        const bool given = j <= i && i < order && !(unit && i == j);
        tile[i][j] = given ? a[corner + place<Upper>(n, i, j)] : number::make(i == j);
    }
    __syncwarp();
    T* own = tile[lane];
    own[lane] = number::reciprocal(own[lane]);
    bool finite = number::is_finite(own[lane]);
    __syncwarp();
    for (int j = warp_order - 2; j >= 0; --j) {
        T sum = number::make(0);
        for (int m = j + 1; m < warp_order; ++m) {
            sum = number::multiply_add(sum, own[m], tile[m][j]);
        }
        sum = number::multiply_add(number::make(0), number::negative(sum), tile[j][j]);
        __syncwarp();
        if (lane > j) {
            own[j] = sum;
            finite = finite && number::is_finite(sum);
        }
        __syncwarp();
    }
    if (!finite) {
        atomicMin(states + blockIdx.x, result_not_finite);
    }
    for (int t = 0; t < order; ++t) {
        const int i = Upper ? lane : t, j = Upper ? t : lane;
        if (lane < order) {
            x[corner + place<Upper>(n, i, j)] = tile[i][j];
        }
    }
}

//! A square L21 of order H, of which the last of a matrix may have fewer rows.
struct square {
    int top;  //!< first row of L11
    int left; //!< first row of L21 and L22
    int rows; //!< of L21; none where there is no L22
    int tile_row, tile_column;

    //! blockIdx = (matrix, tile, square)
    template <int Tile>
    static __device__ square of_block(int n, int h)
    {
        const int tiles = h / Tile;
        const int top = blockIdx.z * 2 * h;
        return { top,
                 top + h,
                 min(h, n - top - h),
                 int(blockIdx.y) / tiles * Tile,
                 int(blockIdx.y) % tiles * Tile };
    }
};

//! L21 X11, transposed to the place of X12.
template <typename T, bool Upper, int Tile>
__global__ void __launch_bounds__(tile_threads<Tile>)
    multiply_right(const T* a, T* x, int n, int h)
{
    const auto s = square::of_block<Tile>(n, h);
    if (s.tile_row >= s.rows) {
        return;
    }
    a += size_t(blockIdx.x) * n * n;
    x += size_t(blockIdx.x) * n * n;
    const operand<T, Upper, shape::full> l21{
        a + place<Upper>(n, s.left, s.top), n, s.rows, h
    };
    const operand<T, Upper, shape::lower> x11{
        x + place<Upper>(n, s.top, s.top), n, h, h
    };
    multiply_tile<T, Tile>(
        l21, x11, s.tile_row, s.tile_column, s.tile_column, h, [&](int i, int j, T sum) {
            if (i < s.rows) {
                x[place<Upper>(n, s.top + j, s.left + i)] = sum;
            }
        });
}

//! X21 = -X22 times what multiply_right left.
template <typename T, bool Upper, int Tile>
__global__ void __launch_bounds__(tile_threads<Tile>)
    multiply_left(T* x, unsigned* states, int n, int h)
{
    const auto s = square::of_block<Tile>(n, h);
    if (s.tile_row >= s.rows) {
        return;
    }
    x += size_t(blockIdx.x) * n * n;
    const operand<T, Upper, shape::lower> x22{
        x + place<Upper>(n, s.left, s.left), n, s.rows, s.rows
    };
    const operand<T, !Upper, shape::full> product{
        x + place<Upper>(n, s.top, s.left), n, s.rows, h
    };
    bool finite = true;
    multiply_tile<T, Tile>(x22,
                           product,
                           s.tile_row,
                           s.tile_column,
                           0,
                           min(s.rows, s.tile_row + Tile),
                           [&](int i, int j, T sum) {
                               if (i < s.rows) {
                                   finite = finite && element<T>::is_finite(sum);
                                   x[place<Upper>(n, s.left + i, s.top + j)] =
                                       element<T>::negative(sum);
                               }
                           });
    if (!finite) {
        atomicMin(states + blockIdx.x, result_not_finite);
    }
}

//! Zeros beside the triangle, and all over a matrix that failed; blockIdx as in examine.
template <typename T>
__global__ void clear(T* x, const unsigned* states, int n, bool lower)
{
    T* matrix = x + size_t(blockIdx.x) * n * n;
    const bool failed = states[blockIdx.x] != good_state;
    for_each_element(n, [&](int i, int j, int e) {
        if (failed || (lower ? j > i : j < i)) {
            matrix[e] = element<T>::make(0);
        }
    });
}

template <typename T>
class triangular_inverse_blocked_cuda : public triangular_inverse_blocked<T>
{
public:
    triangular_inverse_blocked_cuda(const typename triangular_inverse<T>::parameters& p,
                                    int device)
        : d_parameters(p), d_device(device)
    {
    }

    void run(view<const T> a, view<T> x, view<int> status, queue& queue) override
    {
        const size_t batch = triangular_inverse_batch(
            d_parameters.order, a.size(), x.size(), status.size(), queue, backend::cuda);
        if (batch == 0) {
            return;
        }
        cuda_device_scope scope(d_device);
        const auto* from = reinterpret_cast<const element_type*>(a.data());
        auto* to = reinterpret_cast<element_type*>(x.data());
        if (d_parameters.lower) {
            launch<false>(from, to, status, batch, queue);
        } else {
            launch<true>(from, to, status, batch, queue);
        }
    }

private:
    using element_type = device_type_of<T>;

    template <bool Upper>
    void launch(const element_type* a,
                element_type* x,
                view<int> status,
                size_t batch,
                queue& queue)
    {
        const int n = d_parameters.order;
        const bool unit = d_parameters.unit_diagonal;
        const auto stream = stream_of(queue);
        auto* states = reinterpret_cast<unsigned*>(status.data());
        const auto matrices = unsigned(batch);
        const dim3 row_groups(matrices, (n + scan_rows - 1) / scan_rows);
        cuda_check(cudaMemsetAsync(states, 0xff, batch * sizeof(*states), stream),
                   "cudaMemsetAsync");
        examine<<<row_groups, scan_threads, 0, stream>>>(a, states, n, !Upper, unit);
        cuda_check_launch("triangular_inverse: examine");
        const dim3 blocks(matrices, (n + warp_order - 1) / warp_order);
        invert_diagonal_blocks<element_type, Upper>
            <<<blocks, warp_order, 0, stream>>>(a, x, states, n, unit);
        cuda_check_launch("triangular_inverse: invert_diagonal_blocks");
        for (int h = warp_order; h < n; h *= 2) {
            if (h == warp_order) {
                join<Upper, small_tile>(a, x, states, matrices, h, stream);
            } else {
                join<Upper, large_tile>(a, x, states, matrices, h, stream);
            }
        }
        clear<<<row_groups, scan_threads, 0, stream>>>(x, states, n, !Upper);
        cuda_check_launch("triangular_inverse: clear");
        decode<<<(matrices + scan_threads - 1) / scan_threads, scan_threads, 0, stream>>>(
            status.data(), batch);
        cuda_check_launch("triangular_inverse: decode");
    }

    template <bool Upper, int Tile>
    void join(const element_type* a,
              element_type* x,
              unsigned* states,
              unsigned matrices,
              int h,
              cudaStream_t stream)
    {
        const int n = d_parameters.order;
        const unsigned tiles = (h / Tile) * (h / Tile);
        const unsigned squares = (n - h + 2 * h - 1) / (2 * h);
        const dim3 grid(matrices, tiles, squares);
        multiply_right<element_type, Upper, Tile>
            <<<grid, tile_threads<Tile>, 0, stream>>>(a, x, n, h);
        cuda_check_launch("triangular_inverse: multiply_right");
        multiply_left<element_type, Upper, Tile>
            <<<grid, tile_threads<Tile>, 0, stream>>>(x, states, n, h);
        cuda_check_launch("triangular_inverse: multiply_left");
    }

    typename triangular_inverse<T>::parameters d_parameters;
    int d_device;
};

} // namespace

CUDAPHY_CUDA_MAKERS(triangular_inverse_blocked, triangular_inverse_blocked_cuda)

} // namespace gr::cudaphy::kernels
