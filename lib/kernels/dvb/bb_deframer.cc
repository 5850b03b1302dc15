/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/bb_checks.h"
#include "kernels/dvb/field_joiner.h"
#include "kernels/dvb/gse_reader.h"
#include "kernels/dvb/packet_cutter.h"
#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace gr::cudaphy::kernels {
namespace {

constexpr size_t header_bytes = 10;
constexpr int no_start = 65535;
constexpr size_t transport_bytes = 188;
constexpr uint8_t transport_sync = 0x47, transport_error = 0x80;

//! A null packet: PID 8191, without content.
void append_null(std::vector<uint8_t>& to)
{
    to.insert(to.end(), { transport_sync, 0x1f, 0xff, 0x10 });
    to.insert(to.end(), transport_bytes - 4, 0xff);
}

//! What is known of one input stream.
struct input_stream {
    field_joiner joiner;
    user_packet_cutter cutter;
    gse_reader gse;
    //! Bytes behind a transport packet: ISSY's 2 or 3, and 1 for deleted null packets.
    size_t extra = 0;
    bool extra_known = false;
    size_t last_start = 0, last_bytes = 0; //!< of the frame before
    bool has_last = false;
};

class bb_deframer_impl : public bb_deframer
{
public:
    explicit bb_deframer_impl(const parameters& p) : d_parameters(p), d_isi(p.isi)
    {
        if (p.isi < any_stream || p.isi > 255) {
            throw std::invalid_argument("bb_deframer: isi is " + std::to_string(p.isi) +
                                        ", allowed are 0 to 255, and -1 for any stream");
        }
    }

    void take(const uint8_t* frame, size_t bytes, bool ok, output& to) override
    {
        ++d_counts.frames;
        d_counts.bad_frames += ok ? 0 : 1;
        const auto& scrambler = bb_scrambler();
        bytes = std::min(bytes, scrambler.size());
        d_frame.resize(bytes);
        std::transform(
            frame, frame + bytes, scrambler.begin(), d_frame.begin(), std::bit_xor<>());
        bb_header header;
        if (bytes < header_bytes || !bb_header::parse(d_frame.data(), header) ||
            !is_plausible(header, bytes - header_bytes)) {
            ++d_counts.bad_headers;
            for (auto& [isi, stream] : d_streams) {
                // The frame may have been of any stream.
                stream.joiner.forget();
                stream.cutter.forget();
                stream.has_last = false;
            }
            return;
        }
        d_header = header;
        d_has_header = true;
        const uint8_t* const data = d_frame.data() + header_bytes;
        const size_t count = header.data_bits / 8;
        auto& stream = d_streams[header.isi];
        switch (header.what) {
        case bb_header::content::transport:
            take_transport(header, data, ok, stream, to);
            break;
        case bb_header::content::packets:
            take_packets(header, data, ok, stream, to);
            break;
        case bb_header::content::gse_hem:
        case bb_header::content::continuous:
            if (d_parameters.gse) {
                d_counts.bad_packets += stream.gse.take(data, count, header.isi, to);
            } else {
                packet whole;
                whole.data.assign(data, data + count);
                whole.isi = header.isi;
                to.packets.push_back(std::move(whole));
            }
        }
    }

    counts so_far() const override { return d_counts; }
    bool last_header(bb_header& header) const override
    {
        header = d_header;
        return d_has_header;
    }

private:
    //! Whether a header whose CRC-8 is right, as one in 256 wrong ones has it, makes
    //! sense.
    static bool is_plausible(const bb_header& header, size_t room)
    {
        const bool in_packets = header.what == bb_header::content::transport ||
                                header.what == bb_header::content::packets;
        const auto start = header.sync_distance;
        // Only where the BCH code's K is no whole number of bytes, a field may be none.
        const auto bits = static_cast<size_t>(header.data_bits);
        const bool in_bytes = bits % 8 == 0;
        const bool fits =
            in_bytes ? bits / 8 <= room : in_packets && bits / 8 + 1 == room;
        return fits && (!in_packets ||
                        (header.packet_bits % 8 == 0 && header.packet_bits > 8 &&
                         (start == no_start ||
                          ((start % 8 == 0 || !in_bytes) && start <= header.data_bits))));
    }

