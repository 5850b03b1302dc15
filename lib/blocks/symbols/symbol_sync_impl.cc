/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/symbols/symbol_sync_impl.h"
#include "runtime/stream/pmt_number.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using kernels::bytes_of;
using kernels::sample_format;
using kernels::symbol_block;
using kernels::symbol_sync_parameters;

const pmt::pmt_t rate_key = pmt::mp("rx_rate");
const pmt::pmt_t carrier_key = pmt::mp("carrier_offset");
const pmt::pmt_t turns_key = pmt::mp("carrier_turns");
const pmt::pmt_t rate_port = pmt::mp("samples_per_symbol");
const pmt::pmt_t status_port = pmt::mp("status");

sample_format format_of(const std::string& type)
{
    if (type == "complex") {
        return sample_format::complex64;
    }
    if (type == "sc16") {
        return sample_format::sc16;
    }
    if (type == "sc8") {
        return sample_format::sc8;
    }
    throw std::invalid_argument("symbol_sync: type is '" + type +
                                "', must be one of 'complex', 'sc16', 'sc8'");
}

} // namespace

symbol_sync::sptr symbol_sync::make(double samples_per_symbol,
                                    double roll_off,
                                    const std::string& type,
                                    int span,
                                    int averaging,
                                    double most_offset,
                                    double sample_rate,
                                    const std::string& backend,
                                    int device)
{
    if (!(sample_rate >= 0 && std::isfinite(sample_rate))) {
        throw std::invalid_argument("symbol_sync: sample_rate is " +
                                    std::to_string(sample_rate) +
                                    ", allowed are 0 and more");
    }
    const auto on = resolve(backend_from_name(backend), device);
    symbol_sync_parameters p;
    p.samples_per_symbol = samples_per_symbol;
    p.roll_off = roll_off;
    p.format = format_of(type);
    p.span = span;
    p.averaging = averaging;
    // A GPU takes as long for a few samples as for many.
    p.most_samples = on.where == backend::cuda ? 1 << 19 : 1 << 16;
    return gnuradio::make_block_sptr<symbol_sync_impl>(p, most_offset, on, sample_rate);
}

symbol_sync_impl::symbol_sync_impl(const symbol_sync_parameters& p,
                                   double most_offset,
                                   const resolved_backend& on,
                                   double sample_rate)
    : gr::block("symbol_sync",
                gr::io_signature::make(1, 1, bytes_of(p.format)),
                gr::io_signature::make(1, 1, sizeof(complex64))),
      d_on(on), d_parameters(p), d_most_offset(most_offset),
      d_sample_bytes(bytes_of(p.format)), d_port(*this), d_stream(make_stream(p)),
      d_clock(sample_rate), d_measured_rate(p.samples_per_symbol),
      d_counters(name_of(on.where), [this] { return gaps(); })
{
    set_tag_propagation_policy(TPP_DONT);
    // GNU Radio sizes the ring before a block from its relative rate: two chunks. The
    // rate has no other use here, since this class moves the tags itself.
    set_relative_rate(1.0 / static_cast<double>(p.most_samples));
    set_min_output_buffer(static_cast<long>(2.0 * static_cast<double>(p.most_samples) /
                                            p.samples_per_symbol));
    message_port_register_in(rate_port);
    set_msg_handler(rate_port, [this](const pmt::pmt_t& message) { hear(message); });
    message_port_register_out(status_port);
}

std::unique_ptr<kernels::symbol_stream>
symbol_sync_impl::make_stream(const symbol_sync_parameters& p)
{
    return std::make_unique<symbol_stream>(p, d_most_offset, d_on, make_locked_memory);
}

