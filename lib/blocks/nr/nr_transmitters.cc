/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/nr/nr_transmitter_block.h"
#include <gnuradio/cudaphy/nr_pdsch_transmitter.h>
#include <gnuradio/cudaphy/nr_pusch_transmitter.h>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using kernels::nr::link_direction;

template <typename Block>
class transmitter_of : public Block, public nr_transmitter_block
{
public:
    transmitter_of(const char* name,
                   link_direction link,
                   const kernels::nr::shared_channel::sptr& channel,
                   int streams,
                   const nr_transmitter_options& options)
        : gr::block(name,
                    gr::io_signature::make(0, 0, 0),
                    gr::io_signature::make(streams, streams, sizeof(gr_complex))),
          nr_transmitter_block(link, channel, options)
    {
    }
};

} // namespace

nr_pusch_transmitter::sptr
nr_pusch_transmitter::make(kernels::nr::shared_channel::sptr channel,
                           const nr_transmitter_options& options)
{
    return gnuradio::make_block_sptr<transmitter_of<nr_pusch_transmitter>>(
        "nr_pusch_transmitter",
        link_direction::uplink,
        channel,
        nr_transmitter_block::streams(channel, options),
        options);
}

nr_pdsch_transmitter::sptr
nr_pdsch_transmitter::make(kernels::nr::shared_channel::sptr channel,
                           const nr_transmitter_options& options)
{
    return gnuradio::make_block_sptr<transmitter_of<nr_pdsch_transmitter>>(
        "nr_pdsch_transmitter",
        link_direction::downlink,
        channel,
        nr_transmitter_block::streams(channel, options),
        options);
}

} // namespace gr::cudaphy
