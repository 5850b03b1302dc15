/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/folded_writer.h"
#include "kernels/ldpc/decoder_cuda_int8/source.h"
#include "kernels/ldpc/decoder_cuda_int8/tuning.h"
#include <algorithm>

namespace gr::cudaphy::kernels {

std::string ldpc_cuda_folded_writer::text()
{
    begin();
    take_slot(d_plan.scratch_at);
    d_store.register_words =
        std::max(d_plan.stores[0].register_words, d_plan.stores[1].register_words);
    name_registers();
    receive();
    clear_messages();
    iterate();
    put_bits();
    leave_slot();
    emit("ret;");
    return lines();
}

void ldpc_cuda_folded_writer::begin()
{
    begin_arguments();
    d_mine = d_t4;
    d_is_last = p();
    emit("setp.ge.u32 %s, %s, %d;", d_is_last, d_t, d_plan.group_threads);
    const name before = b32("sub.u32", "%s, %d", d_t, d_plan.group_threads);
    const name behind = b32("add.u32", "%s, %d", d_t, d_plan.group_threads);
    const name in_group = r(), partner = r();
    emit("selp.b32 %s, %s, %s, %s;", in_group, before, d_t, d_is_last);
    emit("selp.b32 %s, %s, %s, %s;", partner, before, behind, d_is_last);
    d_partner = b32("mad.lo.u32", "%s, 4, %s", partner, d_memory);
    d_t4 = b32("mad.lo.u32", "%s, 4, %s", in_group, d_memory);
    d_j = d_in_group = in_group;
    d_worker = d_t;
    if (d_plan.idle_leave()) {
        if (d_plan.half < d_plan.group_threads) {
            const name leaves = p();
            emit("setp.ge.u32 %s, %s, %d;", leaves, in_group, d_plan.half);
            emit("@%s exit;", leaves);
        }
        d_worker = r();
        const name last_worker = b32("add.u32", "%s, %d", in_group, d_plan.half);
        emit("selp.b32 %s, %s, %s, %s;", d_worker, last_worker, in_group, d_is_last);
    } else {
        d_active = p();
        d_undefined = r();
        emit("setp.lt.u32 %s, %s, %d;", d_active, in_group, d_plan.half);
        d_j = r();
        emit("selp.b32 %s, %s, 0, %s;", d_j, in_group, d_active);
    }
    d_w = b32("mad.lo.u32", "%s, 4, %s", d_j, d_memory);
    d_limit = b32("add.u32", "%s, %d", d_memory, 4 * d_plan.half);
    const name number = block_number();
    d_word_received = d();
    emit("mad.wide.u32 %s, %s, %d, %s;",
         d_word_received,
         number,
         d_code.n() * llr_bytes(),
         d_llr);
    begin_arithmetic();
    d_zero = b32("xor.b32", "%s, 0x38383838", d_upper);
}

//! Sets all L in the order of the received values, several together to hide latencies.
void ldpc_cuda_folded_writer::receive()
{
    using plan = ldpc_cuda_folded_plan;
    constexpr int at_once = ldpc_cuda_tuned().folded_words_at_once;
    constexpr unsigned source_mask = (1u << plan::source_bits) - 1;
    const int words = static_cast<int>(d_plan.sources.size()) / 2;
    const int threads = workers();
    const name again = label(), goes_on = p();
    const name number = b32("mov.b32", "%s", d_worker);
    const name steps = steps_of(block_number());
    const name both_steps[] = { steps, steps };
    const name table = d(), first_value = d();
    emit("mad.wide.u32 %s, %s, 8, %s;", table, d_worker, d_sources);
    emit("add.u64 %s, %s, %d;", first_value, d_word_received, -2 * llr_bytes());
    emit("%s:", again);
    struct arrival {
        name exists, entry[2], source[2], value[2];
    };
    std::vector<arrival> all(at_once);
    for (int i = 0; i < at_once; ++i) {
        auto& one = all[i];
        one.exists = p();
        const name which = b32("add.u32", "%s, %d", number, i * threads);
        emit("setp.lt.u32 %s, %s, %d;", one.exists, which, words);
        for (int half = 0; half < 2; ++half) {
            one.entry[half] = b32("mov.b32", "%d", ldpc_decoding::punctured + 2);
            emit("@%s ld.global.nc.b32 %s, [%s+%d];",
                 one.exists,
                 one.entry[half],
                 table,
                 8 * i * threads + 4 * half);
        }
    }
    for (auto& one : all) {
        for (int half = 0; half < 2; ++half) {
            const name is_received = p(), address = d();
            one.source[half] = b32("and.b32", "%s, 0x%x", one.entry[half], source_mask);
            emit("setp.ge.u32 %s, %s, 2;", is_received, one.source[half]);
            emit("mad.wide.u32 %s, %s, %d, %s;",
                 address,
                 one.source[half],
                 llr_bytes(),
                 first_value);
            one.value[half] = received_value(is_received, address, 0);
        }
    }
    for (const auto& one : all) {
        name pair = received_pair(one.value, both_steps); // punctured: 0
        if (!d_code.shortened().empty()) {
            for (int half = 0; half < 2; ++half) {
                const name is = p(), selected = r();
                const unsigned half_mask = half == 0 ? 0xffffu : 0xffff0000u;
                const name others = b32("and.b32", "%s, 0x%x", pair, ~half_mask);
                const name filled =
                    b32("or.b32", "%s, 0x%x", others, 0x3c003c00u & half_mask);
                emit("setp.eq.u32 %s, %s, %d;",
                     is,
                     one.source[half],
                     ldpc_decoding::shortened + 2);
                emit("selp.b32 %s, %s, %s, %s;", selected, filled, pair, is);
                pair = selected;
            }
        }
        const name low = b32("shr.u32", "%s, %d", one.entry[0], 32 - plan::word_bits);
        const name high = b32("bfe.u32", "%s, %d, 8", one.entry[1], plan::source_bits);
        const name word =
            b32("mad.lo.u32", "%s, %d, %s", high, 1 << plan::word_bits, low);
        const name to = b32("mad.lo.u32", "%s, 4, %s", word, d_memory);
        const name has_copy = p();
        emit("setp.lt.s32 %s, %s, 0;", has_copy, one.entry[1]);
        const name copy = b32("prmt.b32", "%s, 0, 0x1032", pair);
        emit("@%s st.shared.b32 [%s], %s;", one.exists, to, pair);
        emit("@%s st.shared.b32 [%s+%d], %s;", has_copy, to, 4 * d_plan.half, copy);
    }
    emit("add.u32 %s, %s, %d;", number, number, at_once * threads);
    emit("add.u64 %s, %s, %d;", table, table, 8 * at_once * threads);
    emit("setp.lt.u32 %s, %s, %d;", goes_on, number, words);
    emit("@%s bra %s;", goes_on, again);
}

//! Sets all messages to 0.
void ldpc_cuda_folded_writer::clear_messages()
{
    for_groups([&](int) {
        const name zero = b32("mov.b32", "0x80808080");
        for (int w = 0; w < d_store.words; ++w) {
            set_word(w, zero);
        }
    });
}

void ldpc_cuda_folded_writer::iterate()
{
    const name again = label(), done = label();
    begin_iterations(again);
    shorten();
    for_groups([&](int group) { visit_all(group); });
    const name last = count_iteration();
    size_t looked_at = 0;
    if (d_parameters.early_stop && !has_crc()) {
        for (const size_t steps : ldpc_cuda_tuned().early_checks) {
            const name goes_on = p();
            emit("not.pred %s, %s;", goes_on, last);
            emit("and.pred %s, %s, %s;",
                 goes_on,
                 goes_on,
                 any(check_rows(looked_at, steps)));
            emit("@%s bra %s;", goes_on, again);
            looked_at = steps;
        }
    } else if (!d_parameters.early_stop) {
        emit("@!%s bra %s;", last, again);
    }
    const name bad = find_bad(looked_at);
    if (d_parameters.early_stop) {
        const name goes_on = p();
        emit("not.pred %s, %s;", goes_on, last);
        emit("and.pred %s, %s, %s;", goes_on, goes_on, bad);
        emit("@%s bra %s;", goes_on, again);
    }
    put_out(bad);
}

} // namespace gr::cudaphy::kernels
