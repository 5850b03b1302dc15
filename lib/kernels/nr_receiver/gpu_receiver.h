/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_receiver/channel_estimate.h"
#include "kernels/nr_receiver/soft_bits.h"
#include <gnuradio/cudaphy/kernels/nr/receiver.h>

namespace gr::cudaphy::kernels::nr {

//! A user of a receiver: what its parts on the host know.
struct gpu_user {
    shared_channel::sptr channel;
    const channel_estimate* estimate;
    std::vector<int> together; //!< users that are separated together, itself first
    std::vector<soft_bits*> bits;
    //! Of each codeword; decodes on the host what the GPU is in doubt of.
    std::vector<nr5g::transport_block_decoder*> decoders;
};

//! What a HARQ process holds of a codeword; null without HARQ.
struct gpu_order {
    int redundancy_version;
    nr5g::transport_block_decoder::soft_buffer* held;
};

/*!
 * \brief All steps of receiver.h on a GPU: a batch of slots in one launch.
 */
class gpu_receiver
{
public:
    static std::unique_ptr<gpu_receiver> make(const std::vector<gpu_user>& users,
                                              int antennas,
                                              const receiver_parameters& p,
                                              int device);
    virtual ~gpu_receiver() = default;

    /*!
     * \param grids   (slots, antennas, symbols, subcarriers), of the host or the device
     * \param orders  (slots, users, codewords)
     * \param[out] out  (slots, users), all but the reason
     * \returns whether the samples of DM-RS are finite and above the noise: 0 not finite,
     * 1 not above the noise, 2 (slots, users)
     */
    virtual std::vector<std::vector<int>>
    run(view<const complex64> grids,
        const std::vector<int>& slots,
        const std::vector<std::vector<std::vector<gpu_order>>>& orders,
        std::vector<std::vector<reception>>& out) = 0;
};

} // namespace gr::cudaphy::kernels::nr
