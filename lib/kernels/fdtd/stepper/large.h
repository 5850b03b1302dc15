/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/stepper/lane.h"

// One lane's work on a large system, whose state exceeds the caches, in a dictionary or
// in subdivided rows; plain C++, too.
//
// Loads under way and instructions a row bound the speed. A warp takes slices of 32 rows
// that share a pattern, or column offsets, several slices together. Entries and their
// addresses are found once for all slices, and all elements are asked for before the
// first is used. The tables of a tile are asked for while the tile before is summed.
// Sources and probes come after the rows of their tile: no row of the update reads these
// elements.

namespace gr::cudaphy::kernels {

//! The kind of rows that pieces hold, for which a kernel needs registers.
enum class fdtd_large_rows {
    runs,      //!< runs of a dictionary
    sequences, //!< sequences, too, as with absorbing layers
    own_values //!< runs of subdivided rows, each row with values of its own
};

//! \tparam Slices  slices of a piece, at most
template <typename T, int Slices, fdtd_large_rows Rows>
class fdtd_large_lane
{
public:
    using tables = fdtd_tables<T, fdtd_pointer>;

    //! A tile whose tables have been asked for.
    struct cursor {
        int32_t pieces, pieces_end, blocks, blocks_end; //!< the warp's first, the ends
        fdtd_piece piece;
    };

    CUDAPHY_LANE fdtd_large_lane(const tables& t, int warp, int warps, int lane)
        : d_tables(t), d_warp(warp), d_warps(warps), d_lane(lane)
    {
    }

    CUDAPHY_LANE cursor begin(int32_t tile) const
    {
        cursor c{};
        read_tile(c, tile);
        read_piece(c);
        return c;
    }

    //! Updates the lane's rows of a tile and moves the cursor to tile `coming`; -1: none.
    CUDAPHY_LANE void update(cursor& c, int32_t coming, T* state) const
    {
        const auto here = c;
        if (coming >= 0) {
            read_tile(c, coming);
        }
        add_pieces(here, state);
        if (coming >= 0) {
            read_piece(c);
        }
        add_blocks(here.blocks, here.blocks_end, state);
    }

    //! Works on the marks of a tile after all its rows.
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
    static constexpr bool own_values = Rows == fdtd_large_rows::own_values;
    static constexpr bool sequences = Rows == fdtd_large_rows::sequences;
    static constexpr int entries_together = 16 / sizeof(fdtd_entry<T>);
    struct some_entries {
        fdtd_entry<T> entry[entries_together];
    };
    //! A piece's rows, unpacked.
    struct extent {
        int begin, end;
        const T* values; //!< of row 0 of the piece, even if the piece has no row 0
        int stride;
    };
    static constexpr int ahead = 6; //!< entries of a block's row that are fetched
    struct strip {
        int32_t element; //!< -1: none
        int32_t count;
        int32_t column[ahead];
        T value[ahead];
    };

    CUDAPHY_LANE void read_tile(cursor& c, int32_t tile) const
    {
        const auto here = fdtd_load_16<fdtd_tile>(d_tables.tiles + tile);
        const auto next = fdtd_load_16<fdtd_tile>(d_tables.tiles + tile + 1);
        // Warps with one piece fewer take the first blocks.
        const int shift = (d_warp + d_warps - (next.words - here.words) % d_warps);
        c.pieces = here.words + d_warp;
        c.pieces_end = next.words;
        c.blocks = here.blocks + shift % d_warps;
        c.blocks_end = next.blocks;
    }

    CUDAPHY_LANE void read_piece(cursor& c) const
    {
        if (c.pieces < c.pieces_end) {
            c.piece = fdtd_load_16<fdtd_piece>(d_tables.pieces + c.pieces);
        }
    }

    CUDAPHY_LANE extent extent_of(const fdtd_piece& piece) const
    {
        extent e{ int(piece.rows & 255), int(piece.rows >> 8 & 255), nullptr, 0 };
        if constexpr (own_values) {
            constexpr int apart = fdtd_piece::values_apart;
            e.values = d_tables.values +
                       (int64_t(piece.values) * apart - e.begin / apart * apart);
        }
        e.stride = int(piece.rows >> 16) * fdtd_piece::values_apart;
        return e;
    }

