/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/dvb/bb_deframer_impl.h"
#include "blocks/coding/bit_bytes.h"
#include "kernels/dvb/bb_checks.h"
#include "runtime/stream/length_tag.h"
#include <algorithm>
#include <cstring>
#include <functional>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using kernels::bb_header;
using counts = kernels::bb_deframer::counts;

constexpr int least_bits = 80, most_bits = 64800; // of a frame
const pmt::pmt_t bch_ok = pmt::mp("bch_ok"), packets_port = pmt::mp("packets"),
                 frames_port = pmt::mp("frames"), status_port = pmt::mp("status");

//! A dictionary to which members are added by name.
class dictionary
{
public:
    void add(const char* name, const pmt::pmt_t& value)
    {
        d_all = pmt::dict_add(d_all, pmt::mp(name), value);
    }
    void add(const char* name, bool value) { add(name, pmt::from_bool(value)); }
    void add(const char* name, int value) { add(name, pmt::from_long(value)); }
    void add(const char* name, uint64_t value) { add(name, pmt::from_uint64(value)); }

    void add(const bb_header& header)
    {
        constexpr const char* contents[] = {
            "packets", "continuous", "gse_hem", "transport"
        };
        constexpr double roll_offs[] = { 0.35, 0.25, 0.20 };
        add("content", pmt::mp(contents[static_cast<int>(header.what)]));
        add("single_stream", header.single_stream);
        add("constant_coding", header.constant_coding);
        add("synchronized_input", header.synchronized_input);
        add("nulls_deleted", header.nulls_deleted);
        add("isi", header.isi);
        add("packet_bits", header.packet_bits);
        add("data_bits", header.data_bits);
        if (header.roll_off < 3) {
            add("roll_off", pmt::from_double(roll_offs[header.roll_off]));
        }
    }
    void add(const counts& counted)
    {
        add("frames", counted.frames);
        add("bad_frames", counted.bad_frames);
        add("bad_headers", counted.bad_headers);
        add("transport_packets", counted.transport_packets);
        add("bad_packets", counted.bad_packets);
        add("lost_starts", counted.lost_starts);
        add("returned_nulls", counted.returned_nulls);
        add("other_streams", counted.other_streams);
    }
    const pmt::pmt_t& all() const { return d_all; }

private:
    pmt::pmt_t d_all = pmt::make_dict();
};

//! Eight bits a byte of a bit a byte, the first one highest; bits after the last whole
//! byte are left out.
void pack(const uint8_t* bits, size_t count, std::vector<uint8_t>& to)
{
    to.resize(count / 8);
    for (size_t i = 0; i < to.size(); ++i) {
        uint64_t eight; // the first bit lowest
        std::memcpy(&eight, bits + 8 * i, sizeof(eight));
        // Bit j of the eight comes to place 7 - j of the highest byte.
        to[i] = (eight & 0x0101010101010101u) * 0x8040201008040201u >> 56;
    }
}

pmt::pmt_t pdu(const dictionary& metadata, const std::vector<uint8_t>& bytes)
{
    return pmt::cons(metadata.all(), pmt::init_u8vector(bytes.size(), bytes));
}

} // namespace

bb_deframer::sptr bb_deframer::make(
    int frame_bits, int isi, bool gse, bool packed, const std::string& length_tag_key)
{
    if (frame_bits != 0 && (frame_bits < least_bits || frame_bits > most_bits)) {
        throw std::invalid_argument("frame_bits " + std::to_string(frame_bits) +
                                    " is neither 0 nor 80 to 64800");
    }
    if (frame_bits == 0 && length_tag_key.empty()) {
        throw std::invalid_argument("a stream without a length tag key needs frame_bits, "
                                    "which is k of the BCH code");
    }
    return gnuradio::make_block_sptr<bb_deframer_impl>(
        frame_bits, kernels::bb_deframer::parameters{ isi, gse }, packed, length_tag_key);
}

bb_deframer_impl::bb_deframer_impl(int frame_bits,
                                   const kernels::bb_deframer::parameters& parameters,
                                   bool packed,
                                   const std::string& length_tag_key)
    : gr::block("bb_deframer",
                gr::io_signature::make(1, 1, 1),
                gr::io_signature::make(1, 1, 1)),
      d_frame_items(bytes_of(frame_bits, packed)), d_parameters(parameters),
      d_packed(packed),
      d_key(length_tag_key.empty() ? pmt::pmt_t{} : pmt::intern(length_tag_key)),
      d_most_items(bytes_of(most_bits, packed)),
      d_kernel(kernels::bb_deframer::make(parameters))
{
    set_tag_propagation_policy(TPP_DONT);
    set_min_output_buffer(1 << 18);
    for (const auto& port : { packets_port, frames_port, status_port }) {
        message_port_register_out(port);
    }
}

