/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_blas.cuh"
#include "kernels/common/cuda_check.cuh"
#include "kernels/symmetric/cuda/workspace.cuh"
#include "kernels/symmetric/update/gram.cuh"
#include "kernels/symmetric/update/makers.h"
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
        if (p.rank > 1) {
            d_blas = cuda_blas::make();
        }
    }
    ~inverse_update_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_blas.reset();
    }

    size_t workspace_bytes() const override
    {
        workspace_pieces pieces;
        take_space(pieces);
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
        const auto space = take_space(pieces);
        const auto stream = stream_of(queue);
        if (d_blas) {
            d_blas->begin(stream, space.for_blas);
        }
        const size_t n = d_parameters.order, k = d_parameters.rank;
        for (size_t first = 0; first < batch; first += at_once()) {
            const unsigned count = unsigned(std::min(at_once(), batch - first));
            E* const to = reinterpret_cast<E*>(x.data()) + first * n * n;
            const E* const by = reinterpret_cast<const E*>(v.data()) + first * n * k;
            if (k == 1) {
                update_by_one(to,
                              by,
                              d.data() + first,
                              1 / forgetting,
                              status.data() + first,
                              count,
                              space,
                              stream);
            } else {
                update_by_many(to,
                               by,
                               d.data() + first * k,
                               1 / forgetting,
                               status.data() + first,
                               count,
                               space,
                               stream);
            }
        }
    }

private:
    struct space_of_run {
        E* y;
        E* parts;        //!< of y; this and the next, only for a rank of one
        double* weights; //!< of v^H y
        E* z;            //!< this and all others, only for higher ranks
        V* partial;
        V* gram;
        E* m;
        unsigned char* for_blas;
    };

    //! Matrices of a launch: at most as many as blockIdx.z counts.
    size_t at_once() const { return std::min<size_t>(d_parameters.batch, 65535); }
    unsigned chunks() const { return (d_parameters.order + gram_rows - 1) / gram_rows; }

    space_of_run take_space(workspace_pieces& pieces) const
    {
        const size_t n = d_parameters.order, k = d_parameters.rank, batch = at_once();
        space_of_run space = {};
        space.y = pieces.take<E>(batch * n * k);
        if (k == 1) {
            space.parts = pieces.take<E>(batch * n * tiles_down(n));
            space.weights = pieces.take<double>(batch * tiles_down(n));
        } else {
            space.z = pieces.take<E>(batch * n * k);
            space.partial = pieces.take<V>(batch * chunks() * k * k);
            space.gram = pieces.take<V>(batch * k * k);
            space.m = pieces.take<E>(batch * k * k);
            space.for_blas = pieces.take<unsigned char>(cuda_blas::workspace_bytes);
        }
        return space;
    }

    //! Whether all rows begin at multiples of 16 bytes.
    bool is_aligned(const E* x) const
    {
        return reinterpret_cast<uintptr_t>(x) % 16 == 0 &&
               d_parameters.order * sizeof(E) % 16 == 0;
    }

    void update_by_one(E* x,
                       const E* v,
                       const real* d,
                       real over_f,
                       int* status,
                       unsigned batch,
                       const space_of_run& space,
                       cudaStream_t stream) const
    {
        const int n = d_parameters.order;
        const size_t elements = size_t(n) * n;
        const dim3 tiles(tiles_of_triangle(n), 1, batch);
        const dim3 rows(tiles_down(n), 1, batch);
        multiply_triangle<E><<<tiles, update_threads, 0, stream>>>(
            { x, n, elements }, v, n, is_aligned(x), space.parts);
        cuda_check_launch("inverse_update: multiply_triangle");
        sum_products<E><<<rows, update_threads, 0, stream>>>(
            space.parts, v, n, over_f, space.y, space.weights);
        cuda_check_launch("inverse_update: sum_products");
        change_by_one<E><<<tiles, update_threads, 0, stream>>>({ x, n, elements },
                                                               n,
                                                               is_aligned(x),
                                                               over_f,
                                                               space.y,
                                                               space.weights,
                                                               d,
                                                               status);
        cuda_check_launch("inverse_update: change_by_one");
    }

    void update_by_many(E* x,
                        const E* v,
                        const real* d,
                        real over_f,
                        int* status,
                        unsigned batch,
                        const space_of_run& space,
                        cudaStream_t stream) const
    {
        const int n = d_parameters.order, k = d_parameters.rank;
        const size_t elements = size_t(n) * n, columns = size_t(n) * k;
        // cuda_blas has no const matrices, but v is only read.
        const cuda_blas::matrix<E> from = { const_cast<E*>(v), k, columns };
        const cuda_blas::matrix<E> y = { space.y, k, columns };
        const cuda_blas::matrix<E> m = { space.m, k, size_t(k) * k };
        const auto stored = cuda_blas::as::stored;
        d_blas->multiply<E>(
            over_f, { x, n, elements }, stored, from, stored, 0, y, n, k, n, int(batch));
        multiply_gram<E><<<dim3(chunks(), 1, batch), gram_threads, 0, stream>>>(
            v, space.y, n, k, space.partial);
        cuda_check_launch("inverse_update: multiply_gram");
        const unsigned groups = (k * k + gram_threads - 1) / gram_threads;
        sum_gram<E><<<dim3(groups, 1, batch), gram_threads, 0, stream>>>(
            space.partial, int(chunks()), d, k, space.gram);
        cuda_check_launch("inverse_update: sum_gram");
        invert_gram<E>
            <<<batch, gram_threads, 0, stream>>>(space.gram, d, k, space.m, status);
        cuda_check_launch("inverse_update: invert_gram");
        d_blas->multiply<E>(
            1, y, stored, m, stored, 0, { space.z, k, columns }, n, k, k, int(batch));
        change_by_many<E>
            <<<dim3(tiles_of_triangle(n), 1, batch), update_threads, 0, stream>>>(
                { x, n, elements },
                n,
                is_aligned(x),
                k,
                over_f,
                space.y,
                space.z,
                status);
        cuda_check_launch("inverse_update: change_by_many");
    }

    const typename inverse_update<T>::parameters d_parameters;
    const int d_device;
    std::unique_ptr<cuda_blas> d_blas;
};

} // namespace

CUDAPHY_CUDA_MAKERS(inverse_update, inverse_update_cuda)

} // namespace gr::cudaphy::kernels
