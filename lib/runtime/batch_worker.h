/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_pacer.h"
#include "runtime/batch_slot.h"
#include "runtime/block_row.h"
#include "runtime/stream/stream_ledger.h"
#include "runtime/stream/stream_memory.h"
#include "runtime/stream/stream_tags.h"
#include "runtime/stream/stuck_inputs.h"
#include <deque>

namespace gr::cudaphy {

class batch_block;

/*!
 * \brief Gathers a batch_block's frames into batches, submits them, and publishes what
 * comes back.
 *
 * The numbers are stream_ledger's, the decisions batch_pacer's, the thread block_row's.
 * Every function but work() and forecast() is called under the row's lock.
 */
class batch_worker : private row_member
{
public:
    //! Makes the block's slots and jobs. \throws std::bad_alloc
    batch_worker(batch_block& block, batch_load most);
    ~batch_worker() override;

    void start();
    void stop();
    void forecast(gr_vector_int& required);
    int work(const gr_vector_int& ninput_items,
             const gr_vector_const_void_star& in,
             const gr_vector_void_star& out);

    scheduler_port& port() { return d_port; }

    static constexpr int slots_on_device = 3;

private:
    //! Frames of one kind in a batch under way, or a part of a refused packet that waits
    //! for its turn. The frames of a batch stand one kind after the other.
    struct flight {
        batch_slot* slot = nullptr; //!< none if refused
        frame_reservation frames = {};
        const int* status = nullptr; //!< the words of these frames, on the host
        int batch_frames = 0;        //!< of the whole batch, at its last kind; else 0
        uint64_t first_out = 0;      //!< item of output 0 of the first, once published
        uint64_t refused_items = 0, packet_items = 0;
        std::vector<tag_t> head = {}; //!< tags on the first item of a refused packet
        std::string refusal = {};     //!< empty but for a packet's first part
    };
    //! A batch to be submitted, its items reserved.
    struct gathered {
        std::vector<flight> parts = {};
        batch_load all;
    };
    //! The pointers of one call of general_work, and where the stream stood when they
    //! were valid.
    struct rings {
        const gr_vector_const_void_star& in;
        const gr_vector_void_star& out;
        stream_position done;
    };
    using lock_type = block_row::lock_type;

    // row_member
    int collect_and_submit() override;
    bool has_batches() const override { return !d_in_flight.empty(); }
    bool is_batch_done(bool takes_long) override;
    bool has_failed() const override { return !d_problem.empty(); }

    // Starting.
    void make_slot();
    void find_edges();
    void lock_rings();
    void find_row();
    bool can_be_served() const;
    std::unique_ptr<kind_sorter> make_sorter(queue& where) const;

    // One call.
    int work_locked(lock_type& held, const gr_vector_int& ninput_items, const rings& at);
    void fail(const std::exception& problem);
    void end_flowgraph(const std::string& problem);
    bool is_stuck();
    bool holds_back(int waiting);
    int
    wait_and_collect(lock_type& held, const gr_vector_int& ninput_items, const rings& at);

    // Gathering.
    int next_kind() const;
    const batch_kind& kind_of_next() const { return d_ledger.kind(next_kind()); }
    int frames_waiting(const gr_vector_int& ninput_items) const;
    int frames_that_fit() const;
    int frames_to_submit(const gr_vector_int& ninput_items);
    size_t slots_under_way() const { return d_slots.size() - d_free.size(); }
    uint64_t next_item() const;
    bool has_next_item(const gr_vector_int& ninput_items) const;
    packet_cutter::label label_at(uint64_t item);
    bool at_known_packet(const gr_vector_int& ninput_items);
    int frames_in_packets(int frames);
    bool pass_over(const gr_vector_int& ninput_items);
    gathered next_batch(const gr_vector_int& ninput_items);

    // Submitting.
    bool submit_waiting(const gr_vector_int& ninput_items, const rings& at);
    void submit(const rings& at, gathered found);
    void take_inputs(batch& work,
                     batch_slot& slot,
                     queue& where,
                     const rings& at,
                     const batch_load& all,
                     bool own_memory);
    std::vector<char*> place_outputs(batch& work,
                                     batch_slot& slot,
                                     const rings& at,
                                     const gathered& found,
                                     bool own_memory);
    uint64_t absolute_item(size_t output, const frame_reservation& frames) const;
    bool stays_in_rings(const batch_load& batch) const;
    bool shares_queue(const batch_load& batch) const;
    bool status_stays_on_host(int frames) const;
    void announce();

    // Waiting.
    bool wait_for_one(lock_type& held);
    void wait_before_work(lock_type& held);
    bool is_announced();
    void wait_for_announced();
    void may_sleep();

    // Collecting.
    bool is_oldest_done() const;
    void collect_done(const rings& at);
    void collect(const rings& at);
    void publish(flight& batch, const rings& at);
    void finish(const flight& done);
    void
    close_gaps(const frame_reservation& done, const kept_frames& kept, const rings& at);
    void report_all(const flight& done, const kept_frames& kept);

    batch_block& d_block;
    scheduler_port d_port;
    block_row d_row;
    batch_pacer d_pacer;
    stream_ledger d_ledger;
    stream_memory d_memory;
    stuck_inputs d_stuck;

    const batch_load d_most; //!< that a slot has room for
    const bool d_on_device;
    std::vector<std::unique_ptr<batch_slot>> d_slots;
    std::vector<batch_slot*> d_free;
    std::deque<flight> d_in_flight;
    size_t d_connected = 0; //!< outputs
    //! Items are published as soon as the work that makes them is submitted.
    bool d_publishes_early = false;
    std::string d_problem; //!< why the stream can't go on; what is in flight is put out
    bool d_device_is_lost = false;
};

} // namespace gr::cudaphy
