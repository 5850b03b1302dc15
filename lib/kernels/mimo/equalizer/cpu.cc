/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/equalizer/cpu.h"
#include "kernels/common/parallel.h"

namespace gr::cudaphy::kernels {
namespace {

class equalizer_cpu : public equalizer_backend
{
public:
    using equalizer_backend::equalizer_backend;

private:
    void
    equalize(const equalizer_shape& shape, const equalizer_run& given, queue&) override
    {
        const equalizer_job job{ d_p, shape, equalizer_items(shape), given };
        if (d_p.receive_antennas > most_solved_antennas) {
            equalize_by_gram(job);
            return;
        }
        const bool many = shape.symbols > 1 || d_p.method == detector::max_ratio;
        const auto part = many ? equalize_many_cpu : solve_each_cpu;
        // A multiple of every vector's lanes, and some tens of microseconds of work.
        for_each_part(job.cut.items, 256, [&](size_t first, size_t last) {
            part(job, first, last);
        });
    }

    static void equalize_by_gram(const equalizer_job& job)
    {
        covariance_factors factors;
        if (!job.given.covariance.empty()) {
            const size_t count = job.shape.variances;
            factors.l.resize(job.given.covariance.size());
            factors.variance.resize(count);
            for_each_part(count, 1, [&](size_t first, size_t last) {
                factor_covariances_cpu(job, factors, first, last);
            });
        }
        for_each_part(job.cut.items, 32, [&](size_t first, size_t last) {
            equalize_by_gram_cpu(job, factors, first, last);
        });
    }
};

} // namespace

CUDAPHY_HOST_MAKER_1(cpu, equalizer, equalizer_cpu, equalizer::parameters)

} // namespace gr::cudaphy::kernels
