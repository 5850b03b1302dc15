/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/algebra/bit_matrix.h"
#include <gnuradio/cudaphy/kernels/ldpc_code.h>

namespace gr::cudaphy::kernels {

//! In which order H c = 0 is solved for the parity bits, columns that are neither
//! information nor shortened.
struct elimination_order {
    //! A check that gives a bit once the bits before it are known.
    struct step {
        int row, column;
    };
    std::vector<step> steps;
    //! Bits taken as known, because no check had one unknown bit, and the checks that in
    //! the end have given no bit.
    std::vector<int> aside, left_over;
};

//! Bit by bit, as an erasure decoder goes on; where it stops, a layer's bits are set
//! aside.
elimination_order eliminate(const ldpc_code&);

//! The bits set aside, each as the sum of left-over checks: the inverse of the matrix
//! that is left when all solved bits are written in terms of those set aside. (aside,
//! chosen)
struct aside_solution {
    std::vector<int> chosen; //!< as many independent left-over checks as bits are aside
    bit_matrix inverse;
};

//! \throws std::invalid_argument where more than 8192 bits or 2^31 coefficients would
//! have to be set aside.
aside_solution solve_aside(const ldpc_code&, const elimination_order&);

} // namespace gr::cudaphy::kernels
