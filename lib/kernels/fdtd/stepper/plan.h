/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/fdtd_system.h>
#include <gnuradio/cudaphy/kernels/sparse_product.h>

// An FDTD system as the vectors of the CPU and the warps of CUDA go through it. A phase
// is an update, cut into tiles of consecutive rows; or what sources and probes do between
// updates. The tiles of a phase come in an order in which those that read the same
// elements follow each other, so that three components of a field that lie far apart
// in the state are read from memory once, not twice.
//
// Of a dictionary a tile has words for CUDA, one for every 32 of its rows in their
// natural order, or runs of rows of one pattern for the CPU, or, of a large system for
// CUDA, pieces of such runs. Of subdivided rows it has in a large system for CUDA pieces
// of runs whose columns have the same distances. All other rows stand in blocks of up to
// 32 with the same number of entries, each a dense matrix, entry by entry: source 5's
// subdivision, tile by tile, which keeps together what reads the same elements.

namespace gr::cudaphy::kernels {

constexpr int32_t fdtd_slice = 32; //!< rows of a word and of a block at most
constexpr size_t fdtd_alone = 8;   //!< rows that follow each other: a block on a CPU
constexpr int fdtd_few = 4;        //!< fewer of a pattern are no run on a CPU

struct fdtd_phase {
    int32_t tiles, tiles_end;
    int32_t marks, marks_end;
    int32_t first, rows; //!< the run of the state that the update changes
    int32_t diagonals, diagonals_end;
    int32_t codes;   //!< the place of its first code
    int32_t between; //!< 1: no update, all there is are marks
    int64_t entries; //!< crs: its first row_start; diagonal: its first value
};

struct fdtd_tile {
    int32_t first;  //!< its first element in the state
    uint32_t rows;  //!< and, in the highest bit, whether there are marks among them
    int32_t words;  //!< the place of its first word, run or piece; the next tile's is the
                    //!< end
    int32_t blocks; //!< the same of blocks
};
constexpr uint32_t fdtd_marked = 1u << 31;

//! A word is a code that all 32 rows have, or the highest bit and the place of 32 numbers
//! of codes. A code has the place of a pattern's first pair of entries and, in its low 8
//! bits, its number of entries; none at all is code_empty, and rows that stand in a block
//! or don't exist have code 0.
constexpr uint32_t fdtd_mixed = 1u << 31;
constexpr uint32_t fdtd_code_empty = 1u << 8;
constexpr int fdtd_pattern_entries = 255; //!< at most

template <typename T>
struct alignas(2 * sizeof(T)) fdtd_entry {
    int32_t offset; //!< from the row's own element
    T value;
};

//! Consecutive rows with the same code.
struct fdtd_run {
    int32_t first, count; //!< of elements in the state
    uint32_t code;
};

//! The part of a run that a warp does together; or rows of short runs. In subdivided
//! rows a run's have the same distances alone: the values of its code are of no meaning,
//! and its own stand entry by entry, each for all rows of the run. In a dictionary rows
//! of short runs that follow each other in the same way again and again share entries,
//! which stand entry by entry, too; a piece has a few of such sequences at equal
//! distances.
struct fdtd_piece {
    int32_t first; //!< of a run: a multiple of 32, up to 31 elements before its first row
    uint32_t code; //!< 0: of short runs; `first` is the place of 32 single rows
    uint32_t rows; //!< begin and end, counted from `first`; apart from entry to entry
    //! Of subdivided rows: place of values of the last row before the first, or itself,
    //! whose element is a multiple of values_apart, divided by that. Of sequences: how
    //! many, and how far apart.
    uint32_t values;

    static constexpr int32_t values_apart = 8;
    static constexpr int32_t most_sequences = 4, most_apart = (1 << 24) - 1;
    static constexpr uint32_t sequences_of(int32_t number, int32_t apart)
    {
        return uint32_t(number) << 24 | uint32_t(apart);
    }
    static constexpr uint32_t rows_of(int32_t begin, int32_t end, int32_t stride)
    {
        return uint32_t(begin) | uint32_t(end) << 8 |
               uint32_t(stride / values_apart) << 16;
    }
};

constexpr int32_t fdtd_no_entry = INT32_MIN; //!< an offset where a row has fewer entries

struct fdtd_single {
    int32_t element; //!< -1: none
    uint32_t code;
};
constexpr int64_t fdtd_short_run = 16; //!< rows: shorter runs go row by row

//! Values stand entry by entry, each for all rows. So do columns; but where an entry's
//! are at one distance from their rows' own elements that distance stands alone, which on
//! a grid is nearly everywhere.
struct fdtd_block {
    int32_t rows; //!< the first, if they are consecutive, or ~(place of 32 rows)
    //! Entries a row; 8 bits: which of the first 8 have one distance; rows - 1.
    uint32_t shape;
    uint32_t values, columns; //!< places of the first, divided by these:
    static constexpr size_t values_apart = 32, columns_apart = 8;

