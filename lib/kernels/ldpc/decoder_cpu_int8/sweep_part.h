/* SPDX-License-Identifier: GPL-3.0-or-later */
// The whole of a source file, which defines before:
//
//   SWEEP_PART             the function that it gives to the linker (tile.h)
//   SWEEP_FIRST            whether it is for the first iteration
//   SWEEP_ANSWERS          the kind of messages (check-inl.h)
//
// Highway includes this file once an instruction set, hence no #pragma once. For a single
// set several such sources are compiled together.
#include "kernels/common/highway_targets_vbmi.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/decoder_cpu_int8/sweep_part.h"
#include <hwy/foreach_target.h>

#include "kernels/ldpc/decoder_cpu_int8/sweep-inl.h"
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

void SWEEP_PART(const ldpc_fixed_plan& plan,
                const ldpc_fixed_plan::iteration& order,
                const fixed_messages& messages,
                fixed_tile& tile,
                int8_t* odd)
{
    const auto chosen = odd ? sweep<SWEEP_FIRST, true, SWEEP_ANSWERS>
                            : sweep<SWEEP_FIRST, false, SWEEP_ANSWERS>;
    chosen(plan, order, messages, tile, odd);
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(SWEEP_PART);

} // namespace

void SWEEP_PART(const ldpc_fixed_plan& plan,
                const ldpc_fixed_plan::iteration& order,
                const fixed_messages& messages,
                fixed_tile& tile,
                int8_t* odd)
{
    HWY_DYNAMIC_DISPATCH(SWEEP_PART)(plan, order, messages, tile, odd);
}

} // namespace gr::cudaphy::kernels

#undef SWEEP_PART
#undef SWEEP_FIRST
#undef SWEEP_ANSWERS
#endif
