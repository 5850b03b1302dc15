/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_element.cuh"
#include "kernels/linalg/inverse/cuda/launch.cuh"
#include "kernels/linalg/inverse/cuda/layout.cuh"
#include "kernels/linalg/inverse/cuda/norms.cuh"
#include "kernels/linalg/inverse/makers.h"
#include <algorithm>
#include <iterator>

namespace gr::cudaphy::kernels {
namespace {

template <typename T>
class inverse_cuda : public inverse<T>
{
public:
    using inverse<T>::run;

    inverse_cuda(const typename inverse<T>::parameters& p, int device)
        : d_parameters(p), d_device(device)
    {
        cuda_device_scope scope(device);
        const auto attribute = [device](cudaDeviceAttr which) {
            int value = 0;
            cuda_check(cudaDeviceGetAttribute(&value, which, device),
                       "cudaDeviceGetAttribute");
            return value;
        };
        d_processors = size_t(attribute(cudaDevAttrMultiProcessorCount));
        d_thresholds = thresholds_of(10 * attribute(cudaDevAttrComputeCapabilityMajor));
        if constexpr (has_orders_of_warps) {
            if (p.order > most_long_warp_order<element> && !is_tall()) {
                prepare_warps_per_matrix<element>(device, p.order, p.pivot);
            }
        }
        d_uses_tensor_cores =
            tensor_cores_are_faster<element>(p.order, p.pivot) && has_tf32_products();
        if constexpr (has_definite_orders) {
            if (is_definite()) {
                prepare_definite_thread<element>(p.order);
            }
        }
    }

    size_t workspace_bytes(size_t batch) const override
    {
        return is_transposed()
                   ? batch * d_parameters.order * d_parameters.order * sizeof(T)
                   : 0;
    }

    void run(view<const T> a,
             const typename inverse<T>::results& out,
             view<unsigned char> workspace,
             queue& queue) override
    {
        const int n = d_parameters.order;
        const size_t batch =
            inverse_batch(*this, n, a, out, workspace, queue, backend::cuda);
        if (batch == 0) {
            return;
        }
        cuda_device_scope scope(d_device);
        const auto stream = stream_of(queue);
        batch_of<element> work{ reinterpret_cast<const element*>(a.data()),
                                reinterpret_cast<element*>(out.x.data()),
                                out.status.data(),
                                out.determinant.empty()
                                    ? nullptr
                                    : reinterpret_cast<element*>(out.determinant.data()),
                                batch,
                                false };
        // First, because X may overwrite A.
        norms(matrix_norms<element>, work.a, out.rcond, stream);
        if (is_transposed()) {
            const layout_launch tiles(batch, n * n);
            auto* const rows = reinterpret_cast<element*>(workspace.data());
            interleaved_to_rows<<<tiles.grid, tiles.block, 0, stream>>>(
                work.a, rows, batch, n * n);
            cuda_check_launch("inverse: interleaved_to_rows");
            work.a = rows;
            work.x = rows;
            invert(work, stream);
            rows_to_interleaved<<<tiles.grid, tiles.block, 0, stream>>>(
                rows, reinterpret_cast<element*>(out.x.data()), batch, n * n);
            cuda_check_launch("inverse: rows_to_interleaved");
        } else {
            invert(work, stream);
        }
        norms(reciprocal_condition<element>,
              reinterpret_cast<const element*>(out.x.data()),
              out.rcond,
              stream);
    }

private:
    using element = device_type_of<T>;
    static constexpr bool has_orders_of_warps = most_long_warp_order<element> < 64;
    static constexpr bool has_definite_orders = most_definite_order<element> > 0;

    static bool is_aligned(const void* address)
    {
        return reinterpret_cast<uintptr_t>(address) % sizeof(float4) == 0;
    }

    //! Whether an interleaved batch becomes row-major for the inversion, and X
    //! interleaved.
    bool is_transposed() const
    {
        return d_parameters.layout == matrix_layout::interleaved &&
               d_parameters.order > most_thread_order<element>;
    }

    //! Whether the lower triangle alone is worked on, whatever the batch and layout, so
    //! that the bits are always the same.
    bool is_definite() const
    {
        return d_parameters.pivot == pivoting::none &&
               is_definite_order<element>(d_parameters.order);
    }

    bool is_tall() const
    {
        return tall_warp_order<element>(d_parameters.order, d_parameters.pivot) > 0;
    }

    //! Runs `kernel` over the batch's matrices if rcond is wanted.
    template <typename Kernel>
    void norms(Kernel kernel,
               const element* matrices,
               view<typename inverse<T>::real> rcond,
               cudaStream_t stream)
    {
        if (rcond.empty()) {
            return;
        }
        const int n = d_parameters.order;
        const auto layout = d_parameters.layout;
        kernel<<<norm_blocks(rcond.size(), n, layout), norm_threads, 0, stream>>>(
            matrices, rcond.data(), rcond.size(), n, layout);
        cuda_check_launch("inverse: norms");
    }

    void invert(batch_of<element> batch, cudaStream_t stream)
    {
        batch.aligned = is_aligned(batch.a) && is_aligned(batch.x);
        batch.ahead = d_processors * (is_definite() ? d_thresholds.definite_warps_ahead
                                                    : d_thresholds.warps_ahead);
        const int n = d_parameters.order;
        const bool interleaved =
            d_parameters.layout == matrix_layout::interleaved && !is_transposed();
        const inverse_launch how{ n,
                                  d_parameters.pivot,
                                  interleaved,
                                  d_processors * d_thresholds.threads_for_full_blocks,
                                  stream };
        // Without a determinant, kernels serve that have no registers for one.
        const bool lean = !batch.determinant || interleaved;
        const bool small = !interleaved && is_small(batch.size);
        if (is_definite()) {
            if constexpr (has_definite_orders) {
                launch_definite_thread(batch, how);
            }
        } else if (d_parameters.algorithm == inverse_algorithm::patent) {
            launch_patent(batch, how);
        } else if (n <= most_small_batch_order && (small || !lean)) {
            launch_small_batch(batch, how);
        } else if (interleaved ||
                   (is_thread_order<element>(n, how.pivot) && lean && !small)) {
            launch_thread_per_matrix(batch, how);
        } else if (n <= most_lanes_order && lean) {
            launch_lanes_per_matrix(batch, how);
        } else if (d_uses_tensor_cores) {
            if constexpr (std::is_same_v<element, float2>) {
                how.pivot == pivoting::full ? launch_warp_two_stages(batch, how)
                                            : launch_warp_panels(batch, how);
            }
        } else if (n <= most_warp_order) {
            launch_warp_per_matrix(batch, how);
        } else if (n <= most_long_warp_order<element>) {
            launch_long_warp(batch, how);
        } else if constexpr (has_orders_of_warps) {
            is_tall() ? launch_tall_warp(batch, how)
                      : launch_warps_per_matrix(batch, how);
        }
    }

    //! Whether a thread a matrix takes more time than more lanes a matrix.
    bool is_small(size_t batch) const
    {
        const auto& matrices = d_thresholds.matrices_for_threads;
        const int last = int(std::size(matrices)) - 1;
        return batch < d_processors * matrices[std::min(d_parameters.order, last)];
    }

    typename inverse<T>::parameters d_parameters;
    int d_device;
    size_t d_processors = 0;
    thresholds d_thresholds{};
    bool d_uses_tensor_cores = false;
};

} // namespace

CUDAPHY_CUDA_MAKERS(inverse, inverse_cuda)

} // namespace gr::cudaphy::kernels
