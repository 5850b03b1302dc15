/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/linalg/triangular/product.cuh"
#include "kernels/linalg/triangular/solve_makers.h"
#include "kernels/linalg/triangular/state.cuh"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/triangular_inverse.h>

// The inverses are computed into the workspace, and each is multiplied by its right-hand
// sides. A column takes N (N + 1) / 2 multiply-adds, as with substitution, but no column
// and no row waits for another.

namespace gr::cudaphy::kernels {
namespace {

using namespace triangular;

__global__ void begin(const int* of_inverses, bool same_l, int* status, size_t batch)
{
    const size_t item = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (item < batch) {
        status[item] = int(encoded(of_inverses[same_l ? 0 : item]));
    }
}

//! blockIdx = (item, part)
template <typename T>
__global__ void examine(const T* b, unsigned* states, size_t elements)
{
    b += blockIdx.x * elements;
    bool finite = true;
    for (size_t e = blockIdx.y * scan_threads + threadIdx.x; e < elements;
         e += gridDim.y * scan_threads) {
        finite = finite && element<T>::is_finite(b[e]);
    }
    if (!finite) {
        atomicMin(states + blockIdx.x, input_not_finite);
    }
}

//! blockIdx = (item, tile)
template <typename T, bool Lower, int Tile>
__global__ void __launch_bounds__(tile_threads<Tile>) multiply(const T* inverses,
                                                               size_t step,
                                                               const T* b,
                                                               T* x,
                                                               unsigned* states,
                                                               int n,
                                                               int columns)
{
    const size_t item = blockIdx.x;
    const int tiles_across = (columns + Tile - 1) / Tile;
    const int row = int(blockIdx.y) / tiles_across * Tile;
    const int column = int(blockIdx.y) % tiles_across * Tile;
    const size_t elements = size_t(n) * columns;
    using inverse = operand<T, false, Lower ? shape::lower : shape::upper>;
    const inverse left{ inverses + item * step, n, n, n };
    const operand<T, false, shape::full> right{
        b + item * elements, columns, n, columns
    };
    bool finite = true;
    multiply_tile<T, Tile>(left,
                           right,
                           row,
                           column,
                           Lower ? 0 : row,
                           Lower ? min(n, row + Tile) : n,
                           [&](int i, int j, T sum) {
                               if (i < n && j < columns) {
                                   finite = finite && element<T>::is_finite(sum);
                                   x[item * elements + size_t(i) * columns + j] = sum;
                               }
                           });
    if (!finite) {
        atomicMin(states + blockIdx.x, result_not_finite);
    }
}

//! Zeros where an item failed; blockIdx = (item, part).
template <typename T>
__global__ void clear(T* x, const unsigned* states, size_t elements)
{
    if (states[blockIdx.x] == good_state) {
        return;
    }
    x += blockIdx.x * elements;
    for (size_t e = blockIdx.y * scan_threads + threadIdx.x; e < elements;
         e += gridDim.y * scan_threads) {
        x[e] = element<T>::make(0);
    }
}

template <typename T>
class triangular_solve_cuda : public triangular_solve<T>
{
public:
    triangular_solve_cuda(const typename triangular_solve<T>::parameters& p, int device)
        : d_parameters(p), d_device(device),
          d_inverse(triangular_inverse<T>::make(
              { p.order, p.lower, p.unit_diagonal }, backend::cuda, device))
    {
    }

    size_t workspace_bytes(size_t matrices) const override
    {
        return status_place(matrices) + matrices * sizeof(int);
    }

    void run(view<const T> l,
             view<const T> b,
             view<T> x,
             view<int> status,
             view<unsigned char> workspace,
             queue& queue) override
    {
        const auto& p = d_parameters;
        const auto [batch, matrices] = triangular_solve_check(
            *this, p, l, b, x, status, workspace, queue, backend::cuda);
        if (batch == 0) {
            return;
        }
        const view<T> inverses(reinterpret_cast<T*>(workspace.data()), l.size());
        const view<int> of_inverses(
            reinterpret_cast<int*>(workspace.data() + status_place(matrices)), matrices);
        d_inverse->run(l, inverses, of_inverses, queue);

        cuda_device_scope scope(d_device);
        const auto stream = stream_of(queue);
        auto* states = reinterpret_cast<unsigned*>(status.data());
        const auto* from = reinterpret_cast<const element_type*>(b.data());
        auto* to = reinterpret_cast<element_type*>(x.data());
        const size_t elements = size_t(p.order) * p.columns;
        const auto parts = unsigned(
            std::min<size_t>(most_parts, (elements + scan_threads - 1) / scan_threads));
        const dim3 share(unsigned(batch), parts);
        const auto each = unsigned((batch + scan_threads - 1) / scan_threads);
        begin<<<each, scan_threads, 0, stream>>>(
            of_inverses.data(), matrices == 1, status.data(), batch);
        cuda_check_launch("triangular_solve: begin");
        examine<<<share, scan_threads, 0, stream>>>(from, states, elements);
        cuda_check_launch("triangular_solve: examine");
        const bool large = p.order > small_tile && p.columns > small_tile;
        const auto launch =
            p.lower ? (large ? &triangular_solve_cuda::product<true, large_tile>
                             : &triangular_solve_cuda::product<true, small_tile>)
                    : (large ? &triangular_solve_cuda::product<false, large_tile>
                             : &triangular_solve_cuda::product<false, small_tile>);
        (this->*launch)(inverses, matrices == 1, from, to, states, batch, stream);
        clear<<<share, scan_threads, 0, stream>>>(to, states, elements);
        cuda_check_launch("triangular_solve: clear");
        decode<<<each, scan_threads, 0, stream>>>(status.data(), batch);
        cuda_check_launch("triangular_solve: decode");
    }

private:
    using element_type = device_type_of<T>;

    size_t status_place(size_t matrices) const
    {
        constexpr size_t alignment = 256;
        const size_t bytes =
            matrices * d_parameters.order * d_parameters.order * sizeof(T);
        return (bytes + alignment - 1) / alignment * alignment;
    }

    template <bool Lower, int Tile>
    void product(view<T> inverses,
                 bool same_l,
                 const element_type* b,
                 element_type* x,
                 unsigned* states,
                 size_t batch,
                 cudaStream_t stream)
    {
        const int n = d_parameters.order, columns = d_parameters.columns;
        const unsigned tiles = ((n + Tile - 1) / Tile) * ((columns + Tile - 1) / Tile);
        multiply<element_type, Lower, Tile>
            <<<dim3(unsigned(batch), tiles), tile_threads<Tile>, 0, stream>>>(
                reinterpret_cast<const element_type*>(inverses.data()),
                same_l ? 0 : size_t(n) * n,
                b,
                x,
                states,
                n,
                columns);
        cuda_check_launch("triangular_solve: multiply");
    }

    typename triangular_solve<T>::parameters d_parameters;
    int d_device;
    std::unique_ptr<triangular_inverse<T>> d_inverse;
};

} // namespace

CUDAPHY_CUDA_MAKERS(triangular_solve, triangular_solve_cuda)

} // namespace gr::cudaphy::kernels
