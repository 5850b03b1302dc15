/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cpu.h"
#include "kernels/common/parallel.h"
#include "kernels/linalg/inverse/makers.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

template <typename T>
class inverse_cpu : public inverse<T>
{
public:
    using inverse<T>::run;

    explicit inverse_cpu(const typename inverse<T>::parameters& p) : d_parameters(p) {}

    size_t workspace_bytes(size_t) const override { return 0; }

    void run(view<const T> a,
             const typename inverse<T>::results& out,
             view<unsigned char> workspace,
             queue& queue) override
    {
        const int n = d_parameters.order;
        const size_t batch =
            inverse_batch(*this, n, a, out, workspace, queue, backend::cpu);
        // Some 32 KB a piece, in whole vectors of the widest instruction set.
        constexpr size_t widest = 16;
        const size_t grain = widest * std::max<size_t>(1, 256 / (size_t(n) * n));
        for_each_part(batch, grain, [&](size_t first, size_t last) {
            invert_part(
                inverse_part<T>{ a.data(), &out, batch, first, last, &d_parameters });
        });
    }

private:
    typename inverse<T>::parameters d_parameters;
};

} // namespace

CUDAPHY_HOST_MAKERS(cpu, inverse, inverse_cpu)

} // namespace gr::cudaphy::kernels
