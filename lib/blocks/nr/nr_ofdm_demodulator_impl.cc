/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/nr/nr_ofdm_demodulator_impl.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

int checked_advance(const kernels::nr::ofdm& ofdm, int advance)
{
    const int shortest = ofdm.prefix(0, 1);
    if (advance > shortest) {
        throw std::invalid_argument("advance is " + std::to_string(advance) +
                                    "; allowed: 0 to " + std::to_string(shortest) +
                                    " samples, the shortest prefix (TS 38.211, 5.3.1)");
    }
    return advance < 0 ? shortest / 2 : advance;
}

} // namespace

nr_ofdm_demodulator::sptr
nr_ofdm_demodulator::make(const kernels::nr::ofdm_parameters& ofdm,
                          int antennas,
                          const nr_ofdm_demodulator_options& options)
{
    return gnuradio::make_block_sptr<nr_ofdm_demodulator_impl>(
        ofdm, checked_streams("antennas", antennas), options);
}

nr_ofdm_demodulator_impl::nr_ofdm_demodulator_impl(
    const kernels::nr::ofdm_parameters& ofdm,
    int antennas,
    const nr_ofdm_demodulator_options& options)
    : gr::block("nr_ofdm_demodulator",
                gr::io_signature::make(antennas, antennas, sizeof(gr_complex)),
                gr::io_signature::make(antennas, antennas, sizeof(gr_complex))),
      slot_block(required_key(options.length_tag_key),
                 "cpu",
                 [this] { return uint64_t(d_lost_slots); }),
      d_ofdm(ofdm), d_antennas(antennas), d_options(options),
      d_advance(checked_advance(d_ofdm, options.advance)),
      d_longest(d_ofdm.samples(0, 1)),
      d_clock(ofdm.numerology, checked_slot(options.slot, ofdm.numerology)),
      d_samples(antennas * d_longest), d_tags(antennas)
{
    if (options.tolerance < 0 || options.tolerance > 1 << 20) {
        throw std::invalid_argument("tolerance is " + std::to_string(options.tolerance) +
                                    "; allowed: 0 to 2^20 samples");
    }
    set_tag_propagation_policy(TPP_DONT);
    // While a receiver is busy slots wait for it here. It takes them together.
    constexpr size_t most_slots = 16, most_bytes = 16 << 20;
    const size_t a_slot = size_t(d_ofdm.symbols_per_slot()) * ofdm.subcarriers;
    const size_t slots =
        std::min(most_slots, most_bytes / (a_slot * antennas * sizeof(gr_complex)));
    if (slots > 1) {
        set_min_output_buffer(static_cast<long>(slots * a_slot));
    }
}

bool nr_ofdm_demodulator_impl::start()
{
    begin_anew();
    forget_leaving();
    d_time.reset();
    d_warned_of_rate = d_warned_of_slot = false;
    d_waited = 0;
    return block::start();
}

void nr_ofdm_demodulator_impl::begin_anew()
{
    drop_begun();
    d_timed = !d_options.start_at_tag;
    d_waits = d_options.start_at_tag;
    d_clock = slot_clock(d_ofdm.parameters().numerology, d_options.slot);
}

//! The slot that has begun, if it has, is dropped; another one begins.
void nr_ofdm_demodulator_impl::drop_begun()
{
    if (d_timed && d_position > 0 && d_whole) {
        ++d_lost_slots;
        d_dropped += d_position;
    }
    d_position = 0;
    d_whole = true;
    for (auto& list : d_tags) {
        list.clear();
    }
}

int nr_ofdm_demodulator_impl::general_work(int noutput_items,
                                           gr_vector_int& ninput_items,
                                           gr_vector_const_void_star& in,
                                           gr_vector_void_star& out)
{
    return guarded([&] { run(noutput_items, ninput_items, in, out); });
}

void nr_ofdm_demodulator_impl::run(size_t room,
                                   const gr_vector_int& ninput_items,
                                   const gr_vector_const_void_star& in,
                                   gr_vector_void_star& out)
{
    const size_t there = *std::min_element(ninput_items.begin(), ninput_items.end());
    const auto first = nitems_read(0);
    const auto tags = next_tags(in.size(), there);
    auto next = tags[0].begin(); // not heeded yet
    size_t taken = 0, given = 0;
    while (true) {
        given += put_out(out, given, room - given);
        if (leaving() || taken == there) {
            break;
        }
        if (next != tags[0].end() && next->offset == taken) {
            heed(tags[0], taken, first + taken);
        }
        while (next != tags[0].end() && next->offset <= taken) {
            ++next;
        }
        size_t step = (next == tags[0].end() ? there : next->offset) - taken;
        if (d_timed) {
            step = std::min(step, slot_samples() - d_position);
            take(in, taken, step, tags, first + taken);
        } else {
            d_dropped += step;
            d_waited += step;
            if (d_waits && double(d_waited) > sample_rate()) {
                d_waits = false;
                d_logger->warn("no tag slot within {} samples: no slot begins before it; "
                               "without such tags, let slots start at the first sample",
                               d_waited);
            }
        }
        taken += step;
    }
    consume_each(static_cast<int>(taken));
}

