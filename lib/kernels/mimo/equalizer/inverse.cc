/* SPDX-License-Identifier: GPL-3.0-or-later */
// The route `inverse`: the Gram matrices of a batch, their inverses by the kernel
// `inverse`, and what both give. The workspace grows to the largest batch seen.
#include "kernels/mimo/equalizer/inverse.h"
#include "kernels/common/dispatch.h"
#include "kernels/common/parallel.h"
#include <cmath>
#include <gnuradio/cudaphy/kernels/inverse.h>

namespace gr::cudaphy::kernels {
namespace {

#define CUDAPHY_LANE inline
using real = float;
CUDAPHY_LANE real fused(real a, real b, real c) { return std::fma(a, b, c); }
CUDAPHY_LANE real fused_less(real a, real b, real c) { return std::fma(-a, b, c); }
#include "kernels/mimo/complex_lane-inl.h"
#include "kernels/mimo/equalizer/inverse-inl.h"

template <typename Row>
void visit_rows(const inverse_job& job, queue&)
{
    for_each_part(job.shape.matrices(), 64, [&](size_t first, size_t last) {
        for (size_t matrix = first; matrix < last; ++matrix) {
            for (int i = 0; i < job.shape.layers; ++i) {
                Row()(job, matrix, i);
            }
        }
    });
}

inverse_steps inverse_steps_cpu()
{
    return { visit_rows<find_gram_row>, visit_rows<apply_inverse_row> };
}

class equalizer_by_inverse : public equalizer_backend
{
public:
    equalizer_by_inverse(const parameters& p,
                         const resolved_backend& where,
                         const inverse_steps& steps)
        : equalizer_backend(p),
          d_inverse(inverse<complex64>::make({ p.layers }, where.where, where.device)),
          d_steps(steps)
    {
    }

private:
    void equalize(const equalizer_shape& shape,
                  const equalizer_run& given,
                  queue& queue) override
    {
        const size_t matrices = shape.matrices();
        const size_t elements = matrices * d_p.layers * d_p.layers;
        if (matrices == 0) {
            return;
        }
        const size_t bytes = d_inverse->workspace_bytes(matrices);
        if (d_gram.size() < elements || d_workspace.size() < bytes) {
            queue.synchronize(); // what still works in the old ones
            d_gram = array<complex64>(queue, elements);
            d_rcond = array<float>(queue, matrices);
            d_inverted = array<int>(queue, matrices);
            d_workspace = array<unsigned char>(queue, bytes);
        }
        const inverse_job job{ shape,
                               given.y.data(),
                               given.h.data(),
                               given.n0.data(),
                               shape.variances == 1 ? 0 : size_t(shape.tones),
                               given.x.data(),
                               given.noise.data(),
                               given.status.data(),
                               d_gram.data(),
                               d_rcond.data(),
                               d_inverted.data(),
                               d_p.method == detector::mmse,
                               d_p.unbiased };
        const view<complex64> gram{ d_gram.data(), elements };
        inverse<complex64>::results found{ gram, { d_inverted.data(), matrices } };
        found.rcond = { d_rcond.data(), matrices };
        d_steps.find_gram(job, queue);
        d_inverse->run(gram, found, d_workspace, queue);
        d_steps.apply(job, queue);
    }

    std::unique_ptr<inverse<complex64>> d_inverse;
    const inverse_steps d_steps;
    array<complex64> d_gram;
    array<float> d_rcond;
    array<int> d_inverted;
    array<unsigned char> d_workspace;
};

} // namespace

std::unique_ptr<equalizer>
make_equalizer_by_inverse(const equalizer::parameters& p, backend where, int device)
{
    const auto resolved = resolve(where, device);
    const auto steps = dispatch(
        resolved.where, resolved.device, inverse_steps_cpu, inverse_steps_cpu, [](int) {
            return inverse_steps_cuda();
        });
    return std::make_unique<equalizer_by_inverse>(p, resolved, steps);
}

} // namespace gr::cudaphy::kernels
