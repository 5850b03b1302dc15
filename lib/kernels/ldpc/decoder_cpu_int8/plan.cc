/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cpu_int8/plan.h"
#include <algorithm>
#include <numeric>

namespace gr::cudaphy::kernels {
namespace {

//! A code as block rows of circulants; one that is not quasi-cyclic with Z = 1.
struct blocks_of {
    explicit blocks_of(const ldpc_code& code)
    {
        const auto& blocks = code.circulants();
        if (blocks.lifting_size > 0) {
            z = blocks.lifting_size;
            columns = blocks.block_columns;
            all = blocks.all;
            for (int row = 0; row < blocks.block_rows; ++row) {
                const int check = row * z;
                telling.push_back(
                    code.telling()[blocks.checks.empty() ? check : blocks.checks[check]]);
            }
        } else {
            columns = code.variables();
            int row = 0;
            for (const auto& layer : code.layers()) {
                for (const int check : layer) {
                    for (int e = code.row_start()[check]; e < code.row_start()[check + 1];
                         ++e) {
                        all.push_back({ row, code.columns()[e], 0 });
                    }
                    telling.push_back(code.telling()[check]);
                    ++row;
                }
            }
        }
        for (size_t i = 0; i < all.size(); ++i) {
            const bool late = i > 0 && all[i].row == all[i - 1].row &&
                              all[i].column == all[i - 1].column;
            round.push_back(late ? round.back() + 1 : 0);
            several |= late;
        }
    }

    int z = 1, columns = 0;
    std::vector<ldpc_circulants::circulant> all;
    std::vector<int> round;    //!< of each circulant in its block
    std::vector<char> telling; //!< of each block row
    bool several = false;      //!< circulants in a block
};

//! Where a column's bits stand: rotated by `shift` in one of its buffers.
struct column_state {
    uint32_t base = 0, other = 0; //!< equal where nothing ever moves
    int shift = 0;
};

class fixed_planner
{
public:
    fixed_planner(ldpc_fixed_plan& plan, const ldpc_decoding& decoding)
        : d_plan(plan), d_blocks(*decoding.code), d_columns(d_blocks.columns),
          d_in_place(plan.words % plan.lanes == 0 && !d_blocks.several)
    {
        plan.column_bytes = d_blocks.z * plan.words;
        d_vectors = (plan.column_bytes + plan.lanes - 1) / plan.lanes;
        plan.max_vectors = d_vectors;
        plan.tail = plan.column_bytes - (d_vectors - 1) * plan.lanes;
        allocate();
        list_layout(decoding, plan.before[0]);
        visit_all(plan.iterations[0]);
        list_layout(decoding, plan.before[1]);
        visit_all(plan.iterations[1]);
    }

private:
    //! Columns end an iteration as they began it, in the order of their last visit.
    void allocate()
    {
        std::vector<int> first(d_blocks.columns, -1);
        std::vector<char> moves(d_blocks.columns);
        for (const auto& c : d_blocks.all) {
            moves[c.column] |= first[c.column] >= 0 && first[c.column] != c.shift;
            first[c.column] = c.shift;
            d_columns[c.column].shift = d_in_place ? 0 : c.shift;
        }
        const uint32_t lanes = d_plan.lanes;
        const bool repeats = d_plan.words % d_plan.lanes != 0;
        const uint32_t bytes =
            (d_plan.column_bytes + (repeats ? lanes : 0) + lanes - 1) / lanes * lanes;
        for (int c = 0; c < d_blocks.columns; ++c) {
            auto& column = d_columns[c];
            column.base = column.other = d_plan.l_bytes;
            d_plan.l_bytes += bytes;
            if (moves[c] && !d_in_place) {
                column.other = d_plan.l_bytes;
                d_plan.l_bytes += bytes;
            }
            if (is_repeated(c)) {
                d_plan.first_copies.push_back(column.base);
            }
        }
    }

    bool is_repeated(int column) const
    {
        const auto& c = d_columns[column];
        return c.base != c.other && d_plan.words % d_plan.lanes != 0;
    }

    //! Where check i, in vectors, of a circulant meets a column.
    uint32_t meets(const column_state& column, int shift, int vector) const
    {
        const int z = d_blocks.z;
        const uint32_t rotation = (shift - column.shift + z) % z * d_plan.words;
        const uint32_t at = rotation + vector * d_plan.lanes;
        return column.base + (at >= d_plan.column_bytes ? at - d_plan.column_bytes : at);
    }

