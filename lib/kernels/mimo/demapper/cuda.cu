/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/mimo/demapper/cuda_job.cuh"
#include "kernels/mimo/demapper/makers.h"
#include <algorithm>
#include <iterator>

namespace gr::cudaphy::kernels {
namespace {

class soft_demapper_cuda : public soft_demapper
{
public:
    soft_demapper_cuda(const parameters& p, int device)
        : d_p(p), d_columns(p), d_sign(p.llr_positive ? -1.0f : 1.0f),
          d_square(make_square_table(p.points, d_sign)),
          d_mirror(d_square ? std::nullopt : make_mirror_table(p.points)),
          d_rings(d_square ? std::nullopt : make_ring_table(p.points)), d_device(device)
    {
    }

    void run(view<const complex64> x,
             const noise_variances& noise,
             view<float> llr,
             queue& queue) override
    {
        demap(launch_demapper_float32, x, noise, llr.data(), llr.size(), queue);
    }
    void run(view<const complex64> x,
             const noise_variances& noise,
             view<float16> llr,
             queue& queue) override
    {
        demap(launch_demapper_float16, x, noise, llr.data(), llr.size(), queue);
    }
    void run(view<const complex64> x,
             const noise_variances& noise,
             view<int8_t> llr,
             queue& queue) override
    {
        demap(launch_demapper_int8, x, noise, llr.data(), llr.size(), queue);
    }

private:
    void demap(decltype(launch_demapper_float32)& launch,
               view<const complex64> x,
               const noise_variances& noise,
               void* llr,
               size_t llrs,
               queue& queue) const
    {
        check_soft_demapper_sizes(d_p, x, noise, llrs);
        if (x.empty()) {
            return;
        }
        cuda_device_scope scope(d_device);
        const auto variances = noise.in_memory();
        demapper_cuda_job job{ reinterpret_cast<const float2*>(x.data()),
                               noise.is_number() ? nullptr : variances.data(),
                               noise.is_number() || variances.size() != x.size() ? 0 : 1,
                               noise.number(),
                               llr,
                               x.size(),
                               d_sign,
                               d_p.llr_steps,
                               largest_llr,
                               unsigned(d_columns.rows),
                               unsigned(d_columns.bits),
                               {} };
        std::copy(std::begin(d_columns.column), std::end(d_columns.column), job.column);
        launch({ d_p.points, d_square, d_mirror, d_rings, d_p.max_log },
               job,
               stream_of(queue));
    }

    const parameters d_p;
    const llr_columns d_columns;
    const float d_sign;
    const std::optional<square_table> d_square;
    const std::optional<mirror_table> d_mirror;
    const std::optional<ring_table> d_rings;
    const int d_device;
};

} // namespace

CUDAPHY_CUDA_MAKER_1(soft_demapper, soft_demapper_cuda, soft_demapper::parameters)

} // namespace gr::cudaphy::kernels
