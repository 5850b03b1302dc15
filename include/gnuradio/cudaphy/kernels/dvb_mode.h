/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <complex>
#include <gnuradio/cudaphy/api.h>
#include <optional>
#include <string>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief What a physical layer header of DVB-S2 or S2X says of its frame.
 *
 * The PLS code has eight bits: of S2 (0 to 127) the MODCOD, then 1 for short frames, then
 * 1 for pilots; of S2X (128 to 255) the last one says pilots too. (ETSI EN 302 307-1,
 * section 5.5.2; EN 302 307-2, table 17a.)
 */
struct CUDAPHY_API dvb_mode {
    int pls = 0;
    bool dummy = false;     //!< a frame without content: 36 slots of a fixed symbol
    std::string modulation; //!< "QPSK", "8PSK", "16APSK" ...: label in the standard
    std::string frame;      //!< "normal" or "short"
    std::string rate;       //!< of the LDPC code, as ldpc_code::dvbs2 or dvbs2x names it
    bool extended = false;  //!< the LDPC code is one of S2X
    bool pilots = false;    //!< 36 pilot symbols behind every 16 slots
    int bits_a_symbol = 2;
    //! Rings of APSK from the inside, such as {4, 12}; empty for PSK and for
    //! constellations that are no rings.
    std::vector<int> rings;

    //! Symbols that carry bits. They fill slots of 90, but for the last one of 128APSK.
    int symbols() const;
    int pilot_blocks() const;
    int length() const; //!< symbols of the frame, with header and pilots

    //! As "QPSK 1/4 normal, pilots".
    std::string name() const;
    //! One of constellation_names(), such as "dvbs2_16apsk_2/3".
    std::string constellation() const;
    //! The columns of the block interleaver in the order in which a symbol's bits are
    //! read from them, first-sent bit first: "012", "210"; empty: bits are not
    //! interleaved. Column c holds bits c * symbols() to (c + 1) * symbols() - 1 of the
    //! codeword; of 128APSK the last column ends with 6 bits of padding.
    //! (EN 302 307-1, section 5.3.3; EN 302 307-2, section 5.3.3.)
    std::string bit_interleaver() const;
    //! Names the LDPC code and its BCH code: "dvbs2_normal_1/2", "dvbs2x_short_11/45";
    //! empty for dummy frames.
    std::string code() const;

    //! None for codes that are reserved, and for VL-SNR frames.
    static std::optional<dvb_mode> of(int pls);
};

constexpr int pl_header_symbols = 90, pl_start_symbols = 26;

//! The header's symbols, of unit energy: 26 of the start of frame, 64 of the PLS code.
CUDAPHY_API std::array<std::complex<float>, pl_header_symbols> pl_header(int pls);

//! What the 64 symbols of a PLS code say.
struct pls_decision {
    int pls;
    //! The correlation with that code: the mean of the symbols, with the code taken off.
    //! 1 without noise, at the right phase and amplitude.
    float correlation;
    //! The next best code's.
    float second;
};

//! Decides for the PLS code of the highest correlation (maximum likelihood). `symbols`:
//! 64, their phase taken off by that of the start of frame.
CUDAPHY_API pls_decision decide_pls(const std::complex<float>* symbols);

} // namespace gr::cudaphy::kernels
