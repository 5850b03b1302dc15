/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/kernels/nr/shared_channel.h>
#include <string>
#include <vector>

namespace gr::cudaphy {

struct nr_transmitter_options {
    //! On PDSCH, the antennas' weights of the layers, (antennas, layers); empty: a stream
    //! a layer.
    std::vector<complex64> precoding;
    int user = 0; //!< the channel's index in the receiver, for the tag nr_schedule
    //! A grid for every slot, of zeros if there is no transport block for it; false: only
    //! slots with a transport block.
    bool every_slot = false;
    int slot = 0; //!< of the frame: the first one, if the PDU does not say
    std::string length_tag_key = "packet_len";
    std::string backend = "auto"; //!< of the LDPC encoder
    int device = 0;
};

/*!
 * \brief What the transmitters of PUSCH and of PDSCH share.
 *
 * Message port `pdus`: transport blocks, u8 vectors of bytes, or of bits, which the
 * length tells; with two codewords one after the other. The metadata may have `slot` (of
 * the frame), `frame`, `redundancy_version` (long, 0 to 3; s32vector for two codewords; 0
 * if missing), `process`, `new_data` and `tx_time`.
 *
 * Outputs, one an antenna port: a packet for each slot, its resource grid (symbols,
 * subcarriers), as NR OFDM Modulator takes it, with the tags `slot`, `frame`,
 * `nr_schedule`, which is the metadata with `user`, and `tx_time` if the metadata has it.
 * Without `slot` a transport block goes to the slot after the one before.
 *
 * With every_slot grids follow each other without an end, and a transport block with
 * `slot` waits for that slot, at most a frame; one without for the next slot.
 *
 * What can't be sent leaves by port `fail`, with `reason` in its metadata. The stream
 * ends when the block that sends the PDUs has ended.
 */
class CUDAPHY_API nr_shared_channel_transmitter : virtual public gr::block
{
public:
    //! Another channel from the next transport block on, of the same grid and ports.
    //! \throws std::invalid_argument that says what is allowed
    virtual void set_channel(kernels::nr::shared_channel::sptr channel) = 0;

    virtual std::string backend() const = 0;      //!< in use
    virtual uint64_t slots() const = 0;           //!< that left
    virtual uint64_t frames() const = 0;          //!< transport blocks sent
    virtual uint64_t refused_packets() const = 0; //!< PDUs that could not be sent
};

} // namespace gr::cudaphy
