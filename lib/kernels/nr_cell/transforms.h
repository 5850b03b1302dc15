/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <gnuradio/cudaphy/kernels/view.h>
#include <memory>

namespace gr::cudaphy::kernels::nr_cell {

/*!
 * \brief A transform of one size by FFTW, in place and without a scale, in vectors'
 * memory.
 *
 * FFTW uses vector instructions only if it knows the alignment, which std::vector has:
 * that is three times as fast as nr::fourier_transform. Threads may share one.
 */
class aligned_transform
{
public:
    aligned_transform(size_t size, bool forward);
    ~aligned_transform();
    aligned_transform(const aligned_transform&) = delete;
    aligned_transform& operator=(const aligned_transform&) = delete;

    //! \throws std::invalid_argument if `data` is not of this size
    void run(std::vector<complex64>& data) const;

private:
    struct plan;
    size_t d_size;
    std::unique_ptr<plan> d_plan;
};

//! A transform that is made once for all that use it at the time.
std::shared_ptr<const aligned_transform> transform_of(size_t size, bool forward);

} // namespace gr::cudaphy::kernels::nr_cell