    static constexpr int64_t most_entries = (1 << 19) - 1;
    static constexpr uint32_t shape_of(int64_t entries, uint32_t distances, int rows)
    {
        return uint32_t(entries) << 13 | distances << 5 | uint32_t(rows - 1);
    }
};

//! An element on which sources act, or that a probe reads, in a phase. `sources` and
//! `probes` are places of the first; the next mark's are the ends.
struct fdtd_mark {
    int32_t element, sources, probes;
    int32_t what;
    static constexpr int32_t has_source = 1, hard = 2, more_sources = 4, has_probes = 8;
};

template <typename T>
struct fdtd_source {
    T coefficient;
    int32_t column; //!< of the excitation
    int32_t hard;
};

template <typename T>
struct fdtd_probe {
    T coefficient;
    int32_t column; //!< of the probes
};

//! All tables, in one storage or another.
template <typename T, template <typename> class Storage>
struct fdtd_tables {
    Storage<fdtd_phase> phases;
    Storage<fdtd_tile> tiles; //!< and one more
    Storage<uint32_t> words;
    Storage<fdtd_run> runs;
    Storage<fdtd_piece> pieces;
    Storage<fdtd_single> singles;
    Storage<uint16_t> numbers;
    Storage<uint32_t> codes;
    Storage<fdtd_entry<T>> pattern_entries;
    Storage<fdtd_block> blocks;
    Storage<int32_t> block_rows;
    Storage<int32_t> columns;
    Storage<T> values;
    Storage<int64_t> row_start;
    Storage<int32_t> diagonals; //!< offsets from a row's own element
    Storage<fdtd_mark> marks;   //!< of each phase by element; and one more
    Storage<fdtd_source<T>> sources;
    Storage<fdtd_probe<T>> probes;

    template <typename Visit>
    void for_each(const Visit& visit)
    {
        visit(phases), visit(tiles), visit(words), visit(runs), visit(pieces);
        visit(singles), visit(numbers), visit(codes), visit(pattern_entries),
            visit(blocks), visit(block_rows);
        visit(columns), visit(values), visit(row_start), visit(diagonals), visit(marks);
        visit(sources), visit(probes);
    }
};

template <typename T>
using fdtd_on_host = std::vector<T>;

//! What a dictionary's tiles have.
enum class fdtd_units { words, runs, pieces };

template <typename T>
struct fdtd_plan {
    fdtd_tables<T, fdtd_on_host> tables;
    int32_t tile_rows = 0;   //!< a multiple of 32
    size_t matrix_bytes = 0; //!< what the matrices take of the tables
    int32_t most_tiles = 0;  //!< of a phase

    static constexpr int32_t piece_rows = 512 / sizeof(T); //!< of a piece at most

    //! Whether pieces of a dictionary have sequences.
    bool has_sequences = false;

    //! \throws std::invalid_argument if the format does not suit a matrix.
    static fdtd_plan make(const fdtd_system<T>& system,
                          sparse_format format,
                          int32_t tile_rows,
                          fdtd_units units);
};

//! The numbers of the tiles of a matrix, those next to each other that read the same
//! elements.
template <typename T>
std::vector<int32_t> fdtd_tile_order(const sparse_matrix<T>& a, int32_t tile_rows);

//! Which of `blocks` workers must have finished a phase before which other goes on, where
//! each takes tile `worker`, `worker + blocks`, ... of every phase: those that read what
//! the other changes, and the other way round. Worker b's are neighbours[start[b] ...
//! start[b + 1]). One that has done so many phases waits until its neighbours have, and
//! all is in order: what it reads is there, and nobody still reads what it changes.
struct fdtd_neighbours {
    std::vector<int32_t> start, neighbours;

    template <typename T>
    static fdtd_neighbours
    find(const fdtd_system<T>& system, const fdtd_plan<T>& plan, int32_t blocks);
};

} // namespace gr::cudaphy::kernels