    static field_joiner::joined
    joined_field(const bb_header& header, const uint8_t* data, input_stream& stream)
    {
        const auto bits = static_cast<size_t>(header.data_bits);
        const auto start = static_cast<size_t>(header.sync_distance);
        return stream.joiner.take(
            data, bits, header.sync_distance == no_start ? bits : start);
    }

    /*!
     * Bytes of a transport packet. Transmitters that append fields to packets say in UPL
     * either the whole length or 188 bytes. Whether an ISSY field has 2 or 3 bytes then
     * shows from the packets' starts in two frames.
     */
    size_t transport_length(const bb_header& header,
                            size_t start,
                            size_t count,
                            input_stream& stream)
    {
        const size_t told = header.packet_bits / 8;
        if (told != transport_bytes ||
            !(header.synchronized_input || header.nulls_deleted)) {
            return told;
        }
        const size_t nulls = header.nulls_deleted ? 1 : 0;
        if (!header.synchronized_input) {
            return told + nulls;
        }
        if (!stream.extra_known) {
            const size_t between = stream.last_bytes - stream.last_start + start;
            const bool both = stream.has_last && start < count;
            const bool two = both && between % (told + 2 + nulls) == 0;
            const bool three = both && between % (told + 3 + nulls) == 0;
            stream.extra_known = two != three;
            stream.extra = (two ? 2 : 3) + nulls;
        }
        return stream.extra_known ? told + stream.extra : 0;
    }

    void take_transport(const bb_header& header,
                        const uint8_t* data,
                        bool ok,
                        input_stream& stream,
                        output& to)
    {
        if (d_isi == any_stream) {
            d_isi = header.isi;
        }
        if (header.isi != d_isi) {
            ++d_counts.other_streams;
            return;
        }
        const auto [bytes_of_field, count, start] = joined_field(header, data, stream);
        const size_t length = transport_length(header, start, count, stream);
        stream.has_last = start < count;
        stream.last_start = start;
        stream.last_bytes = count;
        if (length < transport_bytes) {
            return; // not known yet, or no transport packet
        }
        const auto put =
            [&](const std::vector<uint8_t>& bytes, bool right, bool decoded) {
                if (header.nulls_deleted && right) {
                    for (int nulls = bytes.back(); nulls > 0; --nulls) {
                        append_null(to.transport);
                        ++d_counts.returned_nulls;
                        ++d_counts.transport_packets;
                    }
                }
                ++d_counts.transport_packets;
                d_counts.bad_packets += right && decoded ? 0 : 1;
                const auto first = to.transport.size();
                to.transport.push_back(transport_sync);
                to.transport.insert(to.transport.end(),
                                    bytes.begin(),
                                    bytes.begin() + transport_bytes - 1);
                if (!right || !decoded) {
                    to.transport[first + 1] |= transport_error;
                }
            };
        d_counts.lost_starts +=
            stream.cutter.take(bytes_of_field, count, start, length, ok, put) ? 0 : 1;
    }

    void take_packets(const bb_header& header,
                      const uint8_t* data,
                      bool ok,
                      input_stream& stream,
                      output& to)
    {
        const auto put =
            [&](const std::vector<uint8_t>& bytes, bool right, bool decoded) {
                d_counts.bad_packets += right && decoded ? 0 : 1;
                if (right) {
                    packet whole;
                    whole.data.push_back(header.sync_byte);
                    whole.data.insert(whole.data.end(), bytes.begin(), bytes.end());
                    whole.isi = header.isi;
                    to.packets.push_back(std::move(whole));
                }
            };
        const auto field = joined_field(header, data, stream);
        d_counts.lost_starts +=
            stream.cutter.take(
                field.data, field.count, field.start, header.packet_bits / 8, ok, put)
                ? 0
                : 1;
    }

    parameters d_parameters;
    int d_isi; //!< of the transport stream that is put out
    std::vector<uint8_t> d_frame;
    std::map<int, input_stream> d_streams;
    counts d_counts;
    bb_header d_header;
    bool d_has_header = false;
};

} // namespace

std::unique_ptr<bb_deframer> bb_deframer::make(const parameters& p)
{
    return std::make_unique<bb_deframer_impl>(p);
}

} // namespace gr::cudaphy::kernels
