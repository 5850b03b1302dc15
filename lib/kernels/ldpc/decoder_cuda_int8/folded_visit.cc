/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/folded_writer.h"
#include "kernels/ldpc/decoder_cuda_int8/tuning.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

constexpr size_t ahead = ldpc_cuda_tuned().rows_ahead;

} // namespace

//! Hides from the driver's compiler that later addresses equal earlier ones. It would
//! keep addresses and predicates in registers for later rows, though computing them again
//! is cheaper.
void ldpc_cuda_folded_writer::forget_addresses(
    const std::vector<ldpc_cuda_folded_plan::edge>& edges)
{
    if (std::any_of(edges.begin(), edges.end(), [](const auto& edge) {
            return !edge.is_copied && edge.shift != 0;
        })) {
        emit("add.u32 %s, %s, %s;", d_w, d_w, d_zero);
    }
}

//! Word (j + shift) mod half of block column 0.
ldpc_cuda_folded_writer::name ldpc_cuda_folded_writer::address_of(int shift, in_hand& now)
{
    if (shift == 0) {
        return d_w;
    }
    name& address = now.of_shift[shift];
    if (address.empty()) {
        address = b32("add.u32", "%s, %d", d_w, 4 * shift);
        const name passes = p();
        emit("setp.ge.u32 %s, %s, %s;", passes, address, d_limit);
        emit("@%s add.u32 %s, %s, %d;", passes, address, address, -4 * d_plan.half);
        now.passes[shift] = passes;
    }
    return address;
}

ldpc_cuda_folded_writer::name ldpc_cuda_folded_writer::turned(
    const ldpc_cuda_folded_plan::edge& edge, const name& value, in_hand& now)
{
    if (edge.is_copied) {
        return value;
    }
    if (edge.shift == 0) {
        return edge.exchanged ? b32("prmt.b32", "%s, 0, 0x1032", value) : value;
    }
    name& passes = now.passes[edge.shift];
    if (passes.empty()) { // once more, because predicates are few
        passes = p();
        emit("setp.lt.u32 %s, %s, %s;", passes, now.of_shift[edge.shift], d_w);
    }
    const name out = b32("mov.b32", "%s", value);
    emit(
        "@%s%s prmt.b32 %s, %s, 0, 0x1032;", edge.exchanged ? "!" : "", passes, out, out);
    return out;
}

ldpc_cuda_folded_writer::name ldpc_cuda_folded_writer::is_missing(int missing)
{
    const name is_bit = p();
    emit("setp.eq.u32 %s, %s, %d;", is_bit, d_j, missing % d_plan.half);
    return is_bit;
}

//! Whether the L of this edge's column stays in a register until the next row.
bool ldpc_cuda_folded_writer::hands_on(size_t row,
                                       int group,
                                       const ldpc_cuda_folded_plan::edge& edge) const
{
    const auto holds = [&](size_t which) {
        const auto& edges = d_plan.steps[which].edges[group];
        return std::any_of(edges.begin(), edges.end(), [&](const auto& other) {
            return other.column == edge.column;
        });
    };
    return edge.is_own && row + 1 < d_plan.steps.size() && holds(row) && holds(row + 1);
}

//! Issues the loads of the L of a row's edges.
void ldpc_cuda_folded_writer::fetch(size_t number, int group, bool late, in_hand& now)
{
    const auto& edges = d_plan.steps[number].edges[group];
    forget_addresses(edges);
    for (auto* list : { &now.address, &now.l, &now.old, &now.q }) {
        list->resize(edges.size());
    }
    for (size_t e = 0; e < edges.size(); ++e) {
        const auto& edge = edges[e];
        if (edge.is_late != late) {
            continue;
        }
        now.address[e] = edge.is_copied ? d_w : address_of(edge.shift, now);
        if (number == 0 || !hands_on(number - 1, group, edge)) {
            now.l[e] = load_at_work(now.address[e],
                                    column_at(edge.column) +
                                        (edge.is_copied ? 4 * edge.shift : 0));
        }
        (late ? now.late : now.early).push_back(static_cast<int>(e));
    }
}

