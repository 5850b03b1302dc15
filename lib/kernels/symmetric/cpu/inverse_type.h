/* SPDX-License-Identifier: GPL-3.0-or-later */
// invert_symmetric() of the element type CUDAPHY_SYMMETRIC_TYPE. Each type has a source
// file of its own, because one for all takes 90 s to compile. Highway includes this file
// once for each instruction set, so it has no #pragma once.
#include "kernels/common/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/symmetric/cpu/inverse_type.h"
#include <hwy/foreach_target.h>

#include "kernels/symmetric/cpu/item-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

using element = CUDAPHY_SYMMETRIC_TYPE;

symmetric_outcome<element> invert_type(const symmetric_item<element>& item)
{
    return symmetric_inverter<element>(item).run();
}

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
symmetric_outcome<CUDAPHY_SYMMETRIC_TYPE>
invert_symmetric(const symmetric_item<CUDAPHY_SYMMETRIC_TYPE>& item)
{
    return HWY_DYNAMIC_DISPATCH(invert_type)(item);
}

} // namespace gr::cudaphy::kernels
#endif
