/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/bb_checks.h"
#include <gnuradio/cudaphy/kernels/bb_deframer.h>

namespace gr::cudaphy::kernels {

bool bb_header::parse(const uint8_t* bytes, bb_header& header)
{
    constexpr size_t checked = 9;
    if (crc8(bytes, checked) != bytes[checked]) {
        return false;
    }
    const auto pair = [&](size_t at) { return bytes[at] << 8 | bytes[at + 1]; };
    header.what = static_cast<content>(bytes[0] >> 6);
    header.single_stream = bytes[0] >> 5 & 1;
    header.constant_coding = bytes[0] >> 4 & 1;
    header.synchronized_input = bytes[0] >> 3 & 1;
    header.nulls_deleted = bytes[0] >> 2 & 1;
    header.roll_off = bytes[0] & 3;
    header.isi = header.single_stream ? 0 : bytes[1];
    header.packet_bits = pair(2);
    header.data_bits = pair(4);
    header.sync_byte = bytes[6];
    header.sync_distance = pair(7);
    return true;
}

} // namespace gr::cudaphy::kernels
