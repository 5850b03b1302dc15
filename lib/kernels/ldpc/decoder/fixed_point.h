/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/schedule.h"

// Decoding in whole steps (ldpc_decoder.h, "Arithmetic"): what its backends share.

namespace gr::cudaphy::kernels {

//! What a backend makes of its registers, in steps.
struct ldpc_fixed_limits {
    int greatest_llr;        //!< of received values, either sign
    int least_l, greatest_l; //!< L saturates here after each message
    int greatest_r;          //!< of messages, either sign
    //! What is added to the product of a magnitude and the factor before its fraction is
    //! cut off; 0.5: to the nearest, ties to even.
    double rounding;
    //! Whether a message is kept as what it changed L by, and so smaller where L
    //! saturates. Then L is always the received value and all kept messages added up. If
    //! not, a saturated L forgets a part of its messages, and taking one off it leaves
    //! too little.
    bool keeps_change;
    bool pairs_rows; //!< whether block rows are visited as ldpc_row_pairs() says
    //! Whether decoding stops only once each telling check's visit in an iteration left
    //! its bits with even parity, too. That is seen at no cost, but where one codeword
    //! fills a block of CUDA threads.
    bool watches_visits;

    /*!
     * Whatever L saturates by, q = L - r fits a byte, and a message can outweigh every
     * received value: no sum is ever wrong, and a decoded word does not come undone.
     *
     * Most messages of a low rate are of a few steps, and min-sum's error is that they
     * are too great: rounded to the nearest, too many of them stay so. Rounded down, a
     * chain of bits with two checks each loses a step at each, and converges late. With a
     * quarter added, factors from 3/4 on leave one step one and smaller ones make it
     * none.
     */
    static constexpr ldpc_fixed_limits cpu()
    {
        return { 63, -63, 63, 63, 0.25, true, false, true };
    }
    //! L keeps within the binary16 numbers of one exponent.
    static constexpr ldpc_fixed_limits cuda(bool one_a_block)
    {
        return { 127, -1152, 896, 127, 0.5, false, true, !one_a_block };
    }
};

/*!
 * \brief The order in which int8 arithmetic visits checks and bits: one group of checks
 * after the other, the checks of a group side by side.
 *
 * A quasi-cyclic code's groups are its block rows; another code's are its layers. Groups
 * are visited as they stand here, or where ldpc_fixed_limits::pairs_rows says so. All
 * checks of a group take the L from before the group. Where a block holds several
 * circulants, a bit may be in several checks of a group: the first circulant's message
 * replaces it, L = q + r, and each later one, a turn after the other for the whole group,
 * adds its change, L = L + (r - r_old).
 */
struct ldpc_fixed_schedule {
    explicit ldpc_fixed_schedule(const ldpc_code&);

    struct edge {
        int column;
        int turn; //!< 0: the first of its block in this check
    };
    std::vector<int> group_start; //!< group g: checks group_start[g] ... [g + 1] - 1
    std::vector<int> check_start; //!< check c: edges check_start[c] ... [c + 1] - 1
    std::vector<edge> edges;
    std::vector<char> telling; //!< of each check, as ldpc_code::telling()
    int turns = 1;             //!< most turns of a group
};

//! A received float or binary16 in steps, -127 to 127; positive for the bit 0.
int ldpc_fixed_steps(float llr, const ldpc_decoder::parameters&);
//! The same of a received int8.
int ldpc_fixed_steps(int8_t llr, const ldpc_decoder::parameters&);

//! The message r of each least magnitude 0..127 of the other bits, in steps: the product
//! with the factor, which is first rounded to binary16, to the nearest, ties to even.
std::vector<int8_t> ldpc_fixed_messages(float scale, const ldpc_fixed_limits&);

//! A float rounded to the nearest binary16, and what a binary16 means.
uint16_t to_float16(float);
float from_float16(uint16_t);

constexpr int ldpc_fixed_greatest_message = 127;

} // namespace gr::cudaphy::kernels
