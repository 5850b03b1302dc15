/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/folded_writer.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

constexpr int at_once = 8; // loads, to hide latencies

} // namespace

ldpc_cuda_folded_writer::name ldpc_cuda_folded_writer::any(const name& here)
{
    const name result = p();
    say("bar.red.or.pred %s, 0, %s;", result, here);
    return result;
}

//! Adds the sign of an L, 1 where it decides 1, to a check's parity.
void ldpc_cuda_folded_writer::add_parity(name& parity, const name& l, int missing)
{
    name value = sub(l, d_center);
    if (missing >= 0) {
        const name others = b32("and.b32", "%s, 0x%x", value, ~half_of(missing));
        const name kept = r();
        say("selp.b32 %s, %s, %s, %s;", kept, others, value, is_missing(missing));
        value = kept;
    }
    parity = parity.empty() ? value : b32("xor.b32", "%s, %s", parity, value);
}

//! Whether a telling check is odd, of steps first ... last - 1 or of those that were
//! asked for before in this iteration: a predicate of the thread. A group takes its own
//! row of each pair; else the groups take rows in turn, and `first` is even.
ldpc_cuda_folded_writer::name ldpc_cuda_folded_writer::check_rows(size_t first,
                                                                  size_t last)
{
    for_groups([&](int group) {
        const size_t end = std::min(d_plan.steps.size(), last);
        for (size_t r = first + (d_plan.in_pairs ? 0 : group); r < end;
             r += d_plan.in_pairs ? 1 : ldpc_cuda_folded_plan::groups) {
            const auto& row = d_plan.steps[r];
            if (!row.tells[group]) {
                continue;
            }
            in_hand now;
            name parity;
            forget_addresses(row.edges[group]);
            for (int g = 0; g < ldpc_cuda_folded_plan::groups; ++g) {
                if (d_plan.in_pairs && g != group) {
                    continue;
                }
                for (const auto& edge : row.edges[g]) {
                    name l;
                    if (edge.is_copied) {
                        l = load_at_work(d_w,
                                         column_at(edge.column) + 4 * edge.rest_shift);
                        if (edge.rest_exchanged) {
                            l = b32("prmt.b32", "%s, 0, 0x1032", l);
                        }
                    } else {
                        const name address = address_of(edge.shift, now);
                        l = turned(
                            edge, load_at_work(address, column_at(edge.column)), now);
                    }
                    add_parity(parity, l, edge.missing);
                }
            }
            say("or.b32 %s, %s, %s;", d_odd, d_odd, parity);
        }
    });
    const name signs = b32("and.b32", "%s, 0x80008000", d_odd);
    const name odd = p();
    say("setp.ne.b32 %s, %s, 0;", odd, signs);
    if (!d_active.empty()) {
        say("and.pred %s, %s, %s;", odd, odd, d_active);
    }
    return odd;
}

//! The least L of the information bits that this thread looks at, of whole columns.
ldpc_cuda_folded_writer::name ldpc_cuda_folded_writer::least_of_columns()
{
    const name least = b32("mov.b32", "%s", greatest);
    for_groups([&](int group) {
        for (size_t i = group; i < d_plan.info_columns.size();
             i += ldpc_cuda_folded_plan::groups) {
            const name l = load_at_work(d_w, column_at(d_plan.info_columns[i]));
            say("min.f16x2 %s, %s, %s;", least, least, l);
        }
    });
    const name upper = b32("shr.u32", "%s, 16", least);
    const name lower = b32("and.b32", "%s, 0xffff", least);
    const name both = b32("min.u32", "%s, %s", upper, lower);
    if (!d_active.empty()) {
        say("selp.b32 %s, %s, 0x3c00, %s;", both, both, d_active);
    }
    return both;
}

