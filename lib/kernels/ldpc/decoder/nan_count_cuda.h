/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nan_count.h>

namespace gr::cudaphy::kernels {

void count_nan_on_cuda(const float* values, size_t width, view<int> count, queue& queue);
void count_nan_on_cuda(const float16* values,
                       size_t width,
                       view<int> count,
                       queue& queue);

} // namespace gr::cudaphy::kernels
