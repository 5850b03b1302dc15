/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <optional>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief ldpc_circulant_plan as tables for a GPU: strings of Z bits, and their sums in
 * phases. Sums of a phase do not depend on each other, but for those of a chain, each of
 * which is the sum before it and its own terms.
 */
struct ldpc_circulant_tables {
    //! Nothing if the code has no circulants, or needs more than sums of rotated strings.
    static std::optional<ldpc_circulant_tables> make(const ldpc_code& code);

    int z = 0, k = 0, n = 0, strings = 0;
    std::vector<char> rotated; //!< whether a string is read rotated, (strings)
    //! A string's bits first..end - 1 are information bits offset + first..., others are
    //! 0.
    struct input {
        int32_t string, offset, first, end;
    };
    std::vector<input> inputs;
    struct phase {
        int32_t first, last; //!< sums
        int32_t is_chain;
    };
    std::vector<phase> phases;
    struct sum {
        int32_t to;    //!< string
        int32_t first; //!< term
    };
    std::vector<sum> sums; //!< and one behind the last
    struct term {
        int32_t string, rotation;
    };
    std::vector<term> terms;
    struct run {
        int32_t string, first, bits;
    };
    std::vector<run> outputs; //!< of the codeword
};

} // namespace gr::cudaphy::kernels
