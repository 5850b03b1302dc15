/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/linalg/triangular_inverse_makers.h"

// One warp holds 32 / W matrices of padded order W = 2^n in shared memory, so that its 32
// lanes are the 32 rows of all of them together, whatever W is. Device memory is touched
// once each way: rows are read and written by neighbouring lanes, of A only the triangle.
// A row of the tile takes W + 1 elements, an odd number, so that 32 lanes reading down a
// column, or writing an upper triangle transposed, meet 32 different banks.
//
// recursive_blocks, the algorithm of Shanghai Biren (2023), goes in n + 1 rounds. Round 1
// inverts the diagonal, a lane a row; round 2 has one product of three for every odd
// lane; round k >= 3 finds 32 / 2H squares of order H = 2^(k-2), and 2H lanes for each,
// so a lane computes H / 2 = 2^(k-3) elements: the source's parallel steps. The source
// leaves open how the two products of -L22^-1 (L21 L11^-1) are scheduled. Here they are
// two passes over the same 2^(k-3) steps:
// - L21 L11^-1: a lane holds a row of L21 in registers and takes every other column, so
//   that step s skips the first 2s terms, which are zeros of L11^-1's other triangle;
// - times -L22^-1: a lane holds a column and takes every other row, where step s ends
//   after 2s + 2 terms.
// No lane waits in either: N = 32 takes 202 multiply-adds a lane, where substitution with
// every lane busy would take N (N^2 - 1) / 6 / 32 = 171.
//
// columns is LAPACK's xTRTI2: from the last column to the first, -X22 l x_jj, a lane an
// element; W^2 / 2 multiply-adds a lane, half of the lanes idle on average.