bool bb_deframer_impl::start()
{
    {
        const gr::thread::scoped_lock guard(d_counts_mutex);
        d_kernel = kernels::bb_deframer::make(d_parameters);
    }
    d_packet = { 0, d_key ? 0 : d_frame_items };
    d_passes_over = false;
    d_items.clear();
    d_ok = true;
    d_out = {};
    d_sent = 0;
    d_lost.reset();
    d_lost_to_tell.reset();
    d_last_status.reset();
    d_packets_wanted = is_connected(packets_port);
    d_frames_wanted = is_connected(frames_port);
    d_status_wanted = is_connected(status_port);
    return block::start();
}

bool bb_deframer_impl::is_connected(const pmt::pmt_t& port)
{
    return pmt::is_pair(message_subscribers(port));
}

kernels::bb_deframer::counts bb_deframer_impl::so_far() const
{
    const gr::thread::scoped_lock guard(d_counts_mutex);
    return d_kernel->so_far();
}

bool bb_deframer_impl::last_header(bb_header& header) const
{
    const gr::thread::scoped_lock guard(d_counts_mutex);
    return d_kernel->last_header(header);
}

//! In the statistics, each frame is a batch; nothing is computed on a device.
block_statistics bb_deframer_impl::statistics() const
{
    const auto counted = so_far();
    block_statistics found;
    found.batches = found.frames = counted.frames;
    found.last_batch = found.largest_batch = found.frames ? 1 : 0;
    found.failures = counted.bad_frames;
    return found;
}

void bb_deframer_impl::forecast(int, gr_vector_int& required)
{
    required[0] = d_out.transport.empty() ? 1 : 0;
}

std::vector<tag_t> bb_deframer_impl::tags_of_interest(uint64_t first, uint64_t end)
{
    std::vector<tag_t> all, lengths;
    get_tags_in_range(all, 0, first, end, bch_ok);
    if (d_key) {
        get_tags_in_range(lengths, 0, first, end, d_key);
    }
    all.insert(all.end(), lengths.begin(), lengths.end());
    std::stable_sort(all.begin(), all.end(), tag_t::offset_compare);
    return all;
}

int bb_deframer_impl::general_work(int noutput_items,
                                   gr_vector_int& ninput_items,
                                   gr_vector_const_void_star& in,
                                   gr_vector_void_star& out)
{
    // About as many items as fill the output: tags beyond them would be read again.
    const auto room = static_cast<uint64_t>(noutput_items) * (d_packed ? 1 : 8);
    const auto first = nitems_read(0);
    const auto end =
        first + std::min<uint64_t>(ninput_items[0], room + bytes_of(most_bits, d_packed));
    const auto* const items = static_cast<const uint8_t*>(in[0]);
    auto* const to = static_cast<uint8_t*>(out[0]);
    const auto tags = tags_of_interest(first, end);
    auto next = tags.begin();
    auto item = first;
    size_t given = 0;
    while (true) {
        given += put_out(to, given, noutput_items - given);
        if (!d_out.transport.empty() || item == end) {
            break;
        }
        const auto after = std::find_if(
            next, tags.end(), [&](const tag_t& tag) { return tag.offset != item; });
        heed({ next, after }, item);
        next = after;
        auto step = (next == tags.end() ? end : next->offset) - item;
        if (d_packet.frame_items) {
            step = std::min<uint64_t>(step, d_packet.frame_items - d_items.size());
            take(items + (item - first), step);
        }
        item += step;
    }
    consume(0, static_cast<int>(item - first));
    return static_cast<int>(given);
}

//! The tags of an item, that of a packet's length before the others.
void bb_deframer_impl::heed(const std::vector<tag_t>& tags, uint64_t item)
{
    if (d_key) {
        if (const auto length = packet_length(tags, d_key)) {
            begin_packet(*length, item);
        } else if (!d_packet.frame_items && !d_passes_over) {
            pass_over("item " + std::to_string(item) +
                      " should begin a packet, but carries no tag \"" +
                      pmt::symbol_to_string(d_key) + "\" with the packet's length");
        }
    }
    for (const auto& tag : tags) {
        if (!d_packet.frame_items || !pmt::eqv(tag.key, bch_ok)) {
            continue;
        }
        d_ok = d_ok && !pmt::is_false(tag.value);
        if (d_key && !d_frame_items && !d_items.empty()) {
            warn_sometimes("a tag bch_ok is on item " + std::to_string(item) +
                           ", amid a packet: if packets hold several frames, set "
                           "frame_bits");
        }
    }
}

//! \param length  in items
void bb_deframer_impl::begin_packet(int64_t length, uint64_t item)
{
    if (d_packet.left) {
        pass_over("a packet begins at item " + std::to_string(item) +
                  ", before the end of the packet before");
    }
    const auto items = static_cast<uint64_t>(std::max<int64_t>(length, 0));
    const auto frame = d_frame_items ? d_frame_items : items;
    d_passes_over = false;
    if (items == 0 || frame > d_most_items || items % frame != 0) {
        pass_over("the packet at item " + std::to_string(item) + " has " +
                  std::to_string(length) +
                  " items; it is no frame, or no whole number "
                  "of frames of frame_bits");
    } else {
        d_packet = { items, static_cast<size_t>(frame) };
    }
}

