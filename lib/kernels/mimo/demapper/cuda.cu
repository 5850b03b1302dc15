/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/mimo/demapper/cuda_job.cuh"
#include "kernels/mimo/demapper/makers.h"
#include <algorithm>
#include <iterator>

namespace gr::cudaphy::kernels {
namespace {

bool divides_16(const void* address)
{
    return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

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
        demap(launch_demapper_runs_float32,
              llr_type::float32,
              x,
              noise,
              llr.data(),
              llr.size(),
              queue);
    }
    void run(view<const complex64> x,
             const noise_variances& noise,
             view<float16> llr,
             queue& queue) override
    {
        demap(launch_demapper_runs_float16,
              llr_type::float16,
              x,
              noise,
              llr.data(),
              llr.size(),
              queue);
    }
    void run(view<const complex64> x,
             const noise_variances& noise,
             view<int8_t> llr,
             queue& queue) override
    {
        demap(launch_demapper_runs_int8,
              llr_type::int8,
              x,
              noise,
              llr.data(),
              llr.size(),
              queue);
    }

private:
    //! Magnitude of an LLR that its type holds. Times the steps of int8 it is 127 but for
    //! its rounding.
    float largest_of(llr_type type) const
    {
        return type == llr_type::float16 ? 65504.0f
               : type == llr_type::int8  ? std::min(127.0f / d_p.llr_steps, largest_llr)
                                         : largest_llr;
    }

    void demap(decltype(launch_demapper_runs_float32)& launch_runs,
               llr_type type,
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
                               type,
                               x.size(),
                               d_sign,
                               d_p.llr_steps,
                               largest_of(type),
                               unsigned(d_columns.rows),
                               unsigned(d_columns.bits),
                               {} };
        std::copy(std::begin(d_columns.column), std::end(d_columns.column), job.column);
        const demapper_points from{
            d_p.points, d_square, d_mirror, d_rings, d_p.max_log
        };
        const auto stream = stream_of(queue);
        const bool in_runs = job.rows == 0 && divides_16(job.x) && divides_16(llr) &&
                             (job.noise_step == 0 || divides_16(job.noise));
        if (!in_runs || !launch_runs(from, job, stream)) {
            launch_demapper_any(from, job, stream);
        }
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
