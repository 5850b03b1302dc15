/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/schedule.h"

// Shared by the backends of int8 arithmetic (ldpc_decoder.h, "Arithmetic").

namespace gr::cudaphy::kernels {

//! The rules of a backend's int8 arithmetic; values in steps.
struct ldpc_fixed_limits {
    int greatest_llr;        //!< greatest magnitude of received values
    int least_l, greatest_l; //!< L saturates here after each message
    int greatest_r;          //!< greatest magnitude of messages
    //! Greatest correction of a message, in quarters of a step; see
    //! ldpc_fixed_corrected().
    int greatest_correction;
    //! Added to the product of a magnitude and the factor before its fraction is cut off.
    //! 0.5 rounds to the nearest step, ties to even.
    double rounding;
    //! Whether a message is stored as the change of L, which is smaller than the message
    //! if L saturates. Then L is always the sum of the received value and all stored
    //! messages. Else a saturated L has lost a part of its messages, and L - r becomes
    //! too small.
    bool keeps_change;
    bool pairs_rows; //!< whether block rows are visited as ldpc_row_pairs() says
    //! Whether decoding stops only if, besides, each telling check was even right after
    //! its visit in the last iteration. This costs nothing to find out, except if one
    //! codeword fills a block of CUDA threads.
    bool watches_visits;

    /*!
     * q = L - r always fits into a byte, so that no sum is wrong. A message can outweigh
     * every received value, so that a decoded word stays decoded.
     *
     * Why rounding is 0.25: min-sum's messages are too great, and at a low rate most are
     * of a few steps. Rounding to the nearest leaves too many of them too great. Rounding
     * down takes a step at each bit of a chain of bits with two checks, which then
     * converges late. With 0.25, a message of one step stays one step if the factor is
     * 3/4 or more, and becomes 0 if it is less.
     */
    static constexpr ldpc_fixed_limits cpu()
    {
        return { 63, -63, 63, 63, 12, 0.25, true, false, true };
    }
    //! L stays within the range that binary16 represents in steps of u (base_writer.h).
    static constexpr ldpc_fixed_limits cuda(bool one_a_block)
    {
        return { 127, -1152, 896, 127, 28, 0.5, false, true, !one_a_block };
    }
};

/*!
 * \brief The order in which int8 arithmetic visits checks and bits: group after group of
 * checks, all checks of a group at the same time.
 *
 * The groups of a quasi-cyclic code are its block rows, those of another code its layers.
 * They are visited in this order, or as ldpc_row_pairs() orders them if
 * ldpc_fixed_limits::pairs_rows is set. All checks of a group read L from before the
 * group.
 *
 * If a block holds several circulants, a bit may be in several checks of a group. Round 0
 * is the first circulant: L = q + r. Each later round adds its change, L = L + (r -
 * r_old). The whole group finishes a round before the next one begins.
 */
struct ldpc_fixed_schedule {
    explicit ldpc_fixed_schedule(const ldpc_code&);

    struct edge {
        int column;
        int round; //!< number of the circulant within its block; see above
    };
    std::vector<int> group_start; //!< group g: checks group_start[g] ... [g + 1] - 1
    std::vector<int> check_start; //!< check c: edges check_start[c] ... [c + 1] - 1
    std::vector<edge> edges;
    std::vector<char> telling; //!< ldpc_code::telling() of each check
    int rounds = 1;            //!< greatest number of rounds of a group
};

//! A received value in steps, -127 to 127; positive for the bit 0.
//! \param steps  of the word, in the unit of `llr`
int ldpc_fixed_steps(float llr, float steps, const ldpc_decoder::parameters&);

/*!
 * The magnitude of a message that ldpc_decoding::corrects(), in quarters of a step.
 *
 * Sum-product of two magnitudes u <= v is u + ln(1 + e^-(u + v)) - ln(1 + e^-(v - u)) (Hu
 * et al.). A line stands for the last term: ln 2 at v = u, falling by 1/4 a unit (as
 * max-log-MAP decoders are corrected). The greatest correction is 7/12 on CUDA and 1/2
 * elsewhere, a little less than ln 2, and at most u / 2: so LLRs of half to twice
 * their natural unit are decoded as well.
 * \param least, second  the least magnitudes of the check's other bits, at most 127
 */
constexpr int ldpc_fixed_corrected(int least, int second, const ldpc_fixed_limits& limits)
{
    const int most = std::min(limits.greatest_correction, 2 * least);
    return 4 * least - std::max(0, most - (second - least));
}

//! The message r for each least magnitude 0 ... 127 of the other bits, in steps: the
//! product of the magnitude and the factor. The factor is first rounded to the nearest
//! binary16, ties to even. \param parts  magnitudes are multiples of 1 / parts
std::vector<int8_t>
ldpc_fixed_messages(float scale, const ldpc_fixed_limits&, int parts = 1);
//! The same of a message that is damped: the factor less a share of it. If a message is
//! stored as the change of L: 3/4 of the message, rounded to the nearest (halves down),
//! or, from a share of 3/8 on, half of it, rounded up.
std::vector<int8_t> ldpc_fixed_damped_messages(float scale,
                                               float damping,
                                               const ldpc_fixed_limits&,
                                               int parts = 1);
//! Whether such a message is halved.
constexpr bool ldpc_fixed_halves(float damping) { return damping >= .375f; }

//! A float rounded to the nearest binary16, and the value of a binary16.
uint16_t to_float16(float);
float from_float16(uint16_t);

constexpr int ldpc_fixed_greatest_message = 127;

} // namespace gr::cudaphy::kernels
