/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/dvb/dvbs2_frame_sync_impl.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/io_signature.h>
#include <optional>
#include <stdexcept>

namespace gr::cudaphy {
namespace {

const pmt::pmt_t time_key = pmt::mp("rx_time");
const pmt::pmt_t rate_key = pmt::mp("rx_rate");
const pmt::pmt_t radio_frequency_key = pmt::mp("rx_freq");
const pmt::pmt_t carrier_key = pmt::mp("carrier_offset");
const pmt::pmt_t turns_key = pmt::mp("carrier_turns");
const pmt::pmt_t pls_key = pmt::mp("pls");
const pmt::pmt_t modcod_key = pmt::mp("modcod");
const pmt::pmt_t constellation_key = pmt::mp("constellation");
const pmt::pmt_t interleaver_key = pmt::mp("bit_interleaver");
const pmt::pmt_t ldpc_key = pmt::mp("ldpc_code");
const pmt::pmt_t bch_key = pmt::mp("bch_code");
const pmt::pmt_t noise_key = pmt::mp("noise_variance");
const pmt::pmt_t esn0_key = pmt::mp("esn0");
const pmt::pmt_t frequency_key = pmt::mp("frequency");
const pmt::pmt_t status_port = pmt::mp("status");
constexpr int most_at_once = 1 << 16;      //!< symbols, so that frames do not pile up
constexpr int longest_frame = 32400;       //!< data symbols
constexpr size_t most_on_device = 1 << 18; //!< symbols that are put out at once

double decibels(double ratio) { return ratio > 0 ? 10 * std::log10(ratio) : 0; }

} // namespace

dvbs2_frame_sync::sptr dvbs2_frame_sync::make(int gold_code,
                                              const std::vector<int>& pls,
                                              const std::string& length_tag_key,
                                              double most_frequency,
                                              bool vl_snr,
                                              const std::string& backend,
                                              int device)
{
    if (length_tag_key.empty()) {
        throw std::invalid_argument(
            "dvbs2_frame_sync: the length tag key is empty: packets need one");
    }
    kernels::dvbs2_frame_sync::parameters how;
    how.gold_code = gold_code;
    how.pls = pls;
    how.most_frequency = most_frequency;
    how.vl_snr = vl_snr;
    const auto wanted = backend_from_name(backend);
    const auto on = resolve(wanted, device);
    how.where = on.where;
    how.device = on.device;
    return gnuradio::make_block_sptr<dvbs2_frame_sync_impl>(
        how, wanted != backend::automatic, length_tag_key);
}

dvbs2_frame_sync_impl::dvbs2_frame_sync_impl(
    const kernels::dvbs2_frame_sync::parameters& how,
    bool chosen,
    const std::string& length_tag_key)
    : gr::block("dvbs2_frame_sync",
                gr::io_signature::make(1, 1, sizeof(gr_complex)),
                gr::io_signature::make(1, 1, sizeof(gr_complex))),
      d_how(how), d_chosen(chosen), d_length_key(pmt::intern(length_tag_key)),
      d_port(*this),
      d_host(queue::make(how.where == backend::reference ? how.where : backend::cpu)),
      d_where(how.where), d_sync(kernels::dvbs2_frame_sync::make(how))
{
    if (how.where == backend::cuda) {
        d_output = std::make_unique<device_output>(
            place{ how.where, how.device }, sizeof(gr_complex), most_on_device);
    }
    set_tag_propagation_policy(TPP_DONT);
    // Whole frames, for blocks after it that take packets.
    set_min_output_buffer(2 * longest_frame);
    message_port_register_out(noise_key);
    message_port_register_out(status_port);
}

bool dvbs2_frame_sync_impl::start()
{
    auto how = d_how;
    try {
        if (d_output) {
            d_output->begin(*this, d_port);
            if (!d_chosen && !d_output->stays()) {
                how.where = backend::cpu; // symbols come from the host and go there
            }
        }
        d_sync = kernels::dvbs2_frame_sync::make(how);
    } catch (const std::exception& problem) {
        // Thrown on, it would leave all blocks waiting for this one's start.
        fail(problem);
    }
    d_where = how.where;
    d_given = 0;
    d_has_frame = d_finished = false;
    d_started = d_last_gap = nitems_read(0);
    d_tags.clear();
    d_modcod.clear();
    d_reported = std::chrono::steady_clock::now();
    show();
    return block::start();
}

bool dvbs2_frame_sync_impl::stop()
{
    if (d_output) {
        try {
            d_output->end();
        } catch (const std::exception& problem) {
            fail(problem);
        }
    }
    return block::stop();
}

//! Ends the flowgraph.
int dvbs2_frame_sync_impl::fail(const std::exception& problem)
{
    if (!d_failed) {
        const bool memory = dynamic_cast<const std::bad_alloc*>(&problem);
        d_logger->error("{}: the flowgraph ends here",
                        memory ? "too little memory, or of page-locked memory for the "
                                 "GPU: free some, or set backend to cpu"
                               : problem.what());
    }
    d_failed = true;
    return WORK_DONE;
}

std::optional<device_block::place> dvbs2_frame_sync_impl::works_on() const
{
    if (!d_output) {
        return {};
    }
    return place{ d_how.where, d_how.device };
}

dvbs2_frame_sync_impl::state dvbs2_frame_sync_impl::shown() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    return d_shown;
}

