/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>

/*!
 * What stands between a transport block of 5G NR and its LDPC codewords (3GPP TS 38.212,
 * sections 5.1, 5.2.2, 5.4.2 and 5.5). All of it runs on the calling thread, on ordinary
 * memory. Bits are bytes of value 0 or 1; of other values the lowest bit counts.
 */
namespace gr::cudaphy::kernels::nr5g {

using crc = ldpc_decoder::crc;

// Section 5.1; all start from 0.
constexpr crc crc24a{ 24, 0x864cfb };
constexpr crc crc24b{ 24, 0x800063 };
constexpr crc crc24c{ 24, 0xb2b117 };
constexpr crc crc16{ 16, 0x1021 };
constexpr crc crc11{ 11, 0x621 };
constexpr crc crc6{ 6, 0x21 };

//! "24A", "24B", "24C", "16", "11" or "6". \throws std::invalid_argument
CUDAPHY_API crc crc_from_name(const std::string& name);

//! The remainder of bits · x^crc.bits, its lowest bit the term x^0; that of bits that end
//! with their own is 0. \throws std::invalid_argument if crc.bits is not 1..32.
CUDAPHY_API uint32_t remainder(const crc&, view<const uint8_t> bits);

//! Copies `bits` and appends the remainder, highest term first. \throws
//! std::invalid_argument if `with_crc` has not crc.bits more than `bits`.
CUDAPHY_API void attach(const crc&, view<const uint8_t> bits, view<uint8_t> with_crc);

//! The base graph, 1 or 2, of a transport block of `payload` bits at a code rate
//! (sections 6.2.2 and 7.2.2). \throws std::invalid_argument unless payload >= 1 and
//! 0 < code_rate <= 1.
CUDAPHY_API int base_graph(int payload, double code_rate);

//! How a transport block falls into code blocks (sections 5.2.2, 6.2.1, 6.2.3).
struct CUDAPHY_API segmentation {
    int base_graph;    //!< 1 or 2
    int payload;       //!< A, bits of the transport block
    crc transport_crc; //!< 24A for more than 3824 bits, else 16
    int blocks;        //!< C
    crc block_crc;     //!< 24B; of 0 bits where there is one block only
    int block_bits;    //!< K', a block's bits, its CRC included: k of its code
    int lifting_size;  //!< Z_c
    int fillers;       //!< K - K'

    int payload_crc_bits() const { return payload + transport_crc.bits; } //!< B
    //! N, the bits that the encoder gives for a block, fillers included.
    int coded_bits() const { return (base_graph == 1 ? 66 : 50) * lifting_size; }
    //! The CRC that the information bits of a code block end with.
    crc stop_crc() const { return blocks > 1 ? block_crc : transport_crc; }
    //! The blocks' code with the first `rows` rows of its base graph.
    ldpc_code::sptr code(int rows) const;
};

//! \throws std::invalid_argument for a base graph other than 1 and 2, a payload below 1
//! or above 2^26 bits, or one that does not fall into blocks of equal length (TS 38.214,
//! section 5.1.3.2, has no such).
CUDAPHY_API segmentation segment(int payload, int base_graph);

//! Attaches the CRCs: payload (A) to the blocks' information words (C, K'). \throws
//! std::invalid_argument for sizes that do not fit.
CUDAPHY_API void
segment(const segmentation&, view<const uint8_t> payload, view<uint8_t> blocks);

//! Takes the payload (A) out of decoded blocks (C, K'); whether its CRC holds. The
//! blocks' own are the decoder's stop_crc. \throws std::invalid_argument for sizes that
//! do not fit.
CUDAPHY_API bool
desegment(const segmentation&, view<const uint8_t> blocks, view<uint8_t> payload);

/*!
 * How many bits are sent of each code block, E_r (section 5.4.2.1), with every block
 * scheduled.
 * \param coded             G, bits for the transport block, a multiple of layers · order
 * \param layers            N_L, 1..4
 * \param modulation_order  Q_m, bits of a symbol: 1, 2, 4, 6, 8 or 10
 * \param blocks            C
 * \throws std::invalid_argument
 */
CUDAPHY_API std::vector<int>
coded_lengths(int coded, int layers, int modulation_order, int blocks);

/*!
 * \brief Rate matching of one code block and its inverse (section 5.4.2): bit selection
 * from a circular buffer, and bit interleaving.
 *
 * The soft buffer has a place for each bit of the circular buffer that is no filler, in
 * the order of a codeword of ldpc_code::nr5g(): the first n places are a codeword's LLRs.
 */
class CUDAPHY_API rate_matcher
{
public:
    struct parameters {
        int base_graph = 1;
        int lifting_size = 384;
        int fillers = 0;
        int modulation_order = 2;   //!< Q_m: 1, 2, 4, 6, 8 or 10
        int redundancy_version = 0; //!< 0..3
        //! N_ref of limited-buffer rate matching, floor(TBS_LBRM / (C · 2/3)); 0: none.
        int limited_buffer = 0;
    };

    //! \throws std::invalid_argument if a parameter is out of range, or the limited
    //! buffer has no bit.
    explicit rate_matcher(const parameters&);

    //! Places of the whole soft buffer: N_cb without the fillers.
    int soft_bits() const { return d_soft_bits; }
    //! The place of the first bit that is sent: of k_0.
    int start() const { return d_start; }
    //! Places from the first to the last one that `coded` bits of this redundancy version
    //! reach: soft_bits() where they wrap around.
    int reach(int coded) const;
    //! Rows of the base graph whose code has at least `places` bits; at least 4.
    int rows(int places) const;

    /*!
     * Selects and interleaves.
     * \param word         a codeword; reach(coded.size()) bits or more
     * \param[out] coded   E_r bits, a multiple of modulation_order
     * \throws std::invalid_argument for sizes that do not fit
     */
    void match(view<const uint8_t> word, view<uint8_t> coded) const;

    /*!
     * Adds received LLRs to the soft buffer, which holds 0 before the first transmission:
     * a further call with the same or another redundancy version combines them (HARQ).
     * int8 saturates at -128 and 127; of float, NaN counts as 0. Which bit a positive LLR
     * means makes no difference.
     * \param llr          (E_r), a multiple of modulation_order
     * \param[in,out] soft reach(llr.size()) places or more
     * \throws std::invalid_argument for sizes that do not fit
     */
    void recover(view<const float> llr, view<float> soft) const;
    void recover(view<const int8_t> llr, view<int8_t> soft) const;

private:
    void require_sizes(size_t coded, size_t places) const;

    parameters d_parameters;
    int d_systematic; //!< block columns, K_b
    int d_soft_bits, d_start;
};

} // namespace gr::cudaphy::kernels::nr5g
