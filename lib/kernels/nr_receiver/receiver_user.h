/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_receiver/channel_estimate.h"
#include "kernels/nr_receiver/layer_separation.h"
#include "kernels/nr_receiver/soft_bits.h"
#include <gnuradio/cudaphy/kernels/nr/receiver.h>

namespace gr::cudaphy::kernels::nr {

constexpr double subcarrier_spacing = 15e3; // of numerology 0, Hz

inline double spacing_of(const shared_channel_parameters& p)
{
    return subcarrier_spacing * (1 << p.numerology);
}

//! Seconds, with the mean cyclic prefix.
inline double symbol_of(const shared_channel_parameters& p)
{
    return 1e-3 / (1 << p.numerology) / p.symbols_per_slot();
}

//! A channel of a receiver: what its steps need, and what a slot leaves in them.
struct receiver::user {
    user(shared_channel::sptr of,
         int antennas,
         const receiver_parameters& p,
         backend where,
         int device);

    reception measured() const;
    //! \param held  what a HARQ process holds; null: the transmission stands alone
    void decode(const reception_order& order,
                harq::process_blocks* held,
                bool usable,
                reception& out);

    shared_channel::sptr channel;
    channel_estimate estimate;
    std::vector<user*> together;                  // itself first
    std::unique_ptr<layer_separation> separation; // null if a GPU does it
    std::vector<std::unique_ptr<soft_bits>> bits;
    std::vector<std::unique_ptr<nr5g::transport_block_decoder>> decoders;
    size_t buffer_bytes = 0;
};

} // namespace gr::cudaphy::kernels::nr
