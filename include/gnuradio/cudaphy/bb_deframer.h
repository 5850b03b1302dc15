/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/kernels/bb_deframer.h>

namespace gr::cudaphy {

/*!
 * \brief Takes a transport stream, GSE packets and generic packets out of the baseband
 * frames of DVB-S2 and S2X.
 * \ingroup cudaphy
 *
 * In: bytes, the scrambled frames as BCH Decoder puts them out, one bit each or packed,
 * eight bits a byte, the first one highest. Each packet is a frame, or, if frame_bits is
 * given, a whole number of frames of one size; so is a plain stream. A tag `bch_ok` of
 * value false on any item of a frame says that the frame could not be decoded. Out:
 * bytes, whole transport packets of 188. What the packets are made of:
 * kernels/bb_deframer.h.
 *
 * The tag `discontinuity` (pmt long: frames that were lost, 0: not known) is on the first
 * byte of the first transport packet after a loss.
 *
 * A packet that can't be used is passed over, and counts as a frame with a bad header:
 * one that another packet begins in, or whose length is no whole number of frames or
 * above 64800 bits.
 *
 * Message ports: `packets`: a PDU for each packet of a generic stream, with `isi`,
 * `protocol` (longs: the EtherType, or -1) and `label` (u8 vector) in its metadata.
 * `frames`: a PDU for each frame without its scrambling, with `ok` (pmt bool) in its
 * metadata, and the fields of its header if the CRC-8 is right. `status`: a dictionary of
 * the counts and of the last `header`, with the first frame and then at most once a
 * second. PDUs are made only for ports that are connected.
 *
 * The fields of a header: `content` (a symbol: transport, packets, continuous, gse_hem),
 * `single_stream`, `constant_coding`, `synchronized_input`, `nulls_deleted` (bools),
 * `isi`, `packet_bits`, `data_bits` (longs), `roll_off` (double; none if it is by the
 * standard's extension).
 */
class CUDAPHY_API bb_deframer : virtual public gr::block
{
public:
    typedef std::shared_ptr<bb_deframer> sptr;

    /*!
     * \param frame_bits  bits of a frame, k of the BCH code, 80 to 64800; 0: each packet
     *                    is a frame
     * \param isi  the input stream whose transport packets are put out, 0 to 255; -1: the
     *             first one that comes
     * \param gse  whether continuous generic streams are GSE; else a frame's data are a
     *             packet
     * \param packed  frames come eight bits a byte
     * \param length_tag_key  names the tag with a packet's length in items; empty: a
     * plain stream \throws std::invalid_argument if a parameter is out of range, or
     * neither frame_bits nor length_tag_key is given.
     */
    static sptr make(int frame_bits = 0,
                     int isi = kernels::bb_deframer::any_stream,
                     bool gse = true,
                     bool packed = false,
                     const std::string& length_tag_key = "packet_len");

    //! Since the flowgraph started.
    virtual kernels::bb_deframer::counts so_far() const = 0;
    //! The last header that was right; false: there was none yet.
    virtual bool last_header(kernels::bb_header& header) const = 0;
};

} // namespace gr::cudaphy
