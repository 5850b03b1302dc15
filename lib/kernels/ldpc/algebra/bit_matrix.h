/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::cudaphy::kernels {

//! A dense matrix over GF(2); a word holds 64 columns.
class bit_matrix
{
public:
    bit_matrix() = default;
    bit_matrix(size_t rows, size_t columns)
        : d_rows(rows), d_words((columns + 63) / 64), d_bits(rows * d_words)
    {
    }

    size_t rows() const { return d_rows; }
    void set(size_t row, size_t column)
    {
        d_bits[row * d_words + column / 64] |= uint64_t{ 1 } << column % 64;
    }
    bool get(size_t row, size_t column) const
    {
        return d_bits[row * d_words + column / 64] >> column % 64 & 1;
    }

    //! visit(column) for each one in a row, ascending.
    template <typename Visit>
    void for_each_one(size_t row, Visit visit) const
    {
        for (size_t w = 0; w < d_words; ++w) {
            for (uint64_t ones = d_bits[row * d_words + w]; ones; ones &= ones - 1) {
                visit(64 * w + __builtin_ctzll(ones));
            }
        }
    }

    //! Adds row `from` of `other`, which has as many columns; it may be this matrix.
    void add(size_t row, const bit_matrix& other, size_t from)
    {
        add_words(row, other, from, d_words);
    }
    //! As add(), but only the first `words` words of columns.
    void add_words(size_t row, const bit_matrix& other, size_t from, size_t words)
    {
        uint64_t* sum = d_bits.data() + row * d_words;
        const uint64_t* added = other.d_bits.data() + from * d_words;
        for (size_t w = 0; w < words; ++w) {
            sum[w] ^= added[w];
        }
    }

    //! A row's columns, 64 a word.
    uint64_t* words(size_t row) { return d_bits.data() + row * d_words; }
    const uint64_t* words(size_t row) const { return d_bits.data() + row * d_words; }

    //! The sum of the products of row `row` and row `with` of `other`, which has as many
    //! columns.
    bool product(size_t row, const bit_matrix& other, size_t with) const
    {
        uint64_t sum = 0;
        for (size_t w = 0; w < d_words; ++w) {
            sum ^= d_bits[row * d_words + w] & other.d_bits[with * d_words + w];
        }
        for (int half = 32; half > 0; half /= 2) {
            sum ^= sum >> half;
        }
        return sum & 1;
    }

private:
    size_t d_rows = 0, d_words = 0;
    std::vector<uint64_t> d_bits;
};

//! The indices of a largest set of independent rows, ascending.
inline std::vector<int> independent_rows(bit_matrix m, size_t columns)
{
    std::vector<char> taken(m.rows());
    for (size_t c = 0; c < columns; ++c) {
        size_t pivot = 0;
        while (pivot < m.rows() && (taken[pivot] || !m.get(pivot, c))) {
            ++pivot;
        }
        if (pivot == m.rows()) {
            continue;
        }
        taken[pivot] = 1;
        for (size_t r = 0; r < m.rows(); ++r) {
            if (!taken[r] && m.get(r, c)) {
                m.add(r, m, pivot);
            }
        }
    }
    std::vector<int> rows;
    for (size_t r = 0; r < m.rows(); ++r) {
        if (taken[r]) {
            rows.push_back(static_cast<int>(r));
        }
    }
    return rows;
}

//! The inverse of a regular square matrix.
inline bit_matrix inverse_of(bit_matrix m)
{
    // Rows are not swapped: in the end row pivot[c] has its only one in column c.
    const size_t n = m.rows();
    bit_matrix right(n, n);
    std::vector<size_t> pivot(n);
    std::vector<char> taken(n);
    for (size_t r = 0; r < n; ++r) {
        right.set(r, r);
    }
    for (size_t c = 0; c < n; ++c) {
        size_t p = 0;
        while (taken[p] || !m.get(p, c)) {
            ++p;
        }
        taken[p] = 1;
        pivot[c] = p;
        for (size_t r = 0; r < n; ++r) {
            if (r != p && m.get(r, c)) {
                m.add(r, m, p);
                right.add(r, right, p);
            }
        }
    }
    bit_matrix inverse(n, n);
    for (size_t c = 0; c < n; ++c) {
        inverse.add(c, right, pivot[c]);
    }
    return inverse;
}

} // namespace gr::cudaphy::kernels
