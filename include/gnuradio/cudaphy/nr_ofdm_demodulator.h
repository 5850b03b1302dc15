/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/kernels/nr/ofdm.h>
#include <string>

namespace gr::cudaphy {

struct nr_ofdm_demodulator_options {
    int slot = 0; //!< of the frame: the one that begins at the first sample
    //! No slot before a tag `slot`; false: one begins at the first sample.
    bool start_at_tag = false;
    //! Samples that transforms start within the prefix, at most the shortest prefix;
    //! below 0: half of it.
    int advance = -1;
    int tolerance = 2; //!< samples that a time `rx_time` may be off, 0..2^20
    std::string length_tag_key = "packet_len";
};

/*!
 * \brief OFDM demodulator of 5G NR: samples to resource grids (3GPP TS 38.211, sections
 * 5.3.1 and 5.4).
 * \ingroup cudaphy
 *
 * Inputs, one an antenna: samples. Outputs, one an antenna: a packet for each slot, its
 * resource grid (symbols, subcarriers), with the tags `slot` (long: of the frame),
 * `frame` (long, 0 to 1023) and, if it is known, `rx_time` of the slot's first sample.
 *
 * Slots follow each other without a gap from the first sample on, or from the first tag
 * `slot` of input 0. Each such tag says that this slot of the frame begins at its sample,
 * with a tag `frame` beside it in that frame. A slot that is not whole then is dropped.
 *
 * If a tag `rx_time` shows that the radio lost samples, the slots in which some are
 * missing are dropped. The grid of slots and their numbers are kept over the gap, because
 * its length is known from the time and the sample rate. If the time goes back, the block
 * begins anew as at its start. All other tags but rx_rate go to the first item of the
 * slot that was made of their sample, on the same antenna's output.
 */
class CUDAPHY_API nr_ofdm_demodulator : virtual public gr::block
{
public:
    typedef std::shared_ptr<nr_ofdm_demodulator> sptr;

    /*!
     * \param ofdm      grid and sample rate; the window is of no use here
     * \param antennas  1..64
     * \throws std::invalid_argument that says what is allowed
     */
    static sptr make(const kernels::nr::ofdm_parameters& ofdm,
                     int antennas = 1,
                     const nr_ofdm_demodulator_options& options = {});

    virtual double sample_rate() const = 0;  //!< samples a second
    virtual uint64_t slots() const = 0;      //!< that were demodulated
    virtual uint64_t lost_slots() const = 0; //!< in which samples are missing
    virtual uint64_t gaps() const = 0;       //!< that `rx_time` has shown
    //! Samples that belong to no whole slot.
    virtual uint64_t dropped_samples() const = 0;
};

} // namespace gr::cudaphy
