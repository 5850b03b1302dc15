/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/stepper/reads.h"
#include <cmath>
#include <limits>

// What a lane of a warp does in a phase; plain C++ too, so that the tables can be proved
// without a GPU.
//
// A lane takes `Rows` rows at a time, one of a word or block each. What it needs of the
// matrix does not depend on the state: it is fetched first (fetch), before the lane waits
// for other blocks' results, and the words of the next rows while these are summed. Only
// the elements themselves remain to be waited for (finish).

namespace gr::cudaphy::kernels {

//! What a time step works on. (Base and number, not a pointer: on a GPU only the number
//! takes a register.)
template <typename T>
struct fdtd_step {
    T* state;
    const T* all_excitation;
    T* all_probes;
    size_t sources, probes; //!< numbers of them
    unsigned number;        //!< of the time step in the call

    CUDAPHY_LANE T excitation(int column) const
    {
        return all_excitation[size_t(number) * sources + column];
    }
    CUDAPHY_LANE T& probe(int column) const
    {
        return all_probes[size_t(number) * probes + column];
    }
    //! Another time step of the same call.
    CUDAPHY_LANE fdtd_step at(unsigned other) const
    {
        return { state, all_excitation, all_probes, sources, probes, other };
    }
};

template <typename T>
CUDAPHY_LANE T fdtd_fused(T a, T b, T c)
{
    return std::fma(a, b, c);
}

//! Limits of a type as constants: the functions of std::numeric_limits are for the host.
template <typename T>
struct fdtd_numbers {
    static constexpr T smallest = std::numeric_limits<T>::min(); //!< normal
    static constexpr T largest = std::numeric_limits<T>::max();
    static constexpr T nan = std::numeric_limits<T>::quiet_NaN();
};

template <typename T>
CUDAPHY_LANE bool fdtd_is_finite(T value)
{
    return std::fabs(value) <= fdtd_numbers<T>::largest;
}

//! A value as the state keeps it: 0 below the smallest normal number. Fields that fade
//! end at 0, because a CPU computes slowly with subnormal numbers. CUDA does the same,
//! for the same results.
template <typename T>
CUDAPHY_LANE T fdtd_settled(T value)
{
    return std::fabs(value) < fdtd_numbers<T>::smallest ? T(0) : value;
}

//! The place of a phase's first mark at or after an element.
template <typename Marks>
CUDAPHY_LANE int32_t fdtd_find_mark(const fdtd_phase& phase,
                                    const Marks& marks,
                                    int32_t element)
{
    auto begin = phase.marks, end = phase.marks_end;
    while (begin < end) {
        const auto middle = begin + (end - begin) / 2;
        if (marks[middle].element < element) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

template <typename T>
CUDAPHY_LANE T fdtd_driven_by(bool hard, T gain, T drive, T value)
{
    return fdtd_settled(hard ? gain * drive : fdtd_fused(gain, drive, value));
}

//! The value after the sources of a mark, from `first` on.
template <typename Tables, typename T>
CUDAPHY_LANE T fdtd_driven(
    const Tables& tables, int32_t mark, int32_t first, T value, const fdtd_step<T>& step)
{
    const auto end = tables.marks[mark + 1].sources;
    CUDAPHY_UNROLL_BY(1)
    for (auto i = first; i < end; ++i) {
        const auto source = tables.sources[i];
        value = fdtd_driven_by<T>(
            source.hard, source.coefficient, step.excitation(source.column), value);
    }
    return value;
}

template <typename Tables, typename T, typename Report>
CUDAPHY_LANE void fdtd_write_probes(const Tables& tables,
                                    int32_t mark,
                                    T element,
                                    const fdtd_step<T>& step,
                                    const Report& not_finite)
{
    const auto end = tables.marks[mark + 1].probes;
    CUDAPHY_UNROLL_BY(1)
    for (auto p = tables.marks[mark].probes; p < end; ++p) {
        const auto probe = tables.probes[p];
        const T value = probe.coefficient * element;
        step.probe(probe.column) = value;
        if (!fdtd_is_finite(value)) {
            not_finite();
        }
    }
}

//! The mark of a fetched row. Marks are rare, so that they are not kept in registers.
template <typename T>
struct fdtd_fetched_mark {
    int32_t mark, what;
    T gain, drive; //!< of its first source
};

//! Probes of an element, written after the block has let the others go on.
template <typename T>
struct fdtd_pending {
    int32_t mark; //!< -1: none
    T value;
};

template <typename T, sparse_format Format, int Rows>
class fdtd_lane
{
public:
    static constexpr int ahead = 4; //!< entries of a row that are fetched beforehand
    using tables = fdtd_tables<T, fdtd_pointer>;

    //! \param marks  room for `Rows` marks of this lane
    CUDAPHY_LANE
    fdtd_lane(const tables& t, int warp, int warps, int lane, fdtd_fetched_mark<T>* marks)
        : d_tables(t), d_marks(marks), d_warp(warp), d_warps(warps), d_lane(lane)
    {
    }

    /*!
     * Updates tiles block, block + blocks, ... of a phase.
     * \param wait  called once, before the state is touched
     * \param not_finite  called if a probe is not finite
     */
    template <typename Wait, typename Report>
    CUDAPHY_LANE void update(const fdtd_phase& phase,
                             const fdtd_step<T>& step,
                             int block,
                             int blocks,
                             fdtd_pending<T>& pending,
                             const Wait& wait,
                             const Report& not_finite)
    {
        d_phase = &phase;
        d_blocks = blocks;
        d_coming = phase.tiles + block;
        d_units = d_unit = 0;
        bool more = advance();
        uint32_t word[Rows];
        strip rows;
        if (more) {
            peek(word);
            fetch(word, step, rows);
        }
        wait();
        while (more) {
            T sum[Rows], x[Rows][ahead];
            gather(step, rows, sum, x);
            more = advance();
            if (more) {
                peek(word);
            }
            finish(step, rows, sum, x, pending, not_finite);
            if (more) {
                fetch(word, step, rows);
            }
        }
    }

    //! Works on the marks of a phase between updates: every `lanes`-th mark from `lane`
    //! on.
    template <typename Report>
    CUDAPHY_LANE void between(const fdtd_phase& phase,
                              const fdtd_step<T>& step,
                              int lane,
                              int lanes,
                              const Report& not_finite)
    {
        for (auto m = phase.marks + lane; m < phase.marks_end; m += lanes) {
            const auto mark = d_tables.marks[m];
            auto value = step.state[mark.element];
            if (mark.what & fdtd_mark::has_source) {
                value = fdtd_driven(d_tables, m, mark.sources, value, step);
                step.state[mark.element] = value;
            }
            fdtd_pending<T> pending{ m, value };
            write(step, pending, not_finite);
        }
    }

    //! Writes the probes that are pending.
    template <typename Report>
    CUDAPHY_LANE void
    write(const fdtd_step<T>& step, fdtd_pending<T>& pending, const Report& not_finite)
    {
        if (pending.mark < 0) {
            return;
        }
        fdtd_write_probes(d_tables, pending.mark, pending.value, step, not_finite);
        pending.mark = -1;
    }

private:
    //! Rows, fetched from the tables.
    struct strip {
        int32_t element[Rows]; //!< -1: none
        uint32_t from[Rows];   //!< the code, or block_flag and the place of the block
        int32_t count[Rows];   //!< entries; with is_marked if the row has a mark
        int32_t column[Rows][ahead];
        T value[Rows][ahead];
    };
    static constexpr int is_marked = 1 << 30;
    static constexpr uint32_t block_flag = 1u << 31;
    static constexpr bool has_blocks =
        Format == sparse_format::dictionary || Format == sparse_format::subdivided_crs;

    //! Goes to the lane's next rows, in this tile or another. \returns false if none are
    //! left
    CUDAPHY_LANE bool advance()
    {
        d_unit += d_warps * Rows;
        while (d_unit >= d_units) {
            if (d_coming >= d_phase->tiles_end) {
                return false;
            }
            d_tile = fdtd_load_16<fdtd_tile>(d_tables.tiles + d_coming);
            d_units = words();
            if constexpr (has_blocks) {
                d_units += d_tables.tiles[d_coming + 1].blocks - d_tile.blocks;
            }
            d_unit = d_warp;
            d_coming += d_blocks;
        }
        return true;
    }

    CUDAPHY_LANE int rows() const { return int(d_tile.rows & ~fdtd_marked); }

    //! The number of the tile's units that are words; in crs and diagonal, groups of 32
    //! rows.
    CUDAPHY_LANE int words() const
    {
        return Format == sparse_format::subdivided_crs
                   ? 0
                   : (rows() + fdtd_slice - 1) / fdtd_slice;
    }

    //! The number of the lane's r-th next unit; words come before blocks.
    CUDAPHY_LANE int unit(int r) const { return d_unit + r * d_warps; }

    CUDAPHY_LANE void peek(uint32_t* word) const
    {
        if constexpr (Format == sparse_format::dictionary) {
            CUDAPHY_UNROLL
            for (int r = 0; r < Rows; ++r) {
                word[r] = 0;
                if (unit(r) < words()) {
                    word[r] = d_tables.words[d_tile.words + unit(r)];
                }
            }
        }
    }

    CUDAPHY_LANE void
    fetch(const uint32_t* word, const fdtd_step<T>& step, strip& s) const
    {
        CUDAPHY_UNROLL
        for (int r = 0; r < Rows; ++r) {
            s.element[r] = -1;
            s.from[r] = 0;
            if (unit(r) < words()) {
                const int row = unit(r) * fdtd_slice + d_lane;
                if (row < rows()) {
                    s.element[r] = d_tile.first + row;
                }
                if constexpr (Format == sparse_format::dictionary) {
                    s.from[r] = code_of(word[r]);
                    s.element[r] = s.from[r] ? s.element[r] : -1;
                }
            } else if (unit(r) < d_units) {
                s.from[r] = uint32_t(d_tile.blocks + unit(r) - words()) | block_flag;
            }
        }
        CUDAPHY_UNROLL
        for (int r = 0; r < Rows; ++r) {
            s.count[r] = load(s.from[r], s.element[r], 0, s.column[r], s.value[r]);
        }
        if (d_tile.rows & fdtd_marked) {
            CUDAPHY_UNROLL
            for (int r = 0; r < Rows; ++r) {
                find_mark(step, s, r);
            }
        }
        CUDAPHY_UNROLL
        for (int r = 0; r < Rows; ++r) { // rows without work are not read
            s.element[r] = s.count[r] ? s.element[r] : -1;
        }
    }

    CUDAPHY_LANE uint32_t code_of(uint32_t word) const
    {
        if (word & fdtd_mixed) {
            const size_t place = size_t(word & ~fdtd_mixed) * fdtd_slice + d_lane;
            return d_tables.codes[d_phase->codes + d_tables.numbers[place]];
        }
        return word;
    }

    //! Loads entries begin ... begin + 3 of a row, if it has so many, with their columns
    //! in the state. Finds the element of a row of a block. \returns how many entries the
    //! row has
    CUDAPHY_LANE int
    load(uint32_t from, int32_t& element, int begin, int32_t* column, T* value) const
    {
        if constexpr (Format == sparse_format::crs) {
            if (element < 0) {
                return 0;
            }
            const auto* start =
                d_tables.row_start + d_phase->entries + (element - d_phase->first);
            const auto place = start[0];
            const int count = int(start[1] - place);
            load_explicit(count, begin, place, column, value);
            return count;
        } else if constexpr (Format == sparse_format::diagonal) {
            if (element < 0) {
                return 0;
            }
            const int count = d_phase->diagonals_end - d_phase->diagonals;
            CUDAPHY_UNROLL
            for (int j = 0; j < ahead; ++j) {
                value[j] = fdtd_numbers<T>::nan;
                if (begin + j < count) {
                    value[j] = d_tables.values[d_phase->entries +
                                               int64_t(begin + j) * d_phase->rows +
                                               (element - d_phase->first)];
                    column[j] =
                        element + d_tables.diagonals[d_phase->diagonals + begin + j];
                }
            }
            return count;
        } else {
            if (from & block_flag) {
                const auto block =
                    fdtd_load_16<fdtd_block>(d_tables.blocks + (from & ~block_flag));
                const fdtd_block_shape shape(block);
                if (d_lane >= shape.rows) {
                    return 0;
                }
                fdtd_block_row<T> row(d_tables, block, shape, d_lane);
                element = row.element;
                row.skip(begin);
                CUDAPHY_UNROLL
                for (int j = 0; j < ahead; ++j) {
                    if (begin + j < shape.entries) {
                        row.read(column[j], value[j]);
                    }
                }
                return shape.entries;
            }
            const int count = from & fdtd_pattern_entries;
            const auto* entries = d_tables.pattern_entries + size_t(from >> 8) * 2;
            struct pair {
                fdtd_entry<T> entry[16 / sizeof(fdtd_entry<T>)];
            };
            constexpr int together = 16 / sizeof(fdtd_entry<T>);
            CUDAPHY_UNROLL
            for (int j = 0; j < ahead; j += together) {
                if (begin + j < count) {
                    const auto some = fdtd_load_16<pair>(entries + begin + j);
                    CUDAPHY_UNROLL
                    for (int i = 0; i < together; ++i) {
                        column[j + i] = element + some.entry[i].offset;
                        value[j + i] = some.entry[i].value;
                    }
                }
            }
            return count;
        }
    }

    CUDAPHY_LANE void
    load_explicit(int count, int begin, int64_t place, int32_t* column, T* value) const
    {
        CUDAPHY_UNROLL
        for (int j = 0; j < ahead; ++j) {
            if (begin + j < count) {
                const auto at = place + begin + j;
                column[j] = fdtd_load_once(d_tables.columns + at);
                value[j] = fdtd_load_once(d_tables.values + at);
            }
        }
    }

    CUDAPHY_LANE void find_mark(const fdtd_step<T>& step, strip& s, int r) const
    {
        const auto begin = fdtd_find_mark(*d_phase, d_tables.marks, s.element[r]);
        if (s.element[r] < 0 || begin == d_phase->marks_end) {
            return;
        }
        const auto mark = fdtd_load_16<fdtd_mark>(d_tables.marks + begin);
        if (mark.element != s.element[r]) {
            return;
        }
        s.count[r] |= is_marked;
        d_marks[r] = { begin, mark.what, 0, 0 };
        if (mark.what & fdtd_mark::has_source) {
            const auto source = d_tables.sources[mark.sources];
            d_marks[r].gain = source.coefficient;
            d_marks[r].drive = step.excitation(source.column);
        }
    }

    static CUDAPHY_LANE T add(T value, T x, T sum)
    {
        if constexpr (Format == sparse_format::diagonal) {
            return value == value ? fdtd_fused(value, x, sum) : sum;
        } else {
            return fdtd_fused(value, x, sum);
        }
    }

    //! Loads the elements of the rows, and the elements that their entries take.
    CUDAPHY_LANE void
    gather(const fdtd_step<T>& step, const strip& s, T* sum, T (*x)[ahead]) const
    {
        CUDAPHY_UNROLL
        for (int r = 0; r < Rows; ++r) {
            if (s.element[r] >= 0) {
                sum[r] = step.state[s.element[r]];
                CUDAPHY_UNROLL
                for (int j = 0; j < ahead; ++j) {
                    if (j < (s.count[r] & ~is_marked) && present(s.value[r][j])) {
                        x[r][j] = step.state[s.column[r][j]];
                    }
                }
            }
        }
    }

    template <typename Report>
    CUDAPHY_LANE void finish(const fdtd_step<T>& step,
                             strip& s,
                             T* sum,
                             const T (*x)[ahead],
                             fdtd_pending<T>& pending,
                             const Report& not_finite)
    {
        CUDAPHY_UNROLL
        for (int r = 0; r < Rows; ++r) {
            if (s.element[r] < 0) {
                continue;
            }
            const int count = s.count[r] & ~is_marked;
            CUDAPHY_UNROLL
            for (int j = 0; j < ahead; ++j) {
                if (j < count) {
                    sum[r] = add(s.value[r][j], x[r][j], sum[r]);
                }
            }
            for (int begin = ahead; begin < count; begin += ahead) {
                load(s.from[r], s.element[r], begin, s.column[r], s.value[r]);
                CUDAPHY_UNROLL
                for (int j = 0; j < ahead; ++j) {
                    if (begin + j < count && present(s.value[r][j])) {
                        sum[r] = add(s.value[r][j], step.state[s.column[r][j]], sum[r]);
                    }
                }
            }
        }
        CUDAPHY_UNROLL
        for (int r = 0; r < Rows; ++r) {
            if (s.element[r] < 0) {
                continue;
            }
            T value = fdtd_settled(sum[r]);
            if (s.count[r] & is_marked) {
                value = visit(d_marks[r], value, step, pending, not_finite);
            }
            step.state[s.element[r]] = value;
        }
    }

    template <typename Report>
    CUDAPHY_LANE T visit(const fdtd_fetched_mark<T>& m,
                         T value,
                         const fdtd_step<T>& step,
                         fdtd_pending<T>& pending,
                         const Report& not_finite)
    {
        if (m.what & fdtd_mark::has_source) {
            value = fdtd_driven_by(m.what & fdtd_mark::hard, m.gain, m.drive, value);
        }
        if (m.what & fdtd_mark::more_sources) {
            value = fdtd_driven(
                d_tables, m.mark, d_tables.marks[m.mark].sources + 1, value, step);
        }
        if (m.what & fdtd_mark::has_probes) {
            write(step, pending, not_finite);
            pending = { m.mark, value };
        }
        return value;
    }

    static CUDAPHY_LANE bool present(T value)
    {
        return Format != sparse_format::diagonal || value == value;
    }

    const tables& d_tables;
    fdtd_fetched_mark<T>* const d_marks;
    const int d_warp, d_warps, d_lane;
    const fdtd_phase* d_phase = nullptr;
    int d_blocks = 1;
    int d_coming = 0; //!< the next tile
    fdtd_tile d_tile{};
    int d_units = 0; //!< of the tile: words and blocks
    int d_unit = 0;
};

} // namespace gr::cudaphy::kernels