bool symbol_sync_impl::start()
{
    d_stream->restart();
    d_carrier_offset = d_told_offset = 0;
    d_clock.restart();
    d_first = nitems_read(0);
    d_next = nitems_written(0);
    d_sent = 0;
    d_empty = true;
    d_gap_next = d_finished = false;
    d_tags.clear();
    d_placed.clear();
    d_told = d_counted = clock::now();
    d_blocks = d_locked_blocks = 0;
    d_finder.clear();
    d_found_rate.reset();
    if (d_on.where == backend::cuda) {
        const auto ring = scheduler_port::memory_of(d_port.input_ring(0));
        d_input_lock = lock_pages(ring.base, ring.bytes);
    }
    return block::start();
}

bool symbol_sync_impl::stop()
{
    d_input_lock.reset();
    return block::stop();
}

void symbol_sync_impl::forecast(int, gr_vector_int& required)
{
    required[0] = waits() || d_port.has_ended(0) ? 0 : 1;
}

int symbol_sync_impl::general_work(int noutput_items,
                                   gr_vector_int& ninput_items,
                                   gr_vector_const_void_star& in,
                                   gr_vector_void_star& out)
{
    auto* const to = static_cast<complex64*>(out[0]);
    const int there = ninput_items[0];
    // The input may have ended behind items that came after this call began.
    const bool last =
        d_port.has_ended(0) &&
        d_port.items_come(0) == nitems_read(0) + static_cast<uint64_t>(there);
    int taken = 0, given = 0;
    while (true) {
        given += send(to + given, noutput_items - given);
        if (waits()) {
            break;
        }
        if (change_rate(nitems_read(0) + static_cast<uint64_t>(taken))) {
            continue;
        }
        if (taken < there) {
            taken += take(in[0], taken, there - taken);
        } else if (last && !d_finished) {
            d_finished = true;
            feed(nullptr, 0, true);
        } else {
            break;
        }
    }
    consume_each(taken);
    tell_status();
    return d_finished && !waits() && given == 0 ? static_cast<int>(WORK_DONE) : given;
}

int symbol_sync_impl::send(complex64* to, int room)
{
    const auto symbols = d_stream->symbols();
    const size_t count = std::min(symbols.size() - d_sent, static_cast<size_t>(room));
    std::copy_n(symbols.begin() + d_sent, count, to);
    d_sent += count;
    d_symbols += count;
    while (!d_placed.empty() && d_placed.front().offset < d_next + d_sent) {
        const auto& tag = d_placed.front();
        add_item_tag(0, tag.offset, tag.key, tag.value, tag.srcid);
        d_placed.pop_front();
    }
    return static_cast<int>(count);
}

int symbol_sync_impl::take(const void* samples, int first, int count)
{
    count = std::min(count, static_cast<int>(d_stream->most_samples()));
    count = samples_to_gap(first, count);
    std::vector<tag_t> tags;
    get_tags_in_window(tags, 0, first, first + count);
    std::stable_sort(tags.begin(), tags.end(), tag_t::offset_compare);
    d_tags.insert(d_tags.end(), tags.begin(), tags.end());
    const bool end = d_gap_next;
    d_gap_next = false;
    const auto* const from =
        static_cast<const char*>(samples) + static_cast<size_t>(first) * d_sample_bytes;
    feed(from, static_cast<size_t>(count), end);
    look_for_rate(from, static_cast<size_t>(count));
    if (end) {
        d_first = nitems_read(0) + static_cast<uint64_t>(first + count);
    }
    return count;
}

//! Samples up to where the radio left some out, up to `count`. They may be none.
int symbol_sync_impl::samples_to_gap(int first, int count)
{
    std::vector<tag_t> tags;
    get_tags_in_window(tags, 0, first, first + count);
    std::stable_sort(tags.begin(), tags.end(), tag_t::offset_compare);
    for (const auto& tag : tags) {
        if (!d_clock.shows_gap(tag)) {
            continue;
        }
        ++d_gaps;
        d_gap_next = true;
        d_logger->warn("samples are missing before sample {}; gaps so far: {}",
                       tag.offset,
                       d_gaps.load());
        return static_cast<int>(tag.offset - nitems_read(0)) - first;
    }
    return count;
}