void dvbs2_frame_sync_impl::show()
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    d_shown = { d_sync->is_locked(),
                d_sync->so_far(),
                d_sync->frequency(),
                decibels(d_sync->es_n0()),
                d_modcod };
}

//! In the statistics, each frame is a batch, and its computation is not timed.
block_statistics dvbs2_frame_sync_impl::statistics() const
{
    const auto now = shown();
    block_statistics found;
    found.backend = backend();
    found.batches = found.frames = now.counts.frames;
    found.last_batch = found.largest_batch = found.frames ? 1 : 0;
    found.failures = now.counts.cut;
    return found;
}

//! Whether all symbols that will ever come have been taken.
bool dvbs2_frame_sync_impl::has_ended()
{
    return d_port.has_ended(0) && d_port.items_come(0) == nitems_read(0);
}

void dvbs2_frame_sync_impl::forecast(int, gr_vector_int& required)
{
    // The last frames go out even after the block before has ended.
    required[0] = d_has_frame || (!d_finished && has_ended()) ? 0 : 1;
}

int dvbs2_frame_sync_impl::general_work(int noutput_items,
                                        gr_vector_int& ninput_items,
                                        gr_vector_const_void_star& input_items,
                                        gr_vector_void_star& output_items)
{
    if (d_failed) {
        return WORK_DONE;
    }
    try {
        if (!d_has_frame) {
            if (ninput_items[0] > 0) {
                take(static_cast<const gr_complex*>(input_items[0]),
                     std::min(ninput_items[0], most_at_once));
            } else if (!d_finished && has_ended()) {
                d_sync->finish();
                d_finished = true;
            }
            d_has_frame = next_frame();
        }
        const int done = put_out(static_cast<gr_complex*>(output_items[0]),
                                 static_cast<size_t>(noutput_items));
        show();
        report();
        return done;
    } catch (const std::exception& problem) {
        // Thrown on, it would end this block's thread and leave the others waiting.
        return fail(problem);
    }
}

//! Symbols of the frames that have been found, as many as there is room for.
int dvbs2_frame_sync_impl::put_out(gr_complex* out, size_t room)
{
    const bool on_device = d_where == backend::cuda;
    room = on_device ? std::min(room, d_output->most_items()) : room;
    size_t done = 0;
    while (d_has_frame && done < room) {
        if (d_given == 0) {
            tag_frame(nitems_written(0) + done);
        }
        const size_t count = std::min(room - done, d_length - d_given);
        done += count;
        d_given += count;
        if (d_given == d_length) {
            d_has_frame = next_frame();
        }
    }
    if (done > 0 && on_device) {
        d_output->write(nitems_written(0), done, out, [&](void* to, queue& work_queue) {
            d_sync->symbols({ static_cast<gr_complex*>(to), done }, work_queue);
        });
    } else if (done > 0) {
        d_sync->symbols({ out, done }, *d_host);
    }
    return static_cast<int>(done);
}

bool dvbs2_frame_sync_impl::next_frame()
{
    d_given = 0;
    const bool found = d_sync->next_without_symbols(d_frame);
    d_length = found ? static_cast<size_t>(d_frame.mode.symbols()) : 0;
    return found;
}

//! Takes symbols up to a gap or another carrier offset, or up to `count`.
void dvbs2_frame_sync_impl::take(const gr_complex* in, int count)
{
    count = symbols_to_change(count);
    keep_tags(count);
    d_sync->take(in, static_cast<size_t>(count));
    consume(0, count);
    forget_tags();
}

//! Of the tags before all frames to come, the last one of each key counts.
void dvbs2_frame_sync_impl::forget_tags()
{
    constexpr size_t enough = 64;
    const uint64_t oldest = d_started + d_sync->oldest();
    if (d_tags.size() < enough || d_tags[enough / 2].offset > oldest) {
        return;
    }
    std::deque<tag_t> kept;
    std::vector<pmt::pmt_t> seen;
    for (auto tag = d_tags.rbegin(); tag != d_tags.rend(); ++tag) {
        const bool is_last = std::find(seen.begin(), seen.end(), tag->key) == seen.end();
        if (tag->offset > oldest || is_last) {
            kept.push_front(*tag);
        }
        if (tag->offset <= oldest && is_last) {
            seen.push_back(tag->key);
        }
    }
    d_tags = std::move(kept);
}

