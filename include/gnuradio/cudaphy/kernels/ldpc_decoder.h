/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/float16.h>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <gnuradio/cudaphy/kernels/queue.h>
#include <string>

namespace gr::cudaphy::kernels {

/*!
 * \brief Decodes batches of codewords by message passing between bits and checks.
 *
 * **Layered** (the default): one iteration visits the code's layers in order. For each
 * check of a layer and each of its bits n, q_n = L_n − r_n; the check's rule gives a new
 * r_n from the q of its other bits; then L_n = q_n + r_n. **Flooding**: all checks take
 * the L of the iteration before, then every L becomes the received value plus all its r.
 * (Layered schedule: Hocevar, IEEE SiPS 2004.)
 *
 * The rule of a check, over its other bits n':
 * - normalised (scaled) min-sum: r_n = s · ∏ sign(q_n') · min |q_n'|. The factor s is
 *   `scale`. If `scale` is 0, s rises with the iterations, from below the code's best
 * fixed factor default_scale() to above it. If default_scale_closes(), s then goes on
 * towards 1 (docs/conventions.md, "Default factor of min-sum"). (Chen and Fossorier, IEEE
 * Trans. Commun. 50(3), 2002; Lu Zouchen, CETC, 2018.)
 * - offset min-sum: r_n = ∏ sign(q_n') · max(0, min |q_n'| − offset). (Chen et al., IEEE
 *   Trans. Commun. 53(8), 2005.)
 * - sum-product: r_n = 2 artanh ∏ tanh(q_n' / 2). (Gallager, 1963.)
 *
 * LLRs are multiplied by `llr_scale` and clamped to ±1e4; NaN counts as 0, an erasure.
 * Punctured bits begin with L = 0, shortened bits with L = 1e4. A bit of L = ±0 decides
 * 0. Decoding stops when the word is decoded, or after `max_iterations`. A word is
 * **decoded** if both hold:
 * - The hard decisions of L fulfil every telling check (ldpc_code::telling()). All checks
 *   are telling, except those with a parity bit of their own, as most of 5G NR's. In a
 *   decoded word such parity bits may be wrong. With `stop_crc` the information bits must
 *   pass the CRC instead.
 * - The least L of the information bits is not 0, where positive means 0. Bits that were
 *   not received have L = 0 and decide 0, and a word of zeros fulfils every check and
 * CRC.
 *
 * **Arithmetic.** In float32, CPU and CUDA compute in the same order, without fused
 * operations: with min-sum they give the same bits and the same iterations. Sum-product
 * is computed in pairs of bits by exponentials and logarithms, at any magnitude of LLR. A
 * message differs from the formula by at most 2e-6 (1 + |r|), so that a word at the edge
 * of decoding may end differently on another backend. In int8 (layered normalised min-sum
 * only) every value is a whole number of steps:
 * - A received float is multiplied by `llr_steps` times `llr_scale` and rounded to the
 *   nearest (ties to even); an int8 is a number of steps. Both are clamped to ±127 steps.
 * - If `llr_steps` is 0, each word has its own steps: of floats 12 a unit on CUDA and 6
 *   elsewhere, of int8 the given ones, times a power of 2 (of int8 not on CUDA, whose L
 *   holds any). The power is 1 if a threshold lies between the quartiles of |LLR| in the
 *   word, zeros left out. Else it is the one nearest to 1 that brings the threshold
 *   there. Of floats, times `llr_scale`, the threshold is -3.6 ln(1 - rate); of int8 it
 * is 6 times that. Words of true LLRs have it there wherever decoding is hard, and words
 *   in other units are decoded as well. Of words of 4096 LLRs and more the first 32 of
 *   each 128 are looked at.
 * - Messages r are clamped to ±127 · s and rounded to whole numbers; L saturates. CPU and
 *   CUDA do this differently, so their results may differ. CUDA rounds messages to the
 *   nearest (ties to even), L holds −1152 to 896 steps, and block rows of codes of 32768
 *   columns and more may be visited in another order. CPU and reference clamp received
 *   values, messages and L to ±63 steps, round to ⌊|r| + 1/4⌋, and store a message as its
 *   change of L.
 * - If `scale` is 0 and the code says default_damps(), a message whose sign is not that
 *   of the stored one is damped. On CUDA its factor is halved, or, for rates below 0.45,
 *   less by a share of 3 max_iterations / 400, at most 1/2. Elsewhere it becomes (|r| +
 *   1) / 2, rounded down, or, if that share is less than 3/8, (3 |r| + 1) / 4.
 * - For DVB's short and medium frames of rate 1/5 (short 1/4 by name) a message then is
 *   not the product of a factor, but u - max(0, min(u / 2, c) - (v - u) / 4), with the
 *   least and the second least magnitude u and v of the other bits, at most 127, and c =
 *   7 steps on CUDA, 3 elsewhere: sum-product with a straight line for its correction. It
 *   is rounded as above. LLRs must be natural within a factor of about 2; words of floats
 *   with steps of their own are.
 * - Shortened bits are set to the greatest L before every iteration.
 * - At least one iteration runs. Decoding stops after an iteration if the word is
 * decoded. Without `stop_crc` each telling check must also have been even right after its
 * visit in that iteration, except on CUDA for codes so long that one codeword fills a
 * block.
 */
class CUDAPHY_API ldpc_decoder
{
public:
    enum class check_rule { normalized_min_sum, offset_min_sum, sum_product };
    enum class message_schedule { layered, flooding };
    enum class number { float32, float16, int8 };
    //! `automatic`: int8 if the rule is normalised min-sum and the schedule is layered
    //! (on CUDA only if the code fits into a block); else float32.
    enum class arithmetic { automatic, float32, int8 };

