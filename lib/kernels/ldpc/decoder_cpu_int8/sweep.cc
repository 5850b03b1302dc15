/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/highway_targets_vbmi.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/decoder_cpu_int8/sweep.cc"
#include <hwy/foreach_target.h>

#include "kernels/ldpc/decoder_cpu_int8/sweep-inl.h"
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {

int fixed_lanes() { return static_cast<int>(lanes); }

void fixed_failures(const ldpc_fixed_plan& plan,
                    const ldpc_fixed_plan::iteration& order,
                    fixed_tile& tile,
                    int8_t* failed)
{
    HWY_ALIGN int8_t set[lanes] = {};
    std::fill_n(set, plan.tail, int8_t{ -1 });
    const auto tail = hn::Load(di, set);
    const int8_t* l = tile.l.get();
    auto sum = hn::Zero(di);
    for (const auto& row : order.rows) {
        if (!row.telling) {
            continue;
        }
        const uint32_t* end = order.ends.data() + row.first;
        for (int v = 0; v < row.vectors; ++v) {
            auto parity = even(row.degree);
            for (int i = 0; i < row.degree; ++i) {
                parity = hn::Xor(parity, hn::LoadU(di, l + *end++));
            }
            for (uint32_t h = row.holes.first; h < row.holes.last; ++h) {
                const auto& hole = order.holes[h];
                if (static_cast<int>(hole.check / lanes) == v) {
                    HWY_ALIGN int8_t row_of_parity[lanes];
                    std::fill_n(row_of_parity, lanes, fixed_sign);
                    std::copy_n(
                        l + hole.end, plan.words, row_of_parity + hole.check % lanes);
                    parity = hn::Xor3(parity, hn::Load(di, row_of_parity), even(1));
                }
            }
            sum = hn::Or(sum, v + 1 == row.vectors ? hn::And(parity, tail) : parity);
        }
    }
    hn::StoreU(lanes_of(sum), di, failed);
}

} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
HWY_EXPORT(fixed_lanes);
HWY_EXPORT(fixed_failures);

int fixed_lanes() { return HWY_DYNAMIC_DISPATCH(fixed_lanes)(); }

void fixed_sweep(const ldpc_fixed_plan& plan,
                 const ldpc_fixed_plan::iteration& order,
                 const fixed_messages& messages,
                 bool first,
                 fixed_tile& tile,
                 int8_t* odd)
{
    if (first && messages.corrects) {
        std::fill_n(tile.r.get(), plan.edge_vectors * plan.lanes, fixed_zero);
    }
    const auto chosen = messages.corrects ? fixed_sweep_corrected
                        : first           ? fixed_sweep_first
                        : messages.damps  ? fixed_sweep_damped
                                          : fixed_sweep_later;
    chosen(plan, order, messages, tile, odd);
}

void fixed_failures(const ldpc_fixed_plan& plan,
                    const ldpc_fixed_plan::iteration& just_done,
                    fixed_tile& tile,
                    int8_t* failed)
{
    HWY_DYNAMIC_DISPATCH(fixed_failures)(plan, just_done, tile, failed);
}

} // namespace gr::cudaphy::kernels
#endif
