/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/word_steps.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief A code's layers as flat tables. Every backend visits checks and bits in this
 * order.
 *
 * Checks are numbered in the order of code.layers(). Inside a layer they stand by rising
 * degree, because the order there does not change the result.
 */
struct ldpc_schedule {
    //! The columns of a check's bits are columns[first + slot * stride], slot = 0 ...
    //! degree - 1, ascending.
    struct check {
        int first;
        int stride;
        int degree;
    };

    //! How the columns are laid out.
    enum class layout {
        by_check, //!< columns of a check are neighbours: stride 1
        by_slot,  //!< columns of the same slot of a layer's checks of equal degree are
                  //!< neighbours, so that neighbouring threads read neighbours
    };

    ldpc_schedule(const ldpc_code&, layout);

    std::vector<int> layer_start; //!< layer i: checks layer_start[i] ... [i + 1] - 1
    std::vector<check> checks;
    std::vector<int> telling; //!< the checks of ldpc_code::telling(), ascending
    std::vector<int> columns;
    int max_degree = 0;
    int max_layer = 0; //!< most checks of a layer
};

//! A code and its decoder's parameters, after they were checked and defaults resolved.
struct ldpc_decoding {
    ldpc_code::sptr code;
    ldpc_decoder::parameters parameters;
    std::vector<float> scales; //!< factor of min-sum of each iteration, (max_iterations);
                               //!< 1 with the other rules
    float typical_llr = 0;     //!< ldpc_word_steps::typical

    //! Greatest magnitude of received LLRs and of messages; see ldpc_decoder.cc.
    static constexpr float clamp = 1e4f;
    //! How often the factor's distance from 1 has been halved in iteration t of
    //! `iterations`; docs/conventions.md.
    static int halvings(const ldpc_code&, int t, int iterations);

    bool flooding() const
    {
        return parameters.schedule == ldpc_decoder::message_schedule::flooding;
    }
    bool sum_product() const
    {
        return parameters.rule == ldpc_decoder::check_rule::sum_product;
    }
    //! The offset o of r = max(0, s min |q| - o), which covers both rules of min-sum.
    float offset() const
    {
        return parameters.rule == ldpc_decoder::check_rule::offset_min_sum
                   ? parameters.offset
                   : 0;
    }

    //! Whether int8 arithmetic damps a message whose sign has changed.
    bool damps() const
    {
        return parameters.scale == 0 && code->default_damps() &&
               parameters.rule == ldpc_decoder::check_rule::normalized_min_sum;
    }
    //! The share of such a message that is taken off. At a low rate more would delay
    //! words too much where iterations are few.
    float damping() const
    {
        return has_low_rate(*code) ? std::min(.5f, 3.f * parameters.max_iterations / 400)
                                   : .5f;
    }
    static bool has_low_rate(const ldpc_code& code) { return code.rate() < .45; }
    //! Whether int8 arithmetic takes a correction off messages in place of the factor:
    //! where most checks have three or four bits, as DVB's short and medium frames of
    //! rate 1/5 have, factors lose 0.13 dB to sum-product.
    bool corrects() const { return damps() && code->rate() < .21; }

    //! The value of `scales` for these parameters.
    static std::vector<float> scales_of(const ldpc_code&,
                                        const ldpc_decoder::parameters&);

    //! The source of a column that is not received.
    static constexpr int punctured = -1, shortened = -2;
    //! The received bit of each column of H, (variables), or `punctured` or `shortened`;
    //! empty if column i receives bit i.
    std::vector<int> sources() const;

    //! This decoding in int8 arithmetic of `steps` a natural unit. parameters::llr_steps
    //! becomes the steps in the unit of the given LLRs, before llr_scale multiplies them.
    //! If it is 0, words have steps of their own. Factors become 1 if it corrects().
    ldpc_decoding with_steps(float steps) const;
    //! Whether each word has its own steps, after with_steps().
    bool words_have_steps() const { return typical_llr > 0; }
    //! The steps of words, likewise.
    ldpc_word_steps word_steps() const { return { typical_llr, parameters.llr_steps }; }
    static constexpr float steps_on_cuda = 12, steps_elsewhere = 6;

    //! The columns of H that are put out, in order; empty if they are the first
    //! output_bits() columns.
    std::vector<int> output_positions() const;
    int output_bits() const { return parameters.whole_words ? code->n() : code->k(); }
    //! Bytes of a codeword's hard decisions.
    size_t output_bytes() const;

    //! The term of each information bit in the remainder of stop_crc, (k): if bit i is 1,
    //! it adds x^(k - 1 - i) modulo the polynomial. Empty without stop_crc.
    std::vector<uint32_t> crc_terms() const;

    //! The number of codewords. \throws std::invalid_argument if sizes or type do not
    //! fit.
    size_t batch(const ldpc_decoder::received& llr,
                 const ldpc_decoder::results& out) const;
};

//! Whether the information bits among `columns` (all columns of H, one bit a byte) pass
//! the CRC.
bool passes(const ldpc_decoder::crc&, const ldpc_code&, const uint8_t* columns);

} // namespace gr::cudaphy::kernels
