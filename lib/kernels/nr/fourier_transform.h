/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <gnuradio/cudaphy/kernels/view.h>
#include <memory>

namespace gr::cudaphy::kernels::nr {

//! Transforms of one size on the CPU, by FFTW; without a scale. Threads may share one.
class fourier_transform
{
public:
    fourier_transform(size_t size, bool forward);
    ~fourier_transform();
    fourier_transform(const fourier_transform&) = delete;
    fourier_transform& operator=(const fourier_transform&) = delete;

    size_t size() const { return d_size; }
    //! In place; `data` may have any alignment.
    void run(complex64* data) const;

private:
    struct plan;
    size_t d_size;
    std::unique_ptr<plan> d_plan;
};

} // namespace gr::cudaphy::kernels::nr
