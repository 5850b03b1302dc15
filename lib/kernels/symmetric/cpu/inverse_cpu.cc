/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/symmetric/cpu/inverse_cpu.h"
#include "kernels/common/memory/thread_memory.h"

namespace gr::cudaphy::kernels {
namespace {

//! Each core inverts a whole matrix of a batch up to this order.
constexpr int most_whole = 512;

template <typename T>
class symmetric_inverse_cpu : public symmetric_inverse<T>
{
public:
    using results = typename symmetric_inverse<T>::results;

    explicit symmetric_inverse_cpu(const typename symmetric_inverse<T>::parameters& p)
        : d_parameters(p)
    {
    }

    //! For the matrix on which all cores work. A core that has a matrix of its own keeps
    //! memory of its own.
    size_t workspace_bytes() const override
    {
        return symmetric_item_bytes<T>(d_parameters.order, d_parameters.definite);
    }

    void run(view<const T> a,
             const results& out,
             view<unsigned char> workspace,
             queue& queue) override
    {
        const size_t batch = symmetric_inverse_batch(
            *this, d_parameters, a, out, workspace, queue, backend::cpu);
        if (batch > 1 && d_parameters.order <= most_whole) {
            for_each_part(batch, 1, [&](size_t first, size_t last) {
                thread_local thread_memory<unsigned char> memory;
                unsigned char* const own = memory.get(workspace_bytes());
                for (size_t item = first; item < last; ++item) {
                    invert_item(a, out, item, false, own, nullptr);
                }
            });
            if (d_parameters.progress) {
                d_parameters.progress(1);
            }
            return;
        }
        for (size_t item = 0; item < batch; ++item) {
            std::function<void(double)> progress;
            if (d_parameters.progress) {
                progress = [&](double share) {
                    d_parameters.progress((item + share) / batch);
                };
            }
            invert_item(a, out, item, true, workspace.data(), progress);
            if (progress) {
                progress(1);
            }
        }
    }

private:
    void invert_item(view<const T> a,
                     const results& out,
                     size_t item,
                     bool parallel,
                     unsigned char* workspace,
                     const std::function<void(double)>& progress) const
    {
        const size_t n = d_parameters.order;
        const auto outcome = invert_symmetric<T>({ a.data() + item * n * n,
                                                   out.x.data() + item * n * n,
                                                   n,
                                                   d_parameters.algorithm,
                                                   d_parameters.definite,
                                                   !out.residual.empty(),
                                                   !out.rcond.empty(),
                                                   parallel,
                                                   progress,
                                                   workspace });
        out.status[item] = outcome.status;
        if (!out.residual.empty()) {
            out.residual[item] = outcome.residual;
        }
        if (!out.refinements.empty()) {
            out.refinements[item] = outcome.refinements;
        }
        if (!out.rcond.empty()) {
            out.rcond[item] = outcome.rcond;
        }
    }

    typename symmetric_inverse<T>::parameters d_parameters;
};

} // namespace

CUDAPHY_HOST_MAKERS(cpu, symmetric_inverse, symmetric_inverse_cpu)

} // namespace gr::cudaphy::kernels
