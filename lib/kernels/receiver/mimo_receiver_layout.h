/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/mimo_receiver.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief Where everything of a slot stands.
 *
 * The equalizer takes symbols of all their tones. So data lies in a grid first, of all
 * symbols that hold any, (data symbols, tones); places of the grid that hold a pilot are
 * equalised for nothing, and left out behind it.
 */
struct receiver_layout {
    explicit receiver_layout(const mimo_receiver::parameters& p);

    int symbols, tones, receive, layers, bits; //!< bits: of a constellation's symbol
    int pilot_rows, data_rows, times;
    //! The place of each symbol among the pilot symbols, and in the grid; -1: none.
    std::vector<int> pilot_row, data_row;
    //! The places of the grid that hold data; empty: all.
    std::vector<int> places;
    mimo_receiver::sizes slot;

    size_t row_items() const { return size_t(tones) * receive; }
    size_t grid_vectors() const { return size_t(data_rows) * tones; }
    size_t demapped_bits() const { return slot.layers * bits; }
    bool scattered() const { return !places.empty(); }
    //! Whether a slot's LLRs are its codewords, with nothing left over.
    bool filled() const { return demapped_bits() == slot.soft_bits; }
};

//! The kernels' parameters, with what follows from the slot set. \throws
//! std::invalid_argument where they do not fit a slot.
channel_estimator::parameters estimator_of(const mimo_receiver::parameters& p);
equalizer::parameters equalizer_of(const mimo_receiver::parameters& p,
                                   const receiver_layout& layout);
soft_demapper::parameters demapper_of(const mimo_receiver::parameters& p, backend where);
//! In float32 arithmetic the decoder turns the demapper's int8 steps back into units.
ldpc_decoder::parameters decoder_of(const mimo_receiver::parameters& p, backend where);

} // namespace gr::cudaphy::kernels