//! Looks at the information bits: whether one is unknown and none a one; with stop_crc,
//! whether they do not end with their remainder. A predicate of the block.
ldpc_cuda_folded_writer::name ldpc_cuda_folded_writer::look_at_information()
{
    const auto is_bad = [&](const name& least) {
        const name negative = p(), zero = p(), bad = p();
        say("setp.lt.u32 %s, %s, 0x3880;", negative, least);
        say("setp.eq.u32 %s, %s, 0x3880;", zero, least);
        const name has_negative = any(negative), has_zero = any(zero);
        say("not.pred %s, %s;", bad, has_negative);
        say("and.pred %s, %s, %s;", bad, bad, has_zero);
        return bad;
    };
    if (!has_crc() && !d_plan.info_columns.empty()) {
        return is_bad(least_of_columns());
    }
    const int threads = workers();
    const name goes_on = p();
    const name again = label();
    const name item = b32("mov.b32", "%s", d_worker);
    const name sum = b32("mov.b32", "0"), least = b32("mov.b32", "0x3c00");
    const name table = d();
    say("mad.wide.u32 %s, %s, 8, %s;", table, d_worker, d_info);
    say("%s:", again);
    for (int i = 0; i < at_once; ++i) {
        const name exists = p();
        const name which = b32("add.u32", "%s, %d", item, i * threads);
        say("setp.lt.u32 %s, %s, %d;", exists, which, d_code.k());
        const name place = b32("mov.b32", "0"), l = b32("mov.b32", "0x3c00");
        say("@%s ld.global.nc.b32 %s, [%s+%d];", exists, place, table, 8 * i * threads);
        const name address = b32("mad.lo.u32", "%s, 2, %s", place, d_memory);
        say("@%s ld.shared.u16 %s, [%s];", exists, l, address);
        say("min.u32 %s, %s, %s;", least, least, l);
        if (has_crc()) {
            const name term = b32("mov.b32", "0"), added = r();
            const name one = p();
            say("@%s ld.global.nc.b32 %s, [%s+%d];",
                exists,
                term,
                table,
                8 * i * threads + 4);
            say("setp.lt.u32 %s, %s, 0x3880;", one, l);
            say("selp.b32 %s, %s, 0, %s;", added, term, one);
            say("xor.b32 %s, %s, %s;", sum, sum, added);
        }
    }
    say("add.u32 %s, %s, %d;", item, item, at_once * threads);
    say("add.u64 %s, %s, %d;", table, table, 8 * at_once * threads);
    say("setp.lt.u32 %s, %s, %d;", goes_on, item, d_code.k());
    say("@%s bra %s;", goes_on, again);
    const name bad = is_bad(least);
    if (has_crc()) {
        const name in_memory = b32("add.u32", "%s, %d", d_memory, d_plan.scratch_at);
        const name first = p(), first_lane = p(), fails = p();
        const name lane = b32("and.b32", "%s, 31", d_t);
        const name nothing = b32("mov.b32", "0");
        say("setp.eq.u32 %s, %s, 0;", first, d_t);
        say("@%s st.shared.b32 [%s], %s;", first, in_memory, nothing);
        say("bar.sync 0;");
        say("setp.eq.u32 %s, %s, 0;", first_lane, lane);
        const name all = b32(
            "redux.sync.xor.b32",
            "%s, %s",
            sum,
            lanes(d_in_group, d_plan.idle_leave() ? d_plan.half : d_plan.group_threads));
        say("@%s red.shared.xor.b32 [%s], %s;", first_lane, in_memory, all);
        say("bar.sync 0;");
        const name rest = load(in_memory, 0);
        say("setp.ne.b32 %s, %s, 0;", fails, rest);
        say("or.pred %s, %s, %s;", bad, bad, fails);
    }
    return bad;
}

//! Whether the codeword is not decoded, the checks of the first `looked_at` steps having
//! been asked for: a predicate of the block.
ldpc_cuda_folded_writer::name ldpc_cuda_folded_writer::find_bad(size_t looked_at)
{
    if (has_crc()) {
        return look_at_information();
    }
    const name odd = any(check_rows(looked_at, d_plan.steps.size()));
    const name unknown = look_at_information();
    const name bad = p();
    say("or.pred %s, %s, %s;", bad, odd, unknown);
    return bad;
}

void ldpc_cuda_folded_writer::put_out(const name& bad)
{
    const name first = p(), result = r();
    const name number = block_number();
    const name count_at = d(), ok_at = d();
    say("setp.eq.u32 %s, %s, 0;", first, d_t);
    say("selp.b32 %s, 0, 1, %s;", result, bad);
    say("mad.wide.u32 %s, %s, 4, %s;", count_at, number, d_iterations);
    say("mad.wide.u32 %s, %s, 4, %s;", ok_at, number, d_ok);
    say("@%s st.global.b32 [%s], %s;", first, count_at, d_iteration);
    say("@%s st.global.b32 [%s], %s;", first, ok_at, result);
}

