/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/folded_writer.h"
#include "kernels/ldpc/decoder_cuda_int8/tuning.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

constexpr int at_once = ldpc_cuda_tuned().folded_outputs_at_once;

} // namespace

ldpc_cuda_folded_writer::name ldpc_cuda_folded_writer::any(const name& here)
{
    const name result = p();
    emit("bar.red.or.pred %s, 0, %s;", result, here);
    return result;
}

//! Adds the sign of an L, 1 where it decides 1, to a check's parity.
void ldpc_cuda_folded_writer::add_parity(name& parity, const name& l, int missing)
{
    name value = sub(l, d_center);
    if (missing >= 0) {
        const name others = b32("and.b32", "%s, 0x%x", value, ~half_of(missing));
        const name selected = r();
        emit("selp.b32 %s, %s, %s, %s;", selected, others, value, is_missing(missing));
        value = selected;
    }
    parity = parity.empty() ? value : b32("xor.b32", "%s, %s", parity, value);
}

//! Predicate of the thread: a telling check is odd, of steps first ... last - 1 or of the
//! steps that this iteration checked before. A group takes its own row of each pair. If
//! rows are shared, the groups take rows in turn, and `first` is even.
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
            emit("or.b32 %s, %s, %s;", d_odd, d_odd, parity);
        }
    });
    const name signs = b32("and.b32", "%s, 0x80008000", d_odd);
    const name odd = p();
    emit("setp.ne.b32 %s, %s, 0;", odd, signs);
    if (!d_active.empty()) {
        emit("and.pred %s, %s, %s;", odd, odd, d_active);
    }
    return odd;
}

//! The least L of this thread's information bits, if info_columns holds them all.
ldpc_cuda_folded_writer::name ldpc_cuda_folded_writer::least_of_columns()
{
    const name least = b32("mov.b32", "%s", greatest);
    for_groups([&](int group) {
        for (size_t i = group; i < d_plan.info_columns.size();
             i += ldpc_cuda_folded_plan::groups) {
            const name l = load_at_work(d_w, column_at(d_plan.info_columns[i]));
            emit("min.f16x2 %s, %s, %s;", least, least, l);
        }
    });
    const name upper = b32("shr.u32", "%s, 16", least);
    const name lower = b32("and.b32", "%s, 0xffff", least);
    const name lesser = b32("min.u32", "%s, %s", upper, lower);
    if (!d_active.empty()) {
        emit("selp.b32 %s, %s, 0x3c00, %s;", lesser, lesser, d_active);
    }
    return lesser;
}

