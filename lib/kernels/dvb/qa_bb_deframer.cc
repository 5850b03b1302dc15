/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE bb_deframer
#include "kernels/common/testing.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/bb_deframer.h>

using namespace gr::cudaphy::kernels;
using gr::cudaphy::testing::generator;
using bytes = std::vector<uint8_t>;

namespace {

int below(int most) { return static_cast<int>(generator()() % most); }

void append(bytes& to, const bytes& more)
{
    to.insert(to.end(), more.begin(), more.end());
}

//! The remainder of the bits by a polynomial, bit by bit.
uint32_t checksum(const bytes& data, int width, uint32_t polynomial, uint32_t state)
{
    for (const auto byte : data) {
        for (int bit = 7; bit >= 0; --bit) {
            const bool leaves = (state >> (width - 1) ^ byte >> bit) & 1;
            state = state << 1 ^ (leaves ? polynomial : 0);
            state &= width == 32 ? ~0u : (1u << width) - 1;
        }
    }
    return state;
}
uint8_t crc_of(const bytes& data) { return checksum(data, 8, 0xd5, 0); }

bytes pair(int value)
{
    return { static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value) };
}

//! As the standard draws it: fifteen stages, the sum of the last two leaves and comes in.
void scramble(bytes& frame)
{
    std::vector<int> stage{ 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0 };
    for (auto& byte : frame) {
        for (int bit = 7; bit >= 0; --bit) {
            const int next = stage[13] ^ stage[14];
            stage.insert(stage.begin(), next);
            stage.pop_back();
            byte ^= next << bit;
        }
    }
}

bytes frame_of(
    int matype, int isi, int upl, uint8_t sync, int syncd, const bytes& data, size_t size)
{
    bytes frame{ static_cast<uint8_t>(matype), static_cast<uint8_t>(isi) };
    append(frame, pair(upl));
    append(frame, pair(static_cast<int>(data.size()) * 8));
    frame.push_back(sync);
    append(frame, pair(syncd));
    frame.push_back(crc_of(frame));
    append(frame, data);
    frame.resize(size);
    scramble(frame);
    return frame;
}

constexpr int transport = 0xf0, several = 0xd0, issy = 8, nulls_deleted = 4;

bytes transport_packet(int pid)
{
    bytes packet(188);
    for (auto& byte : packet) {
        byte = generator()();
    }
    packet[0] = 0x47;
    packet[1] = (packet[1] & 0x60) | pid >> 8; // no error
    packet[2] = pid;
    return packet;
}

bytes null_packet()
{
    bytes packet(188, 0xff);
    packet[0] = 0x47;
    packet[1] = 0x1f;
    packet[2] = 0xff;
    packet[3] = 0x10;
    return packet;
}

//! Baseband frames of packets as a transmitter makes them. `fields`: what stands behind
//! each packet.
std::vector<bytes> frames_of(const std::vector<bytes>& packets,
                             const std::vector<bytes>& fields,
                             int matype,
                             int isi,
                             int upl,
                             size_t size)
{
    bytes stream;
    std::vector<size_t> starts;
    uint8_t crc = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
        bytes unit(packets[i].begin() + 1, packets[i].end());
        if (!fields.empty()) {
            append(unit, fields[i]);
        }
        starts.push_back(stream.size());
        stream.push_back(crc);
        append(stream, unit);
        crc = crc_of(unit);
    }
    starts.push_back(stream.size()); // of a packet of which no more comes
    stream.push_back(crc);
    std::vector<bytes> frames;
    const size_t room = size - 10;
    for (size_t at = 0; at < stream.size(); at += room) {
        const bytes data(stream.begin() + at,
                         stream.begin() + std::min(at + room, stream.size()));
        const auto next = std::lower_bound(starts.begin(), starts.end(), at);
        const int distance = next == starts.end() || *next >= at + data.size()
                                 ? 65535
                                 : static_cast<int>(*next - at) * 8;
        frames.push_back(frame_of(matype, isi, upl, packets[0][0], distance, data, size));
    }
    return frames;
}

bytes joined(const std::vector<bytes>& packets)
{
    bytes all;
    for (const auto& one : packets) {
        append(all, one);
    }
    return all;
}