void symbol_sync_impl::feed(const void* samples, size_t count, bool end)
{
    const auto before = clock::now();
    d_next += d_stream->symbols().size();
    d_stream->feed(samples, count, end);
    d_sent = 0;
    d_empty = end;
    tag_carrier();
    place_tags(end);
    const auto blocks = d_stream->blocks();
    if (!blocks.empty()) {
        d_counters.computed(blocks.size(),
                            std::chrono::duration<double>(clock::now() - before).count());
    }
}

//! \param next  sample of the input
//! Whether there may be more to send before the rate can change.
bool symbol_sync_impl::change_rate(uint64_t next)
{
    std::lock_guard<std::mutex> guard(d_mutex);
    if (!d_wanted) {
        return false;
    }
    if (!d_empty) {
        feed(nullptr, 0, true);
        d_first = next;
        return true;
    }
    d_next += d_stream->symbols().size();
    d_stream = std::move(d_wanted);
    d_sent = 0;
    d_first = next;
    if (d_carrier_offset != 0) {
        tag_carrier(next, 0);
    }
    return false;
}

//! Says where another carrier offset is removed.
void symbol_sync_impl::tag_carrier()
{
    for (const auto& change : d_stream->changes()) {
        tag_carrier(d_first + static_cast<uint64_t>(change.sample),
                    change.frequency * d_stream->parameters().samples_per_symbol);
    }
}

void symbol_sync_impl::tag_carrier(uint64_t sample, double offset)
{
    d_carrier_offset = offset;
    tag_t tag;
    tag.offset = sample;
    tag.key = carrier_key;
    tag.value = pmt::from_double(offset);
    tag.srcid = alias_pmt();
    d_tags.insert(
        std::upper_bound(d_tags.begin(), d_tags.end(), tag, tag_t::offset_compare), tag);
}

//! Gives tags to the symbols that the last feed() has made.
void symbol_sync_impl::place_tags(bool end)
{
    uint64_t item = d_next;
    const symbol_block* last = nullptr;
    for (const auto& block : d_stream->blocks()) {
        if (block.symbols == 0) {
            continue;
        }
        const double behind = block.instant + (block.symbols - 0.5) * block.step;
        while (!d_tags.empty() && static_cast<double>(static_cast<int64_t>(
                                      d_tags.front().offset - d_first)) < behind) {
            place(d_tags.front(), block, item);
            d_tags.pop_front();
        }
        item += static_cast<uint64_t>(block.symbols);
        last = &block;
    }
    if (!last) {
        return;
    }
    note(*last);
    while (end && !d_tags.empty()) {
        place(d_tags.front(), *last, item - static_cast<uint64_t>(last->symbols));
        d_tags.pop_front();
    }
}

//! \param item  of the block's first symbol
void symbol_sync_impl::place(const tag_t& tag, const symbol_block& block, uint64_t item)
{
    const auto sample = static_cast<double>(static_cast<int64_t>(tag.offset - d_first));
    const double nearest = std::rint((sample - block.instant) / block.step);
    d_placed.push_back(tag);
    auto& placed = d_placed.back();
    const double symbol = std::clamp(nearest, 0.0, block.symbols - 1.0);
    placed.offset = item + static_cast<uint64_t>(symbol);
    if (pmt::eq(tag.key, carrier_key) && pmt::eq(tag.srcid, alias_pmt())) {
        // What the new offset has taken up to the symbol, which is not quite at the
        // sample.
        const double offset = pmt::to_double(tag.value);
        const double samples = block.instant + symbol * block.step - sample;
        auto turns = placed;
        turns.key = turns_key;
        turns.value = pmt::from_double((offset - d_told_offset) * samples /
                                       d_stream->parameters().samples_per_symbol);
        d_told_offset = offset;
        d_placed.push_back(turns);
        return;
    }
    const auto rate = pmt::eq(tag.key, rate_key) ? radio_rate(tag.value) : std::nullopt;
    if (rate) {
        placed.value = pmt::from_double(*rate / block.step);
    }
}