    void visit_all(ldpc_fixed_plan::iteration& out)
    {
        size_t edge = 0;
        for (size_t first = 0, last = 0; first < d_blocks.all.size(); first = last) {
            while (last < d_blocks.all.size() &&
                   d_blocks.all[last].row == d_blocks.all[first].row) {
                ++last;
            }
            // First circulants of their blocks stand first.
            std::vector<size_t> order(last - first);
            std::iota(order.begin(), order.end(), first);
            std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
                return d_blocks.round[a] < d_blocks.round[b];
            });
            visit_row(out, order);
            edge += order.size() * d_vectors;
        }
        d_plan.edge_vectors = edge;
        out.ends.resize(edge);
        for (const auto& [circulant, row] : d_visits) {
            const auto& c = d_blocks.all[circulant];
            const auto& to = out.rows[row.first];
            for (int v = 0; v < d_vectors; ++v) {
                out.ends[to.first + v * to.degree + row.second] =
                    meets(d_columns[c.column], c.shift, v);
            }
        }
        for (auto& hole : out.holes) {
            hole.end = out.ends[hole.end] + hole.check % d_plan.lanes;
        }
        d_visits.clear();
    }

    void visit_row(ldpc_fixed_plan::iteration& out, const std::vector<size_t>& order)
    {
        ldpc_fixed_plan::row row{};
        row.degree = static_cast<int>(order.size());
        row.at_once = static_cast<int>(std::count_if(
            order.begin(), order.end(), [&](size_t i) { return !d_blocks.round[i]; }));
        row.vectors = d_vectors;
        row.telling = d_blocks.telling[d_blocks.all[order[0]].row];
        row.first = static_cast<uint32_t>(out.edges.size());
        row.holes.first = static_cast<uint32_t>(out.holes.size());
        row.late.first = static_cast<uint32_t>(out.late.size());
        out.edges.resize(row.first + order.size() * d_vectors);
        for (int slot = 0; slot < row.degree; ++slot) {
            // The columns before any of them has moved, as all edges see them.
            const auto& c = d_blocks.all[order[slot]];
            for (int v = 0; v < d_vectors; ++v) {
                auto& edge = out.edges[row.first + v * row.degree + slot];
                edge.load = edge.store = meets(d_columns[c.column], c.shift, v);
            }
            d_visits.push_back(
                { order[slot], { static_cast<int>(out.rows.size()), slot } });
        }
        for (int slot = 0; slot < row.degree; ++slot) {
            if (slot < row.at_once) {
                write_at_once(out, row, slot, d_blocks.all[order[slot]]);
            } else {
                write_late(out, row, slot, d_blocks.all[order[slot]]);
            }
        }
        row.holes.last = static_cast<uint32_t>(out.holes.size());
        row.late.last = static_cast<uint32_t>(out.late.size());
        d_plan.max_degree = std::max(d_plan.max_degree, row.degree);
        d_plan.news_bytes = std::max<uint32_t>(
            d_plan.news_bytes, (row.degree - row.at_once) * d_vectors * d_plan.lanes);
        out.rows.push_back(row);
    }

    //! Leaves the column in its other buffer, in the order of this circulant.
    void move(column_state& column, int shift)
    {
        std::swap(column.base, column.other);
        column.shift = shift;
    }

    void write_at_once(ldpc_fixed_plan::iteration& out,
                       const ldpc_fixed_plan::row& row,
                       int slot,
                       const ldpc_circulants::circulant& c)
    {
        auto& column = d_columns[c.column];
        if (!d_in_place && column.base != column.other) {
            move(column, c.shift);
            for (int v = 0; v < d_vectors; ++v) {
                out.edges[row.first + v * row.degree + slot].store =
                    column.base + v * d_plan.lanes;
            }
        }
        if (c.missing >= 0) {
            const uint32_t check = c.missing * d_plan.words;
            const uint32_t at =
                row.first + check / d_plan.lanes * row.degree + slot; // edge vector
            const uint32_t lane = check % d_plan.lanes;
            ldpc_fixed_plan::hole hole{};
            hole.from = out.edges[at].load + lane;
            hole.to = out.edges[at].store + lane;
            hole.message = at * d_plan.lanes + lane;
            hole.check = check;
            hole.end = at;
            out.holes.push_back(hole);
        }
    }

