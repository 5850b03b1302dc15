/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/sparse/row_patterns.h"
#include <gnuradio/cudaphy/kernels/sparse_product.h>
#include <variant>

// The formats of a sparse matrix as they lie in memory, on the host and, array by array,
// on a device.

namespace gr::cudaphy::kernels {

//! Where a tile of consecutive rows begins: at most `rows_of_tile` rows and
//! `entries_of_tile` entries, or a single row.
struct sparse_tile {
    int64_t entry;
    int32_t row, unused = 0;
};
constexpr int rows_of_tile = 256;
constexpr int entries_of_tile = 1024;

//! Compressed rows; compressed columns are those of the transposed matrix.
template <typename T>
struct compressed_layout {
    explicit compressed_layout(const sparse_matrix<T>& a);

    //! The low 32 bits of row_start: a row has fewer entries than 2^32, and a tile knows
    //! where it begins, so 4 bytes do where 8 would be read.
    std::vector<uint32_t> start;
    std::vector<sparse_tile> tiles; //!< and the end as one more
    std::vector<int32_t> column;
    std::vector<T> value;

    size_t bytes() const;
};

template <typename T>
struct crs_layout : compressed_layout<T> {
    using compressed_layout<T>::compressed_layout;
};
template <typename T>
struct ccs_layout : compressed_layout<T> {
    explicit ccs_layout(const sparse_matrix<T>& a);
};

//! Compressed rows of dense blocks. A bit says of each place whether A has an entry
//! there.
template <typename T>
struct bcrs_layout {
    bcrs_layout(const sparse_matrix<T>& a, int block);

    int block;
    int mask_bytes;              //!< of a block; bit j * block + i is row i, column j
    std::vector<int64_t> start;  //!< first block of each block row, and the end
    std::vector<int32_t> column; //!< of blocks
    std::vector<T> value;        //!< block by block, in a block column by column
    std::vector<uint8_t> mask;

    size_t bytes() const;
};

//! Up to 32 rows of the same number of entries: entry j of the chunk's row i stands at
//! entry + j * rows() + i.
struct sparse_chunk {
    int64_t entry;
    int32_t row;    //!< the first of consecutive rows; below 0: ~row is where the rows'
                    //!< numbers begin in row_list
    uint32_t shape; //!< entries() * 32 + rows() - 1

    static constexpr int most_rows = 32;
#ifdef __CUDACC__
    __host__ __device__
#endif
        int
        rows() const
    {
        return int(shape % most_rows) + 1;
    }
#ifdef __CUDACC__
    __host__ __device__
#endif
        int
        entries() const
    {
        return int(shape / most_rows);
    }
};

//! A row of so many entries that it is worth more than one thread.
struct sparse_long_row {
    int64_t entry;
    int32_t row, entries;
};
//! Rows of this many entries are long where their group does not fill chunks ...
constexpr int64_t long_row_if_alone = 128;
//! ... and these always.
constexpr int64_t long_row = 1024;

//! Rows grouped by their number of entries, a group being one dense block. Chunks of 32
//! rows make a group's memory a single stream, whose neighbouring lanes and threads read
//! neighbouring addresses, and keep the rows' numbers out of memory where they are
//! consecutive. Nothing is padded.
//!
//! For a CPU's vectors, rows that follow each other have chunks of their own, and an
//! entry whose columns do, too, has its distance from the first row's number alone: half
//! the memory, and no gather.
template <typename T>
struct subdivided_layout {
    //! Of all rows, or of those given, ascending.
    subdivided_layout(const sparse_matrix<T>& a, bool for_vectors);
    subdivided_layout(const sparse_matrix<T>& a,
                      const std::vector<int32_t>& rows,
                      bool for_vectors);

    //! For vectors: where each chunk's columns begin and then each long row's; below 0:
    //! ~the place of its first row's, which are all there are. Else empty, as columns
    //! stand where values do.
    std::vector<int64_t> columns_at;

    std::vector<sparse_chunk> chunks;
    std::vector<sparse_long_row> long_rows;
    std::vector<int32_t> row_list;
    std::vector<int32_t> column;
    std::vector<T> value;

    size_t bytes() const;

private:
    void shorten_columns();
};

template <typename T>
struct dictionary_layout {
    dictionary_layout(const sparse_matrix<T>& a, bool for_vectors);

    row_patterns<T> patterns;
    subdivided_layout<T> others;

    size_t bytes() const; //!< with a pattern number for each row
    //! Bytes of a row's pattern number: one where that is enough, the highest value being
    //! `none`.
    int number_bytes() const { return patterns.size() < 256 ? 1 : 2; }
};

//! A diagonal crosses the matrix in rows first ... end - 1.
struct sparse_diagonal {
    int32_t offset; //!< column - row
    int32_t first, end;
    int32_t holes; //!< -1: an entry in each of these rows; else its place in `present`
};

//! Whole diagonals, one after the other, a value for each row; those places where A has
//! no entry hold 0.
template <typename T>
struct diagonal_layout {
    //! \throws std::invalid_argument if they take more than eight times CRS' memory.
    explicit diagonal_layout(const sparse_matrix<T>& a);

    int64_t rows, columns;
    std::vector<sparse_diagonal> diagonals; //!< offsets ascending
    std::vector<T> value;                   //!< (diagonals, rows)
    //! (diagonals with holes, words()): bit row % 32 of word row / 32
    std::vector<uint32_t> present;

    int64_t words() const { return (rows + 31) / 32; }
    size_t bytes() const;
};

template <typename T>
using sparse_layout = std::variant<crs_layout<T>,
                                   ccs_layout<T>,
                                   bcrs_layout<T>,
                                   subdivided_layout<T>,
                                   dictionary_layout<T>,
                                   diagonal_layout<T>>;

template <typename T>
sparse_layout<T> make_sparse_layout(const sparse_matrix<T>& a,
                                    const typename sparse_product<T>::parameters&,
                                    bool for_vectors = false);

template <typename T>
size_t bytes_of(const std::vector<T>& items)
{
    return items.size() * sizeof(T);
}

} // namespace gr::cudaphy::kernels
