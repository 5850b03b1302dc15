/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/algebra/bit_matrix.h"
#include <gnuradio/cudaphy/kernels/ldpc_code.h>

namespace gr::cudaphy::kernels {

//! The order in which H c = 0 is solved for the parity bits: the columns that are neither
//! information nor shortened.
struct elimination_order {
    //! A check that gives a bit once the bits before it are known.
    struct step {
        int row, column;
    };
    std::vector<step> steps;
    //! aside: bits that are taken as known if no check has a single unknown bit.
    //! left_over: checks that give no bit in the end.
    std::vector<int> aside, left_over;
};

//! Finds the order bit by bit, as an erasure decoder does. If no check has a single
//! unknown bit, bits of a layer are set aside.
elimination_order eliminate(const ldpc_code&);

//! Gives each bit set aside as a sum of left-over checks. `inverse`, (aside, chosen), is
//! the inverse of the matrix that remains after all solved bits are written in terms of
//! the bits set aside.
struct aside_solution {
    std::vector<int> chosen; //!< as many independent left-over checks as bits are aside
    bit_matrix inverse;
};

//! \throws std::invalid_argument if more than 8192 bits or 2^31 coefficients would be set
//! aside.
aside_solution solve_aside(const ldpc_code&, const elimination_order&);

} // namespace gr::cudaphy::kernels