namespace gr::cudaphy::kernels {
namespace {

constexpr unsigned all_lanes = 0xffffffff;
constexpr int warp_lanes = 32;

//! Warps a block: as many tiles as fit the 48 KB that need no permission.
template <typename T>
constexpr int most_warps = sizeof(T) == 16 ? 2 : 4;

//! Blocks a multiprocessor that registers must leave room for: as many as tiles of order
//! 32 do, but no more than 32 warps.
template <typename T>
constexpr int fewest_blocks = sizeof(T) == 4 ? 8 : 6;

template <typename T>
constexpr bool is_complex = false;
template <>
constexpr bool is_complex<float2> = true;
template <>
constexpr bool is_complex<double2> = true;

__device__ inline float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

//! sum + a b
template <typename T>
__device__ inline T multiply_add(T sum, T a, T b)
{
    if constexpr (is_complex<T>) {
        sum.x = fused(-a.y, b.y, fused(a.x, b.x, sum.x));
        sum.y = fused(a.y, b.x, fused(a.x, b.y, sum.y));
        return sum;
    } else {
        return fused(a, b, sum);
    }
}

template <typename T>
__device__ inline T negative(T a)
{
    if constexpr (is_complex<T>) {
        a.x = -a.x;
        a.y = -a.y;
        return a;
    } else {
        return -a;
    }
}

template <typename T>
__device__ inline T make_element(int value)
{
    T a{};
    if constexpr (is_complex<T>) {
        a.x = value;
    } else {
        a = value;
    }
    return a;
}

template <typename T>
__device__ inline bool is_finite(T a)
{
    if constexpr (is_complex<T>) {
        return is_finite(a.x) && is_finite(a.y);
    } else {
        return a - a == 0;
    }
}

template <typename T>
__device__ inline bool is_zero(T a)
{
    if constexpr (is_complex<T>) {
        return a.x == 0 && a.y == 0;
    } else {
        return a == 0;
    }
}

//! Complex as Smith's: the modulus is never squared, and halved it can't overflow.
template <typename T>
__device__ inline T reciprocal(T a)
{
    if constexpr (is_complex<T>) {
        const auto re = a.x;
        const auto im = a.y;
        using real = decltype(a.x);
        const real size = fmax(fabs(re), fabs(im));
        const real half_re = real(0.5) * (re / size);
        const real half_im = real(0.5) * (im / size);
        const real half = fused(half_re, re, half_im * im);
        a.x = half_re / half;
        a.y = -half_im / half;
        return a;
    } else {
        return 1 / a;
    }
}

//! Round k >= 3: all squares of order H = 2^(k-2). Returns whether this lane's elements
//! are finite; they belong to the matrix of its row.
template <typename T, int W, int H>
__device__ inline bool invert_squares(T* tile, int lane)
{
    constexpr int stride = W + 1;
    const int own = lane % H;
    const int half = lane / H % 2;
    const int top = lane - lane % (2 * H);
    const T* l11 = tile + top * stride + top % W;
    T* l21 = tile + (top + H) * stride + top % W;
    const T* l22 = l21 + H;
    T held[H];
    T sums[H / 2];

#pragma unroll
    for (int m = 0; m < H; ++m) {
        held[m] = l21[own * stride + m];
    }
#pragma unroll
    for (int s = 0; s < H / 2; ++s) {
        sums[s] = make_element<T>(0);
#pragma unroll
        for (int m = 2 * s; m < H; ++m) {
            sums[s] = multiply_add(sums[s], held[m], l11[m * stride + 2 * s + half]);
        }
    }
    __syncwarp();
#pragma unroll
    for (int s = 0; s < H / 2; ++s) {
        l21[own * stride + 2 * s + half] = sums[s];
    }
    __syncwarp();

#pragma unroll
    for (int m = 0; m < H; ++m) {
        held[m] = negative(l21[m * stride + own]);
    }
    bool finite = true;
#pragma unroll
    for (int s = 0; s < H / 2; ++s) {
        sums[s] = make_element<T>(0);
#pragma unroll
        for (int m = 0; m < 2 * s + 2; ++m) {
            sums[s] = multiply_add(sums[s], l22[(2 * s + half) * stride + m], held[m]);
        }
        finite = finite && is_finite(sums[s]);
    }
    __syncwarp();
#pragma unroll
    for (int s = 0; s < H / 2; ++s) {
        l21[(2 * s + half) * stride + own] = sums[s];
    }
    __syncwarp();
    return finite;
}

//! Rounds 2 .. n + 1, after the diagonal.
template <typename T, int W>
__device__ inline bool recursive_blocks(T* tile, int lane)
{
    constexpr int stride = W + 1;
    bool finite = true;
    if constexpr (W >= 2) {
        if (lane % 2 == 1) {
            T* l21 = tile + lane * stride + lane % W - 1;
            const T zero = make_element<T>(0);
            const T product = multiply_add(zero, *l21, l21[-stride]);
            *l21 = multiply_add(zero, l21[1], negative(product));
            finite = is_finite(*l21);
        }
        __syncwarp();
    }
    if constexpr (W >= 4) {
        finite = invert_squares<T, W, 2>(tile, lane) && finite;
    }
    if constexpr (W >= 8) {
        finite = invert_squares<T, W, 4>(tile, lane) && finite;
    }
    if constexpr (W >= 16) {
        finite = invert_squares<T, W, 8>(tile, lane) && finite;
    }
    if constexpr (W >= 32) {
        finite = invert_squares<T, W, 16>(tile, lane) && finite;
    }
    return finite;
}

template <typename T, int W>
__device__ inline bool columns(T* tile, int lane)
{
    constexpr int stride = W + 1;
    const int i = lane % W;
    T* own = tile + lane * stride;
    const T* first = own - i * stride;
    bool finite = true;
    for (int j = W - 2; j >= 0; --j) {
        T sum = make_element<T>(0);
        for (int m = j + 1; m < W; ++m) {
            sum = multiply_add(sum, own[m], first[m * stride + j]);
        }
        sum = multiply_add(make_element<T>(0), negative(sum), first[j * stride + j]);
        __syncwarp();
        if (i > j) {
            own[j] = sum;
            finite = finite && is_finite(sum);
        }
        __syncwarp();
    }
    return finite;
}

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
