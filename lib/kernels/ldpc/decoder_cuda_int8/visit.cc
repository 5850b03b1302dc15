/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/tuning.h"
#include "kernels/ldpc/decoder_cuda_int8/writer.h"
#include <algorithm>

namespace gr::cudaphy::kernels {

void kernel_writer::take(const ldpc_cuda_plan::row& row, int e, in_hand& now)
{
    const auto& edge = row.edges[e];
    const int w = row.packed ? e / 2 : e;
    if (now.words[w].empty()) {
        now.words[w] = word(row.first_word + w);
    }
    name l;
    if (edge.word >= 0) {
        l = word(edge.word);
    } else {
        now.address[e] = address_of(edge.shift);
        l = load_at_work(now.address[e], column_at(edge.column));
    }
    now.old[e] = row.packed ? unpacked(now.words[w], e % 2 * 2) : now.words[w];
    now.q[e] = sub(l, now.old[e]);
    if (edge.missing >= 0) {
        const name here = guard_against(edge.missing);
        const name selected = r();
        emit("selp.b32 %s, %s, %s, %s;", selected, now.q[e], greatest, here);
        now.q[e] = selected;
    }
}

//! Reads the bits that no thread has written since the last barrier.
kernel_writer::in_hand kernel_writer::prepare(const ldpc_cuda_plan::row& row,
                                              const std::set<int>& written)
{
    const size_t n = row.edges.size();
    in_hand now;
    now.address.resize(n);
    now.q.resize(n);
    now.old.resize(n);
    now.words.resize(row.words());
    for (size_t e = 0; e < n; ++e) {
        if (!written.count(row.edges[e].column)) {
            take(row, static_cast<int>(e), now);
            now.early.push_back(static_cast<int>(e));
        }
    }
    if (!now.early.empty()) {
        now.early_tree = tree(now.q, now.early);
        least_of(*now.early_tree);
    }
    return now;
}

void kernel_writer::visit(size_t number, in_hand now)
{
    const auto& row = d_plan.rows[number];
    const int n = static_cast<int>(row.edges.size());
    const bool watches = d_parameters.early_stop && !has_crc() && row.own.column < 0;
    std::vector<int> late;
    for (int e = 0; e < n; ++e) {
        if (now.q[e].empty()) {
            take(row, e, now);
            late.push_back(e);
        }
    }
    name own_at, own_word, own;
    if (row.own.column >= 0) {
        own_at = address_of(row.own.shift);
        own_word = load_at_work(own_at, column_at(row.own.column));
        own = sub(unpacked(own_word, 0), d_center);
    }
    if (row.rounds > 1) {
        emit("bar.sync 0;"); // all threads must read before one writes
    }
    // A received value never exceeds the greatest message; any other L may.
    std::vector<name> least(n), message(n);
    name for_own = d_most;
    if (n > 0) {
        auto all = late.empty() ? std::move(now.early_tree)
                   : now.early.empty()
                       ? tree(now.q, late)
                       : joined(std::move(now.early_tree), tree(now.q, late));
        give_others(*all, { own.empty() ? d_most : own, {} }, least);
        if (!own.empty() && d_plan.keeps_private) {
            for_own = corrected(together(others_of(*all), { d_most, {} }));
        }
    }
    name parity;
    for (int e = 0; e < n; ++e) {
        message[e] = scaled(least[e], now.old[e]);
        const auto& edge = row.edges[e];
        if (edge.round == 0) {
            const name l = saturated_sum(now.q[e], message[e]);
            if (edge.word >= 0) {
                keep(number, edge, l);
            } else {
                store(now.address[e], column_at(edge.column), l, edge.missing);
            }
            if (watches) {
                add_parity(parity, l, edge.missing);
            }
        }
    }
    if (!own.empty() && d_plan.keeps_private) {
        const name to_own = scaled(for_own, d_damps ? unpacked(own_word, 2) : name());
        store(own_at,
              column_at(row.own.column),
              b32("prmt.b32", "%s, %s, 0x6410", own_word, to_own));
    }
    for (int round = 1; round < row.rounds; ++round) {
        emit("bar.sync 0;");
        for (int e = 0; e < n; ++e) {
            const auto& edge = row.edges[e];
            if (edge.round == round) {
                const int at = column_at(edge.column);
                const name l = saturated_sum(load_at_work(now.address[e], at),
                                             sub(message[e], now.old[e]));
                store(now.address[e], at, l, edge.missing);
                if (watches) {
                    add_parity(parity, l, edge.missing);
                }
            }
        }
    }
    note_parity(parity);
    for (int w = 0; w < row.words(); ++w) {
        const name value = row.packed ? b32("prmt.b32",
                                            "%s, %s, 0x6420",
                                            message[2 * w],
                                            message[std::min(2 * w + 1, n - 1)])
                                      : message[w];
        set_word(row.first_word + w, value);
        d_in_hand.erase(row.first_word + w);
    }
}

//! Stores the new L of a kept column. It stays in a register too if the next row is the
//! column's other row.
void kernel_writer::keep(size_t row, const ldpc_cuda_plan::edge& edge, const name& l)
{
    const auto holds = [&](const ldpc_cuda_plan::edge& other) {
        return other.word == edge.word;
    };
    if (edge.word >= d_plan.register_words && row + 1 < d_plan.rows.size()) {
        const auto& next = d_plan.rows[row + 1].edges;
        if (std::any_of(next.begin(), next.end(), holds)) {
            d_in_hand[edge.word] = l;
            return;
        }
    }
    set_word(edge.word, l);
    d_in_hand.erase(edge.word);
}

//! Issues the loads of a row's words from device memory.
void kernel_writer::fetch_ahead(size_t number)
{
    if (number >= d_plan.rows.size()) {
        return;
    }
    const auto& row = d_plan.rows[number];
    const auto fetch = [&](int word) {
        if (is_on_device(word) && !d_in_hand.count(word)) {
            d_in_hand[word] = load_from_device(word);
        }
    };
    for (int w = 0; w < row.words(); ++w) {
        fetch(row.first_word + w);
    }
    // Except words that the rows in between still write.
    constexpr size_t ahead = ldpc_cuda_tuned().rows_ahead;
    const auto is_written = [&](int word) {
        for (size_t r = number < ahead ? 0 : number - ahead; r < number; ++r) {
            for (const auto& edge : d_plan.rows[r].edges) {
                if (edge.word == word) {
                    return true;
                }
            }
        }
        return false;
    };
    for (const auto& edge : row.edges) {
        if (edge.word >= 0 && !is_written(edge.word)) {
            fetch(edge.word);
        }
    }
}

//! Visits all rows. Before its barrier a row reads what it can.
void kernel_writer::visit_all()
{
    constexpr size_t ahead = ldpc_cuda_tuned().rows_ahead;
    std::set<int> written;
    for (size_t r = 0; r < ahead; ++r) {
        fetch_ahead(r);
    }
    for (size_t r = 0; r < d_plan.rows.size(); ++r) {
        const auto& row = d_plan.rows[r];
        fetch_ahead(r + ahead);
        in_hand now = prepare(row, written);
        if (row.waits) {
            emit("bar.sync 0;");
            written.clear();
        }
        visit(r, std::move(now));
        for (const auto& edge : row.edges) {
            if (edge.word < 0) {
                written.insert(edge.column);
            }
        }
    }
    d_in_hand.clear();
}

//! Sets shortened bits to the greatest L before each iteration.
void kernel_writer::shorten()
{
    if (d_code.shortened().empty()) {
        return;
    }
    const int z = d_code.circulants().lifting_size;
    const name filled = b32("mov.b32", "%s", greatest);
    for (const auto& run : d_plan.runs) {
        if (run.from != -2) {
            continue;
        }
        for (int c = run.first / z; c * z < run.first + run.count; ++c) {
            const int first = std::max(run.first - c * z, 0);
            const int last = std::min(run.first + run.count - c * z, z);
            const name offset = b32("sub.u32", "%s, %d", d_check, first);
            const name inside = p();
            emit("setp.lt.u32 %s, %s, %d;", inside, offset, last - first);
            if (!d_active.empty()) {
                emit("and.pred %s, %s, %s;", inside, inside, d_active);
            }
            emit("@%s st.shared.b32 [%s+%d], %s;", inside, d_w, column_at(c), filled);
        }
    }
    emit("bar.sync 0;");
}

} // namespace gr::cudaphy::kernels
