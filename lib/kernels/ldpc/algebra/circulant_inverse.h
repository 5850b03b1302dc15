/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <cstdint>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <optional>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief A circulant of Z bits, Z a power of two from 128 on, as the polynomial over
 * GF(2) modulo x^Z + 1 by which it multiplies a string.
 *
 * A string that is read from bit i on is the string times x^-i. As x^Z + 1 = (x + 1)^Z,
 * an odd number of ones makes a circulant regular, and its Z-th power is 1.
 */
class ldpc_circulant_sum
{
public:
    explicit ldpc_circulant_sum(int lifting_size) : d_words(lifting_size / 64) {}

    //! Whether all circulants are whole ones of such a Z.
    static bool serves(const ldpc_circulants&);

    bool is_regular() const { return weight() % 2 == 1; }
    int weight() const;
    int lifting_size() const { return static_cast<int>(64 * d_words.size()); }
    bool has(int bit) const { return d_words[bit / 64] >> bit % 64 & 1; }
    const std::vector<uint64_t>& words() const { return d_words; }

    //! Adds `other`, its string read from bit `rotation` on.
    void add(const ldpc_circulant_sum& other, int rotation = 0);
    //! Adds the circulant that reads from bit `rotation` on.
    void add(int rotation);
    ldpc_circulant_sum operator*(const ldpc_circulant_sum&) const;
    //! The inverse; the circulant must be regular.
    ldpc_circulant_sum inverse() const;

private:
    std::vector<uint64_t> d_words; //!< coefficient i: bit i mod 64 of word i / 64
};

using ldpc_circulant_matrix = std::vector<std::vector<ldpc_circulant_sum>>;

//! The matrix, (columns, rows), that gives x from m x; 0 for rows that it does not need.
//! Nothing if m, (rows, columns), lacks full column rank.
std::optional<ldpc_circulant_matrix> invert(ldpc_circulant_matrix m);

/*!
 * The matrix, (aside, left), that gives the strings set aside from the sums of the other
 * strings in the block rows `left`. Nothing if these rows do not determine them.
 * \param z      bits of a string
 * \param rows   the circulants of each block row
 * \param steps  circulants that give their columns, in this order
 */
std::optional<ldpc_circulant_matrix>
solve_aside(int z,
            const std::vector<std::vector<ldpc_circulants::circulant>>& rows,
            const std::vector<ldpc_circulants::circulant>& steps,
            const std::vector<int>& aside,
            const std::vector<int>& left);

} // namespace gr::cudaphy::kernels
