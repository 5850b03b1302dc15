/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/ldpc_cuda_writer.h"

namespace gr::cudaphy::kernels {

//! Adds the sign of an L, 1 where it decides 1, to a check's parity.
void kernel_writer::add_parity(name& parity, const name& l, int missing)
{
    name value = sub(l, d_center);
    if (missing >= 0) {
        const name here = guard_against(missing);
        const name kept = r();
        say("selp.b32 %s, %s, 0, %s;", kept, value, here);
        value = kept;
    }
    parity = parity.empty() ? value : b32("xor.b32", "%s, %s", parity, value);
}
void kernel_writer::note_parity(const name& parity)
{
    if (!parity.empty()) {
        say("or.b32 %s, %s, %s;", d_odd, d_odd, parity);
    }
}

//! The parity of every check that has no bit of its own into `odd`.
void kernel_writer::check_all()
{
    say("mov.b32 %s, 0;", d_odd);
    for (const auto& row : d_plan.rows) {
        if (row.own.column >= 0) {
            continue;
        }
        name parity;
        for (const auto& edge : row.edges) {
            const name l = edge.word >= 0
                               ? word(edge.word)
                               : load(place(edge.shift), column_at(edge.column));
            add_parity(parity, l, edge.missing);
        }
        note_parity(parity);
    }
}

//! Adds this thread's `odd` to flag word `flag` (a register or number): two bits a
//! pair, the first codeword's lower.
void kernel_writer::raise(const name& address)
{
    const name low = b32("bfe.u32", "%s, 15, 1", d_odd);
    const name high = b32("shr.u32", "%s, 31", d_odd);
    const name both = b32("mad.lo.u32", "%s, 2, %s", high, low);
    name mine = b32("shl.b32", "%s, %s", both, d_lane_shift);
    if (!d_active.empty()) {
        const name kept = r();
        say("selp.b32 %s, %s, 0, %s;", kept, mine, d_active);
        mine = kept;
    }
    const name all = b32("redux.sync.or.b32", "%s, 0xffffffff", mine);
    const name first = p();
    const name lane = b32("and.b32", "%s, 31", d_t);
    say("setp.eq.u32 %s, %s, 0;", first, lane);
    say("setp.ne.and.b32 %s, %s, 0, %s;", first, all, first);
    say("@%s red.shared.or.b32 [%s], %s;", first, address, all);
}

//! Ors into a new mask the bits of the block's codewords that do not end with their
//! remainder: the sum of the remainders of the powers at which they have a one.
kernel_writer::name kernel_writer::check_crc()
{
    const int z = d_code.circulants().lifting_size;
    const name sums[2] = { b32("mov.b32", "0"), b32("mov.b32", "0") };
    const name loop = label(), past = label();
    const name item = b32("mov.b32", "%s", d_check);
    const name over = p();
    say("%s:", loop);
    say("setp.ge.u32 %s, %s, %d;", over, item, d_code.k());
    say("@%s bra %s;", over, past);
    const name at = d();
    say("mad.wide.u32 %s, %s, 8, %s;", at, item, d_remainders);
    const name column = r(), remainder = r();
    say("ld.global.nc.v2.b32 {%s, %s}, [%s];", column, remainder, at);
    const name place =
        b32("mad.lo.u32", "%s, %d, %s", column, 4 * d_plan.pairs, d_of_pair);
    const name value = sub(load(place, 0), d_center);
    const name upper = b32("shl.b32", "%s, 16", value);
    for (int lane = 0; lane < 2; ++lane) {
        const name sign = b32("shr.s32", "%s, 31", (lane == 0 ? upper : value));
        const name term = b32("and.b32", "%s, %s", sign, remainder);
        say("xor.b32 %s, %s, %s;", sums[lane], sums[lane], term);
    }
    say("add.u32 %s, %s, %d;", item, item, z);
    say("bra %s;", loop);
    say("%s:", past);
    const name lane_index = b32("and.b32", "%s, 31", d_t);
    const name first = p();
    say("setp.eq.u32 %s, %s, 0;", first, lane_index);
    const int words_at = flags_at() + 4 * ldpc_cuda_plan::votes;
    for (int word = 0; word < 2 * d_plan.pairs; ++word) {
        const name mine = p(), kept = r();
        say("setp.eq.u32 %s, %s, %d;", mine, d_pair, word / 2);
        if (!d_active.empty()) {
            say("and.pred %s, %s, %s;", mine, mine, d_active);
        }
        say("selp.b32 %s, %s, 0, %s;", kept, sums[word % 2], mine);
        const name all = b32("redux.sync.xor.b32", "%s, 0xffffffff", kept);
        say("@%s red.shared.xor.b32 [%s+%d], %s;",
            first,
            d_memory,
            words_at + 4 * word,
            all);
    }
    say("bar.sync 0;");
    name bad = b32("mov.b32", "0");
    for (int word = 0; word < 2 * d_plan.pairs; ++word) {
        const name rest = load(d_memory, words_at + 4 * word), bit = r();
        const name fails = p();
        say("setp.ne.b32 %s, %s, 0;", fails, rest);
        say("selp.b32 %s, 0x%x, 0, %s;", bit, 1u << word, fails);
        bad = b32("or.b32", "%s, %s", bad, bit);
    }
    return bad;
}
//! Clears the words behind the votes; a barrier before it.
void kernel_writer::clear_remainders()
{
    const name clears = p();
    say("setp.lt.u32 %s, %s, %d;", clears, d_t, 2 * d_plan.pairs);
    say("@%s st.shared.b32 [%s+%d], 0;",
        clears,
        d_t4,
        flags_at() + 4 * ldpc_cuda_plan::votes);
}

//! Bit `lane` of this thread's pair in a mask of the block's codewords, as a predicate.
kernel_writer::name kernel_writer::is_set(const name& mask, int lane)
{
    const name position = b32("add.u32", "%s, %d", d_lane_shift, lane);
    const name bit = b32("bfe.u32", "%s, %s, 1", mask, position);
    const name result = p();
    say("setp.ne.b32 %s, %s, 0;", result, bit);
    return result;
}

} // namespace gr::cudaphy::kernels
