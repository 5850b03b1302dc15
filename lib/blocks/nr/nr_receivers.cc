/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/nr/nr_receiver_block.h"
#include <gnuradio/cudaphy/nr_pdsch_receiver.h>
#include <gnuradio/cudaphy/nr_pusch_receiver.h>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using kernels::nr::link_direction;

template <typename Block>
class receiver_of : public Block, public nr_receiver_block
{
public:
    receiver_of(const char* name,
                link_direction link,
                const nr_shared_channel_receiver::channel_list& channels,
                int antennas,
                const nr_receiver_options& options)
        : gr::block(name,
                    gr::io_signature::make(antennas, antennas, sizeof(gr_complex)),
                    gr::io_signature::make(0, 0, 0)),
          nr_receiver_block(link, channels, antennas, options)
    {
    }
};

} // namespace

nr_pusch_receiver::sptr nr_pusch_receiver::make(const channel_list& channels,
                                                int antennas,
                                                const nr_receiver_options& options)
{
    return gnuradio::make_block_sptr<receiver_of<nr_pusch_receiver>>(
        "nr_pusch_receiver",
        link_direction::uplink,
        channels,
        checked_streams("antennas", antennas),
        options);
}

nr_pdsch_receiver::sptr nr_pdsch_receiver::make(const channel_list& channels,
                                                int antennas,
                                                const nr_receiver_options& options)
{
    return gnuradio::make_block_sptr<receiver_of<nr_pdsch_receiver>>(
        "nr_pdsch_receiver",
        link_direction::downlink,
        channels,
        checked_streams("antennas", antennas),
        options);
}

} // namespace gr::cudaphy