    //! Early stop by a cyclic redundancy check in place of the parity checks.
    struct crc {
        int bits = 0; //!< 0: none; up to 32
        //! Without its highest term, as in 0x864cfb for 5G's CRC24A. The information word
        //! ends with the remainder, highest term first, and the register starts at 0.
        uint32_t polynomial = 0;
    };

    struct parameters {
        int max_iterations = 20; //!< 1..1000
        //! Fixed factor of min-sum, above 0 to 1; 0: it rises, from the code's default.
        float scale = 0;
        bool early_stop = true;   //!< false: always max_iterations
        bool whole_words = false; //!< output n bits instead of the k information bits
        int llr_positive = 0;     //!< the bit that a positive LLR means, 0 or 1
        check_rule rule = check_rule::normalized_min_sum;
        float offset = 0.5f; //!< of offset min-sum, in units of the LLR, 0..1e4
        message_schedule schedule = message_schedule::layered;
        number llr = number::float32; //!< what run() is given
        arithmetic calculation = arithmetic::automatic;
        //! Steps of int8 arithmetic in a unit of LLR, for LLRs of floating point; above 0
        //! to 64. 0: each word's own.
        float llr_steps = 0;
        //! Factor of the LLRs before float32 arithmetic, above 0 to 1e6, if they are no
        //! natural logarithms: 1/12 for int8 of 12 steps a unit. Sum-product and the
        //! offset need it, normalised min-sum does not.
        float llr_scale = 1;
        //! Put out eight bits a byte, the first one highest; a word's last byte is filled
        //! with zeros.
        bool packed = false;
        //! If set, the information bits must pass this CRC instead of the parity checks,
        //! and `ok` says whether they do. Needs more than crc.bits information bits.
        crc stop_crc;
    };

    //! What run() writes. Views have one item for each codeword unless they say
    //! otherwise.
    struct results {
        //! Hard decisions, a byte each, 0 or 1: (batch, k), or (batch, n) with
        //! whole_words; packed: (batch, ⌈that / 8⌉).
        view<uint8_t> bits;
        //! Iterations of each codeword, 0..max_iterations, (batch). 0 only if it is
        //! decoded as received, early_stop is set and arithmetic is float32.
        view<int> iterations;
        //! 1 for a word that is decoded as defined above, else 0, (batch).
        view<int> ok;
        //! Empty, or the final L in the unit of the given LLRs (steps for int8) and with
        //! their sign convention: (batch, k), or (batch, n) with whole_words.
        view<float> soft = {};
    };

    //! \throws std::invalid_argument if a parameter is out of range, the combination is
    //! not offered, or `code` is null; backend_unavailable as resolve().
    static std::unique_ptr<ldpc_decoder> make(ldpc_code::sptr code,
                                              const parameters&,
                                              backend where = backend::automatic,
                                              int device = 0);
    virtual ~ldpc_decoder() = default;

    /*!
     * Decodes a batch; returns before the device has finished if `queue` is a device's.
     * \param llr  (batch, n); of the type that parameters::llr names
     * \throws std::invalid_argument for another type, or sizes that do not fit
     */
    void run(view<const float> llr, const results& out, queue& queue)
    {
        run({ llr.data(), llr.size(), number::float32 }, out, queue);
    }
    void run(view<const float16> llr, const results& out, queue& queue)
    {
        run({ llr.data(), llr.size(), number::float16 }, out, queue);
    }
    void run(view<const int8_t> llr, const results& out, queue& queue)
    {
        run({ llr.data(), llr.size(), number::int8 }, out, queue);
    }
    void run(view<const float> llr,
             view<uint8_t> bits,
             view<int> iterations,
             view<int> ok,
             queue& queue)
    {
        run(llr, results{ bits, iterations, ok }, queue);
    }

    /*!
     * Waits until run() need not wait. On CUDA, in int8 arithmetic, each code has a
     * program of its own. The driver translates it when it is first wanted, and keeps it
     * on disk. If run() comes before, it waits for the translation: up to some seconds
     * the first time for a long code, else some milliseconds.
     * \throws cuda_error if the program can't be translated, as run() does then
     */
    virtual void prepare() {}

    //! float32 or int8; never `automatic`.
    virtual arithmetic calculation() const = 0;

    //! A view whose type is known at run time only.
    struct received {
        const void* data;
        size_t size;
        number type;
    };
    virtual void run(const received& llr, const results& out, queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