//! Tells d_sync what tags say of the next symbol. The symbols up to the next such tag, or
//! `count`.
int dvbs2_frame_sync_impl::symbols_to_change(int count)
{
    const uint64_t first = nitems_read(0);
    std::vector<tag_t> tags;
    get_tags_in_range(tags, 0, first, first + static_cast<uint64_t>(count));
    std::optional<double> offset;
    double turns = 0;
    bool is_gap = false;
    for (const auto& tag : tags) {
        const bool is_time = pmt::eq(tag.key, time_key);
        const bool is_offset = pmt::eq(tag.key, carrier_key) && pmt::is_real(tag.value);
        if (tag.offset > first) {
            count = is_time || is_offset
                        ? std::min(count, static_cast<int>(tag.offset - first))
                        : count;
        } else if (is_time) {
            is_gap = tag.offset > d_last_gap;
        } else if (is_offset) {
            offset = pmt::to_double(tag.value);
        } else if (pmt::eq(tag.key, turns_key) && pmt::is_real(tag.value)) {
            turns = pmt::to_double(tag.value);
        }
    }
    if (is_gap) {
        d_last_gap = first;
        d_sync->gap();
    }
    if (offset && std::isfinite(*offset) && std::isfinite(turns)) {
        d_sync->removed(*offset, turns);
    }
    return count;
}

void dvbs2_frame_sync_impl::keep_tags(int count)
{
    const uint64_t first = nitems_read(0);
    std::vector<tag_t> tags;
    get_tags_in_range(tags, 0, first, first + static_cast<uint64_t>(count));
    std::stable_sort(tags.begin(), tags.end(), tag_t::offset_compare);
    for (const auto& tag : tags) {
        if (pmt::eq(tag.key, time_key) || pmt::eq(tag.key, rate_key) ||
            pmt::eq(tag.key, radio_frequency_key)) {
            d_tags.push_back(tag);
        }
    }
}

void dvbs2_frame_sync_impl::tag_frame(uint64_t item)
{
    const auto& mode = d_frame.mode;
    d_modcod = mode.name();
    const auto add = [&](const pmt::pmt_t& key, const pmt::pmt_t& value) {
        add_item_tag(0, item, key, value, alias_pmt());
    };
    add(d_length_key, pmt::from_long(static_cast<long>(d_length)));
    add(pls_key, pmt::from_long(mode.pls));
    add(modcod_key, pmt::mp(d_modcod));
    add(constellation_key, pmt::mp(mode.constellation()));
    add(interleaver_key, pmt::mp(mode.bit_interleaver()));
    const auto code = pmt::mp(mode.code());
    add(ldpc_key, code);
    add(bch_key, code);
    add(noise_key, pmt::from_double(d_frame.noise_variance));
    add(esn0_key, pmt::from_double(decibels(d_frame.es_n0())));
    add(frequency_key, pmt::from_double(d_frame.frequency));
    std::vector<tag_t> last; // of each key
    while (!d_tags.empty() && d_tags.front().offset <= d_started + d_frame.first) {
        const auto same = std::find_if(last.begin(), last.end(), [&](const tag_t& one) {
            return pmt::eq(one.key, d_tags.front().key);
        });
        if (same == last.end()) {
            last.push_back(d_tags.front());
        } else {
            *same = d_tags.front();
        }
        d_tags.pop_front();
    }
    for (const auto& tag : last) {
        add(tag.key, tag.value);
    }
    message_port_pub(noise_key, pmt::from_double(d_frame.noise_variance));
}

void dvbs2_frame_sync_impl::report()
{
    const auto now = std::chrono::steady_clock::now();
    if (now - d_reported < std::chrono::seconds(1)) {
        return;
    }
    d_reported = now;
    const auto told = shown();
    auto status = pmt::make_dict();
    const auto add = [&](const char* key, const pmt::pmt_t& value) {
        status = pmt::dict_add(status, pmt::mp(key), value);
    };
    add("locked", pmt::from_bool(told.locked));
    add("modcod", pmt::mp(told.modcod));
    add("esn0", pmt::from_double(told.esn0));
    add("frequency", pmt::from_double(told.frequency));
    add("frames", pmt::from_uint64(told.counts.frames));
    add("dummy_frames", pmt::from_uint64(told.counts.dummy_frames));
    add("filtered", pmt::from_uint64(told.counts.filtered));
    add("dropped", pmt::from_uint64(told.counts.cut));
    add("lost_locks", pmt::from_uint64(told.counts.lost_locks));
    message_port_pub(status_port, status);
}

} // namespace gr::cudaphy
