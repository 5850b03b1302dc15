/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <gnuradio/cudaphy/kernels/view.h>
#include <memory>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief Transforms of one size on the CPU, in place and without a scale.
 *
 * Any size works; quick are those with factors of at most 64. The sum of the squares of
 * the errors is about 1e-14 of that of the values. Threads may share one.
 */
class fourier_transform
{
public:
    //! \throws std::invalid_argument if size is 0
    fourier_transform(size_t size, bool forward);
    ~fourier_transform();
    fourier_transform(const fourier_transform&) = delete;
    fourier_transform& operator=(const fourier_transform&) = delete;

    size_t size() const;
    //! `data` has size() values, and any alignment.
    void run(complex64* data) const;
    //! \throws std::invalid_argument if `data` is not of this size
    void run(std::vector<complex64>& data) const;

private:
    struct plan;
    std::unique_ptr<const plan> d_plan;
};

//! A transform that is made once for all that use it at the time.
std::shared_ptr<const fourier_transform> transform_of(size_t size, bool forward);

} // namespace gr::cudaphy::kernels
