/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/symmetric/inverse_update.cuh"
#include "kernels/symmetric/inverse_update_makers.h"
#include "kernels/symmetric/symmetric_workspace.cuh"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

template <typename T>
class inverse_update_cuda : public inverse_update<T>
{
public:
    using E = typename device_element<T>::type;
    using V = wide_of<E>;
    using real = typename inverse_update<T>::real;

    inverse_update_cuda(const typename inverse_update<T>::parameters& p, int device)
        : d_parameters(p), d_device(device)
    {
        cuda_device_scope scope(device);
        expect_memory_for(workspace_bytes(), "inverse_update");
    }

    size_t workspace_bytes() const override
    {
        workspace_pieces pieces;
        deal(pieces);
        return pieces.bytes();
    }

    void run(view<T> x,
             view<const T> v,
             view<const real> d,
             real forgetting,
             view<int> status,
             view<unsigned char> workspace,
             queue& queue) override
    {
        const size_t batch = inverse_update_batch(*this,
                                                  d_parameters,
                                                  x,
                                                  v,
                                                  d,
                                                  forgetting,
                                                  status,
                                                  workspace,
                                                  queue,
                                                  backend::cuda);
        cuda_device_scope scope(d_device);
        workspace_pieces pieces(workspace.data());
        const auto space = deal(pieces);
        const size_t n = d_parameters.order, k = d_parameters.rank;
        for (size_t first = 0; first < batch; first += at_once()) {
            const size_t count = std::min(at_once(), batch - first);
            update(reinterpret_cast<E*>(x.data()) + first * n * n,
                   reinterpret_cast<const E*>(v.data()) + first * n * k,
                   d.data() + first * k,
                   1 / forgetting,
                   status.data() + first,
                   unsigned(count),
                   space,
                   stream_of(queue));
        }
    }

private:
    struct space_of_run {
        E* y;
        double* weights;
        V* partial;
        V* spaces;
        E* m;
    };

    //! So many as blockIdx.z counts.
    size_t at_once() const { return std::min<size_t>(d_parameters.batch, 65535); }
    unsigned row_blocks() const
    {
        return (d_parameters.order + update_rows - 1) / update_rows;
    }
    unsigned chunks() const { return (d_parameters.order + gram_rows - 1) / gram_rows; }

    space_of_run deal(workspace_pieces& pieces) const
    {
        const size_t k = d_parameters.rank, batch = at_once();
        space_of_run space;
        space.y = pieces.take<E>(batch * d_parameters.order * k);
        space.weights = pieces.take<double>(batch * row_blocks());
        space.partial = pieces.take<V>(batch * chunks() * k * k);
        space.spaces = pieces.take<V>(batch * 2 * k * k);
        space.m = pieces.take<E>(batch * k * k);
        return space;
    }

    void update(E* x,
                const E* v,
                const real* d,
                real over_f,
                int* status,
                unsigned batch,
                const space_of_run& space,
                cudaStream_t stream) const
    {
        const int n = d_parameters.order, k = d_parameters.rank;
        const size_t elements = size_t(n) * n;
        const dim3 rows(row_blocks(), 1, batch);
        const unsigned side = (n + update_side - 1) / update_side;
        const dim3 tiles(side * (side + 1) / 2, 1, batch);
        multiply_update<E>
            <<<rows, update_threads, 0, stream>>>({ x, n, elements },
                                                  v,
                                                  n,
                                                  k,
                                                  over_f,
                                                  space.y,
                                                  k == 1 ? space.weights : nullptr);
        cuda_check_launch("inverse_update: multiply_update");
        if (k > 1) {
            multiply_gram<E><<<dim3(chunks(), 1, batch), update_threads, 0, stream>>>(
                v, space.y, n, k, space.partial);
            cuda_check_launch("inverse_update: multiply_gram");
            invert_gram<E><<<batch, update_threads, 0, stream>>>(
                space.partial, int(chunks()), d, k, space.spaces, space.m, status);
            cuda_check_launch("inverse_update: invert_gram");
            change_inverse<E, false>
                <<<tiles, update_threads, 0, stream>>>({ x, n, elements },
                                                       n,
                                                       k,
                                                       over_f,
                                                       space.y,
                                                       space.m,
                                                       nullptr,
                                                       0,
                                                       d,
                                                       status);
        } else {
            change_inverse<E, true>
                <<<tiles, update_threads, 0, stream>>>({ x, n, elements },
                                                       n,
                                                       k,
                                                       over_f,
                                                       space.y,
                                                       nullptr,
                                                       space.weights,
                                                       int(row_blocks()),
                                                       d,
                                                       status);
        }
        cuda_check_launch("inverse_update: change_inverse");
    }

    const typename inverse_update<T>::parameters d_parameters;
    const int d_device;
};

} // namespace

template <typename T>
std::unique_ptr<inverse_update<T>>
make_inverse_update_cuda(const typename inverse_update<T>::parameters& p, int device)
{
    return std::make_unique<inverse_update_cuda<T>>(p, device);
}

#define CUDAPHY_INSTANTIATE(T)                                               \
    template std::unique_ptr<inverse_update<T>> make_inverse_update_cuda<T>( \
        const typename inverse_update<T>::parameters&, int);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
CUDAPHY_INSTANTIATE(complex64)
CUDAPHY_INSTANTIATE(complex128)

} // namespace gr::cudaphy::kernels