//! What can't be taken counts as a frame with a bad header. Items are passed over up to
//! the next packet.
void bb_deframer_impl::pass_over(const std::string& reason)
{
    warn_sometimes("passed over: " + reason);
    d_passes_over = true;
    d_packet = {};
    d_items.clear();
    d_ok = false;
    take_frame(nullptr, 0);
}

//! A warning, at most one a second.
void bb_deframer_impl::warn_sometimes(const std::string& text)
{
    const auto now = std::chrono::steady_clock::now();
    if (!d_last_warning || now - *d_last_warning >= std::chrono::seconds(1)) {
        d_last_warning = now;
        d_logger->warn("{}", text);
    }
}

//! Of a frame, not beyond its end.
void bb_deframer_impl::take(const uint8_t* items, size_t count)
{
    d_packet.left -= d_key ? count : 0;
    if (count == d_packet.frame_items) {
        take_frame(items, count);
    } else {
        d_items.insert(d_items.end(), items, items + count);
        if (d_items.size() < d_packet.frame_items) {
            return;
        }
        take_frame(d_items.data(), d_items.size());
        d_items.clear();
    }
    if (d_key && d_packet.left == 0) {
        d_packet = {};
    }
}

void bb_deframer_impl::take_frame(const uint8_t* frame, size_t bytes)
{
    if (!d_packed) {
        pack(frame, bytes, d_bytes);
        frame = d_bytes.data();
        bytes = d_bytes.size();
    }
    const bool ok = d_ok;
    d_ok = true;
    counts before, after;
    {
        const gr::thread::scoped_lock guard(d_counts_mutex);
        before = d_kernel->so_far();
        d_kernel->take(frame, bytes, ok, d_out);
        after = d_kernel->so_far();
    }
    if (after.bad_headers > before.bad_headers) {
        d_lost = d_lost.value_or(0) + 1;
    } else if (after.lost_starts > before.lost_starts) {
        d_lost = d_lost.value_or(0);
    }
    constexpr uint64_t enough = 16;
    if (after.frames == enough && after.bad_headers == enough && after.bad_frames == 0) {
        d_logger->warn("no frame so far has a right header. Frames must be scrambled as "
                       "BCH Decoder puts them out, of k bits of its code, and the first "
                       "one must begin at the first item");
    }
    if (!d_out.transport.empty()) {
        d_lost_to_tell.swap(d_lost);
        d_lost.reset();
    }
    if (d_frames_wanted && bytes > 0) {
        publish_frame(frame, bytes, ok);
    }
    publish_packets();
    if (d_status_wanted) {
        publish_status();
    }
}

void bb_deframer_impl::publish_frame(const uint8_t* frame, size_t bytes, bool ok)
{
    const auto& scrambler = kernels::bb_scrambler();
    std::vector<uint8_t> plain(std::min(bytes, scrambler.size()));
    std::transform(
        frame, frame + plain.size(), scrambler.begin(), plain.begin(), std::bit_xor<>());
    dictionary metadata;
    metadata.add("ok", ok);
    bb_header header;
    if (plain.size() >= least_bits / 8 && bb_header::parse(plain.data(), header)) {
        metadata.add(header);
    }
    message_port_pub(frames_port, pdu(metadata, plain));
}

void bb_deframer_impl::publish_packets()
{
    for (const auto& packet : d_out.packets) {
        if (!d_packets_wanted) {
            break;
        }
        dictionary metadata;
        metadata.add("isi", packet.isi);
        metadata.add("protocol", packet.protocol);
        metadata.add("label", pmt::init_u8vector(packet.label.size(), packet.label));
        message_port_pub(packets_port, pdu(metadata, packet.data));
    }
    d_out.packets.clear();
}

void bb_deframer_impl::publish_status()
{
    const auto now = std::chrono::steady_clock::now();
    if (d_last_status && now - *d_last_status < std::chrono::seconds(1)) {
        return;
    }
    d_last_status = now;
    dictionary status;
    status.add(so_far());
    bb_header header;
    if (last_header(header)) {
        dictionary fields;
        fields.add(header);
        status.add("header", fields.all());
    }
    message_port_pub(status_port, status.all());
}

//! \param given  bytes that this call of general_work has put out before
//! Returns how many are put out now.
size_t bb_deframer_impl::put_out(uint8_t* to, size_t given, size_t room)
{
    auto& waiting = d_out.transport;
    const auto count = std::min(room, waiting.size() - d_sent);
    if (count == 0) {
        return 0;
    }
    if (d_lost_to_tell) {
        add_item_tag(0,
                     nitems_written(0) + given,
                     pmt::mp("discontinuity"),
                     pmt::from_long(static_cast<long>(*d_lost_to_tell)),
                     alias_pmt());
        d_lost_to_tell.reset();
    }
    std::memcpy(to + given, waiting.data() + d_sent, count);
    d_sent += count;
    if (d_sent == waiting.size()) {
        waiting.clear();
        d_sent = 0;
    }
    return count;
}

} // namespace gr::cudaphy
