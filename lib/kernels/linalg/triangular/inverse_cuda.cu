/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/common/cuda_element.cuh"
#include "kernels/linalg/triangular/inverse_makers.h"
#include "kernels/linalg/triangular/launch.cuh"
#include "kernels/linalg/triangular/thread_per_matrix.cuh"

// Orders up to 32: a thread a matrix for the orders of thread_is_faster, else the rounds
// of source 3.

namespace gr::cudaphy::kernels {
namespace {

using namespace triangular;

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
        const auto& p = d_parameters;
        const size_t size = triangular_inverse_batch(
            p.order, a.size(), x.size(), status.size(), queue, backend::cuda);
        if (size == 0) {
            return;
        }
        cuda_device_scope scope(d_device);
        const triangular_batch<element_type> batch{
            reinterpret_cast<const element_type*>(a.data()),
            reinterpret_cast<element_type*>(x.data()),
            status.data(),
            size,
            p.order,
            p.lower,
            p.unit_diagonal
        };
        const auto stream = stream_of(queue);
        if (p.algorithm != triangular_algorithm::fastest ||
            !launch_threads<most_thread_order>(batch, stream)) {
            const bool columns = p.algorithm == triangular_algorithm::columns;
            launch_triangular_rounds(batch, columns, d_processors, stream);
        }
    }

private:
    using element_type = device_type_of<T>;

    //! False if the batch's order, N or below, is no threads' order, or if an array is
    //! not at a 16-byte address.
    template <int N>
    static bool launch_threads(const triangular_batch<element_type>& batch,
                               cudaStream_t stream)
    {
        if (batch.n < N) {
            if constexpr (N > 1) {
                return launch_threads<N - 1>(batch, stream);
            }
        }
        if constexpr (thread_is_faster<element_type, N>) {
            if (is_aligned(batch.a) && is_aligned(batch.x) && batch.n == N) {
                constexpr size_t threads = 32 * thread_tile<element_type, N>::warps;
                const auto grid = unsigned((batch.size + threads - 1) / threads);
                triangular_thread_per_matrix<element_type, N>
                    <<<grid, threads, 0, stream>>>(batch.a,
                                                   batch.x,
                                                   batch.status,
                                                   batch.size,
                                                   batch.lower,
                                                   batch.unit);
                cuda_check_launch("triangular_inverse: triangular_thread_per_matrix");
                return true;
            }
        }
        return false;
    }

    static bool is_aligned(const void* address)
    {
        return reinterpret_cast<uintptr_t>(address) % 16 == 0;
    }

    typename triangular_inverse<T>::parameters d_parameters;
    int d_device;
    int d_processors = 0;
};

} // namespace

CUDAPHY_CUDA_MAKERS(triangular_inverse, triangular_inverse_cuda)

} // namespace gr::cudaphy::kernels
