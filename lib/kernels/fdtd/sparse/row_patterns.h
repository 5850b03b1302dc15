/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/sparse_matrix.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief The rows of a sparse matrix, those that are alike taken together.
 *
 * Two rows have the same pattern if they have the same offsets (column - row) and, bit
 * for bit, the same values: in the matrix of a uniform grid nearly all have one of a few.
 * Patterns that few rows have are not kept; their rows are explicit.
 *
 * Takes a time linear in the number of entries.
 */
template <typename T>
struct row_patterns {
    static constexpr uint16_t none = 0xFFFF; //!< the pattern number of explicit rows

    //! Consecutive rows of one pattern, or consecutive explicit rows.
    struct run {
        int32_t first, count;
        uint16_t pattern; //!< or `none`
    };

    //! Entries start[p] ... start[p + 1] - 1 of `offset` and `value` are those of
    //! pattern p, offsets ascending. Pattern 0 is the one with the most rows, and so on.
    std::vector<int32_t> start{ 0 };
    std::vector<int32_t> offset;
    std::vector<T> value;
    std::vector<run> runs;              //!< ascending, every row in one of them
    std::vector<int32_t> explicit_rows; //!< ascending

    size_t size() const { return start.size() - 1; } //!< patterns
    std::vector<uint16_t> of_rows() const;           //!< pattern number or `none`, (rows)

    //! \param least_rows  that a pattern must have to be kept, 1 at least
    //! \param most        patterns at most, up to 65,535; those with the most rows stay
    static row_patterns
    find(const sparse_matrix<T>& a, int64_t least_rows = 32, size_t most = none);
};

} // namespace gr::cudaphy::kernels
