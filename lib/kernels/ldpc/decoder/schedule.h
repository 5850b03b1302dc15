/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief A code's layers as flat tables: the one order in which every backend visits
 * checks and bits.
 *
 * Checks are numbered in the order of code.layers(); inside a layer, where the order has
 * no influence, by rising degree.
 */
struct ldpc_schedule {
    //! Where the columns of a check's bits stand: columns[first + slot * stride], slot =
    //! 0 ... degree - 1, ascending.
    struct check {
        int first;
        int stride;
        int degree;
    };

    //! How the columns are laid out.
    enum class layout {
        by_check, //!< a check's columns stand side by side: stride 1
        by_slot,  //!< the same slot of a layer's checks of equal degree stands side by
                  //!< side, so that threads that take one check each read neighbours
    };

    ldpc_schedule(const ldpc_code&, layout);

    std::vector<int> layer_start; //!< layer i: checks layer_start[i] ... [i + 1] - 1
    std::vector<check> checks;
    std::vector<int> telling; //!< those of ldpc_code::telling(), ascending
    std::vector<int> columns;
    int max_degree = 0;
    int max_layer = 0; //!< most checks of a layer
};

//! What decoding comes down to once the parameters are checked and resolved.
struct ldpc_decoding {
    ldpc_code::sptr code;
    ldpc_decoder::parameters parameters;
    std::vector<float> scales; //!< factor of min-sum of each iteration, (max_iterations);
                               //!< 1 with the other rules

    //! A received LLR's and a check's greatest magnitude; see ldpc_decoder.cc.
    static constexpr float clamp = 1e4f;
    //! After which the factor's distance from 1 halves where the code chooses it.
    static constexpr int iterations_a_scale = 15;

    bool flooding() const
    {
        return parameters.schedule == ldpc_decoder::message_schedule::flooding;
    }
    bool sum_product() const
    {
        return parameters.rule == ldpc_decoder::check_rule::sum_product;
    }
    //! Of min-sum: r = max(0, s min |q| - offset) is both of its rules.
    float offset() const
    {
        return parameters.rule == ldpc_decoder::check_rule::offset_min_sum
                   ? parameters.offset
                   : 0;
    }

    //! What `scales` is for these parameters.
    static std::vector<float> scales_of(const ldpc_code&,
                                        const ldpc_decoder::parameters&);

    //! A column's source where it is no received bit.
    static constexpr int punctured = -1, shortened = -2;
    //! Which received bit each column of H begins with, (variables), or `punctured` or
    //! `shortened`; empty if column i begins with bit i.
    std::vector<int> sources() const;

    //! The same with parameters::llr_steps as it is, or where that is 0 as `steps`; in
    //! units of the LLRs as they come, which llr_scale has not multiplied.
    ldpc_decoding with_steps(float steps) const;
    static constexpr float steps_on_cuda = 12, steps_elsewhere = 6;

    //! Which columns of H go out, in order; empty if they are its first output_bits()
    //! ones.
    std::vector<int> output_positions() const;
    int output_bits() const { return parameters.whole_words ? code->n() : code->k(); }
    //! Bytes of a codeword's hard decisions.
    size_t output_bytes() const;

    //! What each information bit, being 1, adds to the remainder of stop_crc: bit i adds
    //! x^(k - 1 - i) modulo the polynomial, (k); empty without stop_crc.
    std::vector<uint32_t> crc_terms() const;

    //! Codewords in the batch. \throws std::invalid_argument for sizes or a type that do
    //! not fit.
    size_t batch(const ldpc_decoder::received& llr,
                 const ldpc_decoder::results& out) const;
};

//! Whether the information bits among `columns` (all columns of H, a bit a byte) end with
//! their remainder.
bool passes(const ldpc_decoder::crc&, const ldpc_code&, const uint8_t* columns);

} // namespace gr::cudaphy::kernels
