/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ofdm/ofdm_synchronizer_impl.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

const pmt::pmt_t time_key = pmt::mp("rx_time");
const pmt::pmt_t rate_key = pmt::mp("rx_rate");
const pmt::pmt_t offset_key = pmt::mp("carrier_offset");
const pmt::pmt_t start_key = pmt::mp("frame_start");
constexpr double tolerance = 2; // samples by which a time may differ without a gap

//! Checks the shape before GNU Radio makes ports, because their width may be impossible.
const ofdm_frame_shape& checked(const ofdm_frame_shape& shape)
{
    shape.check();
    return shape;
}

} // namespace

ofdm_synchronizer::sptr ofdm_synchronizer::make(int antennas,
                                                int fft_size,
                                                int cyclic_prefix,
                                                int symbols,
                                                const std::vector<gr_complex>& preamble,
                                                const std::vector<int>& shifts,
                                                int advance,
                                                double most_offset,
                                                double threshold,
                                                const std::string& length_tag_key,
                                                double sample_rate)
{
    if (!(sample_rate >= 0 && std::isfinite(sample_rate))) {
        throw std::invalid_argument("ofdm_synchronizer: sample_rate is " +
                                    std::to_string(sample_rate) +
                                    ", allowed are 0 and more");
    }
    return gnuradio::make_block_sptr<ofdm_synchronizer_impl>(checked({ antennas,
                                                                       fft_size,
                                                                       cyclic_prefix,
                                                                       symbols,
                                                                       preamble,
                                                                       shifts,
                                                                       advance,
                                                                       most_offset,
                                                                       threshold }),
                                                             length_tag_key,
                                                             sample_rate);
}

ofdm_synchronizer_impl::ofdm_synchronizer_impl(const ofdm_frame_shape& shape,
                                               const std::string& length_tag_key,
                                               double sample_rate)
    : gr::block(
          "ofdm_synchronizer",
          gr::io_signature::make(shape.antennas, shape.antennas, sizeof(gr_complex)),
          gr::io_signature::make(
              shape.antennas, shape.antennas, sizeof(gr_complex) * shape.fft_size)),
      d_shape(shape),
      d_length_key(length_tag_key.empty() ? pmt::pmt_t() : pmt::mp(length_tag_key)),
      d_sample_rate(sample_rate), d_finder(shape)
{
    set_tag_propagation_policy(TPP_DONT);
    // The ring holds two frames, for blocks behind this one that take packets.
    set_min_output_buffer(2 * shape.symbols);
}

bool ofdm_synchronizer_impl::start()
{
    d_finder.restart();
    d_started = nitems_read(0);
    d_symbol = -1;
    d_tags.clear();
    d_clock.reset();
    d_clocks.clear();
    d_latest.reset();
    d_alarms_before = 0;
    d_rate = 0;
    return true;
}

//! In the statistics each frame counts as a batch. Its computation is not timed.
block_statistics ofdm_synchronizer_impl::statistics() const
{
    block_statistics found;
    found.backend = "cpu";
    found.batches = found.frames = d_frames;
    found.last_batch = found.largest_batch = found.frames ? 1 : 0;
    found.failures = d_torn;
    return found;
}

void ofdm_synchronizer_impl::forecast(int, gr_vector_int& required)
{
    std::fill(required.begin(), required.end(), d_symbol < 0 ? 1 : 0);
}

int ofdm_synchronizer_impl::general_work(int noutput_items,
                                         gr_vector_int& ninput_items,
                                         gr_vector_const_void_star& input_items,
                                         gr_vector_void_star& output_items)
{
    if (d_symbol < 0) {
        take(ninput_items, input_items);
    }
    int done = 0;
    while (done < noutput_items && d_symbol >= 0) {
        gr_vector_void_star out = output_items;
        for (auto& each : out) {
            each = static_cast<gr_complex*>(each) + size_t(done) * d_shape.fft_size;
        }
        const uint64_t item = nitems_written(0) + done;
        if (d_symbol == 0) {
            tag_frame(item);
        }
        tag_symbol(item);
        for (int r = 0; r < d_shape.antennas; ++r) {
            d_finder.symbol(d_frame, d_symbol, r, static_cast<gr_complex*>(out[r]));
        }
        ++done;
        if (++d_symbol == d_shape.symbols) {
            ++d_frames;
            look_for_frame();
        }
    }
    return done;
}

void ofdm_synchronizer_impl::take(const gr_vector_int& ninput_items,
                                  const gr_vector_const_void_star& in)
{
    // A bounded number of samples at once, so that the memory is bounded.
    const int count = samples_to_gap(
        std::min(*std::min_element(ninput_items.begin(), ninput_items.end()), 65536));
    std::vector<const gr_complex*> samples;
    for (const auto* each : in) {
        samples.push_back(static_cast<const gr_complex*>(each));
    }
    keep_tags(count);
    d_finder.append(samples, count);
    consume_each(count);
    look_for_frame();
    if (d_symbol < 0) {
        const uint64_t first = d_started + d_finder.first_kept();
        while (!d_tags.empty() && d_tags.front().offset < first) {
            d_tags.pop_front();
        }
        // The samples of a frame's prefix may be gone. The last time before it counts.
        const uint64_t prefix = d_shape.cyclic_prefix;
        while (d_clocks.size() > 1 && d_clocks[1].sample + prefix <= first) {
            d_clocks.pop_front();
        }
    }
}

