/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/channel_estimator.h>

namespace gr::cudaphy::kernels {

//! The pilots of each layer on each tone of the pilot symbols, and the positions of the
//! tones: all that a channel estimator must know of its pilots.
struct CUDAPHY_API pilot_pattern {
    int symbols, tones, layers;
    std::vector<complex64>
        pilots; //!< (symbols, tones, layers); 0 where a layer is silent
    std::vector<int> tone_numbers; //!< of each tone, counted from the carrier
    int group_symbols; //!< symbols that tell the layers apart; `symbols` is a multiple

    //! An estimator's parameters for this pattern, by least squares.
    channel_estimator::parameters estimator(int receive_antennas) const;
};

/*!
 * \brief Comb: every layer sends on tones of its own, layer t on each tone k with
 * k mod layers = t, in each symbol, with energy `layers`, so that all layers together
 * send energy 1 a tone on average. Signs by the pseudo-random sequence of 3GPP
 * TS 38.211, 5.2.1.
 * \throws std::invalid_argument unless layers is 1..16 and tones layers..65536, symbols
 * from 1
 */
CUDAPHY_API pilot_pattern comb_pilots(int symbols, int layers, int tones);

/*!
 * \brief Block: all layers send on every tone of all symbols, with energy 1 each, and are
 * told apart by orthogonal_pilots(symbols, layers); with a pseudo-random sign for each
 * tone (3GPP TS 38.211, 5.2.1) that keeps a symbol's peaks low.
 * \throws std::invalid_argument unless 1 <= layers <= symbols, and tones is 1..65536
 */
CUDAPHY_API pilot_pattern block_pilots(int symbols, int layers, int tones);

/*!
 * \brief IEEE 802.11n's HT-LTF: 1, 2, 4, 4 symbols for 1 to 4 streams; in symbol n stream
 * i sends P(i, n) times the HT-LTF sequence. IEEE Std 802.11-2020, 19.3.9.4.6. The cyclic
 * shifts and the spatial mapping of 19.3.9.4.6 are left out: they are part of the channel
 * that is estimated.
 * \param streams       1..4
 * \param bandwidth_mhz 20 (56 tones, -28..28) or 40 (114 tones, -58..58)
 * \throws std::invalid_argument for other numbers of streams, or bandwidths
 */
CUDAPHY_API pilot_pattern ht_ltf_pilots(int streams, int bandwidth_mhz = 20);

//! Parameters of 5G NR's DM-RS; names as in 3GPP TS 38.211, 7.4.1.1.
struct CUDAPHY_API nr_dmrs {
    int ports = 1;           //!< 1000, 1001, ...: 1..4, with double symbols 1..8
    int resource_blocks = 1; //!< 1..275
    //! l, the first symbol of each occasion in the slot; a double symbol takes l + 1 too
    std::vector<int> symbols = { 2 };
    bool double_symbol = false;
    int slot = 0;          //!< n_s,f, 0..159
    int scrambling_id = 0; //!< N_ID, 0..65535
    int n_scid = 0;        //!< 0 or 1
    int first_block = 0;   //!< counted from point A
    float amplitude = 1; //!< β; 3GPP TS 38.214, table 4.1-1: √2 beside silent CDM groups
    //! The layers' ports, 0 for 1000, each once; empty: 0 to ports - 1.
    std::vector<int> port_numbers = {};
};

/*!
 * \brief 5G NR's DM-RS of the shared channels, configuration type 1, normal cyclic
 * prefix: two CDM groups on every second tone, in each two ports told apart by cover
 * codes over two tones, and with double symbols two more over two symbols. 3GPP
 * TS 38.211, 7.4.1.1.1 and 7.4.1.1.2, tables 7.4.1.1.2-1 and -5.
 * \throws std::invalid_argument if something is out of range
 */
CUDAPHY_API pilot_pattern nr_dmrs_pilots(const nr_dmrs&);

//! The pseudo-random sequence c(0..count-1) of 3GPP TS 38.211, 5.2.1, from c_init.
CUDAPHY_API std::vector<uint8_t> pseudo_random_bits(uint32_t c_init, int count);

} // namespace gr::cudaphy::kernels
