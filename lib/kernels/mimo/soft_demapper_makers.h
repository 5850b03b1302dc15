/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/soft_demapper.h>

namespace gr::cudaphy::kernels {

// Largest magnitude of a log-likelihood ratio. It keeps LLRs finite for every finite
// symbol and positive noise variance, and is far above what a decoder tells apart.
constexpr float largest_llr = 1e9f;

//! Coordinates of points beyond this are refused, so that no metric can overflow.
constexpr float largest_coordinate = 1e6f;

std::unique_ptr<soft_demapper>
make_soft_demapper_reference(const soft_demapper::parameters&);
std::unique_ptr<soft_demapper> make_soft_demapper_cpu(const soft_demapper::parameters&);
std::unique_ptr<soft_demapper> make_soft_demapper_cuda(const soft_demapper::parameters&,
                                                       int device);

//! \throws std::invalid_argument unless noise serves x and llr holds `bits` values a
//! symbol.
void check_soft_demapper_sizes(int bits,
                               view<const complex64> x,
                               view<const float> noise,
                               view<float> llr);

} // namespace gr::cudaphy::kernels
