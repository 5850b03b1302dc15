/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nr/shared_channel.h>
#include <memory>

namespace gr::cudaphy::kernels::nr_cell {

/*!
 * \brief Receives PDSCH of one layer in QPSK, as SIB1 is sent.
 *
 * Repetitions of one transport block are combined, if the same receiver gets them.
 */
class pdsch_receiver
{
public:
    pdsch_receiver();
    ~pdsch_receiver();

    /*!
     * \param slot                in the frame
     * \param redundancy_version  0 to 3
     * \param grid                (14, subcarriers)
     * \param noise               variance of a resource element
     * \returns the transport block, or nothing if its CRC fails
     * \throws std::invalid_argument as shared_channel::make() does
     */
    std::vector<uint8_t> receive(const nr::shared_channel_parameters&,
                                 int slot,
                                 int redundancy_version,
                                 const std::vector<complex64>& grid,
                                 float noise);

private:
    struct decoder;
    std::unique_ptr<decoder> d_decoder;
};

} // namespace gr::cudaphy::kernels::nr_cell
