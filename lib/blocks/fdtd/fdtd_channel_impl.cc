/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/fdtd/fdtd_channel_impl.h"
#include "runtime/device/page_lock.h"
#include "runtime/scheduler_port.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/io_signature.h>
#include <limits>
#include <sstream>

namespace gr::cudaphy {
namespace {

constexpr int most_steps = 65536, usual_steps = 4096, most_every = 1 << 30;
constexpr double call_seconds = 0.1;
constexpr size_t plane_bytes = size_t{ 16 } << 20; // of a call, or one larger plane

gr::io_signature::sptr outputs(size_t probes, size_t points)
{
    constexpr size_t most = std::numeric_limits<int>::max() / 2 / sizeof(float);
    if (points > most) {
        throw std::invalid_argument("fdtd_channel: a plane of " + std::to_string(points) +
                                    " elements, allowed are at most " +
                                    std::to_string(most));
    }
    std::vector<int> bytes(probes, sizeof(float));
    if (points > 0) {
        bytes.push_back(static_cast<int>(points * sizeof(float)));
    }
    if (bytes.empty()) {
        throw std::invalid_argument(
            "fdtd_channel: the system has no probe, and no plane is given: there is "
            "nothing to put out");
    }
    const auto count = static_cast<int>(bytes.size());
    return gr::io_signature::makev(count, count, bytes);
}

gr::io_signature::sptr inputs(size_t sources)
{
    if (sources == 0) {
        throw std::invalid_argument(
            "fdtd_channel: the system has no source: it needs one at least");
    }
    const auto count = static_cast<int>(sources);
    return gr::io_signature::make(count, count, sizeof(float));
}

void check(const std::vector<int32_t>& plane,
           int64_t size,
           int plane_every,
           int max_batch)
{
    for (const auto element : plane) {
        if (element < 0 || element >= size) {
            throw std::invalid_argument(
                "fdtd_channel: element " + std::to_string(element) +
                " in the plane of a state of " + std::to_string(size));
        }
    }
    if (plane_every < 1 || plane_every > most_every) {
        throw std::invalid_argument("plane_every " + std::to_string(plane_every) +
                                    " is not in 1 to " + std::to_string(most_every));
    }
    if (max_batch < 0 || max_batch > most_steps) {
        throw std::invalid_argument("max_batch " + std::to_string(max_batch) +
                                    " is not in 0 (automatic) to " +
                                    std::to_string(most_steps) + " time steps");
    }
}

} // namespace

#define CUDAPHY_MAKE(T)                                                          \
    fdtd_channel::sptr fdtd_channel::make(const kernels::fdtd_system<T>& system, \
                                          const std::vector<int32_t>& plane,     \
                                          int plane_every,                       \
                                          const std::string& format,             \
                                          const std::string& backend,            \
                                          int device,                            \
                                          int max_batch)                         \
    {                                                                            \
        check(plane, system.size, plane_every, max_batch);                       \
        return gnuradio::make_block_sptr<fdtd_channel_impl<T>>(                  \
            system,                                                              \
            typename fdtd_channel_impl<T>::options{                              \
                plane,                                                           \
                plane_every,                                                     \
                format,                                                          \
                resolve(backend_from_name(backend), device),                     \
                max_batch ? max_batch : usual_steps });                          \
    }
CUDAPHY_MAKE(float)
CUDAPHY_MAKE(double)
#undef CUDAPHY_MAKE

template <typename T>
template <typename U>
fdtd_channel_impl<T>::mirrored<U>::mirrored(queue& work_queue, size_t size)
    : there(work_queue, size),
      memory(make_locked_memory(std::max<size_t>(1, size) * sizeof(U))),
      here(static_cast<U*>(memory.get()))
{
}

template <typename T>
template <typename U>
void fdtd_channel_impl<T>::mirrored<U>::copy_out(queue& work_queue, size_t count)
{
    if (count > 0) {
        work_queue.copy_out(here, there.data(), count * sizeof(U));
    }
}

template <typename T>
fdtd_channel_impl<T>::fdtd_channel_impl(const kernels::fdtd_system<T>& system,
                                        const options& o)
    : gr::block("fdtd_channel",
                inputs(system.sources.size()),
                outputs(system.probes.size(), o.plane.size())),
      d_backend(o.where), d_points(o.plane.size()), d_every(o.plane_every),
      d_time_step(system.time_step), d_largest_time_step(system.largest_time_step),
      d_counters(name_of(o.where.where), [this] { return d_failures.load(); }),
      d_queue(queue::make(o.where.where, o.where.device)),
      d_stepper(stepper::make(
          system,
          { kernels::sparse_format_from_name(o.format), size_t(o.max_batch) },
          o.where.where,
          o.where.device)),
      d_watch(std::make_unique<stopwatch>(*d_queue)), d_sources(d_stepper->sources()),
      d_probes(d_stepper->probes()), d_most(o.max_batch),
      d_excitation(*d_queue, d_most * d_sources), d_seen(*d_queue, d_most * d_probes),
      d_status(*d_queue, 1)
{
    if (d_points > 0) {
        d_most_planes = std::clamp<size_t>(
            plane_bytes / (d_points * sizeof(T)), 1, d_most / d_every + 1);
        d_planes = mirrored<T>(*d_queue, d_most_planes * d_points);
        d_elements =
            array<int32_t>(*d_queue, view<const int32_t>(o.plane.data(), d_points));
        d_queue->synchronize(); // the caller frees o.plane
    }
    message_port_register_in(pmt::mp("reset"));
    set_msg_handler(pmt::mp("reset"), [this](const pmt::pmt_t&) { reset(); });
    set_tag_propagation_policy(TPP_DONT); // move_tags(): the plane has its own rate
}

template <typename T>
bool fdtd_channel_impl<T>::start()
{
    d_problem.clear();
    d_logger->info("runs on {}: {}", name_of(d_backend.where), d_backend.reason);
    return block::start();
}

template <typename T>
void fdtd_channel_impl<T>::forecast(int, gr_vector_int& required)
{
    std::fill(required.begin(), required.end(), 1);
}

template <typename T>
int fdtd_channel_impl<T>::general_work(int,
                                       gr_vector_int& ninput_items,
                                       gr_vector_const_void_star& input_items,
                                       gr_vector_void_star& output_items)
{
    try {
        if (d_reset_asked.exchange(false)) {
            d_stepper->reset(*d_queue);
            d_steps = 0;
        }
        size_t steps = steps_that_fit(ninput_items);
        if (steps == 0) {
            return 0;
        }
        steps = take_in(input_items, steps);
        steps = steps ? step(steps) : 0;
        if (steps > 0) {
            steps = put_out(output_items, steps);
        }
        if (!d_problem.empty()) {
            ++d_failures;
            d_logger->error("{}: the flowgraph ends here", d_problem);
            return WORK_DONE;
        }
        return WORK_CALLED_PRODUCE;
    } catch (const std::exception& problem) {
        // An exception that leaves this method would end this block's thread, and the
        // other blocks would wait for ever.
        d_logger->error("{}: the flowgraph ends here", problem.what());
        return WORK_DONE;
    }
}

template <typename T>
uint64_t fdtd_channel_impl<T>::planes_by(uint64_t item) const
{
    return d_points ? item / d_every : 0;
}

template <typename T>
size_t fdtd_channel_impl<T>::steps_that_fit(const gr_vector_int& ninput_items)
{
    size_t steps = std::min(d_call, d_most);
    for (const auto items : ninput_items) {
        steps = std::min<size_t>(steps, std::max(items, 0));
    }
    const auto room = [this](size_t port) {
        return size_t(std::max(scheduler_port(*this).space(port), 0));
    };
    for (size_t p = 0; p < d_probes; ++p) {
        steps = std::min(steps, room(p));
    }
    if (d_points > 0) {
        // Up to the last time step before the first plane without room.
        const uint64_t item = nitems_read(0);
        const uint64_t planes = planes_by(item) + std::min(room(d_probes), d_most_planes);
        steps = std::min<size_t>(steps, (planes + 1) * d_every - 1 - item);
    }
    return steps;
}

//! Interleaves the streams' items. Returns the number of time steps before the first
//! excitation that is not finite.
template <typename T>
size_t fdtd_channel_impl<T>::take_in(const gr_vector_const_void_star& in, size_t steps)
{
    size_t good = steps;
    for (size_t s = 0; s < d_sources; ++s) {
        const auto* from = static_cast<const float*>(in[s]);
        for (size_t i = 0; i < good; ++i) {
            if (!std::isfinite(from[i])) {
                d_problem = "the excitation at input " + std::to_string(s) +
                            " in time step " + std::to_string(d_steps + i) + " is " +
                            std::to_string(from[i]);
                good = i;
            } else {
                d_excitation.here[i * d_sources + s] = from[i];
            }
        }
    }
    return good;
}

//! Does time steps, and gathers each plane. Returns the number of time steps after which
//! all fields are finite.
template <typename T>
size_t fdtd_channel_impl<T>::step(size_t steps)
{
    const auto began = std::chrono::steady_clock::now();
    d_counters.queued(1);
    d_queue->copy_in(
        d_excitation.there.data(), d_excitation.here, steps * d_sources * sizeof(T));
    d_watch->begin();
    size_t planes = 0;
    for (size_t done = 0; done < steps;) {
        const size_t to_plane = d_every - (nitems_read(0) + done) % d_every;
        const size_t piece = d_points ? std::min(to_plane, steps - done) : steps;
        d_stepper->run(d_excitation.there.all().part(done * d_sources, piece * d_sources),
                       d_seen.there.all().part(done * d_probes, piece * d_probes),
                       d_status.there,
                       *d_queue);
        done += piece;
        if (d_points && piece == to_plane) {
            d_stepper->gather(d_elements,
                              d_planes.there.all().part(planes * d_points, d_points),
                              *d_queue);
            ++planes;
        }
    }
    d_watch->end();
    d_seen.copy_out(*d_queue, steps * d_probes);
    d_planes.copy_out(*d_queue, planes * d_points);
    d_status.copy_out(*d_queue, 1);
    d_queue->synchronize();
    d_counters.queued(0);
    d_counters.computed(steps, d_watch->seconds());

    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (steps == d_call && took.count() < call_seconds / 2) {
        d_call = std::min(2 * d_call, d_most);
    } else if (took.count() > 2 * call_seconds) {
        d_call = std::max<size_t>(std::min(steps, d_call) / 2, 1);
    }
    const int64_t status = *d_status.here;
    if (status < 0) {
        d_steps += steps;
        return steps;
    }
    const uint64_t before = d_steps, good = std::max(uint64_t(status), before);
    d_problem = growth(good);
    d_steps = good;
    return std::min<uint64_t>(good - before, steps);
}

//! Puts out the items of `steps` time steps, up to the first value that exceeds a float.
//! Returns the number of time steps.
template <typename T>
size_t fdtd_channel_impl<T>::put_out(const gr_vector_void_star& out, size_t steps)
{
    const uint64_t first = nitems_read(0);
    const uint64_t steps_before = d_steps - steps;
    for (size_t p = 0; p < d_probes; ++p) {
        auto* to = static_cast<float*>(out[p]);
        for (size_t i = 0; i < steps; ++i) {
            to[i] = static_cast<float>(d_seen.here[i * d_probes + p]);
            if (!std::isfinite(to[i])) {
                steps = i;
            }
        }
    }
    size_t planes = planes_by(first + steps) - planes_by(first);
    for (size_t k = 0; k < planes; ++k) {
        auto* to = static_cast<float*>(out[d_probes]) + k * d_points;
        std::transform(d_planes.here + k * d_points,
                       d_planes.here + (k + 1) * d_points,
                       to,
                       [](T value) { return static_cast<float>(value); });
        if (!std::all_of(to, to + d_points, [](float x) { return std::isfinite(x); })) {
            steps = (planes_by(first) + k + 1) * d_every - 1 - first;
            planes = k;
        }
    }
    if (d_problem.empty() && steps_before + steps < d_steps) {
        d_problem = growth(steps_before + steps);
    }
    move_tags(steps); // first: other threads may read an item once it is produced
    for (size_t p = 0; p < d_probes; ++p) {
        produce(static_cast<int>(p), static_cast<int>(steps));
    }
    if (d_points > 0) {
        produce(static_cast<int>(d_probes), static_cast<int>(planes));
    }
    consume_each(static_cast<int>(steps));
    return steps;
}

template <typename T>
void fdtd_channel_impl<T>::move_tags(size_t steps)
{
    std::vector<tag_t> moved, tags;
    for (size_t s = 0; s < d_sources; ++s) {
        get_tags_in_range(tags, s, nitems_read(s), nitems_read(s) + steps);
        for (const auto& tag : tags) {
            const bool known =
                std::any_of(moved.begin(), moved.end(), [&](const tag_t& one) {
                    return one.offset == tag.offset && pmt::eqv(one.key, tag.key) &&
                           pmt::equal(one.value, tag.value);
                });
            if (!known) {
                moved.push_back(tag);
            }
        }
    }
    for (auto& tag : moved) {
        for (size_t p = 0; p < d_probes; ++p) {
            add_item_tag(p, tag);
        }
        if (d_points > 0) {
            tag.offset = planes_by(tag.offset);
            add_item_tag(d_probes, tag);
        }
    }
}

template <typename T>
std::string fdtd_channel_impl<T>::growth(uint64_t steps) const
{
    std::ostringstream text;
    text << "the fields grew beyond all numbers after " << steps << " time steps";
    if (d_time_step > 0) {
        text << " of " << d_time_step << " s";
    }
    if (d_largest_time_step > 0) {
        text << "; the largest stable time step is " << d_largest_time_step << " s";
    }
    return text.str();
}

template class fdtd_channel_impl<float>;
template class fdtd_channel_impl<double>;

} // namespace gr::cudaphy
