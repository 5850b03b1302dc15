/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <cstddef>

namespace gr::cudaphy::kernels {

/*!
 * \brief The numbers of the int8 decoder's plans and programs that were found by
 * measuring, not by reasoning.
 *
 * One column serves all GPUs: the values are those of an H100. To tune another
 * generation, add a second object of this type and let ldpc_cuda_tuned() choose. Every
 * number changes the program of some code, which qa_ldpc_cuda_program checks by results.
 */
struct ldpc_cuda_tuning {
    // The form for pairs of codewords (plan.h).
    int most_threads_of_pairs;     //!< of a block with more than one pair
    double gain_a_pair;            //!< share of busy lanes that one more pair must gain
    double gain_a_pair_that_stops; //!< the same where codewords may stop early, because a
                                   //!< block waits for its last codeword
    int threads_a_processor;       //!< resident, enough to hide latencies
    int temporaries;               //!< registers of a thread beside its messages,
    int temporaries_an_edge;       //!< for each edge of the row with most edges,
    int temporaries_ahead;         //!< and for words on their way from device memory
    int columns_at_once; //!< block columns whose received values are loaded together

    // The folded form (folded_plan.h).
    bool folds_long_codes;  //!< false: no code takes the folded form
    int folded_temporaries; //!< as the three above
    int folded_temporaries_an_edge;
    int folded_temporaries_ahead;
    int edge_cost;              //!< instructions of an edge,
    int address_cost;           //!< of an address that no other edge has,
    int exchange_cost;          //!< and of an exchange of a word's halves
    int folded_words_at_once;   //!< words whose received values are loaded together
    int folded_outputs_at_once; //!< words that are loaded together to be put out
    //! Parity checks stop after so many steps if one of them is odd. Even numbers.
    std::array<size_t, 3> early_checks;

    // Both forms.
    size_t rows_ahead;      //!< rows between the load of a device word and its use
    size_t most_circulants; //!< of a program for several codes
};

constexpr ldpc_cuda_tuning ldpc_cuda_tuning_default = {
    /* most_threads_of_pairs */ 256,
    /* gain_a_pair */ 0.1,
    /* gain_a_pair_that_stops */ 0.25,
    /* threads_a_processor */ 512,
    /* temporaries */ 34,
    /* temporaries_an_edge */ 3,
    /* temporaries_ahead */ 24,
    /* columns_at_once */ 48,
    /* folds_long_codes */ true,
    /* folded_temporaries */ 24,
    /* folded_temporaries_an_edge */ 3,
    /* folded_temporaries_ahead */ 8,
    /* edge_cost */ 9,
    /* address_cost */ 4,
    /* exchange_cost */ 2,
    /* folded_words_at_once */ 10,
    /* folded_outputs_at_once */ 8,
    /* early_checks */ { 2, 6, 18 },
    /* rows_ahead */ 2,
    /* most_circulants */ 1200,
};

//! The column in use.
constexpr const ldpc_cuda_tuning& ldpc_cuda_tuned() { return ldpc_cuda_tuning_default; }

} // namespace gr::cudaphy::kernels
