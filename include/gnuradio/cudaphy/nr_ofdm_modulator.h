/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/kernels/nr/ofdm.h>
#include <string>

namespace gr::cudaphy {

/*!
 * \brief OFDM modulator of 5G NR: resource grids to samples (3GPP TS 38.211, sections
 * 5.3.1 and 5.4).
 * \ingroup cudaphy
 *
 * Inputs, one an antenna port: packets of complex items, the resource grid of a slot,
 * (symbols, subcarriers). Outputs, one a port: a packet with the slot's samples. On a
 * packet's first item, in and out, are the tags `slot` (long: of the frame) and `frame`
 * (long, 0 to 1023). Without them a slot is the one after the slot before. Slots that
 * nothing came for are not sent: the packets follow each other. All other tags of a
 * packet, such as tx_time, go to the first sample of its slot.
 *
 * A packet of another length is passed over and counted. A missing length tag ends the
 * flowgraph with a message.
 */
class CUDAPHY_API nr_ofdm_modulator : virtual public gr::block
{
public:
    typedef std::shared_ptr<nr_ofdm_modulator> sptr;

    /*!
     * \param ofdm   grid and sample rate
     * \param ports  1..64
     * \param slot   of the first packet that has no tag `slot`
     * \param length_tag_key of packets in and out
     * \throws std::invalid_argument that says what is allowed
     */
    static sptr make(const kernels::nr::ofdm_parameters& ofdm,
                     int ports = 1,
                     int slot = 0,
                     const std::string& length_tag_key = "packet_len");

    virtual double sample_rate() const = 0;       //!< samples a second
    virtual uint64_t slots() const = 0;           //!< that were modulated
    virtual uint64_t refused_packets() const = 0; //!< of another length, or torn
};

} // namespace gr::cudaphy