void symbol_sync_impl::note(const symbol_block& block)
{
    const double nominal = d_stream->parameters().samples_per_symbol;
    d_measured_rate = nominal / (1 + static_cast<double>(block.clock_error));
    d_clock_error = static_cast<double>(block.clock_error) * 1e6;
    d_line = static_cast<double>(block.line);
    d_locked = static_cast<double>(block.line) > d_stream->line_of_signal();
    const auto gain = static_cast<double>(block.gain);
    d_level = gain > 0 ? 1 / (gain * gain) : 0;
}

//! Says after five seconds without a lock, and each minute then, what was looked for and
//! what there is.
void symbol_sync_impl::look_for_rate(const void* samples, size_t count)
{
    const auto locked = static_cast<float>(d_stream->line_of_signal());
    for (const auto& block : d_stream->blocks()) {
        ++d_blocks;
        d_locked_blocks += block.line > locked;
    }
    const auto now = clock::now();
    if (now - d_counted < std::chrono::seconds(5)) {
        return;
    }
    if (2 * d_locked_blocks >= d_blocks) {
        d_counted = now;
        d_blocks = d_locked_blocks = 0;
        d_found_rate.reset();
        d_finder.clear();
        return;
    }
    d_finder.add(samples, count, d_parameters.format);
    if (!d_finder.has_enough()) {
        return;
    }
    d_found_rate = d_finder.find();
    d_finder.clear();
    d_counted = now + std::chrono::seconds(55);
    d_blocks = d_locked_blocks = 0;
    std::string there = "no other symbol rate has a line";
    if (d_found_rate) {
        const double rate = *d_found_rate;
        there = "the strongest line is that of " + std::to_string(rate);
        if (rate < 3) {
            there += " (or of " + std::to_string(rate / (rate - 1)) + ")";
        }
        there += " samples per symbol";
    }
    d_logger->warn(
        "no signal of {} samples per symbol, roll-off {}, for five seconds; {}",
        d_stream->parameters().samples_per_symbol,
        d_parameters.roll_off,
        there);
}

void symbol_sync_impl::tell_status()
{
    const auto now = clock::now();
    if (now - d_told < std::chrono::seconds(1)) {
        return;
    }
    d_told = now;
    auto status = pmt::make_dict();
    const auto add = [&status](const char* name, const pmt::pmt_t& value) {
        status = pmt::dict_add(status, pmt::mp(name), value);
    };
    add("samples_per_symbol", pmt::from_double(samples_per_symbol()));
    add("clock_error_ppm", pmt::from_double(clock_error()));
    add("line", pmt::from_double(line()));
    add("locked", pmt::from_bool(locked()));
    add("level", pmt::from_double(level()));
    add("carrier_offset", pmt::from_double(carrier_offset()));
    if (d_found_rate) {
        add("found_samples_per_symbol", pmt::from_double(*d_found_rate));
    }
    add("symbols", pmt::from_uint64(symbols()));
    message_port_pub(status_port, status);
}

void symbol_sync_impl::set_samples_per_symbol(double samples_per_symbol)
{
    auto p = d_parameters;
    p.samples_per_symbol = samples_per_symbol;
    auto made = make_stream(p);
    std::lock_guard<std::mutex> guard(d_mutex);
    d_wanted = std::move(made);
}

void symbol_sync_impl::hear(const pmt::pmt_t& message)
{
    const auto value = real_number(pmt::is_pair(message) ? pmt::cdr(message) : message);
    if (!value) {
        d_logger->warn("a message that is no number of samples per symbol is ignored");
        return;
    }
    try {
        set_samples_per_symbol(*value);
    } catch (const std::invalid_argument& problem) {
        d_logger->warn("a message is ignored: {}", problem.what());
    }
}

} // namespace gr::cudaphy
