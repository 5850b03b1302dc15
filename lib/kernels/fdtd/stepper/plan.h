/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/fdtd_system.h>
#include <gnuradio/cudaphy/kernels/sparse_product.h>

// An FDTD system as tables, from which the vectors of the CPU and the warps of CUDA work.
// A phase is an update, cut into tiles of consecutive rows; or the work of sources and
// probes between updates. Tiles of a phase that read the same elements follow each other.
// So three components of a field that lie far apart in the state are read from memory
// once, not twice.
//
// Tables of a tile:
// - dictionary, CUDA: words, one for every 32 rows in their natural order
// - dictionary, CPU: runs of rows of one pattern
// - dictionary, large system, CUDA: pieces of such runs
// - subdivided rows, large system, CUDA: pieces of runs whose rows share column offsets
// - all other rows: blocks of up to 32 rows with the same number of entries. Each block
// is a dense matrix, entry by entry: source 5's subdivision, applied tile by tile so that
// rows that read the same elements stay together.

namespace gr::cudaphy::kernels {

constexpr int32_t fdtd_slice = 32; //!< rows of a word, and at most of a block
//! On a CPU so many consecutive rows make a block of their own.
constexpr size_t fdtd_least_cpu_block_rows = 8;
//! On a CPU so many consecutive rows of a pattern make a run.
constexpr int fdtd_least_cpu_run_rows = 4;

struct fdtd_phase {
    int32_t tiles, tiles_end;
    int32_t marks, marks_end;
    int32_t first, rows; //!< the run of the state that the update changes
    int32_t diagonals, diagonals_end;
    int32_t codes;   //!< the place of its first code
    int32_t between; //!< 1: no update, only marks
    int64_t entries; //!< crs: its first row_start; diagonal: its first value
};

struct fdtd_tile {
    int32_t first; //!< its first element in the state
    uint32_t rows; //!< number of rows; with fdtd_marked if one of them has a mark
    //! The place of the first word, run or piece; they end where the next tile's begin.
    int32_t words;
    int32_t blocks; //!< the place of the first block; ends alike
};
constexpr uint32_t fdtd_marked = 1u << 31;

//! A word is one code for all 32 rows, or fdtd_mixed and the place of 32 numbers of
//! codes. A code is the place of a pattern's first pair of entries, and in its low 8 bits
//! the number of entries. A row without entries has fdtd_code_empty. A row that stands in
//! a block, or does not exist, has code 0.
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

//! The part of a run that one warp updates; or rows of short runs.
//! subdivided_crs: rows of a run share column offsets only. Ignore the code's values; the
//! run's own values are stored entry-major ([entry][row]). dictionary: a sequence is a
//! series of short runs that recurs in the state. Its rows share entries, which are
//! stored entry-major, too. A piece has up to most_sequences of them at equal distances.
struct fdtd_piece {
    //! A multiple of 32, up to 31 elements before the run's first row. With code 0: the
    //! place of 32 single rows.
    int32_t first;
    uint32_t code; //!< 0: rows of short runs
    //! rows_of(): the first row and the end, counted from `first`; and the distance from
    //! an entry to the next.
    uint32_t rows;
    //! Subdivided rows: the place of the values, divided by values_apart. It is that of
    //! the last row up to the first whose element is a multiple of values_apart.
    //! Sequences: sequences_of(), their number and distance.
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

constexpr int32_t fdtd_no_entry = INT32_MIN; //!< the offset of an entry that a row lacks

struct fdtd_single {
    int32_t element; //!< -1: none
    uint32_t code;
};
constexpr int64_t fdtd_short_run = 16; //!< rows; shorter runs are updated row by row

//! Rows of a dense matrix, stored entry-major ([entry][row]). Columns are stored alike;
//! but if all columns of an entry have one distance from their rows' elements, only that
//! distance is stored. On a grid nearly all entries do.
struct fdtd_block {
    int32_t rows; //!< the first row if they are consecutive, else ~(place of 32 rows)
    //! shape_of(): entries a row; 8 bits, which of the first 8 entries have one distance;
    //! rows - 1.
    uint32_t shape;
    //! Places of the first ones, divided by the constants below.
    uint32_t values, columns;
    static constexpr size_t values_apart = 32, columns_apart = 8;

    static constexpr int64_t most_entries = (1 << 19) - 1;
    static constexpr uint32_t shape_of(int64_t entries, uint32_t distances, int rows)
    {
        return uint32_t(entries) << 13 | distances << 5 | uint32_t(rows - 1);
    }
};

//! An element on which sources act, or that a probe reads, in a phase. `sources` and
//! `probes` are places of the first ones; they end where the next mark's begin.
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

//! All tables, in vectors of the host or as pointers.
template <typename T, template <typename> class Storage>
struct fdtd_tables {
    Storage<fdtd_phase> phases;
    Storage<fdtd_tile> tiles; //!< one more than there are, as the end
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
    Storage<fdtd_mark> marks; //!< phase by phase, ascending elements; one more as the end
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

//! The unit of a dictionary's tiles.
enum class fdtd_units { words, runs, pieces };

template <typename T>
struct fdtd_plan {
    fdtd_tables<T, fdtd_on_host> tables;
    int32_t tile_rows = 0;   //!< a multiple of 32
    size_t matrix_bytes = 0; //!< of the tables, for the matrices alone
    int32_t most_tiles = 0;  //!< of the phase with the most tiles

    static constexpr int32_t piece_rows = 512 / sizeof(T); //!< of a piece at most

    //! Whether pieces of a dictionary have sequences.
    bool has_sequences = false;

    //! \throws std::invalid_argument if the format does not suit a matrix.
    static fdtd_plan make(const fdtd_system<T>& system,
                          sparse_format format,
                          int32_t tile_rows,
                          fdtd_units units);
};

//! The numbers of the tiles of a matrix, ordered so that tiles that read the same
//! elements are neighbours.
template <typename T>
std::vector<int32_t> fdtd_tile_order(const sparse_matrix<T>& a, int32_t tile_rows);

//! Which workers wait for which. `blocks` workers take tiles `worker`, `worker + blocks`,
//! ... of every phase. Two workers are neighbours if one reads elements that the other
//! changes. Worker b's neighbours are neighbours[start[b] ... start[b + 1]). A worker
//! that has done n phases waits until its neighbours have done n. Then the elements that
//! it reads are up to date, and nobody still reads the elements that it changes.
struct fdtd_neighbours {
    std::vector<int32_t> start, neighbours;

    template <typename T>
    static fdtd_neighbours
    find(const fdtd_system<T>& system, const fdtd_plan<T>& plan, int32_t blocks);
};

} // namespace gr::cudaphy::kernels