//! Predicate of the block: an information bit has L = 0 and none is 1. With stop_crc also
//! true if the information fails the CRC.
ldpc_cuda_folded_writer::name ldpc_cuda_folded_writer::look_at_information()
{
    const auto is_bad = [&](const name& least) {
        const name negative = p(), zero = p(), bad = p();
        emit("setp.lt.u32 %s, %s, 0x3880;", negative, least);
        emit("setp.eq.u32 %s, %s, 0x3880;", zero, least);
        const name has_negative = any(negative), has_zero = any(zero);
        emit("not.pred %s, %s;", bad, has_negative);
        emit("and.pred %s, %s, %s;", bad, bad, has_zero);
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
    emit("mad.wide.u32 %s, %s, 8, %s;", table, d_worker, d_info);
    emit("%s:", again);
    for (int i = 0; i < at_once; ++i) {
        const name exists = p();
        const name which = b32("add.u32", "%s, %d", item, i * threads);
        emit("setp.lt.u32 %s, %s, %d;", exists, which, d_code.k());
        const name position = b32("mov.b32", "0"), l = b32("mov.b32", "0x3c00");
        emit("@%s ld.global.nc.b32 %s, [%s+%d];",
             exists,
             position,
             table,
             8 * i * threads);
        const name address = b32("mad.lo.u32", "%s, 2, %s", position, d_memory);
        emit("@%s ld.shared.u16 %s, [%s];", exists, l, address);
        emit("min.u32 %s, %s, %s;", least, least, l);
        if (has_crc()) {
            const name term = b32("mov.b32", "0"), added = r();
            const name one = p();
            emit("@%s ld.global.nc.b32 %s, [%s+%d];",
                 exists,
                 term,
                 table,
                 8 * i * threads + 4);
            emit("setp.lt.u32 %s, %s, 0x3880;", one, l);
            emit("selp.b32 %s, %s, 0, %s;", added, term, one);
            emit("xor.b32 %s, %s, %s;", sum, sum, added);
        }
    }
    emit("add.u32 %s, %s, %d;", item, item, at_once * threads);
    emit("add.u64 %s, %s, %d;", table, table, 8 * at_once * threads);
    emit("setp.lt.u32 %s, %s, %d;", goes_on, item, d_code.k());
    emit("@%s bra %s;", goes_on, again);
    const name bad = is_bad(least);
    if (has_crc()) {
        const name in_memory = b32("add.u32", "%s, %d", d_memory, d_plan.scratch_at);
        const name first = p(), first_lane = p(), fails = p();
        const name lane = b32("and.b32", "%s, 31", d_t);
        const name nothing = b32("mov.b32", "0");
        emit("setp.eq.u32 %s, %s, 0;", first, d_t);
        emit("@%s st.shared.b32 [%s], %s;", first, in_memory, nothing);
        emit("bar.sync 0;");
        emit("setp.eq.u32 %s, %s, 0;", first_lane, lane);
        const name all = b32(
            "redux.sync.xor.b32",
            "%s, %s",
            sum,
            lanes(d_in_group, d_plan.idle_leave() ? d_plan.half : d_plan.group_threads));
        emit("@%s red.shared.xor.b32 [%s], %s;", first_lane, in_memory, all);
        emit("bar.sync 0;");
        const name rest = load(in_memory, 0);
        emit("setp.ne.b32 %s, %s, 0;", fails, rest);
        emit("or.pred %s, %s, %s;", bad, bad, fails);
    }
    return bad;
}

//! Predicate of the block: the codeword is not decoded. The checks of the first
//! `looked_at` steps were checked before.
ldpc_cuda_folded_writer::name ldpc_cuda_folded_writer::find_bad(size_t looked_at)
{
    if (has_crc()) {
        return look_at_information();
    }
    const name odd = any(check_rows(looked_at, d_plan.steps.size()));
    const name unknown = look_at_information();
    const name bad = p();
    emit("or.pred %s, %s, %s;", bad, odd, unknown);
    return bad;
}

void ldpc_cuda_folded_writer::put_out(const name& bad)
{
    const name first = p(), result = r();
    const name number = block_number();
    const name count_at = d(), ok_at = d();
    emit("setp.eq.u32 %s, %s, 0;", first, d_t);
    emit("selp.b32 %s, 0, 1, %s;", result, bad);
    emit("mad.wide.u32 %s, %s, 4, %s;", count_at, number, d_iterations);
    emit("mad.wide.u32 %s, %s, 4, %s;", ok_at, number, d_ok);
    emit("@%s st.global.b32 [%s], %s;", first, count_at, d_iteration);
    emit("@%s st.global.b32 [%s], %s;", first, ok_at, result);
}

//! Writes hard decisions, and soft values if wanted. A whole warp takes 32 bits at a
//! time.
void ldpc_cuda_folded_writer::put_bits()
{
    const int threads = ldpc_cuda_folded_plan::groups * whole_of_group();
    const name past = label();
    const name writer = r();
    {
        const name is_rest = p();
        emit("setp.ge.u32 %s, %s, %d;", is_rest, d_in_group, whole_of_group());
        emit("@%s bra %s;", is_rest, past);
        const name last_writer = b32("add.u32", "%s, %d", d_in_group, whole_of_group());
        emit("selp.b32 %s, %s, %s, %s;", writer, last_writer, d_in_group, d_is_last);
    }
    const name number = block_number();
    const name lane = b32("and.b32", "%s, 31", d_t);
    // Bits are reversed: bit 0 of a vote is the highest bit of the first byte. So byte i
    // is shifted down by 24 - 8 i.
    const name up = b32("shl.b32", "%s, 3", lane);
    const name down = b32("sub.u32", "24, %s", up);
    const name warp = b32("shr.u32", "%s, 5", writer);
    const name byte = b32("mad.lo.u32", "%s, 4, %s", warp, lane);
    const name has_soft = p(), writes_bytes = p(), goes_on = p();
    const name again = label(), no_soft = label();
    const name bits = d(), bits_at = d(), soft_at = d(), table = d();
    const name item = b32("mov.b32", "%s", writer);
    const name first =
        b32("shl.b32", "%s, 5", warp); // output bit of the warp's first lane
    emit("setp.ne.u64 %s, %s, 0;", has_soft, d_soft);
    emit("setp.lt.u32 %s, %s, 4;", writes_bytes, lane);
    emit("mad.wide.u32 %s, %s, %d, %s;", bits, number, d_bytes, d_bits);
    emit("mad.wide.u32 %s, %s, 1, %s;",
         bits_at,
         d_parameters.packed ? byte : writer,
         bits);
    emit("mad.wide.u32 %s, %s, %d, %s;", soft_at, number, 4 * d_outputs, d_soft);
    emit("mad.wide.u32 %s, %s, 4, %s;", soft_at, writer, soft_at);
    emit("mad.wide.u32 %s, %s, 4, %s;", table, writer, d_places);
    emit("%s:", again);
    struct output {
        name exists, position, l;
    };
    std::vector<output> all(at_once);
    for (int i = 0; i < at_once; ++i) {
        auto& one = all[i];
        one.exists = p();
        const name which = b32("add.u32", "%s, %d", item, i * threads);
        emit("setp.lt.u32 %s, %s, %d;", one.exists, which, d_outputs);
        one.position = b32("mov.b32", "0");
        emit("@%s ld.global.nc.b32 %s, [%s+%d];",
             one.exists,
             one.position,
             table,
             4 * i * threads);
    }
    for (auto& one : all) {
        const name address = b32("mad.lo.u32", "%s, 2, %s", one.position, d_memory);
        one.l = b32("mov.b32", "0x3c00");
        emit("@%s ld.shared.u16 %s, [%s];", one.exists, one.l, address);
    }
    for (int i = 0; i < at_once; ++i) {
        auto& one = all[i];
        const name negative = p();
        emit("setp.lt.u32 %s, %s, 0x3880;", negative, one.l);
        if (!d_parameters.packed) {
            const name bit = r();
            emit("selp.b32 %s, 1, 0, %s;", bit, negative);
            emit("@%s st.global.u8 [%s+%d], %s;", one.exists, bits_at, i * threads, bit);
            continue;
        }
        const name vote = r(), inside = p();
        emit("vote.sync.ballot.b32 %s, %s, 0xffffffff;", vote, negative);
        const name reversed = b32("brev.b32", "%s", vote);
        const name own = b32("shr.u32", "%s, %s", reversed, down);
        const name position = b32("add.u32", "%s, %d", byte, i * threads / 8);
        emit("setp.lt.and.u32 %s, %s, %d, %s;", inside, position, d_bytes, writes_bytes);
        emit("@%s st.global.u8 [%s+%d], %s;", inside, bits_at, i * threads / 8, own);
    }
    emit("@!%s bra %s;", has_soft, no_soft);
    for (int i = 0; i < at_once; ++i) {
        const auto& one = all[i];
        const name value = sub(one.l, d_center);
        const name low = h(), high = h(), number32 = f(), steps = f(), result = f();
        emit("mov.b32 {%s, %s}, %s;", low, high, value);
        emit("cvt.f32.f16 %s, %s;", number32, low);
        emit("mul.rn.f32 %s, %s, 0f%s5000000;",
             steps,
             number32,
             d_parameters.llr_positive == 1 ? "c" : "4"); // 2048
        if (d_parameters.llr == ldpc_decoder::number::int8) {
            emit("mov.f32 %s, %s;", result, steps);
        } else {
            emit("div.rn.f32 %s, %s, %s;", result, steps, d_steps);
        }
        emit("@%s st.global.f32 [%s+%d], %s;",
             one.exists,
             soft_at,
             4 * i * threads,
             result);
    }
    emit("%s:", no_soft);
    emit("add.u32 %s, %s, %d;", item, item, at_once * threads);
    emit("add.u32 %s, %s, %d;", first, first, at_once * threads);
    emit("add.u32 %s, %s, %d;", byte, byte, at_once * threads / 8);
    emit("add.u64 %s, %s, %d;",
         bits_at,
         bits_at,
         d_parameters.packed ? at_once * threads / 8 : at_once * threads);
    emit("add.u64 %s, %s, %d;", soft_at, soft_at, 4 * at_once * threads);
    emit("add.u64 %s, %s, %d;", table, table, 4 * at_once * threads);
    emit("setp.lt.u32 %s, %s, %d;", goes_on, first, d_outputs);
    emit("@%s bra %s;", goes_on, again);
    emit("%s:", past);
}

} // namespace gr::cudaphy::kernels
