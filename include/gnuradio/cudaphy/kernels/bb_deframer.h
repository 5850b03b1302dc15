/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <gnuradio/cudaphy/api.h>
#include <memory>
#include <vector>

namespace gr::cudaphy::kernels {

//! \brief The header of a baseband frame of DVB-S2. (ETSI EN 302 307-1, section 5.1.6)
struct bb_header {
    //! MATYPE-1, bits 7 and 6.
    enum class content { packets = 0, continuous = 1, gse_hem = 2, transport = 3 };

    content what = content::transport;
    bool single_stream = true;       //!< else isi tells the input streams apart
    bool constant_coding = true;     //!< CCM, else ACM or VCM
    bool synchronized_input = false; //!< ISSY fields are there
    bool nulls_deleted = false;      //!< null packets were taken out
    int roll_off = 0;                //!< 0: 0.35, 1: 0.25, 2: 0.20, 3: by the standard's
                                     //!< extension
    int isi = 0;                     //!< input stream
    int packet_bits = 0;             //!< UPL
    int data_bits = 0;               //!< DFL
    uint8_t sync_byte = 0;
    int sync_distance =
        0; //!< SYNCD, bits to the first packet's start; 65535: there is none

    //! \param bytes  ten, without the scrambler
    //! \return false if the CRC-8 does not fit
    static CUDAPHY_API bool parse(const uint8_t* bytes, bb_header& header);
};

/*!
 * \brief Takes packets out of baseband frames: transport streams, GSE, generic streams.
 *
 * Transport packets get their sync byte back, deleted null packets return, ISSY fields
 * are left out. A packet whose CRC-8 is wrong, or that lies in a frame that could not be
 * decoded, has transport_error_indicator set. GSE units become the packets that they
 * carry, put together from fragments, with their CRC-32 checked. (ETSI EN 302 307-1,
 * sections 5.1, 5.2.2 and annex D; ETSI TS 102 606-1.)
 */
class CUDAPHY_API bb_deframer
{
public:
    static constexpr int any_stream = -1;

    struct parameters {
        //! The input stream whose transport packets are wanted, 0 to 255; any_stream: the
        //! first one that comes.
        int isi = any_stream;
        //! Whether continuous generic streams are GSE; else a frame's data are a packet.
        bool gse = true;
    };

    //! A packet of a generic stream.
    struct packet {
        std::vector<uint8_t> data;
        int isi = 0;
        int protocol = -1;            //!< GSE: the EtherType, such as 0x0800 for IPv4
        std::vector<uint8_t> label{}; //!< GSE: 6, 3 or no bytes
    };

    struct output {
        std::vector<uint8_t> transport; //!< whole packets of 188 bytes
        std::vector<packet> packets;
    };

    //! Since the deframer was made.
    struct counts {
        uint64_t frames = 0;
        uint64_t bad_frames = 0;        //!< that could not be decoded
        uint64_t bad_headers = 0;       //!< whose data are lost
        uint64_t transport_packets = 0; //!< put out, null packets among them
        uint64_t bad_packets = 0;       //!< of these and of others: CRC wrong
        uint64_t lost_starts = 0;       //!< times that packets had to be found anew
        uint64_t returned_nulls = 0;
        uint64_t other_streams = 0; //!< frames of other input streams than isi
    };

    //! \throws std::invalid_argument if isi is out of range.
    static std::unique_ptr<bb_deframer> make(const parameters&);
    virtual ~bb_deframer() = default;

    /*!
     * \param frame  a scrambled baseband frame, eight bits a byte, the first one highest
     * \param bytes  of it, at least 10
     * \param ok     whether it could be decoded
     * \param to     gets what the frame completes
     */
    virtual void take(const uint8_t* frame, size_t bytes, bool ok, output& to) = 0;
    virtual counts so_far() const = 0;
    //! The last header that was right; false: there was none yet.
    virtual bool last_header(bb_header& header) const = 0;
};

} // namespace gr::cudaphy::kernels