void nr_ofdm_demodulator_impl::heed(const std::vector<tag_t>& tags,
                                    uint64_t offset,
                                    uint64_t item)
{
    if (const auto value = tag_value(tags, slot_keys::rx_rate, offset)) {
        const auto rate = radio_rate(value);
        if (rate && std::abs(*rate / sample_rate() - 1) > 1e-3 && !d_warned_of_rate) {
            d_warned_of_rate = true;
            d_logger->warn("the radio's rate is {} samples a second, but fft_size and "
                           "numerology need {} (TS 38.211, 5.3.1)",
                           *rate,
                           sample_rate());
        }
    }
    if (const auto value = tag_value(tags, slot_keys::rx_time, offset)) {
        if (const auto time = radio_time::from_pmt(value)) {
            heed_time(*time, item);
        }
    }
    if (const auto slot = tag_number(tags, slot_keys::slot, offset)) {
        auto clock = d_clock;
        if (clock.set(*slot, tag_number(tags, slot_keys::frame, offset))) {
            drop_begun();
            d_clock = clock;
            d_timed = true;
        } else if (!d_warned_of_slot) {
            d_warned_of_slot = true;
            d_logger->warn(
                "a tag says slot {}, but a frame has slots 0 to {}, and frames "
                "are 0 to 1023 (TS 38.211, 4.3.2); the tag is ignored",
                *slot,
                d_clock.slots_a_frame() - 1);
        }
    }
}

void nr_ofdm_demodulator_impl::heed_time(const radio_time& time, uint64_t item)
{
    if (d_time && d_timed) {
        const auto expected = d_time->time.after(item - d_time->item, sample_rate());
        const double off = std::round(time.since(expected) * sample_rate());
        if (std::abs(off) > d_options.tolerance) {
            ++d_gaps;
            if (off > 0 && off < 1e15) {
                const auto before = d_lost_slots.load();
                lose(static_cast<size_t>(off));
                d_logger->warn("a gap before sample {}: {} samples lost, {} slots",
                               item,
                               static_cast<uint64_t>(off),
                               d_lost_slots - before);
            } else {
                d_logger->warn("the time goes back before sample {}: slots begin anew {}",
                               item,
                               d_options.start_at_tag ? "at the next tag slot" : "there");
                begin_anew();
            }
        }
    }
    d_time = { item, time };
}

//! So many samples are missing.
void nr_ofdm_demodulator_impl::lose(size_t samples)
{
    const bool was_whole = d_whole;
    const int slots_a_frame = d_clock.slots_a_frame();
    const size_t frame = d_ofdm.samples(0, slots_a_frame);
    size_t position = d_position + samples;
    uint64_t passed = position / frame * slots_a_frame;
    d_clock.advance(static_cast<int64_t>(passed));
    position %= frame;
    while (position >= slot_samples()) {
        position -= slot_samples();
        d_clock.advance(1);
        ++passed;
    }
    d_lost_slots += was_whole;
    if (passed > 0) {
        d_lost_slots += passed - 1 + (position > 0);
    }
    if (was_whole) {
        d_dropped += d_position;
    }
    d_position = position;
    d_whole = position == 0;
    for (auto& list : d_tags) {
        list.clear();
    }
}

bool nr_ofdm_demodulator_impl::passes_on(const tag_t& tag) const
{
    return !is_length(tag) && !pmt::eqv(tag.key, slot_keys::slot) &&
           !pmt::eqv(tag.key, slot_keys::frame) &&
           !pmt::eqv(tag.key, slot_keys::rx_time) &&
           !pmt::eqv(tag.key, slot_keys::rx_rate);
}

void nr_ofdm_demodulator_impl::take(const gr_vector_const_void_star& in,
                                    size_t done,
                                    size_t count,
                                    const tag_lists& tags,
                                    uint64_t item)
{
    if (d_position == 0) {
        d_slot_time.reset();
        if (d_time) {
            d_slot_time = d_time->time.after(item - d_time->item, sample_rate());
        }
    }
    if (d_whole) {
        for (int antenna = 0; antenna < d_antennas; ++antenna) {
            const auto* const from = static_cast<const gr_complex*>(in[antenna]) + done;
            std::copy(
                from, from + count, d_samples.data() + antenna * d_longest + d_position);
            for (auto tag : tags[antenna]) {
                if (tag.offset >= done && tag.offset < done + count && passes_on(tag)) {
                    tag.offset = 0;
                    d_tags[antenna].push_back(tag);
                }
            }
        }
    } else {
        d_dropped += count;
    }
    d_position += count;
    if (d_position == slot_samples()) {
        if (d_whole) {
            demodulate();
        }
        d_clock.advance(1);
        d_position = 0;
        d_whole = true;
        for (auto& list : d_tags) {
            list.clear();
        }
    }
}

void nr_ofdm_demodulator_impl::demodulate()
{
    const auto began = std::chrono::steady_clock::now();
    const size_t count = slot_samples();
    for (int antenna = 1; antenna < d_antennas && count < d_longest; ++antenna) {
        const auto from = d_samples.begin() + antenna * d_longest;
        std::copy(from, from + count, d_samples.begin() + antenna * count);
    }
    std::vector<gr_complex> grid(size_t(d_antennas) * d_ofdm.symbols_per_slot() *
                                 d_ofdm.parameters().subcarriers);
    d_ofdm.demodulate({ d_samples.data(), d_antennas * count },
                      d_antennas,
                      1,
                      d_clock.slot(),
                      d_advance,
                      grid);
    for (auto& list : d_tags) {
        add_slot(list, d_clock);
        if (d_slot_time) {
            add_tag(list, slot_keys::rx_time, d_slot_time->to_pmt());
        }
    }
    ++d_slots;
    leave(std::move(grid), tag_lists(d_tags));
    computed(1, began);
}

} // namespace gr::cudaphy
