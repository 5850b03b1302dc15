/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/fdtd_stepper_lane.h"

// What a lane does of a large system in a dictionary, whose state is beyond the caches;
// plain C++ too.
//
// Here loads under way and instructions a row are what counts. A warp takes rows of one
// pattern slice by slice of 32 but together: the pattern's entries and an entry's address
// are found once for all, and all elements are asked for before the first is used.
// Sources and probes come after the rows of their tile, which no row of the update reads.

namespace gr::cudaphy::kernels {

//! \tparam Slices  of a piece at most
template <typename T, int Slices>
class fdtd_large_lane
{
public:
    using tables = fdtd_tables<T, fdtd_pointer>;

    CUDAPHY_LANE fdtd_large_lane(const tables& t, int warp, int warps, int lane)
        : d_tables(t), d_warp(warp), d_warps(warps), d_lane(lane)
    {
    }

    //! The lane's rows of a tile.
    CUDAPHY_LANE void update(int32_t tile, T* state) const
    {
        const auto here = fdtd_load_16<fdtd_tile>(d_tables.tiles + tile);
        const auto next = fdtd_load_16<fdtd_tile>(d_tables.tiles + tile + 1);
        add_pieces(here.words, next.words, state);
        // The warps that had a piece less begin.
        const int pieces = next.words - here.words;
        const int shift = (d_warp + d_warps - pieces % d_warps) % d_warps;
        for (auto b = here.blocks + shift; b < next.blocks; b += d_warps) {
            add_block(fdtd_load_16<fdtd_block>(d_tables.blocks + b), state);
        }
    }

    //! What sources and probes do in a tile when all its rows are done.
    template <typename Report>
    CUDAPHY_LANE void visit_marks(const fdtd_phase& phase,
                                  const fdtd_tile& tile,
                                  const fdtd_step<T>& step,
                                  const Report& not_finite) const
    {
        const auto end = tile.first + int32_t(tile.rows & ~fdtd_marked);
        fdtd_phase part{};
        part.marks = fdtd_find_mark(phase, d_tables.marks, tile.first);
        part.marks_end = fdtd_find_mark(phase, d_tables.marks, end);
        fdtd_lane<T, sparse_format::crs, 1>(d_tables, 0, 1, 0, nullptr)
            .between(part,
                     step,
                     d_warp * fdtd_slice + d_lane,
                     d_warps * fdtd_slice,
                     not_finite);
    }

private:
    static constexpr int entries_together = 16 / sizeof(fdtd_entry<T>);
    struct some_entries {
        fdtd_entry<T> entry[entries_together];
    };

    CUDAPHY_LANE void add_pieces(int32_t begin, int32_t end, T* state) const
    {
        begin += d_warp;
        fdtd_piece next{};
        if (begin < end) {
            next = fdtd_load_16<fdtd_piece>(d_tables.pieces + begin);
        }
        for (; begin < end; begin += d_warps) {
            const auto piece = next;
            if (begin + d_warps < end) {
                next = fdtd_load_16<fdtd_piece>(d_tables.pieces + begin + d_warps);
            }
            const auto* entries = d_tables.pattern_entries + size_t(piece.code >> 8) * 2;
            const int count = piece.code & fdtd_pattern_entries;
            if (count == 4) { // the curl of a field
                add_slices<4, Slices>(piece, entries, state);
            } else if (count == 5) { // in what conducts
                add_slices<5, Slices>(piece, entries, state);
            } else if (count) {
                CUDAPHY_UNROLL_BY(1)
                for (int i = d_lane; i < piece.end; i += fdtd_slice) {
                    if (i >= piece.begin) {
                        add_row(piece.first + i, entries, count, state);
                    }
                }
            } else {
                const auto one = d_tables.singles[piece.first + d_lane];
                if (one.element >= 0) {
                    add_row(one.element,
                            d_tables.pattern_entries + size_t(one.code >> 8) * 2,
                            int(one.code & fdtd_pattern_entries),
                            state);
                }
            }
        }
    }

    //! A piece of `Used` slices or fewer.
    template <int Entries, int Used>
    CUDAPHY_LANE void
    add_slices(const fdtd_piece& piece, const fdtd_entry<T>* entries, T* state) const
    {
        if constexpr (Used > 1) {
            if (piece.end <= fdtd_slice * (Used - 1)) {
                add_slices<Entries, Used - 1>(piece, entries, state);
                return;
            }
        }
        T* const own = state + piece.first + d_lane;
        const bool in_first = d_lane >= piece.begin,
                   in_last = d_lane < piece.end - fdtd_slice * (Used - 1);
        const auto is_in = [&](int r) {
            return (r > 0 || in_first) && (r < Used - 1 || in_last);
        };
        // Zeros where a lane has no row: no registers are kept from piece to piece.
        T sum[Used]{}, x[Entries][Used]{}, value[Entries];
        CUDAPHY_UNROLL
        for (int r = 0; r < Used; ++r) {
            if (is_in(r)) {
                sum[r] = own[r * fdtd_slice];
            }
        }
        CUDAPHY_UNROLL
        for (int first = 0; first < Entries; first += entries_together) {
            const auto some = fdtd_load_16<some_entries>(entries + first);
            CUDAPHY_UNROLL
            for (int i = 0; i < entries_together && first + i < Entries; ++i) {
                const T* const from = own + some.entry[i].offset;
                value[first + i] = some.entry[i].value;
                CUDAPHY_UNROLL
                for (int r = 0; r < Used; ++r) {
                    if (is_in(r)) {
                        x[first + i][r] = from[r * fdtd_slice];
                    }
                }
            }
        }
        CUDAPHY_UNROLL
        for (int r = 0; r < Used; ++r) {
            if (is_in(r)) {
                CUDAPHY_UNROLL
                for (int j = 0; j < Entries; ++j) {
                    sum[r] = fdtd_fused(value[j], x[j][r], sum[r]);
                }
                own[r * fdtd_slice] = fdtd_settled(sum[r]);
            }
        }
    }

    CUDAPHY_LANE void
    add_row(int32_t element, const fdtd_entry<T>* entries, int count, T* state) const
    {
        T* const own = state + element;
        T sum = *own;
        CUDAPHY_UNROLL_BY(4)
        for (int j = 0; j < count; ++j) {
            const auto entry = entries[j];
            sum = fdtd_fused(entry.value, own[entry.offset], sum);
        }
        *own = fdtd_settled(sum);
    }

    CUDAPHY_LANE void add_block(const fdtd_block& block, T* state) const
    {
        const fdtd_block_shape shape(block);
        if (d_lane >= shape.rows) {
            return;
        }
        fdtd_block_row<T> row(d_tables, block, shape, d_lane);
        T sum = state[row.element];
        CUDAPHY_UNROLL_BY(6)
        for (int j = 0; j < shape.entries; ++j) {
            int32_t column;
            T value;
            row.read(column, value);
            sum = fdtd_fused(value, state[column], sum);
        }
        state[row.element] = fdtd_settled(sum);
    }

    const tables& d_tables;
    const int d_warp, d_warps, d_lane;
};

} // namespace gr::cudaphy::kernels