void ofdm_synchronizer_impl::look_for_frame()
{
    d_symbol = d_finder.next(d_frame) ? 0 : -1;
    d_false_alarms = d_alarms_before + d_finder.false_alarms();
}

//! The number of samples up to the next gap in the radio's samples, at most `count`. If
//! the gap is before the next sample, all earlier samples are forgotten.
int ofdm_synchronizer_impl::samples_to_gap(int count)
{
    const uint64_t first = nitems_read(0);
    std::vector<tag_t> tags;
    get_tags_in_window(tags, 0, 0, count);
    std::stable_sort(tags.begin(), tags.end(), tag_t::offset_compare);
    for (const auto& tag : tags) {
        if (pmt::eq(tag.key, rate_key)) {
            d_rate = radio_rate(tag.value).value_or(d_rate);
        }
        const auto time =
            pmt::eq(tag.key, time_key) ? radio_time::from_pmt(tag.value) : std::nullopt;
        if (!time || (d_latest && tag.offset <= d_latest->sample)) {
            continue;
        }
        const clock now{ tag.offset, *time };
        if (is_gap(now)) {
            if (tag.offset > first) {
                return static_cast<int>(tag.offset - first);
            }
            begin_anew();
        }
        d_latest = now;
    }
    return count;
}

bool ofdm_synchronizer_impl::is_gap(const clock& now) const
{
    if (!d_latest || !(rate() > 0)) {
        return d_latest.has_value();
    }
    const auto expected = d_latest->time.after(now.sample - d_latest->sample, rate());
    return std::abs(now.time.since(expected)) * rate() > tolerance;
}

void ofdm_synchronizer_impl::begin_anew()
{
    d_torn += d_finder.within_frame();
    d_logger->warn("samples are missing before sample {}; frames torn so far: {}",
                   nitems_read(0),
                   d_torn.load());
    d_alarms_before += d_finder.false_alarms();
    d_finder.restart();
    d_started = nitems_read(0);
}

void ofdm_synchronizer_impl::keep_tags(int count)
{
    std::vector<tag_t> tags;
    get_tags_in_window(tags, 0, 0, count);
    std::sort(tags.begin(), tags.end(), tag_t::offset_compare);
    for (const auto& tag : tags) {
        const auto time =
            pmt::eq(tag.key, time_key) ? radio_time::from_pmt(tag.value) : std::nullopt;
        if (time) {
            d_clocks.push_back({ tag.offset, *time });
        } else if (!d_length_key || !pmt::eq(tag.key, d_length_key)) {
            // A length tag of the input does not fit the frames.
            d_tags.push_back(tag);
        }
    }
}

void ofdm_synchronizer_impl::tag_frame(uint64_t item)
{
    const int64_t begin = d_frame.window + d_shape.advance - d_shape.cyclic_prefix;
    const uint64_t sample = d_started + std::max<int64_t>(0, begin);
    if (d_length_key) {
        add_to_all(item, d_length_key, pmt::from_long(d_shape.symbols));
    }
    add_to_all(item, offset_key, pmt::from_double(d_frame.carrier_offset));
    add_to_all(item, start_key, pmt::from_uint64(sample));
    d_offset = d_frame.carrier_offset;
    while (!d_clocks.empty() && d_clocks.front().sample <= sample) {
        d_clock = d_clocks.front();
        d_clocks.pop_front();
    }
    if (d_clock && rate() > 0) {
        const auto later = d_clock->time.after(sample - d_clock->sample, rate());
        add_to_all(item, time_key, later.to_pmt());
    }
}

//! Adds the tags that came up to the end of the symbol. Drops tags before the frame.
void ofdm_synchronizer_impl::tag_symbol(uint64_t item)
{
    const int64_t frame = d_frame.window + d_shape.advance - d_shape.cyclic_prefix;
    const int64_t last =
        frame + int64_t(d_symbol + 2) * (d_shape.fft_size + d_shape.cyclic_prefix);
    while (!d_tags.empty() && int64_t(d_tags.front().offset - d_started) < last) {
        if (int64_t(d_tags.front().offset - d_started) >= frame) {
            add_to_all(item, d_tags.front().key, d_tags.front().value);
        }
        d_tags.pop_front();
    }
}

void ofdm_synchronizer_impl::add_to_all(uint64_t item,
                                        const pmt::pmt_t& key,
                                        const pmt::pmt_t& value)
{
    for (int r = 0; r < d_shape.antennas; ++r) {
        add_item_tag(r, item, key, value, alias_pmt());
    }
}

} // namespace gr::cudaphy
