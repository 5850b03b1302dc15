/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/gse_reader.h"
#include "kernels/dvb/bb_checks.h"

namespace gr::cudaphy::kernels {
namespace {

constexpr int least_ethertype = 0x600; // below, a type is that of an extension header
constexpr size_t crc_bytes = 4;

int pair(const uint8_t* at) { return at[0] << 8 | at[1]; }

//! Label types 0 to 3: six bytes, three, none (broadcast), the label before once more.
size_t label_bytes_of(int type) { return type == 0 ? 6 : type == 1 ? 3 : 0; }

//! Takes the packet out of protocol type, label, extension headers and data. Optional
//! extension headers are left out; a packet with a mandatory one is passed over, as only
//! its user knows its size.
bool put(const uint8_t* unit,
         size_t count,
         size_t label_bytes,
         const std::vector<uint8_t>& label,
         int isi,
         bb_deframer::output& to)
{
    size_t at = 2 + label_bytes;
    if (count < at) {
        return false;
    }
    int type = pair(unit);
    while (type < least_ethertype) {
        const size_t length =
            type >> 8 & 7; // in pairs of bytes, with the type that follows
        if (length == 0 || at + 2 * length > count) {
            return false;
        }
        at += 2 * length;
        type = pair(unit + at - 2);
    }
    bb_deframer::packet packet;
    packet.data.assign(unit + at, unit + count);
    packet.isi = isi;
    packet.protocol = type;
    packet.label = label;
    to.packets.push_back(std::move(packet));
    return true;
}

} // namespace

std::vector<uint8_t> gse_reader::label_of(int type, const uint8_t* label)
{
    if (type != 3) {
        d_last_label.assign(label, label + label_bytes_of(type));
    }
    return d_last_label;
}

uint64_t
gse_reader::take(const uint8_t* data, size_t count, int isi, bb_deframer::output& to)
{
    uint64_t lost = 0;
    d_last_label.clear();
    for (size_t at = 0; at + 2 <= count;) {
        const bool starts = data[at] >> 7 & 1, ends = data[at] >> 6 & 1;
        const int label_type = data[at] >> 4 & 3;
        const size_t length = pair(data + at) & 0xfff;
        if (!starts && !ends && label_type == 0) {
            break; // padding to the end
        }
        const uint8_t* const unit = data + at + 2;
        at += 2 + length;
        if (at > count) {
            ++lost;
            break;
        }
        const size_t label_bytes = label_bytes_of(label_type);
        // Before the label: type; of a first fragment, its ID and the total length too.
        const size_t head = starts ? (ends ? 2 : 5) : 1;
        if (length < head + (starts ? label_bytes : 0)) {
            ++lost;
            continue;
        }
        if (starts && ends) {
            const auto label = label_of(label_type, unit + head);
            lost += put(unit, length, label_bytes, label, isi, to) ? 0 : 1;
            continue;
        }
        const int id = unit[0];
        if (starts) {
            lost += d_open.count(id);
            auto& open = d_open[id];
            open.total = pair(unit + 1);
            open.checked.assign(unit + 1, unit + length);
            open.label_bytes = label_bytes;
            open.label = label_of(label_type, unit + head);
            continue;
        }
        const auto found = d_open.find(id);
        if (found == d_open.end()) {
            ++lost; // its start did not come
            continue;
        }
        auto& open = found->second;
        open.checked.insert(open.checked.end(), unit + 1, unit + length);
        const size_t whole = 2 + open.total + crc_bytes;
        if (!ends && open.checked.size() < whole) {
            continue;
        }
        const uint8_t* const all = open.checked.data();
        const bool right =
            ends && open.checked.size() == whole &&
            crc32(all, whole) == 0 && // of all with its CRC-32
            put(all + 2, open.total, open.label_bytes, open.label, isi, to);
        lost += right ? 0 : 1;
        d_open.erase(found);
    }
    return lost;
}

} // namespace gr::cudaphy::kernels
