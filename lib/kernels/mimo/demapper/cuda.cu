/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/mimo/demapper/cuda_job.cuh"
#include "kernels/mimo/demapper/makers.h"

namespace gr::cudaphy::kernels {
namespace {

class soft_demapper_cuda : public soft_demapper
{
public:
    soft_demapper_cuda(const parameters& p, int device)
        : d_p(p), d_sign(p.llr_positive ? -1.0f : 1.0f),
          d_square(make_square_table(p.points, d_sign)), d_device(device)
    {
    }

    void run(view<const complex64> x,
             view<const float> noise,
             view<float> llr,
             queue& queue) override
    {
        demap(launch_demapper_float32, x, noise, llr.data(), llr.size(), queue);
    }
    void run(view<const complex64> x,
             view<const float> noise,
             view<float16> llr,
             queue& queue) override
    {
        demap(launch_demapper_float16, x, noise, llr.data(), llr.size(), queue);
    }
    void run(view<const complex64> x,
             view<const float> noise,
             view<int8_t> llr,
             queue& queue) override
    {
        demap(launch_demapper_int8, x, noise, llr.data(), llr.size(), queue);
    }

private:
    void demap(decltype(launch_demapper_float32)& launch,
               view<const complex64> x,
               view<const float> noise,
               void* llr,
               size_t llrs,
               queue& queue) const
    {
        check_soft_demapper_sizes(d_p.points.bits, x, noise, llrs);
        if (x.empty()) {
            return;
        }
        cuda_device_scope scope(d_device);
        const demapper_cuda_job job{ reinterpret_cast<const float2*>(x.data()),
                                     noise.data(),
                                     noise.size() == x.size() ? 1 : 0,
                                     llr,
                                     x.size(),
                                     d_sign,
                                     d_p.llr_steps,
                                     largest_llr };
        launch({ d_p.points, d_square, d_p.max_log }, job, stream_of(queue));
    }

    const parameters d_p;
    const float d_sign;
    const std::optional<square_table> d_square;
    const int d_device;
};

} // namespace

CUDAPHY_CUDA_MAKER_1(soft_demapper, soft_demapper_cuda, soft_demapper::parameters)

} // namespace gr::cudaphy::kernels
