/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/nr_shared_channel_transmitter.h>

namespace gr::cudaphy {

/*!
 * \brief Makes PDSCH of 5G NR: transport blocks to resource grids (3GPP TS
 * 38.212, section 7.2; TS 38.211, sections 7.3.1 and 7.4.1).
 * \ingroup cudaphy
 */
class CUDAPHY_API nr_pdsch_transmitter : virtual public nr_shared_channel_transmitter
{
public:
    typedef std::shared_ptr<nr_pdsch_transmitter> sptr;

    /*!
     * \param channel  of PDSCH
     * \throws std::invalid_argument that says what is allowed; backend_unavailable
     */
    static sptr make(kernels::nr::shared_channel::sptr channel,
                     const nr_transmitter_options& options = {});
};

} // namespace gr::cudaphy
