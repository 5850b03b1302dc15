/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * Cuts the data fields of one input stream into user packets. In place of a packet's sync
 * byte stands the CRC-8 of the packet before, so that a packet is whole when the byte
 * behind it is there.
 */
class user_packet_cutter
{
public:
    //! The packet's bytes without the sync byte; whether its CRC-8 is right; whether all
    //! frames that it lay in were decoded.
    using whole = std::function<void(const std::vector<uint8_t>&, bool, bool)>;

    /*!
     * \param data    a data field
     * \param start   bytes before the first packet that starts in it; none: count
     * \param length  bytes of a packet, its sync byte among them
     * \return whether the start fitted what came before
     */
    bool take(const uint8_t* data,
              size_t count,
              size_t start,
              size_t length,
              bool decoded,
              const whole& put);
    //! What has come of a packet is of no use.
    void forget() { d_running = false; }

private:
    std::vector<uint8_t> d_packet; //!< without its sync byte
    bool d_running = false;
    bool d_decoded = true; //!< all frames of the packet
};

} // namespace gr::cudaphy::kernels
