/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/writer.h"
#include <algorithm>

namespace gr::cudaphy::kernels {

void kernel_writer::put_out(const name& which, const name& good)
{
    const name first = p();
    emit("setp.lt.u32 %s, %s, %d;", first, d_t, d_plan.pairs);
    for (int lane = 0; lane < 2; ++lane) {
        const name writes = is_set(which, lane), is_good = is_set(good, lane);
        emit("and.pred %s, %s, %s;", writes, writes, first);
        const name result = r();
        emit("selp.b32 %s, 1, 0, %s;", result, is_good);
        const name word = b32("add.u32", "%s, %d", d_first_word, lane);
        const name count_at = d(), ok_at = d();
        emit("mad.wide.u32 %s, %s, 4, %s;", count_at, word, d_iterations);
        emit("mad.wide.u32 %s, %s, 4, %s;", ok_at, word, d_ok);
        emit("@%s st.global.b32 [%s], %s;", writes, count_at, d_iteration);
        emit("@%s st.global.b32 [%s], %s;", writes, ok_at, result);
    }
    put_bits(which);
}

//! Writes hard decisions of the codewords in `which`, and soft values if wanted. A whole
//! warp takes 32 bits of one pair at a time, and several such groups together, to hide
//! latencies.
void kernel_writer::put_bits(const name& which)
{
    const bool plain =
        d_parameters.packed && d_plan.pairs == 1 && d_plan.outputs_in_order;
    const name past_all = label();
    if (d_plan.threads % 32 != 0) {
        const name is_rest = p();
        emit("setp.ge.u32 %s, %s, %d;", is_rest, d_t, 32 * whole_warps());
        emit("@%s bra %s;", is_rest, past_all);
    }
    if (plain) {
        const name has_soft = p();
        const name past = label();
        put_packed(which);
        emit("setp.eq.u64 %s, %s, 0;", has_soft, d_soft);
        emit("@%s bra %s;", has_soft, past);
        put_any(which, false);
        emit("%s:", past);
    } else {
        put_any(which, true);
    }
    emit("%s:", past_all);
}

//! Packed bits of one pair, if they lie one after the other.
void kernel_writer::put_packed(const name& which)
{
    const int groups = (d_outputs + 31) / 32;
    const int warps = whole_warps();
    const name lane_index = b32("and.b32", "%s, 31", d_t);
    const name warp = b32("shr.u32", "%s, 5", d_t);
    const name up = b32("shl.b32", "%s, 3", lane_index);
    const name down = b32("sub.u32", "24, %s", up);
    const name byte_index = b32("mad.lo.u32", "%s, 4, %s", warp, lane_index);
    const name writes_bytes = p();
    emit("setp.lt.u32 %s, %s, 4;", writes_bytes, lane_index);
    name at[2], writes[2];
    for (int lane = 0; lane < 2; ++lane) {
        const name word = b32("add.u32", "%s, %d", d_first_word, lane);
        const name base = d();
        at[lane] = d();
        writes[lane] = is_set(which, lane);
        emit("and.pred %s, %s, %s;", writes[lane], writes[lane], writes_bytes);
        emit("mad.wide.u32 %s, %s, %d, %s;",
             base,
             word,
             static_cast<int>(d_bytes),
             d_bits);
        emit("mad.wide.u32 %s, %s, 1, %s;", at[lane], byte_index, base);
    }
    for (int i = 0; i * warps < groups; ++i) {
        const bool tail = (i + 1) * warps * 32 > d_outputs;
        const name l = tail ? b32("mov.b32", "%s", center)
                            : load(d_t4, 4 * (32 * i * warps + d_plan.outputs[0]));
        if (tail) {
            const name item = b32("add.u32", "%s, %d", d_t, 32 * i * warps);
            const name exists = p();
            emit("setp.lt.u32 %s, %s, %d;", exists, item, d_outputs);
            emit("@%s ld.shared.b32 %s, [%s+%d];",
                 exists,
                 l,
                 d_t4,
                 4 * (32 * i * warps + d_plan.outputs[0]));
        }
        const name negative[2] = { p(), p() };
        emit("setp.lt.f16x2 %s|%s, %s, %s;", negative[0], negative[1], l, d_center);
        for (int lane = 0; lane < 2; ++lane) {
            const name vote = r();
            emit("vote.sync.ballot.b32 %s, %s, 0xffffffff;", vote, negative[lane]);
            const name reversed = b32("brev.b32", "%s", vote);
            const name byte = b32("shr.u32", "%s, %s", reversed, down);
            name guard = writes[lane];
            if (tail) {
                const name byte_number =
                    b32("add.u32", "%s, %d", byte_index, 4 * i * warps);
                guard = p();
                emit("setp.lt.and.u32 %s, %s, %d, %s;",
                     guard,
                     byte_number,
                     static_cast<int>(d_bytes),
                     writes[lane]);
            }
            emit("@%s st.global.u8 [%s+%d], %s;", guard, at[lane], 4 * i * warps, byte);
        }
    }
}

//! Any form of output. \param hard  false: only the soft values
void kernel_writer::put_any(const name& which, bool hard)
{
    const int groups = (d_outputs + 31) / 32;
    const int warps = whole_warps();
    const name lane_index = b32("and.b32", "%s, 31", d_t);
    const name group = b32("shr.u32", "%s, 5", d_t);
    const name has_soft = p(), out_of_range = p();
    const name loop = label(), past = label(), no_soft = label();
    // Bits are reversed: bit 0 of a vote is the highest bit of the first byte. So byte i
    // is shifted down by 24 - 8 i.
    const name up = b32("shl.b32", "%s, 3", lane_index);
    const name down = b32("sub.u32", "24, %s", up);
    const name writes_bytes = p();
    emit("setp.lt.u32 %s, %s, 4;", writes_bytes, lane_index);
    emit("setp.ne.u64 %s, %s, 0;", has_soft, d_soft);

    const int at_once = std::min(4, (groups * d_plan.pairs + warps - 1) / warps);
    emit("%s:", loop);
    emit("setp.ge.u32 %s, %s, %d;", out_of_range, group, groups * d_plan.pairs);
    emit("@%s bra %s;", out_of_range, past);
    std::vector<output_group> all;
    for (int i = 0; i < at_once; ++i) {
        all.push_back(output(group, i * warps, groups, lane_index));
    }
    for (const auto& one : all) {
        for (int lane = 0; lane < 2 && hard; ++lane) {
            put_hard(one, lane, which, lane_index, down, writes_bytes);
        }
    }
    emit("@!%s bra %s;", has_soft, no_soft);
    for (const auto& one : all) {
        for (int lane = 0; lane < 2; ++lane) {
            put_soft(one, lane, which);
        }
    }
    emit("%s:", no_soft);
    emit("add.u32 %s, %s, %d;", group, group, at_once * warps);
    emit("bra %s;", loop);
    emit("%s:", past);
}

//! This thread's bit of group `group` + `further`.
kernel_writer::output_group
kernel_writer::output(const name& group, int further, int groups, const name& lane_index)
{
    output_group out;
    const name at = b32("add.u32", "%s, %d", group, further);
    out.pair = b32("div.u32", "%s, %d", at, groups);
    out.number = b32("rem.u32", "%s, %d", at, groups);
    out.item = b32("mad.lo.u32", "%s, 32, %s", out.number, lane_index);
    out.exists = p();
    const name inside = p();
    emit("setp.lt.u32 %s, %s, %d;", inside, out.pair, d_plan.pairs);
    emit("setp.lt.and.u32 %s, %s, %d, %s;", out.exists, out.item, d_outputs, inside);
    const name pair = b32("min.u32", "%s, %d", out.pair, d_plan.pairs - 1);
    const name item = b32("min.u32", "%s, %d", out.item, d_outputs - 1);
    name column, is_private;
    if (d_plan.outputs_in_order) {
        column = b32("add.u32", "%s, %d", item, d_plan.outputs[0]);
    } else {
        const name entry_at = d();
        emit("mad.wide.u32 %s, %s, 4, %s;", entry_at, item, d_places);
        const name entry = b32("ld.global.nc.b32", "[%s]", entry_at);
        column = b32("and.b32", "%s, %d", entry, ldpc_cuda_plan::private_flag - 1);
        is_private = p();
        emit("setp.ne.u32 %s, %s, %s;", is_private, column, entry);
    }
    const name index = b32("mad.lo.u32", "%s, %d, %s", column, d_plan.pairs, pair);
    const name byte_number = b32("mad.lo.u32", "%s, 4, %s", index, d_memory);
    name l = load(byte_number, 0);
    if (d_plan.keeps_private) {
        const name from_private = private_l(l), selected = r();
        emit("selp.b32 %s, %s, %s, %s;", selected, from_private, l, is_private);
        l = selected;
    }
    out.value = sub(l, d_center);
    const name block = block_number();
    out.pair_of_all = b32("mad.lo.u32", "%s, %d, %s", block, d_plan.pairs, pair);
    return out;
}

//! Predicate: codeword `lane` of a group's pair is in `which`.
kernel_writer::name
kernel_writer::is_wanted(const output_group& bits, int lane, const name& which)
{
    const name position = b32("mad.lo.u32", "%s, 2, %d", bits.pair, lane);
    const name limited = b32("min.u32", "%s, 31", position);
    const name bit = b32("bfe.u32", "%s, %s, 1", which, limited);
    const name result = p();
    emit("setp.ne.b32 %s, %s, 0;", result, bit);
    return result;
}

void kernel_writer::put_hard(const output_group& bits,
                             int lane,
                             const name& which,
                             const name& lane_index,
                             const name& down,
                             const name& writes_bytes)
{
    const name guard = is_wanted(bits, lane, which);
    const name word = b32("mad.lo.u32", "%s, 2, %d", bits.pair_of_all, lane);
    const name sign = b32("bfe.u32", "%s, %d, 1", bits.value, 15 + 16 * lane);
    const name bytes_at = d(), at = d();
    emit("mad.wide.u32 %s, %s, %d, %s;",
         bytes_at,
         word,
         static_cast<int>(d_bytes),
         d_bits);
    if (!d_parameters.packed) {
        emit("and.pred %s, %s, %s;", guard, guard, bits.exists);
        emit("mad.wide.u32 %s, %s, 1, %s;", at, bits.item, bytes_at);
        emit("@%s st.global.u8 [%s], %s;", guard, at, sign);
        return;
    }
    const name negative = p(), inside = p();
    emit("setp.ne.and.b32 %s, %s, 0, %s;", negative, sign, bits.exists);
    const name vote = r();
    emit("vote.sync.ballot.b32 %s, %s, 0xffffffff;", vote, negative);
    const name reversed = b32("brev.b32", "%s", vote);
    const name byte = b32("shr.u32", "%s, %s", reversed, down);
    const name byte_number = b32("mad.lo.u32", "%s, 4, %s", bits.number, lane_index);
    emit(
        "setp.lt.and.u32 %s, %s, %d, %s;", inside, bits.pair, d_plan.pairs, writes_bytes);
    emit("setp.lt.and.u32 %s, %s, %d, %s;",
         inside,
         byte_number,
         static_cast<int>(d_bytes),
         inside);
    emit("and.pred %s, %s, %s;", guard, guard, inside);
    emit("mad.wide.u32 %s, %s, 1, %s;", at, byte_number, bytes_at);
    emit("@%s st.global.u8 [%s], %s;", guard, at, byte);
}

void kernel_writer::put_soft(const output_group& bits, int lane, const name& which)
{
    const name guard = is_wanted(bits, lane, which);
    const name halves[2] = { h(), h() };
    const name number = f(), steps = f(), result = f();
    const name base = d(), at = d();
    emit("mov.b32 {%s, %s}, %s;", halves[0], halves[1], bits.value);
    emit("cvt.f32.f16 %s, %s;", number, halves[lane]);
    emit("mul.rn.f32 %s, %s, 0f%s5000000;",
         steps,
         number,
         d_parameters.llr_positive == 1 ? "c" : "4"); // 2048
    if (d_parameters.llr == ldpc_decoder::number::int8) {
        emit("mov.f32 %s, %s;", result, steps);
    } else {
        emit("div.rn.f32 %s, %s, %s;", result, steps, d_steps);
    }
    const name word = b32("mad.lo.u32", "%s, 2, %d", bits.pair_of_all, lane);
    emit("and.pred %s, %s, %s;", guard, guard, bits.exists);
    emit("mad.wide.u32 %s, %s, %d, %s;", base, word, 4 * d_outputs, d_soft);
    emit("mad.wide.u32 %s, %s, 4, %s;", at, bits.item, base);
    emit("@%s st.global.f32 [%s], %s;", guard, at, result);
}

} // namespace gr::cudaphy::kernels
