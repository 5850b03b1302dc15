/* SPDX-License-Identifier: GPL-3.0-or-later */
// Products on vectors of the CPU: the whole of product_cpu_<type>.cc, which defines
// SPARSE_NUMBER; included once an instruction set and without include guard. Compiled
// together, the three types would take more than 500 MB.
//
// Rows are lanes where the format puts them side by side: a chunk's rows, the rows of one
// pattern, the rows of a diagonal, and short rows of as many entries, whose order is
// turned in registers. Other compressed rows, blocks and columns go one by one. Every sum
// is one chain of fused multiply-adds, columns ascending, in any of them.
#include "kernels/common/highway_targets.h"
#include "kernels/fdtd/sparse/product_cpu.h"
#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fdtd/sparse/product_cpu-inl.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels::HWY_NAMESPACE {
namespace {

#include "kernels/fdtd/sparse/compressed_rows-inl.h"
#include "kernels/fdtd/sparse/lanes-inl.h"
#include "kernels/fdtd/sparse/rows-inl.h"

void multiply_piece(const sparse_job<SPARSE_NUMBER>& job, const sparse_piece& piece)
{
    std::visit([&](const auto& layout) { multiply(layout, job, piece); }, job.layout);
}

} // namespace
} // namespace gr::cudaphy::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(multiply_piece);

} // namespace

template <>
void multiply_sparse_piece(const sparse_job<SPARSE_NUMBER>& job,
                           const sparse_piece& piece)
{
    HWY_DYNAMIC_DISPATCH(multiply_piece)(job, piece);
}

} // namespace gr::cudaphy::kernels
#endif
