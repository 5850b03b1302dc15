/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/scheduler_port.h"
#include <algorithm>
#include <boost/thread/thread.hpp>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer.h>
#include <gnuradio/buffer_reader.h>
#include <set>

namespace gr::cudaphy {

int scheduler_port::inputs() const { return d_block.detail()->ninputs(); }

int scheduler_port::outputs() const { return d_block.detail()->noutputs(); }

buffer_sptr scheduler_port::input_ring(size_t port) const
{
    return d_block.detail()->input(port)->buffer();
}

buffer_sptr scheduler_port::output_ring(size_t port) const
{
    return d_block.detail()->output(port);
}

block_sptr scheduler_port::block_before(size_t port) const
{
    return input_ring(port)->link();
}

std::vector<block_sptr> scheduler_port::readers_of(size_t output) const
{
    const auto ring = output_ring(output);
    std::vector<block_sptr> found;
    for (size_t r = 0; r < ring->nreaders(); ++r) {
        found.push_back(ring->reader(r)->link());
    }
    return found;
}

block_sptr scheduler_port::only_reader() const
{
    block_sptr found;
    for (int p = 0; p < outputs(); ++p) {
        const auto ring = output_ring(p);
        const auto reader = ring->nreaders() == 1 ? ring->reader(0)->link() : nullptr;
        if (!reader || (found && reader != found)) {
            return nullptr;
        }
        found = reader;
    }
    for (int p = 0; found && p < found->detail()->ninputs(); ++p) {
        if (found->detail()->input(p)->buffer()->link().get() != &d_block) {
            return nullptr;
        }
    }
    return found;
}

namespace {

//! The block that feeds an input, and all that feed it in turn.
void add_blocks_before(const gr::block& block, int port, std::set<const gr::block*>& all)
{
    const auto before = block.detail()->input(port)->buffer()->link();
    if (!before || !all.insert(before.get()).second) {
        return;
    }
    for (int p = 0; p < before->detail()->ninputs(); ++p) {
        add_blocks_before(*before, p, all);
    }
}

} // namespace

bool scheduler_port::share_a_source(size_t input_a, size_t input_b) const
{
    std::set<const gr::block*> before_a, before_b;
    add_blocks_before(d_block, static_cast<int>(input_a), before_a);
    add_blocks_before(d_block, static_cast<int>(input_b), before_b);
    return std::any_of(before_a.begin(), before_a.end(), [&](const auto* each) {
        return before_b.count(each) > 0;
    });
}

ring_memory scheduler_port::memory_of(const buffer_sptr& ring)
{
    const bool doubled = ring->get_mapping_type() == buffer_mapping_type::double_mapped;
    const size_t items = ring->bufsize(), item_bytes = ring->get_sizeof_item();
    return { ring->base(), (doubled ? 2 : 1) * items * item_bytes, item_bytes, items };
}

work_call scheduler_port::now() const
{
    work_call found;
    for (int p = 0; p < inputs(); ++p) {
        const auto reader = d_block.detail()->input(p);
        gr::thread::scoped_lock guard(*reader->mutex());
        found.items.push_back(reader->items_available());
        found.in.push_back(reader->read_pointer());
    }
    for (int p = 0; p < outputs(); ++p) {
        found.out.push_back(output_ring(p)->write_pointer());
    }
    return found;
}

uint64_t scheduler_port::items_come(size_t input) const
{
    const auto reader = d_block.detail()->input(input);
    gr::thread::scoped_lock guard(*reader->mutex());
    return reader->nitems_read() + reader->items_available();
}

int scheduler_port::most_available(size_t input) const
{
    return d_block.detail()->input(input)->max_possible_items_available();
}

bool scheduler_port::has_ended(size_t input) const
{
    const auto reader = d_block.detail()->input(input);
    gr::thread::scoped_lock guard(*reader->mutex());
    return reader->done();
}

int scheduler_port::space(size_t output) const
{
    const auto ring = output_ring(output);
    // The mutex orders the readers' loads before stores into the space that they freed.
    gr::thread::scoped_lock guard(*ring->mutex());
    return ring->space_available();
}

bool scheduler_port::has_room_for_a_call() const
{
    for (int p = 0; p < outputs(); ++p) {
        if (space(p) < d_block.output_multiple()) {
            return false;
        }
    }
    return true;
}

std::vector<tag_t> scheduler_port::tags(size_t input, uint64_t first, uint64_t end) const
{
    std::vector<tag_t> found;
    const auto which = static_cast<unsigned>(input);
#if CUDAPHY_GNURADIO_VERSION < 31100
    d_block.detail()->get_tags_in_range(found, which, first, end, d_block.unique_id());
#else
    d_block.detail()->get_tags_in_range(found, which, first, end);
#endif
    return found;
}

size_t scheduler_port::ring_items(size_t output) const
{
    return output_ring(output)->bufsize();
}

#ifdef CUDAPHY_SCHEDULER_INTERNALS

bool scheduler_port::works_across_threads() { return true; }

void scheduler_port::consume(size_t input, int items, bool across_threads)
{
    if (across_threads) {
        d_block.detail()->input(input)->update_read_pointer(items);
    } else {
        d_block.consume(static_cast<int>(input), items);
    }
}

void scheduler_port::produce(size_t output, int items, bool across_threads)
{
    if (across_threads) {
        output_ring(output)->update_write_pointer(items);
    } else {
        d_block.produce(static_cast<int>(output), items);
    }
}

void scheduler_port::wake_own_thread() { d_block.detail()->d_tpb.notify_msg(); }

void scheduler_port::wake_readers()
{
    const auto detail = d_block.detail();
    detail->d_tpb.notify_downstream(detail.get());
}

void scheduler_port::wake_writers()
{
    const auto detail = d_block.detail();
    detail->d_tpb.notify_upstream(detail.get());
}

void scheduler_port::call_begins() {}

void scheduler_port::wait_for_input(clock_moment end)
{
    using std::chrono::microseconds;
    auto& threads = d_block.detail()->d_tpb;
    if (has_ended(0)) {
        return;
    }
    gr::thread::scoped_lock guard(threads.mutex);
    const auto left =
        std::chrono::duration_cast<microseconds>(end - std::chrono::steady_clock::now());
    if (!threads.input_changed) {
        threads.input_cond.timed_wait(guard,
                                      boost::posix_time::microseconds(left.count() + 1));
    }
}

bool scheduler_port::wait_for_space(std::chrono::microseconds patience)
{
    auto& threads = d_block.detail()->d_tpb;
    gr::thread::scoped_lock guard(threads.mutex);
    return threads.output_changed ||
           threads.output_cond.timed_wait(
               guard, boost::posix_time::microseconds(patience.count()));
}

bool scheduler_port::has_news(bool input_counts,
                              bool space_counts,
                              std::chrono::microseconds nap)
{
    auto& threads = d_block.detail()->d_tpb;
    gr::thread::scoped_lock guard(threads.mutex);
    if ((input_counts && threads.input_changed) ||
        (space_counts && threads.output_changed)) {
        return true;
    }
    if (nap.count() > 0) {
        threads.input_cond.timed_wait(guard,
                                      boost::posix_time::microseconds(nap.count()));
    }
    return false;
}

namespace {

//! Members of a ring that are for classes derived from it. No such class is ever made, so
//! that it may be abstract, as it is from GNU Radio 3.11 on.
struct tags_access : gr::buffer {
    static constexpr tag_map gr::buffer::*tags() { return &tags_access::d_item_tags; }
    //! GNU Radio keeps tags for so many items, and as many as the ring holds, behind
    //! those that all readers have read.
    static constexpr unsigned gr::buffer::*delay()
    {
        return &tags_access::d_max_reader_delay;
    }
    static constexpr uint64_t gr::buffer::*read()
    {
        return &tags_access::d_last_min_items_read;
    }
};

} // namespace

void move_tags(gr::buffer& ring,
               std::vector<tag_map::node_type>& waiting,
               std::vector<tag_map::node_type>& passed)
{
    const gr::thread::scoped_lock guard(*ring.mutex());
    auto& tags = ring.*tags_access::tags();
    for (auto& node : waiting) {
        tags.insert(tags.end(), std::move(node));
    }
    // No more than have been written, so that the lock is not held for long.
    const auto kept = ring.*tags_access::delay() + uint64_t{ ring.bufsize() };
    while (passed.size() < waiting.size() &&
           tags.begin()->first + kept < ring.*tags_access::read()) {
        passed.push_back(tags.extract(tags.begin()));
    }
    waiting.clear();
}

#else

namespace {

constexpr std::chrono::microseconds poll{ 200 };

void sleep(std::chrono::microseconds time)
{
    // GNU Radio stops a thread by interrupting it, which boost's sleep heeds.
    boost::this_thread::sleep(boost::posix_time::microseconds(time.count()));
}

} // namespace

bool scheduler_port::works_across_threads() { return false; }

void scheduler_port::consume(size_t input, int items, bool)
{
    d_block.consume(static_cast<int>(input), items);
}

void scheduler_port::produce(size_t output, int items, bool)
{
    d_block.produce(static_cast<int>(output), items);
}

void scheduler_port::wake_own_thread() {}
void scheduler_port::wake_readers() {}
void scheduler_port::wake_writers() {}

void scheduler_port::call_begins()
{
    d_come.clear();
    d_space.clear();
    for (int p = 0; p < inputs(); ++p) {
        d_come.push_back(items_come(p));
    }
    for (int p = 0; p < outputs(); ++p) {
        d_space.push_back(space(p));
    }
}

bool scheduler_port::input_has_changed() const
{
    for (size_t p = 0; p < d_come.size(); ++p) {
        if (items_come(p) != d_come[p]) {
            return true;
        }
    }
    return false;
}

bool scheduler_port::space_has_changed() const
{
    for (size_t p = 0; p < d_space.size(); ++p) {
        if (space(p) > d_space[p]) {
            return true;
        }
    }
    return false;
}

void scheduler_port::wait_for_input(clock_moment end)
{
    while (std::chrono::steady_clock::now() < end && !has_ended(0) &&
           !input_has_changed()) {
        sleep(poll);
    }
}

bool scheduler_port::wait_for_space(std::chrono::microseconds patience)
{
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!space_has_changed()) {
        if (std::chrono::steady_clock::now() >= end) {
            return false;
        }
        sleep(std::min(poll, patience));
    }
    return true;
}

bool scheduler_port::has_news(bool input_counts,
                              bool space_counts,
                              std::chrono::microseconds nap)
{
    if ((input_counts && input_has_changed()) || (space_counts && space_has_changed())) {
        return true;
    }
    if (nap.count() > 0) {
        sleep(std::min(nap, 5 * poll));
    }
    return false;
}

void move_tags(gr::buffer& ring,
               std::vector<tag_map::node_type>& waiting,
               std::vector<tag_map::node_type>&)
{
    for (const auto& node : waiting) {
        ring.add_item_tag(node.mapped());
    }
    waiting.clear();
}

#endif

} // namespace gr::cudaphy