//! Computes q from the loaded L.
void ldpc_cuda_folded_writer::take(size_t number, int group, bool late, in_hand& now)
{
    const auto& row = d_plan.steps[number];
    for (const int e : late ? now.late : now.early) {
        const auto& edge = row.edges[group][e];
        if (now.l[e].empty()) {
            now.l[e] = d_own.at(edge.column);
        }
        const int slot = row.first[group] + e;
        const name messages = word(slot / 2);
        if (slot / 2 >= d_store.register_words) {
            d_in_hand[slot / 2] = messages;
        }
        now.old[e] = unpacked(messages, slot % 2 * 2);
        now.q[e] = sub(turned(edge, now.l[e], now), now.old[e]);
        if (edge.missing >= 0) {
            const unsigned half = half_of(edge.missing);
            const name others = b32("and.b32", "%s, 0x%x", now.q[e], ~half);
            const name filled = b32("or.b32", "%s, 0x%x", others, 0x3c003c00u & half);
            const name selected = r();
            emit("selp.b32 %s, %s, %s, %s;",
                 selected,
                 filled,
                 now.q[e],
                 is_missing(edge.missing));
            now.q[e] = selected;
        }
    }
    if (late && now.late.empty()) {
        return;
    }
    auto& least = late ? now.all : now.early_tree;
    if (late) {
        least = tree(now.q, now.late);
        if (now.early_tree) {
            least = joined(std::move(now.early_tree), std::move(least));
        }
    } else if (!now.early.empty()) {
        least = tree(now.q, now.early);
    }
    if (least) {
        least_of(*least);
    }
}

//! Completes the tree of a row's q. If rows are shared, stores the least of this thread's
//! edges for its partner.
void ldpc_cuda_folded_writer::give_least(size_t row, in_hand& now)
{
    if (!now.all) {
        now.all = std::move(now.early_tree);
    }
    if (!d_plan.in_pairs) {
        emit("st.shared.b32 [%s+%d], %s;",
             d_mine,
             least_at(row),
             now.all ? least_of(*now.all) : d_most);
    }
    now.passes.clear();
}

//! Stores a new L, whose halves are in the order of checks, where it was loaded from.
void ldpc_cuda_folded_writer::store(const ldpc_cuda_folded_plan::edge& edge,
                                    const name& l,
                                    int e,
                                    in_hand& now)
{
    name value = turned(edge, l, now), copy;
    if (edge.is_copied && (edge.next_exchanged || edge.next_moves)) {
        copy = b32("prmt.b32", "%s, 0, 0x1032", l);
        if (edge.next_exchanged) {
            std::swap(value, copy);
        }
    }
    if (edge.missing >= 0) { // the bit without a check here keeps its L
        const name is_bit = is_missing(edge.missing);
        const unsigned half = half_of(edge.missing);
        const name old = turned(edge, now.l[e], now);
        const name own = b32("and.b32", "%s, 0x%x", l, ~half);
        const name others = b32("and.b32", "%s, 0x%x", old, half);
        const name mixed = b32("or.b32", "%s, %s", own, others);
        const name back = turned(edge, mixed, now), selected = r();
        emit("selp.b32 %s, %s, %s, %s;", selected, back, value, is_bit);
        value = selected;
    }
    const name guard = d_active.empty() ? name() : '@' + d_active + ' ';
    emit("%sst.shared.b32 [%s+%d], %s;",
         guard,
         now.address[e],
         column_at(edge.column),
         value);
    if (edge.is_copied && edge.next_moves) {
        emit("%sst.shared.b32 [%s+%d], %s;",
             guard,
             now.address[e],
             column_at(edge.column) + 4 * d_plan.half,
             copy);
    }
}

//! Computes messages and new L of a row. If rows are shared, the least of the other
//! group's edges must be stored.
void ldpc_cuda_folded_writer::finish(size_t number, int group, in_hand& now)
{
    const auto& row = d_plan.steps[number];
    const auto& edges = row.edges[group];
    const int n = static_cast<int>(edges.size());
    const name others =
        d_plan.in_pairs ? d_most : less(load(d_partner, least_at(number)), d_most);
    std::vector<name> least(n), message(n);
    if (now.all) {
        give_others(*now.all, { others, {} }, least);
    }
    for (int e = 0; e < n; ++e) {
        message[e] = scaled(least[e], now.old[e]);
        const auto& edge = edges[e];
        if (edge.round > 0) {
            continue;
        }
        const name l = saturated_sum(now.q[e], message[e]);
        d_own.erase(edge.column);
        if (hands_on(number, group, edge)) {
            d_own[edge.column] = l;
        } else {
            store(edge, l, e, now);
        }
    }
    for (int round = 1; round < row.rounds; ++round) {
        block_barrier();
        for (int e = 0; e < n; ++e) {
            const auto& edge = edges[e];
            if (edge.round == round) {
                now.l[e] = load_at_work(now.address[e], column_at(edge.column));
                const name l = saturated_sum(turned(edge, now.l[e], now),
                                             sub(message[e], now.old[e]));
                store(edge, l, e, now);
            }
        }
    }
    keep_messages(number, group, message);
}