    void write_late(ldpc_fixed_plan::iteration& out,
                    const ldpc_fixed_plan::row& row,
                    int slot,
                    const ldpc_circulants::circulant& c)
    {
        auto& column = d_columns[c.column];
        const column_state before = column;
        move(column, c.shift);
        ldpc_fixed_plan::late_edge late{};
        late.message = (row.first + slot) * d_plan.lanes;
        late.stride = row.degree * d_plan.lanes;
        late.first = static_cast<uint32_t>(out.later.size());
        late.news = (slot - row.at_once) * d_vectors * d_plan.lanes;
        late.to = column.base;
        for (int v = 0; v < d_vectors; ++v) {
            out.later.push_back(
                { meets(before, c.shift, v), column.base + v * d_plan.lanes });
        }
        out.late.push_back(late);
    }

    void list_layout(const ldpc_decoding& decoding, ldpc_fixed_plan::bit_layout& to) const
    {
        const auto& code = *decoding.code;
        const auto inverse = [&](const std::vector<int>& columns, int count) {
            std::vector<int> out(code.variables(), -1);
            for (int i = 0; i < count; ++i) {
                out[columns.empty() ? i : columns[i]] = i;
            }
            return out;
        };
        to.received = runs(code, inverse(code.transmitted(), code.n()), false);
        to.output = runs(
            code, inverse(decoding.output_positions(), decoding.output_bits()), false);
        to.info = runs(code, inverse(code.info_positions(), code.k()), false);
        std::vector<int> shortened(code.variables(), -1);
        for (const int column : code.shortened()) {
            shortened[column] = 0;
        }
        to.shortened = runs(code, shortened, true);
    }

    //! Of all columns of H that have an index, not below 0.
    std::vector<ldpc_fixed_plan::run>
    runs(const ldpc_code& code, const std::vector<int>& index, bool repeated) const
    {
        const auto& bits = code.circulants().bits;
        const int z = d_blocks.z;
        std::vector<ldpc_fixed_plan::run> out;
        const auto add = [&](uint32_t at, int bit) {
            const uint32_t word = d_plan.words;
            if (!out.empty()) {
                auto& last = out.back();
                const int step = bit - static_cast<int>(last.bit);
                if (at == last.at + last.count * word) {
                    if (last.count == 1) {
                        last.step = step;
                    }
                    if (step == last.step * static_cast<int>(last.count)) {
                        ++last.count;
                        return;
                    }
                }
            }
            out.push_back({ at, static_cast<uint32_t>(bit), 1, 1 });
        };
        for (int c = 0; c < d_blocks.columns; ++c) {
            const int length =
                repeated && is_repeated(c)
                    ? z + std::min(z, (d_plan.lanes + d_plan.words - 1) / d_plan.words)
                    : z;
            for (int b = 0; b < length; ++b) {
                const int bit = c * z + (b + d_columns[c].shift) % z;
                const int i = index[bits.empty() ? bit : bits[bit]];
                if (i >= 0) {
                    add(d_columns[c].base + b * d_plan.words, i);
                }
            }
        }
        return out;
    }

    ldpc_fixed_plan& d_plan;
    const blocks_of d_blocks;
    std::vector<column_state> d_columns;
    const bool d_in_place;
    int d_vectors = 0;
    //! Each circulant's row and slot.
    std::vector<std::pair<size_t, std::pair<int, int>>> d_visits;
};

} // namespace

bool ldpc_fixed_plan::can_serve(const ldpc_code& code)
{
    const blocks_of blocks(code);
    for (size_t i = 0; i < blocks.all.size(); ++i) {
        const bool several =
            blocks.round[i] > 0 || (i + 1 < blocks.all.size() && blocks.round[i + 1] > 0);
        if (blocks.all[i].missing >= 0 && several) {
            return false;
        }
    }
    return true;
}

ldpc_fixed_plan::ldpc_fixed_plan(const ldpc_decoding& decoding, int side_by_side, int l)
    : words(side_by_side), lanes(l)
{
    fixed_planner(*this, decoding);
}

} // namespace gr::cudaphy::kernels
