/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/ldpc_schedule.h"

// Decoding in whole steps (ldpc_decoder.h, "Arithmetic"): what its backends share.

namespace gr::cudaphy::kernels {

//! Where a backend's registers end, in steps.
struct ldpc_fixed_limits {
    int least_l = -128, greatest_l = 127; //!< L saturates here after each message
    int least_q = -128, greatest_q = 127; //!< and q = L - r here
    //! Greatest message. Where L saturates it forgets a part of its messages, and
    //! subtracting one then leaves too little: with messages of up to 127 steps a decoded
    //! word comes undone within a few iterations. At 47, one of a saturated L leaves 80,
    //! whose answer is 47 again for every factor above 0.59.
    int greatest_r = 47;

    static ldpc_fixed_limits cpu() { return {}; }
    //! L keeps within the binary16 numbers of one exponent; q never saturates.
    static ldpc_fixed_limits cuda() { return { -1152, 896, -32768, 32767, 127 }; }
};

/*!
 * \brief The order in which int8 arithmetic visits checks and bits: one group of checks
 * after the other, the checks of a group side by side.
 *
 * A quasi-cyclic code's groups are its block rows; another code's are its layers. All
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
    int turns = 1; //!< most turns of a group
};

//! A received float or binary16 in steps, -127 to 127; positive for the bit 0.
int ldpc_fixed_steps(float llr, const ldpc_decoder::parameters&);
//! The same of a received int8.
int ldpc_fixed_steps(int8_t llr, const ldpc_decoder::parameters&);

//! The message r of each least magnitude 0..127 of the other bits, in steps: the product
//! with the factor, which is first rounded to binary16, to the nearest, ties to even.
std::vector<int8_t> ldpc_fixed_messages(float scale);

//! A float rounded to the nearest binary16, and what a binary16 means.
uint16_t to_float16(float);
float from_float16(uint16_t);

constexpr int ldpc_fixed_greatest_message = 127;

} // namespace gr::cudaphy::kernels
