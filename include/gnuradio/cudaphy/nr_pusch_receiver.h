/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/nr_shared_channel_receiver.h>

namespace gr::cudaphy {

/*!
 * \brief Receives PUSCH of 5G NR: resource grids to transport blocks (3GPP TS 38.211,
 * 38.212 and 38.214; kernels/nr/receiver.h).
 * \ingroup cudaphy
 */
class CUDAPHY_API nr_pusch_receiver : virtual public nr_shared_channel_receiver
{
public:
    typedef std::shared_ptr<nr_pusch_receiver> sptr;

    /*!
     * \param channels  of PUSCH, of one grid, numerology and prefix; users that share
     *                  resource blocks are separated jointly if their DM-RS permits
     * \param antennas  as many as kernels::nr::receiver takes
     * \throws std::invalid_argument that says what is allowed; backend_unavailable
     */
    static sptr make(const channel_list& channels,
                     int antennas = 1,
                     const nr_receiver_options& options = {});
};

} // namespace gr::cudaphy
