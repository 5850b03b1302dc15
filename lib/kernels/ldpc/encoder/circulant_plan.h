/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <optional>

namespace gr::cudaphy::kernels {

/*!
 * \brief How to encode one word of a quasi-cyclic code by whole circulants.
 *
 * A block column of Z bits is a string, and a circulant reads a rotated string: bit i of
 * a sum is the sum of bits (i + rotation) mod Z of its terms. A block row with one
 * unknown string gives that string. If there is none, a block column is set aside, as
 * ldpc_encoding_plan does bit by bit. In the end the remaining block rows give the
 * strings set aside, in one of three ways:
 * - by circulants, if the inverse is as sparse as that of 802.11n and 5G NR;
 * - by products with circulants of many ones, if Z is a power of two (CCSDS AR4JA);
 * - else by a dense matrix (360 x 360 for DVB-S2, where the inverse is a running sum).
 *
 * The arrays are used in this order: inputs, sums, dense, late_sums, outputs.
 */
struct ldpc_circulant_plan {
    //! Nothing if the code has no circulants, or if it is faster bit by bit.
    static std::optional<ldpc_circulant_plan> make(const ldpc_code& code);

    int lifting_size = 0;
    int strings = 0; //!< block columns first
    //! Whether a string is read rotated, (strings)
    std::vector<char> rotated;

    //! Information bits info..info + bits - 1 are the bits first..first + bits - 1 of a
    //! string, whose others are 0.
    struct input_run {
        int info, string, first, bits;
    };
    std::vector<input_run> input_runs;
    //! One information bit in a string that also has parity bits.
    struct bit {
        int info, string, bit;
    };
    std::vector<int> mixed; //!< strings to which single bits go; 0 before
    std::vector<bit> input_bits;

    struct term {
        int from, rotation;
        int missing = -1; //!< the bit of the sum that this term leaves out, or -1
    };
    //! String `to` becomes the sum of terms[last of the sum before]..terms[last - 1].
    struct sum {
        int to, last;
    };
    std::vector<term> terms;
    std::vector<sum> sums, late_sums; //!< late_sums follow sums in `terms`

    //! Adds, for each one in the strings `dense_from`, a row of `dense_words` words into
    //! the strings `dense_to`, each of them string_words() long.
    std::vector<int> dense_from, dense_to;
    std::vector<uint64_t> dense; //!< (dense_from, Z, dense_to, string_words())
    //! Or, instead of them, adds each string's product with a circulant, as
    //! circulant_factor() has it: (dense_to, dense_from, 2 Z / 64).
    std::vector<uint64_t> factors;
    int string_words() const { return (lifting_size + 511) / 512 * 8; }

    struct run {
        int string, first, bits;
    };
    //! The codeword: runs of bits of strings, then bit j of each of the strings
    //! interleaved.. interleaved + ways - 1, for j = 0..Z - 1.
    std::vector<run> outputs;
    int interleaved = 0, ways = 0;
};

} // namespace gr::cudaphy::kernels
