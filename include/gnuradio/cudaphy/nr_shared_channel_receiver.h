/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/kernels/nr/shared_channel.h>
#include <string>
#include <vector>

namespace gr::cudaphy {

struct nr_receiver_options {
    //! Of each channel, the slots of a frame in which it is expected without being
    //! scheduled: none if its list is empty. No lists at all: every slot, all channels.
    std::vector<std::vector<int>> slots;
    int slot = 0; //!< of the first packet, if it has no tag `slot`

    std::string estimator = "mmse";    //!< over DM-RS: "mmse" or "ls"
    std::string interference = "auto"; //!< "auto", "white" or "irc"
    double delay_spread = -1;          //!< rms, seconds; below 0: from DM-RS
    double doppler = -1;               //!< Hz; below 0: from DM-RS
    bool track_frequency = true;
    int max_iterations = 20; //!< of the LDPC decoder, 1 to 1000

    int processes = 16;             //!< HARQ processes of a user (RNTI), 1 to 32
    uint64_t harq_bytes = 1u << 28; //!< that the processes of a user may hold

    bool packed = true;       //!< eight bits a byte, the first one highest
    double status_period = 1; //!< seconds between status messages, 0: none
    std::string length_tag_key = "packet_len"; //!< empty: slots without length tags
    std::string backend = "auto";
    int device = 0;
};

/*!
 * \brief What the receivers of PUSCH and of PDSCH share.
 *
 * Inputs, one an antenna: packets of complex items, the resource grid of a slot,
 * (symbols, subcarriers), as NR OFDM Demodulator gives them. Tags on the first item of
 * input 0: `slot`, `frame` (without them a slot is the one after the slot before),
 * `rx_time`, and `nr_schedule`.
 *
 * Ports `ok` and `fail`: a PDU for each transport block, whose CRC holds or does not; the
 * vector (u8) has its bytes, or with `packed` false its bits. Port `status`: a dictionary
 * every status_period seconds.
 *
 * What is expected in a slot: the channels of `slots`; redundancy version 0, new data, no
 * HARQ. A dictionary, or the metadata of a PDU, at message port `schedule` or as value of
 * the slot's tag `nr_schedule` says otherwise. Its keys: `user` (the channel's index, 0
 * if missing), `slot` and `frame` (of the one slot that it is for; without `slot` it
 * holds from now on; a tag is for its own slot), `active` (bool: whether the channel is
 * expected), `redundancy_version` (long, or s32vector for two codewords), `process`
 * (long: the HARQ process; none: the transmission stands alone), `new_data` (bool). A
 * message may be a vector of such dictionaries. What else is in it goes to the metadata
 * of the PDU.
 *
 * Channels with the same RNTI share HARQ processes. Where harq_bytes are too few, the
 * processes forget that were used least recently.
 */
class CUDAPHY_API nr_shared_channel_receiver : virtual public gr::block
{
public:
    using channel_list = std::vector<kernels::nr::shared_channel::sptr>;

    /*!
     * Other channels from the next slot on, as many as before, of the same grid.
     * \throws std::invalid_argument that says what is allowed
     */
    virtual void set_channels(const channel_list& channels) = 0;

    virtual std::string backend() const = 0;        //!< in use
    virtual uint64_t slots() const = 0;             //!< that came
    virtual uint64_t frames() const = 0;            //!< transport blocks expected
    virtual uint64_t frame_errors() const = 0;      //!< of these, without a good CRC
    virtual double average_iterations() const = 0;  //!< of a code block
    virtual double average_sinr_db() const = 0;     //!< of transport blocks; NaN if none
    virtual uint64_t refused_schedules() const = 0; //!< wrong or late
    virtual uint64_t refused_packets() const = 0;   //!< of another length, or torn
    virtual uint64_t harq_bytes() const = 0;        //!< that all processes hold
    virtual uint64_t forgotten_processes() const = 0; //!< for want of harq_bytes
};

} // namespace gr::cudaphy
