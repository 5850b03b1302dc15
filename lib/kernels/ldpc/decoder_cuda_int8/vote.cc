/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/writer.h"

namespace gr::cudaphy::kernels {

//! Adds the sign of an L, 1 where it decides 1, to a check's parity.
void kernel_writer::add_parity(name& parity, const name& l, int missing)
{
    name value = sub(l, d_center);
    if (missing >= 0) {
        const name here = guard_against(missing);
        const name selected = r();
        emit("selp.b32 %s, %s, 0, %s;", selected, value, here);
        value = selected;
    }
    parity = parity.empty() ? value : b32("xor.b32", "%s, %s", parity, value);
}
void kernel_writer::note_parity(const name& parity)
{
    if (!parity.empty()) {
        emit("or.b32 %s, %s, %s;", d_odd, d_odd, parity);
    }
}

//! Collects the parity of every telling check in d_odd. All other checks have a private
//! column.
void kernel_writer::check_all()
{
    emit("mov.b32 %s, 0;", d_odd);
    for (const auto& row : d_plan.rows) {
        if (row.own.column >= 0) {
            continue;
        }
        name parity;
        for (const auto& edge : row.edges) {
            const name l = edge.word >= 0 ? word(edge.word)
                                          : load_at_work(address_of(edge.shift),
                                                         column_at(edge.column));
            add_parity(parity, l, edge.missing);
        }
        note_parity(parity);
    }
}

//! The sign bits of both halves, as bits 0 and 1.
kernel_writer::name kernel_writer::signs_of(const name& halves)
{
    const name low = b32("bfe.u32", "%s, 15, 1", halves);
    const name high = b32("shr.u32", "%s, 31", halves);
    return b32("mad.lo.u32", "%s, 2, %s", high, low);
}

//! Votes: ors this thread's two bits into a word with two bits for each pair. The lower
//! bit is the first codeword's.
void kernel_writer::raise(const name& address, int offset, const name& bits)
{
    name own = b32("shl.b32", "%s, %s", bits, d_lane_shift);
    if (!d_active.empty()) {
        const name selected = r();
        emit("selp.b32 %s, %s, 0, %s;", selected, own, d_active);
        own = selected;
    }
    const name all = b32("redux.sync.or.b32", "%s, %s", own, lanes(d_t, d_plan.threads));
    const name first = p();
    const name lane = b32("and.b32", "%s, 31", d_t);
    emit("setp.eq.u32 %s, %s, 0;", first, lane);
    emit("setp.ne.and.b32 %s, %s, 0, %s;", first, all, first);
    emit("@%s red.shared.or.b32 [%s+%d], %s;", first, address, offset, all);
}

//! Votes whether the L of an information bit is below 0, and whether one is 0. With
//! stop_crc, also adds the CRC terms of the bits that are 1 into the words behind the
//! votes. All loads are issued together, to hide their latencies.
void kernel_writer::look_at_information()
{
    const int lifting = d_code.circulants().lifting_size;
    const int loads = (d_code.k() + lifting - 1) / lifting;
    const name table = d();
    emit("mad.wide.u32 %s, %s, 8, %s;", table, d_check, d_info);
    const name sums[2] = { b32("mov.b32", "0"), b32("mov.b32", "0") };
    name least = b32("mov.b32", "0x3c003c00");
    for (int i = 0; i < loads; ++i) {
        name exists = d_active;
        if ((i + 1) * lifting > d_code.k()) {
            exists = p();
            const name item = b32("add.u32", "%s, %d", d_check, i * lifting);
            emit("setp.lt.u32 %s, %s, %d;", exists, item, d_code.k());
            if (!d_active.empty()) {
                emit("and.pred %s, %s, %s;", exists, exists, d_active);
            }
        }
        const name guard = exists.empty() ? name() : '@' + exists + ' ';
        const name l = b32("mov.b32", "0x3c003c00");
        if (d_plan.info_in_order) {
            const int at = 4 * d_plan.pairs * (d_plan.info[0] + i * lifting);
            emit("%sld.shared.b32 %s, [%s+%d];", guard, l, d_w, at);
        } else {
            const name column = b32("mov.b32", "0");
            emit(
                "%sld.global.nc.b32 %s, [%s+%d];", guard, column, table, 8 * i * lifting);
            const name address_of =
                b32("mad.lo.u32", "%s, %d, %s", column, 4 * d_plan.pairs, d_of_pair);
            emit("%sld.shared.b32 %s, [%s];", guard, l, address_of);
        }
        least = b32("min.f16x2", "%s, %s", least, l);
        if (has_crc()) {
            const name remainder = b32("mov.b32", "0");
            emit("%sld.global.nc.b32 %s, [%s+%d];",
                 guard,
                 remainder,
                 table,
                 8 * i * lifting + 4);
            const name value = sub(l, d_center);
            const name upper = b32("shl.b32", "%s, 16", value);
            for (int lane = 0; lane < 2; ++lane) {
                const name sign = b32("shr.s32", "%s, 31", lane == 0 ? upper : value);
                const name term = b32("and.b32", "%s, %s", sign, remainder);
                emit("xor.b32 %s, %s, %s;", sums[lane], sums[lane], term);
            }
        }
    }
    for (const bool zero : { false, true }) {
        const name low = p(), high = p();
        emit("setp.%s.f16x2 %s|%s, %s, %s;",
             zero ? "eq" : "lt",
             low,
             high,
             least,
             d_center);
        const name one = r(), two = r();
        emit("selp.b32 %s, 1, 0, %s;", one, low);
        emit("selp.b32 %s, 2, 0, %s;", two, high);
        raise(d_memory,
              flags_at() + 4 * (zero ? ldpc_cuda_plan::zero : ldpc_cuda_plan::negative),
              b32("or.b32", "%s, %s", one, two));
    }
    if (has_crc()) {
        add_remainders(sums);
    }
}

void kernel_writer::add_remainders(const name (&sums)[2])
{
    const name lane_index = b32("and.b32", "%s, 31", d_t);
    const name first = p(), all_lanes = lanes(d_t, d_plan.threads);
    emit("setp.eq.u32 %s, %s, 0;", first, lane_index);
    for (int word = 0; word < 2 * d_plan.pairs; ++word) {
        const name own = p(), selected = r();
        emit("setp.eq.u32 %s, %s, %d;", own, d_pair, word / 2);
        if (!d_active.empty()) {
            emit("and.pred %s, %s, %s;", own, own, d_active);
        }
        emit("selp.b32 %s, %s, 0, %s;", selected, sums[word % 2], own);
        const name all = b32("redux.sync.xor.b32", "%s, %s", selected, all_lanes);
        emit("@%s red.shared.xor.b32 [%s+%d], %s;",
             first,
             d_memory,
             flags_at() + 4 * (ldpc_cuda_plan::votes + word),
             all);
    }
}

//! Mask of the block's codewords that are not decoded.
kernel_writer::name kernel_writer::find_bad()
{
    if (!has_crc()) {
        check_all();
        raise(d_memory, flags_at() + 4 * ldpc_cuda_plan::check, signs_of(d_odd));
    }
    look_at_information();
    emit("bar.sync 0;");
    const name negative = load(d_memory, flags_at() + 4 * ldpc_cuda_plan::negative);
    const name zero = load(d_memory, flags_at() + 4 * ldpc_cuda_plan::zero);
    const name unknown = b32("not.b32", "%s", negative);
    name bad = b32("and.b32", "%s, %s", zero, unknown);
    if (!has_crc()) {
        const name odd = load(d_memory, flags_at() + 4 * ldpc_cuda_plan::check);
        return b32("or.b32", "%s, %s", bad, odd);
    }
    for (int word = 0; word < 2 * d_plan.pairs; ++word) {
        const name rest = load(d_memory, flags_at() + 4 * (ldpc_cuda_plan::votes + word));
        const name fails = p(), bit = r();
        emit("setp.ne.b32 %s, %s, 0;", fails, rest);
        emit("selp.b32 %s, 0x%x, 0, %s;", bit, 1u << word, fails);
        bad = b32("or.b32", "%s, %s", bad, bit);
    }
    return bad;
}

//! Clears all words of votes from `first` on. Needs a barrier before and after it.
void kernel_writer::clear_votes(int first)
{
    const int count = ldpc_cuda_plan::votes + 2 * d_plan.pairs - first;
    for (int begin = 0; begin < count; begin += d_plan.threads) {
        const name clears = p(), zero = b32("mov.b32", "0");
        emit("setp.lt.u32 %s, %s, %d;", clears, d_t, count - begin);
        emit("@%s st.shared.b32 [%s+%d], %s;",
             clears,
             d_t4,
             flags_at() + 4 * (first + begin),
             zero);
    }
}

//! Predicate: bit `lane` of this thread's pair in a mask of the block's codewords.
kernel_writer::name kernel_writer::is_set(const name& mask, int lane)
{
    const name position = b32("add.u32", "%s, %d", d_lane_shift, lane);
    const name bit = b32("bfe.u32", "%s, %s, 1", mask, position);
    const name result = p();
    emit("setp.ne.b32 %s, %s, 0;", result, bit);
    return result;
}

} // namespace gr::cudaphy::kernels
