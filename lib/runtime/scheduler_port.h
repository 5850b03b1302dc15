/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <chrono>
#include <gnuradio/block.h>
#include <gnuradio/tags.h>
#include <map>
#include <vector>

// CMake passes GNU Radio's version: 31005 is 3.10.5.
#ifndef CUDAPHY_GNURADIO_VERSION
#error "link cudaphy_runtime, which defines CUDAPHY_GNURADIO_VERSION"
#endif

namespace gr::cudaphy {

using clock_moment = std::chrono::steady_clock::time_point;
using tag_map = std::multimap<uint64_t, tag_t>;

//! What GNU Radio would hand to a block's general_work now.
struct work_call {
    gr_vector_int items;
    gr_vector_const_void_star in;
    gr_vector_void_star out;
};

//! The memory of a ring of GNU Radio's; of a double-mapped ring both halves.
struct ring_memory {
    const char* base;
    size_t bytes;
    size_t item_bytes, items; //!< items: of one half
};

/*!
 * \brief A block's way to GNU Radio's scheduler: the only file of this module that uses
 * parts of GNU Radio which are not for blocks.
 *
 * Built with CUDAPHY_SCHEDULER_INTERNALS, it moves read and write pointers, notifies the
 * threads of neighbours, waits for notifications, and puts tags into a ring's tree.
 * Built without, it uses public calls only: consume(), produce(), add_item_tag() and
 * polling. CMake's ENABLE_SCHEDULER_INTERNALS and GNU Radio's version decide.
 */
class scheduler_port
{
public:
    explicit scheduler_port(gr::block& block) : d_block(block) {}

    //! Whether a thread may move items of another block, and wake that block's thread. If
    //! not, each block's own thread must do all of its work.
    static bool works_across_threads();

    // What is connected. Valid from the block's start() on.

    int inputs() const;
    int outputs() const;
    buffer_sptr input_ring(size_t port) const;
    buffer_sptr output_ring(size_t port) const;
    //! The block that writes to an input.
    block_sptr block_before(size_t port) const;
    std::vector<block_sptr> readers_of(size_t output) const;
    //! The one block that reads all outputs and nothing else; null if there is none.
    block_sptr only_reader() const;
    //! Whether one block feeds both inputs, directly or through others.
    bool share_a_source(size_t input_a, size_t input_b) const;
    static ring_memory memory_of(const gr::buffer_sptr& ring);

    // What is in the rings.

    work_call now() const;
    uint64_t items_read(size_t input) const { return d_block.nitems_read(input); }
    uint64_t items_written(size_t output) const { return d_block.nitems_written(output); }
    //! Items since the start that have come, read or not.
    uint64_t items_come(size_t input) const;
    //! The most that an input's ring ever has for this block.
    int most_available(size_t input) const;
    //! Whether the block before has ended.
    bool has_ended(size_t input) const;
    //! Items that an output's ring has room for.
    int space(size_t output) const;
    //! Whether every output has room for the block's output multiple, so that GNU Radio
    //! calls the block again.
    bool has_room_for_a_call() const;
    //! The tags on items from `first` to before `end` of an input.
    std::vector<tag_t> tags(size_t input, uint64_t first, uint64_t end) const;
    size_t ring_items(size_t output) const;

    // Moving items. `across_threads`: the caller may be another block's thread, and GNU
    // Radio notifies nobody. It must be false unless works_across_threads().

    void consume(size_t input, int items, bool across_threads);
    void produce(size_t output, int items, bool across_threads);

    // Waking threads. Nothing unless works_across_threads().

    void wake_own_thread();
    void wake_readers();
    void wake_writers();

    // Waiting, without any lock held. `Since` this call began: GNU Radio then forgets
    // what has come before.

    void call_begins();
    //! Until items come, the input ends, or `end`.
    void wait_for_input(clock_moment end);
    //! Until a reader has read, at most so long; whether one has.
    bool wait_for_space(std::chrono::microseconds patience);
    //! Whether input or, if `space_counts`, space has come since. If not, sleeps for
    //! `nap`, or until input comes.
    bool has_news(bool input_counts, bool space_counts, std::chrono::microseconds nap);

private:
    gr::block& d_block;
    // Without GNU Radio's notifications: what there was when the call began.
    std::vector<uint64_t> d_come;
    std::vector<int> d_space;
    bool input_has_changed() const;
    bool space_has_changed() const;
};

//! Puts tags into a ring, all under one lock, and moves into `passed` as many that all
//! readers have passed long ago, if GNU Radio lets go of them.
void move_tags(gr::buffer& ring,
               std::vector<tag_map::node_type>& waiting,
               std::vector<tag_map::node_type>& passed);

//! Which blocks have deleted a tag, which a copy of the tag leaves out.
inline void copy_deletions([[maybe_unused]] const tag_t& from, [[maybe_unused]] tag_t& to)
{
#if CUDAPHY_GNURADIO_VERSION < 31100
    to.marked_deleted = from.marked_deleted;
#endif
}

} // namespace gr::cudaphy
