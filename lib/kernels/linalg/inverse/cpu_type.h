/* SPDX-License-Identifier: GPL-3.0-or-later */
// invert_part() of the element type CUDAPHY_INVERSE_TYPE. Each type has a source file of
// its own, because one for all takes minutes and a gigabyte to compile. Highway includes
// this file once an instruction set, hence no #pragma once.
#include "kernels/common/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linalg/inverse/cpu_type.h"
#include <hwy/foreach_target.h>

#include "kernels/linalg/inverse/invert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

void invert_type(const inverse_part<CUDAPHY_INVERSE_TYPE>& part) { invert(part); }

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(invert_type);

} // namespace

template <>
void invert_part(const inverse_part<CUDAPHY_INVERSE_TYPE>& part)
{
    HWY_DYNAMIC_DISPATCH(invert_type)(part);
}

} // namespace gr::cudaphy::kernels
#endif