std::vector<bytes> some_packets(int count)
{
    std::vector<bytes> all;
    for (int i = 0; i < count; ++i) {
        all.push_back(transport_packet(100 + i));
    }
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(transport_packets_come_back_whatever_the_frame_size)
{
    for (const size_t size : { 3072 / 8, 16008 / 8, 58192 / 8, 200 }) {
        const auto packets = some_packets(150);
        const auto deframer = bb_deframer::make({});
        bb_deframer::output out;
        for (const auto& frame : frames_of(packets, {}, transport, 0, 1504, size)) {
            deframer->take(frame.data(), frame.size(), true, out);
        }
        BOOST_TEST((out.transport == joined(packets)));
        BOOST_TEST(deframer->so_far().transport_packets == 150);
        BOOST_TEST(deframer->so_far().bad_packets == 0);
        BOOST_TEST(deframer->so_far().lost_starts == 0);
        bb_header header;
        BOOST_TEST(deframer->last_header(header));
        BOOST_TEST(header.single_stream);
        BOOST_TEST(header.packet_bits == 1504);
    }
}

BOOST_AUTO_TEST_CASE(deleted_null_packets_return_and_issy_fields_go)
{
    for (const int issy_bytes : { 0, 2, 3 }) {
        for (const bool nulls : { false, true }) {
            for (const bool whole_length : { false, true }) {
                std::vector<bytes> sent, kept, fields;
                for (int i = 0; i < 200; ++i) {
                    const int deleted = nulls ? below(3) : 0;
                    for (int n = 0; n < deleted; ++n) {
                        sent.push_back(null_packet());
                    }
                    kept.push_back(transport_packet(200 + i));
                    sent.push_back(kept.back());
                    bytes field(issy_bytes, 0x55);
                    if (nulls) {
                        field.push_back(deleted);
                    }
                    fields.push_back(field);
                }
                const int extra = issy_bytes + nulls;
                const auto frames = frames_of(kept,
                                              fields,
                                              transport | (issy_bytes ? issy : 0) |
                                                  (nulls ? nulls_deleted : 0),
                                              0,
                                              whole_length ? 8 * (188 + extra) : 1504,
                                              7274);
                const auto deframer = bb_deframer::make({});
                bb_deframer::output out;
                for (const auto& frame : frames) {
                    deframer->take(frame.data(), frame.size(), true, out);
                }
                const auto all = joined(sent);
                BOOST_TEST_CONTEXT("issy " << issy_bytes << " nulls " << nulls
                                           << " whole length " << whole_length)
                {
                    // A length that is not told takes two frames to find out.
                    BOOST_TEST(out.transport.size() % 188 == 0);
                    BOOST_TEST(out.transport.size() >= all.size() / 2);
                    BOOST_TEST(std::equal(
                        out.transport.rbegin(), out.transport.rend(), all.rbegin()));
                    if (whole_length || !issy_bytes) {
                        BOOST_TEST(out.transport.size() == all.size());
                    }
                    BOOST_TEST(deframer->so_far().bad_packets == 0);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(packets_of_bad_frames_are_marked_and_lost_frames_are_counted)
{
    const auto packets = some_packets(400);
    const auto frames = frames_of(packets, {}, transport, 0, 1504, 4026);
    const auto deframer = bb_deframer::make({});
    bb_deframer::output out;
    for (size_t i = 0; i < frames.size(); ++i) {
        auto frame = frames[i];
        if (i == 3) {
            continue; // lost: the next one does not go on where the last one ended
        }
        if (i == 7) {
            frame[2] ^= 1; // in the header
        }
        if (i == 11) {
            frame[2000] ^= 4; // one packet's CRC is wrong, and all are marked
        }
        deframer->take(frame.data(), frame.size(), i != 11, out);
    }
    const auto counts = deframer->so_far();
    BOOST_TEST(counts.frames == frames.size() - 1);
    BOOST_TEST(counts.bad_frames == 1);
    BOOST_TEST(counts.bad_headers == 1);
    BOOST_TEST(counts.lost_starts == 1);
    BOOST_TEST(counts.transport_packets * 188 == out.transport.size());
    int marked = 0;
    for (size_t at = 0; at < out.transport.size(); at += 188) {
        BOOST_REQUIRE(out.transport[at] == 0x47);
        if (out.transport[at + 1] & 0x80) {
            ++marked;
            continue;
        }
        const bytes packet(out.transport.begin() + at, out.transport.begin() + at + 188);
        BOOST_TEST((std::find(packets.begin(), packets.end(), packet) != packets.end()));
    }
    BOOST_TEST(marked == static_cast<int>(counts.bad_packets));
    BOOST_TEST(marked >= 4016 / 188);
    BOOST_TEST(marked <= 4016 / 188 + 2);
    BOOST_TEST(out.transport.size() / 188 >= 400 - 2 * (4016 / 188 + 2));
}

BOOST_AUTO_TEST_CASE(one_input_stream_of_several)
{
    const auto first = some_packets(60), second = some_packets(60);
    auto a = frames_of(first, {}, several, 7, 1504, 2001);
    auto b = frames_of(second, {}, several, 9, 1504, 2001);
    for (const int isi : { bb_deframer::any_stream, 7, 9, 8 }) {
        const auto deframer = bb_deframer::make({ isi });
        bb_deframer::output out;
        for (size_t i = 0; i < a.size(); ++i) {
            deframer->take(a[i].data(), a[i].size(), true, out);
            deframer->take(b[i].data(), b[i].size(), true, out);
        }
        const bytes expected = isi == 9   ? joined(second)
                               : isi == 8 ? bytes()
                                          : joined(first);
        BOOST_TEST((out.transport == expected));
        BOOST_TEST(deframer->so_far().other_streams == a.size() * (isi == 8 ? 2 : 1));
    }
    BOOST_CHECK_THROW(bb_deframer::make({ 256 }), std::invalid_argument);
    BOOST_CHECK_THROW(bb_deframer::make({ -2 }), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(generic_packets_and_data)
{
    std::vector<bytes> packets;
    for (int i = 0; i < 30; ++i) {
        bytes one(100);
        std::generate(one.begin(), one.end(), [] { return below(256); });
        one[0] = 0xb8;
        packets.push_back(one);
    }
    auto deframer = bb_deframer::make({});
    bb_deframer::output out;
    for (const auto& frame : frames_of(packets, {}, 0x30, 0, 800, 384)) {
        deframer->take(frame.data(), frame.size(), true, out);
    }
    BOOST_REQUIRE(out.packets.size() == 30);
    for (int i = 0; i < 30; ++i) {
        BOOST_TEST((out.packets[i].data == packets[i]));
        BOOST_TEST(out.packets[i].protocol == -1);
    }
    deframer = bb_deframer::make({ bb_deframer::any_stream, false });
    bb_deframer::output whole;
    const auto frame = frame_of(0x70, 0, 0, 0, 0, packets[0], 384);
    deframer->take(frame.data(), frame.size(), true, whole);
    BOOST_REQUIRE(whole.packets.size() == 1);
    BOOST_TEST((whole.packets[0].data == packets[0]));
}

namespace {

bytes gse(bool starts, bool ends, int label_type, const bytes& rest)
{
    auto unit = pair((starts << 15) | (ends << 14) | label_type << 12 |
                     static_cast<int>(rest.size()));
    append(unit, rest);
    return unit;
}

bytes some_bytes(int count)
{
    bytes all(count);
    std::generate(all.begin(), all.end(), [] { return below(256); });
    return all;
}

std::vector<bb_deframer::packet> packets_of(bb_deframer& deframer, const bytes& data)
{
    bb_deframer::output out;
    const auto frame = frame_of(0x70, 0, 0, 0, 0, data, data.size() + 10 + below(40));
    deframer.take(frame.data(), frame.size(), true, out);
    return out.packets;
}

} // namespace

BOOST_AUTO_TEST_CASE(gse_units_whole_with_labels_extensions_and_padding)
{
    const bytes label{ 1, 2, 3, 4, 5, 6 }, content = some_bytes(200);
    bytes data, unit = pair(0x0800);
    append(unit, label);
    append(unit, content);
    append(data, gse(true, true, 0, unit));
    unit = pair(0x86dd); // the label before, once more
    append(unit, content);
    append(data, gse(true, true, 3, unit));
    unit = pair(0x0301); // an optional extension of six bytes
    append(unit, { 9, 9, 9 });
    append(unit, { 1, 1, 1, 0x08, 0x06 });
    unit.resize(3 + 2); // label of three bytes, then what is left of the extension
    append(unit, { 7, 7, 7, 7, 0x08, 0x06 });
    append(unit, content);
    append(data, gse(true, true, 1, unit));
    unit = pair(0x0001); // a mandatory one
    append(unit, content);
    append(data, gse(true, true, 2, unit));
    data.resize(data.size() + 7); // padding
    auto deframer = bb_deframer::make({});
    const auto got = packets_of(*deframer, data);
    BOOST_REQUIRE(got.size() == 3);
    const int types[] = { 0x0800, 0x86dd, 0x0806 };
    for (int i = 0; i < 3; ++i) {
        BOOST_TEST(got[i].protocol == types[i]);
        BOOST_TEST((got[i].data == content));
    }
    BOOST_TEST((got[0].label == label));
    BOOST_TEST((got[1].label == label));
    BOOST_TEST((got[2].label == bytes{ 9, 9, 9 }));
    BOOST_TEST(deframer->so_far().bad_packets == 1);
}

BOOST_AUTO_TEST_CASE(gse_fragments_over_frames_and_what_is_lost)
{
    const bytes content = some_bytes(3000), other = some_bytes(50);
    bytes head = pair(2 + 3 + 3000);
    append(head, pair(0x0800));
    append(head, { 4, 5, 6 });
    bytes all = head;
    append(all, content);
    const uint32_t crc = checksum(all, 32, 0x04c11db7, ~0u);
    const bytes end{
        uint8_t(crc >> 24), uint8_t(crc >> 16), uint8_t(crc >> 8), uint8_t(crc)
    };
    const auto part = [&](size_t from, size_t to) {
        bytes unit{ 17 };
        unit.insert(unit.end(), content.begin() + from, content.begin() + to);
        return unit;
    };
    bytes first{ 17 };
    append(first, head);
    first.insert(first.end(), content.begin(), content.begin() + 1000);
    bytes last = part(2000, 3000);
    append(last, end);
    bytes between = pair(0x0800);
    append(between, other);
    const bytes frames[] = { gse(true, false, 1, first),
                             gse(true, true, 2, between),
                             gse(false, false, 2, part(1000, 2000)),
                             gse(false, true, 2, last) };
    for (int damage = 0; damage < 5; ++damage) {
        auto deframer = bb_deframer::make({});
        std::vector<bb_deframer::packet> got;
        for (int i = 0; i < 4; ++i) {
            auto data = frames[i];
            if (damage == 1 && i == 2) {
                data[100] ^= 1; // the CRC-32 is wrong
            }
            if ((damage == 2 && i == 0) || (damage == 3 && i == 2)) {
                continue;
            }
            for (auto& one : packets_of(*deframer, data)) {
                got.push_back(one);
            }
            if (damage == 4 && i == 0) {
                packets_of(*deframer, data); // a second start of this fragment ID
            }
        }
        const bool whole = damage == 0 || damage == 4;
        BOOST_TEST_CONTEXT("damage " << damage)
        {
            BOOST_REQUIRE(got.size() == (whole ? 2u : 1u));
            BOOST_TEST((got[0].data == other));
            if (whole) {
                BOOST_TEST((got[1].data == content));
                BOOST_TEST((got[1].label == bytes{ 4, 5, 6 }));
            }
            BOOST_TEST((deframer->so_far().bad_packets == 0) == (damage == 0));
        }
    }
}

BOOST_AUTO_TEST_CASE(any_bytes_are_taken_without_harm)
{
    for (const bool gse_streams : { false, true }) {
        const auto deframer = bb_deframer::make({ bb_deframer::any_stream, gse_streams });
        bb_deframer::output out;
        for (int i = 0; i < 20000; ++i) {
            auto frame = some_bytes(below(8) ? 10 + below(300) : below(10));
            if (below(4) && frame.size() >= 10) { // a right CRC-8, most lengths possible
                bytes head(frame.begin(), frame.begin() + 9);
                const int bits = 8 * below(static_cast<int>(frame.size()) - 9);
                head[4] = bits >> 8;
                head[5] = bits;
                if (below(2)) {
                    head[2] = 0;
                    head[3] = 8 * below(32);
                    head[7] = 0;
                    head[8] = 8 * below(32);
                }
                head.push_back(crc_of(head));
                std::copy(head.begin(), head.end(), frame.begin());
                scramble(frame);
            }
            deframer->take(frame.data(), frame.size(), below(2), out);
            out = {};
        }
        const auto counts = deframer->so_far();
        BOOST_TEST(counts.frames == 20000);
        BOOST_TEST(counts.bad_headers > 0);
        BOOST_TEST(counts.bad_headers < 20000);
    }
}