//! Hard decisions, and soft ones where they are asked for. A whole warp takes 32 bits at
//! a time.
void ldpc_cuda_folded_writer::put_bits()
{
    const int threads = ldpc_cuda_folded_plan::groups * whole_of_group();
    const name past = label();
    const name writer = r();
    {
        const name is_rest = p();
        say("setp.ge.u32 %s, %s, %d;", is_rest, d_in_group, whole_of_group());
        say("@%s bra %s;", is_rest, past);
        const name last_writer = b32("add.u32", "%s, %d", d_in_group, whole_of_group());
        say("selp.b32 %s, %s, %s, %s;", writer, last_writer, d_in_group, d_is_last);
    }
    const name number = block_number();
    const name lane = b32("and.b32", "%s, 31", d_t);
    // Bit 0 of a vote is the first byte's highest: byte i comes down by 24 - 8 i.
    const name up = b32("shl.b32", "%s, 3", lane);
    const name down = b32("sub.u32", "24, %s", up);
    const name warp = b32("shr.u32", "%s, 5", writer);
    const name byte = b32("mad.lo.u32", "%s, 4, %s", warp, lane);
    const name has_soft = p(), few = p(), goes_on = p();
    const name again = label(), no_soft = label();
    const name bits = d(), bits_at = d(), soft_at = d(), table = d();
    const name item = b32("mov.b32", "%s", writer);
    const name first = b32("shl.b32", "%s, 5", warp); // item of the warp's first lane
    say("setp.ne.u64 %s, %s, 0;", has_soft, d_soft);
    say("setp.lt.u32 %s, %s, 4;", few, lane);
    say("mad.wide.u32 %s, %s, %d, %s;", bits, number, d_bytes, d_bits);
    say("mad.wide.u32 %s, %s, 1, %s;",
        bits_at,
        d_parameters.packed ? byte : writer,
        bits);
    say("mad.wide.u32 %s, %s, %d, %s;", soft_at, number, 4 * d_outputs, d_soft);
    say("mad.wide.u32 %s, %s, 4, %s;", soft_at, writer, soft_at);
    say("mad.wide.u32 %s, %s, 4, %s;", table, writer, d_places);
    say("%s:", again);
    struct output {
        name exists, place, l;
    };
    std::vector<output> all(at_once);
    for (int i = 0; i < at_once; ++i) {
        auto& one = all[i];
        one.exists = p();
        const name which = b32("add.u32", "%s, %d", item, i * threads);
        say("setp.lt.u32 %s, %s, %d;", one.exists, which, d_outputs);
        one.place = b32("mov.b32", "0");
        say("@%s ld.global.nc.b32 %s, [%s+%d];",
            one.exists,
            one.place,
            table,
            4 * i * threads);
    }
    for (auto& one : all) {
        const name address = b32("mad.lo.u32", "%s, 2, %s", one.place, d_memory);
        one.l = b32("mov.b32", "0x3c00");
        say("@%s ld.shared.u16 %s, [%s];", one.exists, one.l, address);
    }
    for (int i = 0; i < at_once; ++i) {
        auto& one = all[i];
        const name negative = p();
        say("setp.lt.u32 %s, %s, 0x3880;", negative, one.l);
        if (!d_parameters.packed) {
            const name bit = r();
            say("selp.b32 %s, 1, 0, %s;", bit, negative);
            say("@%s st.global.u8 [%s+%d], %s;", one.exists, bits_at, i * threads, bit);
            continue;
        }
        const name vote = r(), inside = p();
        say("vote.sync.ballot.b32 %s, %s, 0xffffffff;", vote, negative);
        const name reversed = b32("brev.b32", "%s", vote);
        const name mine = b32("shr.u32", "%s, %s", reversed, down);
        const name place = b32("add.u32", "%s, %d", byte, i * threads / 8);
        say("setp.lt.and.u32 %s, %s, %d, %s;", inside, place, d_bytes, few);
        say("@%s st.global.u8 [%s+%d], %s;", inside, bits_at, i * threads / 8, mine);
    }
    say("@!%s bra %s;", has_soft, no_soft);
    for (int i = 0; i < at_once; ++i) {
        const auto& one = all[i];
        const name value = sub(one.l, d_center);
        const name low = h(), high = h(), number32 = f(), steps = f(), result = f();
        say("mov.b32 {%s, %s}, %s;", low, high, value);
        say("cvt.f32.f16 %s, %s;", number32, low);
        say("mul.rn.f32 %s, %s, 0f%s5000000;",
            steps,
            number32,
            d_parameters.llr_positive == 1 ? "c" : "4"); // 2048
        if (d_parameters.llr == ldpc_decoder::number::int8) {
            say("mov.f32 %s, %s;", result, steps);
        } else {
            say("div.rn.f32 %s, %s, %s;", result, steps, d_steps);
        }
        say("@%s st.global.f32 [%s+%d], %s;",
            one.exists,
            soft_at,
            4 * i * threads,
            result);
    }
    say("%s:", no_soft);
    say("add.u32 %s, %s, %d;", item, item, at_once * threads);
    say("add.u32 %s, %s, %d;", first, first, at_once * threads);
    say("add.u32 %s, %s, %d;", byte, byte, at_once * threads / 8);
    say("add.u64 %s, %s, %d;",
        bits_at,
        bits_at,
        d_parameters.packed ? at_once * threads / 8 : at_once * threads);
    say("add.u64 %s, %s, %d;", soft_at, soft_at, 4 * at_once * threads);
    say("add.u64 %s, %s, %d;", table, table, 4 * at_once * threads);
    say("setp.lt.u32 %s, %s, %d;", goes_on, first, d_outputs);
    say("@%s bra %s;", goes_on, again);
    say("%s:", past);
}

} // namespace gr::cudaphy::kernels