//! Stores messages. A word with messages of two rows is stored after the second row.
void ldpc_cuda_folded_writer::keep_messages(size_t number,
                                            int group,
                                            const std::vector<name>& message)
{
    const auto& row = d_plan.steps[number];
    const int n = static_cast<int>(message.size());
    const int first = row.first[group];
    // A group without a row in the last step, because rows are odd in number, ends
    // before.
    const bool is_last =
        std::all_of(d_plan.steps.begin() + number + 1,
                    d_plan.steps.end(),
                    [&](const auto& later) { return later.edges[group].empty(); });
    for (int e = 0; e < n;) {
        const int slot = first + e, w = slot / 2;
        const bool is_pair = slot % 2 == 0 && e + 1 < n;
        name value;
        if (is_pair) {
            value = b32("prmt.b32", "%s, %s, 0x6420", message[e], message[e + 1]);
        } else {
            value = b32("prmt.b32",
                        "%s, %s, 0x%s",
                        word(w),
                        message[e],
                        slot % 2 == 0 ? "3264" : "6410");
        }
        e += is_pair ? 2 : 1;
        d_in_hand.erase(w);
        const bool goes_on = !is_pair && slot % 2 == 0 && !is_last;
        if (goes_on && w >= d_store.register_words) {
            d_in_hand[w] = value;
        } else {
            set_word(w, value);
        }
    }
}

//! Issues the loads of a row's words from device memory.
void ldpc_cuda_folded_writer::fetch_words_ahead(size_t number, int group)
{
    if (number >= d_plan.steps.size()) {
        return;
    }
    const auto& row = d_plan.steps[number];
    const int n = static_cast<int>(row.edges[group].size());
    for (int slot = row.first[group]; slot < row.first[group] + n; ++slot) {
        const int w = slot / 2;
        if (is_on_device(w) && !d_in_hand.count(w)) {
            d_in_hand[w] = load_from_device(w);
        }
    }
}

//! Whether a step reads words after the barrier that another thread writes before it.
bool ldpc_cuda_folded_writer::moves_late(size_t step) const
{
    const auto& row = d_plan.steps[step];
    const auto moves = [&](const auto& edges) {
        return std::any_of(edges.begin(), edges.end(), [&](const auto& edge) {
            return edge.is_late && (edge.is_copied || row.rounds > 1);
        });
    };
    return std::any_of(row.edges.begin(), row.edges.end(), moves);
}

//! Visits all rows, for one group. Both groups have the same barriers.
void ldpc_cuda_folded_writer::visit_all(int group)
{
    const size_t count = d_plan.steps.size();
    d_own.clear();
    for (size_t r = 0; r < ahead; ++r) {
        fetch_words_ahead(r, group);
    }
    in_hand now;
    fetch(0, group, false, now);
    take(0, group, false, now);
    give_least(0, now);
    block_barrier();
    for (size_t r = 0; r < count; ++r) {
        in_hand next;
        fetch_words_ahead(r + ahead, group);
        if (r + 1 < count) {
            fetch(r + 1, group, false, next);
        }
        finish(r, group, now);
        if (r + 1 < count) {
            take(r + 1, group, false, next);
            const bool has_late = d_plan.steps[r + 1].has_late;
            if (has_late || d_plan.in_pairs) {
                next.passes.clear();
                block_barrier();
            }
            if (has_late) {
                fetch(r + 1, group, true, next);
                take(r + 1, group, true, next);
            }
            give_least(r + 1, next);
        }
        // All threads must read before one writes a word of another thread.
        if (!d_plan.in_pairs || r + 1 == count || moves_late(r + 1)) {
            block_barrier();
        }
        now = std::move(next);
    }
}

//! Sets shortened bits to the greatest L before each iteration. Their columns begin with
//! bit 0.
void ldpc_cuda_folded_writer::shorten()
{
    if (d_code.shortened().empty()) {
        return;
    }
    for_groups([&](int group) {
        for (const int first : d_plan.first_word) {
            for (int part = 0; group == 0 && part < 2; ++part) {
                fill_shortened(first, part);
            }
        }
    });
    emit("bar.sync 0;");
}

//! Shortens the bits of one half of a column's words, which begin at `first`, run by run.
void ldpc_cuda_folded_writer::fill_shortened(int first, int part)
{
    const auto is_shortened = [&](int i) {
        return d_plan.source_of[2 * (first + i) + part] == ldpc_decoding::shortened;
    };
    for (int begin = 0, end; begin < d_plan.half; begin = end + 1) {
        end = begin;
        while (end < d_plan.half && is_shortened(end)) {
            ++end;
        }
        if (end == begin) {
            continue;
        }
        const name filled = h(), inside = p();
        const name offset = b32("sub.u32", "%s, %d", d_j, begin);
        emit("mov.b16 %s, 0x3c00;", filled);
        emit("setp.lt.u32 %s, %s, %d;", inside, offset, end - begin);
        if (!d_active.empty()) {
            emit("and.pred %s, %s, %s;", inside, inside, d_active);
        }
        emit("@%s st.shared.b16 [%s+%d], %s;", inside, d_w, 4 * first + 2 * part, filled);
    }
}

} // namespace gr::cudaphy::kernels
