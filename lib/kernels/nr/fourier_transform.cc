/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr/fourier_transform.h"
#include <fftw3.h>
#include <new>

namespace gr::cudaphy::kernels::nr {
namespace {

//! FFTW's planner is not thread-safe by itself; GNU Radio's blocks plan in other threads.
void make_planner_safe()
{
    static const bool done = [] {
        fftwf_make_planner_thread_safe();
        return true;
    }();
    static_cast<void>(done);
}

fftwf_complex* raw(complex64* data) { return reinterpret_cast<fftwf_complex*>(data); }

} // namespace

struct fourier_transform::plan {
    fftwf_plan made;
};

// FFTW_ESTIMATE, because measuring takes seconds; FFTW_UNALIGNED, because callers'
// symbols start anywhere.
fourier_transform::fourier_transform(size_t size, bool forward)
    : d_size(size), d_plan(std::make_unique<plan>())
{
    make_planner_safe();
    std::vector<complex64> scratch(size);
    d_plan->made = fftwf_plan_dft_1d(static_cast<int>(size),
                                     raw(scratch.data()),
                                     raw(scratch.data()),
                                     forward ? FFTW_FORWARD : FFTW_BACKWARD,
                                     FFTW_ESTIMATE | FFTW_UNALIGNED);
    if (!d_plan->made) {
        throw std::bad_alloc();
    }
}

fourier_transform::~fourier_transform() { fftwf_destroy_plan(d_plan->made); }

void fourier_transform::run(complex64* data) const
{
    fftwf_execute_dft(d_plan->made, raw(data), raw(data));
}

} // namespace gr::cudaphy::kernels::nr
