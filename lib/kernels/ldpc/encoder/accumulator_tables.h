/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <optional>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief A code whose parity bits are the running sum of its checks, as those of DVB are
 * (ETSI EN 302 307-1, section 5.3.2), by circulants.
 *
 * Block row r of `rows` has the checks r, r + rows, r + 2 rows, .... A codeword is the
 * information, then parity bit j rows + r, which is the sum of checks 0..j rows + r, each
 * of which is a sum of information bits.
 */
struct ldpc_accumulator_tables {
    //! Nothing if the code is no such one, or has no circulants of 32 to 512 bits.
    static std::optional<ldpc_accumulator_tables> make(const ldpc_code& code);

    int z = 0, k = 0, n = 0;
    int inputs = 0, rows = 0; //!< strings of information, block rows
    //! Of row r: terms starts[r]..starts[r + 1] - 1.
    std::vector<int32_t> starts;
    struct term {
        int32_t string, rotation;
    };
    std::vector<term> terms;
};

} // namespace gr::cudaphy::kernels
