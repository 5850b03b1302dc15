/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_cell/transforms.h"
#include "kernels/nr/fourier_transform.h"
#include "kernels/nr/require.h"
#include <algorithm>
#include <fftw3.h>
#include <map>
#include <mutex>
#include <new>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

fftwf_complex* raw(std::vector<complex64>& data)
{
    return reinterpret_cast<fftwf_complex*>(data.data());
}

} // namespace

struct aligned_transform::plan {
    fftwf_plan made;
    int alignment;
};

aligned_transform::aligned_transform(size_t size, bool forward)
    : d_size(size), d_plan(std::make_unique<plan>())
{
    // Makes FFTW's planner safe in several threads.
    static const nr::fourier_transform planner(2, true);
    std::vector<complex64> scratch(size);
    d_plan->alignment = fftwf_alignment_of(reinterpret_cast<float*>(scratch.data()));
    d_plan->made = fftwf_plan_dft_1d(static_cast<int>(size),
                                     raw(scratch),
                                     raw(scratch),
                                     forward ? FFTW_FORWARD : FFTW_BACKWARD,
                                     FFTW_ESTIMATE);
    if (!d_plan->made) {
        throw std::bad_alloc();
    }
}

aligned_transform::~aligned_transform() { fftwf_destroy_plan(d_plan->made); }

void aligned_transform::run(std::vector<complex64>& data) const
{
    nr::require(data.size() == d_size, "a transform of another size");
    if (fftwf_alignment_of(reinterpret_cast<float*>(data.data())) == d_plan->alignment) {
        fftwf_execute_dft(d_plan->made, raw(data), raw(data));
        return;
    }
    // Some other allocator's memory.
    auto* const moved = static_cast<complex64*>(fftwf_malloc(d_size * sizeof(complex64)));
    if (!moved) {
        throw std::bad_alloc();
    }
    std::copy(data.begin(), data.end(), moved);
    auto* const at = reinterpret_cast<fftwf_complex*>(moved);
    fftwf_execute_dft(d_plan->made, at, at);
    std::copy(moved, moved + d_size, data.begin());
    fftwf_free(moved);
}

std::shared_ptr<const aligned_transform> transform_of(size_t size, bool forward)
{
    constexpr size_t most = 64; // recordings of many lengths would make it grow for ever
    static std::mutex turn;
    static std::map<std::pair<size_t, bool>, std::shared_ptr<aligned_transform>> made;
    const std::lock_guard<std::mutex> lock(turn);
    auto found = made.find({ size, forward });
    if (found == made.end()) {
        if (made.size() >= most) {
            made.clear();
        }
        auto one = std::make_shared<aligned_transform>(size, forward);
        found = made.emplace(std::pair(size, forward), std::move(one)).first;
    }
    return found->second;
}

} // namespace gr::cudaphy::kernels::nr_cell