    CUDAPHY_LANE void add_pieces(const cursor& c, T* state) const
    {
        auto next = c.piece;
        for (auto p = c.pieces; p < c.pieces_end; p += d_warps) {
            const auto piece = next;
            if (p + d_warps < c.pieces_end) {
                next = fdtd_load_16<fdtd_piece>(d_tables.pieces + p + d_warps);
            }
            const auto rows = extent_of(piece);
            const auto* entries = d_tables.pattern_entries + size_t(piece.code >> 8) * 2;
            const int count = piece.code & fdtd_pattern_entries;
            if (sequences && piece.rows >> 16) {
                T* const first = state + piece.first;
                if (count <= 3) { // of psi
                    add_sequences<3, 4>(first, piece, entries);
                } else if (count <= 6) { // of a field that takes psi
                    add_sequences<6, 1>(first, piece, entries);
                } else {
                    add_sequences(first, piece, entries);
                }
            } else if (count == 4) { // the curl of a field
                add_slices<4, Slices>(piece.first, rows, entries, state);
            } else if (count == 5) { // in what conducts, or with psi
                add_slices<5, Slices>(piece.first, rows, entries, state);
            } else if (Rows != fdtd_large_rows::runs && count == 3) { // psi
                add_slices<3, Slices>(piece.first, rows, entries, state);
            } else if (Rows != fdtd_large_rows::runs && count == 6) { // layers meet
                add_slices<6, (Slices + 1) / 2>(piece.first, rows, entries, state);
            } else if (count) {
                CUDAPHY_UNROLL_BY(1)
                for (int i = d_lane; i < rows.end; i += fdtd_slice) {
                    if (i >= rows.begin) {
                        add_row(piece.first + i,
                                entries,
                                count,
                                rows.values + i,
                                rows.stride,
                                state);
                    }
                }
            } else if constexpr (!own_values) {
                const auto one = d_tables.singles[piece.first + d_lane];
                if (one.element >= 0) {
                    add_row(one.element,
                            d_tables.pattern_entries + size_t(one.code >> 8) * 2,
                            int(one.code & fdtd_pattern_entries),
                            nullptr,
                            0,
                            state);
                }
            }
        }
    }

    //! Updates a piece of up to `Used` slices.
    template <int Entries, int Used>
    CUDAPHY_LANE void add_slices(int32_t first,
                                 const extent& rows,
                                 const fdtd_entry<T>* entries,
                                 T* state) const
    {
        if constexpr (Used > 1) {
            if (rows.end <= fdtd_slice * (Used - 1)) {
                add_slices<Entries, Used - 1>(first, rows, entries, state);
                return;
            }
        }
        T* const own = state + first + d_lane;
        const bool in_first = d_lane >= rows.begin,
                   in_last = d_lane < rows.end - fdtd_slice * (Used - 1);
        const auto is_in = [&](int r) {
            return (r > 0 || in_first) && (r < Used - 1 || in_last);
        };
        // Zeros for lanes without a row, so that no registers live from piece to piece.
        constexpr int columns = own_values ? Used : 1;
        T sum[Used]{}, x[Entries][Used]{}, value[Entries][columns]{};
        if constexpr (own_values) {
            CUDAPHY_UNROLL
            for (int j = 0; j < Entries; ++j) {
                const T* const from = rows.values + (j * rows.stride + d_lane);
                CUDAPHY_UNROLL
                for (int r = 0; r < Used; ++r) {
                    if (is_in(r)) {
                        value[j][r] = fdtd_load_once(from + r * fdtd_slice);
                    }
                }
            }
        }
        CUDAPHY_UNROLL
        for (int r = 0; r < Used; ++r) {
            if (is_in(r)) {
                sum[r] = own[r * fdtd_slice];
            }
        }
        CUDAPHY_UNROLL
        for (int j = 0; j < Entries; j += entries_together) {
            const auto some = fdtd_load_16<some_entries>(entries + j);
            CUDAPHY_UNROLL
            for (int i = 0; i < entries_together && j + i < Entries; ++i) {
                const T* const from = own + some.entry[i].offset;
                if constexpr (!own_values) {
                    value[j + i][0] = some.entry[i].value;
                }
                CUDAPHY_UNROLL
                for (int r = 0; r < Used; ++r) {
                    if (is_in(r)) {
                        x[j + i][r] = from[r * fdtd_slice];
                    }
                }
            }
        }
        CUDAPHY_UNROLL
        for (int r = 0; r < Used; ++r) {
            if (is_in(r)) {
                CUDAPHY_UNROLL
                for (int j = 0; j < Entries; ++j) {
                    sum[r] = fdtd_fused(value[j][r % columns], x[j][r], sum[r]);
                }
                own[r * fdtd_slice] = fdtd_settled(sum[r]);
            }
        }
    }

    //! Updates rows of up to `Most` entries. Rows of a sequence have different entries,
    //! but equal ones in each of the sequences; `Together` sequences are updated at once.
    template <int Most, int Together>
    CUDAPHY_LANE void
    add_sequences(T* first, const fdtd_piece& piece, const fdtd_entry<T>* entries) const
    {
        const int count = piece.code & fdtd_pattern_entries;
        const int begin = int(piece.rows & 255), end = int(piece.rows >> 8 & 255);
        const int stride = int(piece.rows >> 16) * fdtd_piece::values_apart;
        const int number = int(piece.values >> 24),
                  apart = int(piece.values & fdtd_piece::most_apart);
        CUDAPHY_UNROLL_BY(1)
        for (int i = d_lane; i < end; i += fdtd_slice) {
            CUDAPHY_UNROLL_BY(1)
            for (int s = 0; i >= begin && s < number; s += Together) {
                T* const own = first + (i + s * apart);
                int to[Together]; // beyond the last sequence: the first again, unused
                T sum[Together], x[Most][Together]{}, value[Most]{};
                CUDAPHY_UNROLL
                for (int r = 0; r < Together; ++r) {
                    to[r] = s + r < number ? r * apart : 0;
                    sum[r] = own[to[r]];
                }
                CUDAPHY_UNROLL
                for (int j = 0; j < Most; ++j) {
                    if (j < count) {
                        const auto entry = entries[i + j * stride];
                        value[j] = entry.value;
                        if (entry.offset != fdtd_no_entry) {
                            CUDAPHY_UNROLL
                            for (int r = 0; r < Together; ++r) {
                                x[j][r] = own[to[r] + entry.offset];
                            }
                        }
                    }
                }
                CUDAPHY_UNROLL
                for (int r = 0; r < Together; ++r) {
                    CUDAPHY_UNROLL
                    for (int j = 0; j < Most; ++j) {
                        sum[r] = fdtd_fused(value[j], x[j][r], sum[r]);
                    }
                    if (r == 0 || to[r]) {
                        own[to[r]] = fdtd_settled(sum[r]);
                    }
                }
            }
        }
    }

