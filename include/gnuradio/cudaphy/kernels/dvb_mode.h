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
 *
 * The PLS code of a VL-SNR frame tells its length only; the 900 symbols behind it, the
 * VL-SNR header, have a number from 0 to 15 for the rest. Such frames have `pls` 256 more
 * than that number. (EN 302 307-2, section 5.5.2.5, tables 18a and 18b.)
 */
struct CUDAPHY_API dvb_mode {
    int pls = 0;        //!< 256 and more: VL-SNR frames
    bool dummy = false; //!< a frame without content: 36 slots of a fixed symbol
    //! "QPSK", "8PSK", "16APSK" ...: label in the standard; "BPSK": pi/2-BPSK.
    std::string modulation;
    std::string frame;     //!< "normal" or "short"; of VL-SNR frames "medium" too
    std::string rate;      //!< of the LDPC code, as ldpc_code::dvbs2 or dvbs2x names it
    bool extended = false; //!< the LDPC code is one of S2X
    bool pilots = false;   //!< 36 pilot symbols behind every 16 slots
    int bits_a_symbol = 2;
    int repeats = 1; //!< times that each data symbol is sent: the spreading factor
    //! Rings of APSK from the inside, such as {4, 12}; empty for PSK and for
    //! constellations that are no rings.
    std::vector<int> rings;

    bool is_vl_snr() const;
    //! What the physical layer header says: pls; 129 or 131 of VL-SNR frames.
    int pl_code() const;
    //! 90; of VL-SNR frames 990, both headers together.
    int header_symbols() const;
    //! Symbols that carry bits, each once. They fill slots of 90, but for the last one of
    //! 128APSK.
    int symbols() const;
    int pilot_blocks() const;
    int length() const; //!< symbols of the frame, with headers and pilots

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

    //! None for what is reserved, and for PLS codes 128 to 131: the VL-SNR frames that
    //! they announce are 256 to 261 and 265 to 268.
    static std::optional<dvb_mode> of(int pls);
};

constexpr int pl_header_symbols = 90, pl_start_symbols = 26;
constexpr int first_vl_snr = 256; //!< dvb_mode::pls of the VL-SNR header with number 0
constexpr int vl_snr_header_symbols = 900;
constexpr int mode_numbers = 272; //!< dvb_mode::pls is less

//! The 900 symbols of a VL-SNR header, of unit energy.
//! \throws std::invalid_argument unless 0 <= number <= 15
CUDAPHY_API std::vector<std::complex<float>> vl_snr_header(int number);

//! The header's symbols, of unit energy: 26 of the start of frame, 64 of the PLS code. Of
//! VL-SNR frames, those before the VL-SNR header.
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
