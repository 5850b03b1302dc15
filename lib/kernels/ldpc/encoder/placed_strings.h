/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/encoder/circulant_tables.h"

namespace gr::cudaphy::kernels {

/*!
 * \brief ldpc_circulant_tables with strings placed in words of 32 bits, one after
 * another.
 *
 * A string that is read rotated stands there twice in a row, so that every rotation is a
 * read from another bit on.
 */
struct ldpc_placed_strings {
    static constexpr int least_z = 32, most_z = 512;
    //! Nothing if Z is another, or 32 bits of a codeword come from more than two strings.
    static std::optional<ldpc_placed_strings> make(const ldpc_circulant_tables&);

    //! Words of the strings and of 64 zeros. Then the information follows, behind which
    //! as many words are read as a string has.
    int words = 0;
    //! As ldpc_circulant_tables has it; `to`: the string's word << 1, and 1 if it stands
    //! there twice.
    struct input {
        int32_t to, offset, first, end;
    };
    std::vector<input> inputs;
    struct sum {
        int32_t to, first;
    };
    std::vector<sum> sums;
    std::vector<uint32_t> terms; //!< the bits where they begin
    //! Of each 32 bits of a codeword: the bit where they begin << 6 and how many they
    //! are, and the bit where the others begin.
    struct place {
        uint32_t first, second;
    };
    std::vector<place> outputs;
};

} // namespace gr::cudaphy::kernels
