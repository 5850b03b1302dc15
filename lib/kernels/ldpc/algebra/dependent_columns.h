/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/algebra/bit_matrix.h"

namespace gr::cudaphy::kernels {

//! The columns below `columns` that are sums of columns to their right, descending.
//! Columns of `left_out` count as 0. `m` is partly eliminated afterwards.
std::vector<int>
dependent_columns(bit_matrix& m, int columns, const std::vector<char>& left_out);

} // namespace gr::cudaphy::kernels
