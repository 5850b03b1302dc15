/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/packet_cutter.h"
#include "kernels/dvb/bb_checks.h"
#include <algorithm>

namespace gr::cudaphy::kernels {

bool user_packet_cutter::take(const uint8_t* data,
                              size_t count,
                              size_t start,
                              size_t length,
                              bool decoded,
                              const whole& put)
{
    bool fits = true;
    size_t at = 0;
    if (d_running) {
        const size_t left = length - 1 - std::min(d_packet.size(), length - 1);
        fits = start < count ? start == left : left >= count;
    }
    if (!d_running || !fits) {
        d_running = false;
        at = std::min(start, count);
    }
    while (at < count) {
        if (!d_running) { // at a sync byte's place; whose CRC stands there is lost
            d_running = true;
            d_packet.clear();
            d_decoded = decoded;
            ++at;
            continue;
        }
        const size_t part = std::min(length - 1 - d_packet.size(), count - at);
        if (part) {
            d_packet.insert(d_packet.end(), data + at, data + at + part);
            d_decoded = d_decoded && decoded;
            at += part;
            continue;
        }
        put(d_packet, crc8(d_packet.data(), d_packet.size()) == data[at], d_decoded);
        d_packet.clear();
        d_decoded = decoded;
        ++at;
    }
    return fits;
}

} // namespace gr::cudaphy::kernels