    //! Updates sequences whose rows have more entries.
    CUDAPHY_LANE void
    add_sequences(T* first, const fdtd_piece& piece, const fdtd_entry<T>* entries) const
    {
        const int begin = int(piece.rows & 255), end = int(piece.rows >> 8 & 255);
        const int number = int(piece.values >> 24),
                  apart = int(piece.values & fdtd_piece::most_apart);
        CUDAPHY_UNROLL_BY(1)
        for (int r = 0; r < number; ++r) {
            CUDAPHY_UNROLL_BY(1)
            for (int i = d_lane; i < end; i += fdtd_slice) {
                if (i >= begin) {
                    add_row(r * apart + i,
                            entries + i,
                            int(piece.code & fdtd_pattern_entries),
                            nullptr,
                            int(piece.rows >> 16) * fdtd_piece::values_apart,
                            first);
                }
            }
        }
    }

    //! \param stride  from an entry to the next, in values or in a sequence; 0:
    //! neighbours
    static CUDAPHY_LANE void add_row(int32_t element,
                                     const fdtd_entry<T>* entries,
                                     int count,
                                     const T* values,
                                     int stride,
                                     T* state)
    {
        T* const own = state + element;
        T sum = *own;
        const int apart = own_values || stride == 0 ? 1 : stride;
        CUDAPHY_UNROLL_BY(4)
        for (int j = 0; j < count; ++j) {
            const auto entry = entries[j * apart];
            if (!own_values && entry.offset == fdtd_no_entry) {
                break;
            }
            const T value =
                own_values ? fdtd_load_once(values + j * stride) : entry.value;
            sum = fdtd_fused(value, own[entry.offset], sum);
        }
        *own = fdtd_settled(sum);
    }

    //! Fetches the lane's row of a block.
    CUDAPHY_LANE void fetch(const fdtd_block& block, strip& s) const
    {
        const fdtd_block_shape shape(block);
        s.element = -1;
        s.count = shape.entries;
        if (d_lane >= shape.rows) {
            return;
        }
        fdtd_block_row<T> row(d_tables, block, shape, d_lane);
        s.element = row.element;
        CUDAPHY_UNROLL
        for (int j = 0; j < ahead; ++j) {
            if (j < shape.entries) {
                row.read(s.column[j], s.value[j]);
            }
        }
    }

    //! Updates every d_warps-th block.
    CUDAPHY_LANE void add_blocks(int32_t b, int32_t end, T* state) const
    {
        for (; b < end; b += d_warps) {
            strip s{};
            fetch(fdtd_load_16<fdtd_block>(d_tables.blocks + b), s);
            T sum = 0, x[ahead]{};
            if (s.element >= 0) {
                sum = state[s.element];
                CUDAPHY_UNROLL
                for (int j = 0; j < ahead; ++j) {
                    if (j < s.count) {
                        x[j] = state[s.column[j]];
                    }
                }
            }
            if (s.element >= 0) {
                CUDAPHY_UNROLL
                for (int j = 0; j < ahead; ++j) {
                    if (j < s.count) {
                        sum = fdtd_fused(s.value[j], x[j], sum);
                    }
                }
                state[s.element] =
                    fdtd_settled(s.count > ahead ? add_rest(b, sum, state) : sum);
            }
        }
    }

    //! Adds the entries of a block's row that fetch() left out.
    CUDAPHY_LANE T add_rest(int32_t number, T sum, const T* state) const
    {
        const auto block = fdtd_load_16<fdtd_block>(d_tables.blocks + number);
        const fdtd_block_shape shape(block);
        fdtd_block_row<T> row(d_tables, block, shape, d_lane);
        row.skip(ahead);
        CUDAPHY_UNROLL_BY(4)
        for (int j = ahead; j < shape.entries; ++j) {
            int32_t column;
            T value;
            row.read(column, value);
            sum = fdtd_fused(value, state[column], sum);
        }
        return sum;
    }

    const tables& d_tables;
    const int d_warp, d_warps, d_lane;
};

} // namespace gr::cudaphy::kernels
