/* SPDX-License-Identifier: GPL-3.0-or-later */
// The route `inverse`: the Gram matrices of a batch, their batched inverse, and what both
// give, in three launches with a workspace that grows to the largest batch seen.
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
#include "kernels/mimo/equalizer/inverse-inl.h"

class inverse_steps_cpu : public inverse_steps
{
public:
    void find_gram(const inverse_job& job, queue&) override
    {
        for_each_row(job, [](const inverse_arrays& arrays, size_t matrix) {
            for (int i = 0; i < arrays.shape.layers; ++i) {
                find_gram_row(arrays, matrix, i);
            }
        });
    }
    void apply(const inverse_job& job, queue&) override
    {
        for_each_row(job, [](const inverse_arrays& arrays, size_t matrix) {
            for (int i = 0; i < arrays.shape.layers; ++i) {
                apply_inverse_row(arrays, matrix, i);
            }
            arrays.status[matrix] = status_of(arrays, matrix);
        });
    }

private:
    template <typename Rows>
    static void for_each_row(const inverse_job& job, const Rows& rows)
    {
        const auto arrays = arrays_of(job);
        for_each_part(job.shape.matrices(), 64, [&](size_t first, size_t last) {
            for (size_t matrix = first; matrix < last; ++matrix) {
                rows(arrays, matrix);
            }
        });
    }
};

class equalizer_by_inverse : public equalizer_backend
{
public:
    equalizer_by_inverse(const parameters& p,
                         const resolved_backend& where,
                         std::unique_ptr<inverse_steps> steps)
        : equalizer_backend(p),
          d_inverse(inverse<complex64>::make({ p.layers }, where.where, where.device)),
          d_steps(std::move(steps))
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
            d_workspace = array<unsigned char>(queue, bytes);
        }
        const view<complex64> gram{ d_gram.data(), elements };
        const inverse_job job{ shape,        given,       d_p.method == detector::mmse,
                               d_p.unbiased, gram.data(), d_rcond.data() };
        inverse<complex64>::results found{ gram, given.status };
        found.rcond = { d_rcond.data(), matrices };
        d_steps->find_gram(job, queue);
        d_inverse->run(gram, found, d_workspace, queue);
        d_steps->apply(job, queue);
    }

    std::unique_ptr<inverse<complex64>> d_inverse;
    std::unique_ptr<inverse_steps> d_steps;
    array<complex64> d_gram;
    array<float> d_rcond;
    array<unsigned char> d_workspace;
};

} // namespace

std::unique_ptr<inverse_steps> make_inverse_steps_cpu()
{
    return std::make_unique<inverse_steps_cpu>();
}

std::unique_ptr<equalizer>
make_equalizer_by_inverse(const equalizer::parameters& p, backend where, int device)
{
    const auto resolved = resolve(where, device);
    auto steps = dispatch(
        resolved.where,
        resolved.device,
        [] { return make_inverse_steps_cpu(); },
        [] { return make_inverse_steps_cpu(); },
        [](int index) { return make_inverse_steps_cuda(index); });
    return std::make_unique<equalizer_by_inverse>(p, resolved, std::move(steps));
}

} // namespace gr::cudaphy::kernels
