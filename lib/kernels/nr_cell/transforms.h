/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr/fourier_transform.h"

namespace gr::cudaphy::kernels::nr_cell {

//! A transform that is made once for all that use it at the time.
std::shared_ptr<const nr::fourier_transform> transform_of(size_t size, bool forward);

} // namespace gr::cudaphy::kernels::nr_cell
