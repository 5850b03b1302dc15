/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_job.h"
#include "runtime/block_counters.h"
#include "runtime/device_edge.h"
#include "runtime/packet_cutter.h"
#include "runtime/page_lock.h"
#include "runtime/scheduler_port.h"
#include "runtime/tag_writer.h"
#include <atomic>
#include <chrono>
#include <deque>
#include <gnuradio/block.h>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gr::cudaphy {

class batch_end;
class kind_sorter;

//! What every block of this module lets its user set.
struct batch_options {
    std::string length_tag_key; //!< empty: a plain stream without packets
    std::string backend = "auto";
    int device = 0;
    int max_batch = 0; //!< frames in one launch; 0: as many as make about 1 MiB, inputs
                       //!< and outputs together, on a GPU 6 MiB of the larger of both;
                       //!< more than 256 MiB of a port are never in a launch
    double max_latency =
        0; //!< seconds that a frame may wait for a fuller batch; 0: none does
};

//! One port: the bytes of its items, and how many of them belong to one frame.
struct batch_port {
    size_t item_bytes;
    int items;
};

//! Frames of one size: how many items of each port belong to one of them, and how many of
//! them a launch holds at most.
struct batch_kind {
    std::vector<int> in, out;
    int max_batch;
};

/*!
 * \brief The base of the module's blocks: turns streams into batches and batches into
 * streams.
 *
 * A frame is the least that the block's kernel works on: a matrix, a group of received
 * vectors, a codeword. Every input port gives `items` items a frame, every output port
 * takes as many as it says; the derived class names the ports and makes the jobs. This
 * class does the rest, once for all:
 *
 * - GNU Radio's rings are page-locked in place. A batch is copied from the input ring to
 * the device, computed, and copied to the output ring, and up to `slots` batches are
 * under way at once. Items are consumed and produced when their batch is done, so that
 * nothing is lost at the end of a stream: what remains is flushed as a smaller batch.
 * - What is there is sent at once. Only where max_latency is set does a part of a batch
 * wait, that long at most; and while the device is busy anyway, or the blocks behind are,
 * small pieces gather: with two batches under way less than half a batch waits for one of
 * them, and a batch is not cut to the room in an output ring that is nearly full.
 * - With a length tag key, packets of any length pass, also longer than any buffer: the
 * length tag is read at each packet's head, and written at the head of the packet made
 * from it, in the items of each output port. A packet must be a whole number of frames.
 * Every other tag of input port 0 goes to the item made from the item that it was on.
 * - Between two such blocks on one GPU items stay there (device_edge), without a setting:
 * they leave for the host only where another block reads them. Where no output has such a
 * reader, items are published as soon as the work that makes them is submitted, and no
 * thread waits between blocks; what report() adds to them then comes after they did.
 * - Where each of such blocks in a row is the only reader of the one before, and batches
 * have been small for a while, the first one's thread submits and collects for all of
 * them, so that no other wakes up for a batch and waits for the driver; theirs work only
 * where something holds them up. With larger batches each block's own thread works.
 * - Frames may be of several kinds, which differ in size and in what is done to them:
 * each packet's tags say its kind. Packets share batches whatever their kinds are, as
 * far as the room for a batch goes, and leave in the order in which they came. A packet
 * of no known kind, or whose length does not fit its kind, is passed over and refused.
 * - The last output ports need not be connected, if the block's signature says so.
 * - A missing or wrong length tag, inputs that do not fit each other or the frames
 * (batch_block_misfit.cc), and a CUDA error end the
 * flowgraph with a message in the log; what was produced before stays whole.
 */
class batch_block : virtual public gr::block, public counting_block
{
public:
    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

    block_statistics statistics() const override { return d_counters.now(); }
    void setup_rpc() override { d_counters.register_at_control_port(alias()); }
    //! Frames that failed and packets that were refused.
    virtual uint64_t failures() const { return 0; }

    //! The backend in use: "cuda", "cpu" or "reference".
    std::string used_backend() const { return name_of(d_backend.where); }

protected:
    //! \throws std::invalid_argument, backend_unavailable
    batch_block(const batch_options& options,
                std::vector<batch_port> inputs,
                std::vector<batch_port> outputs,
                int status_words);
    ~batch_block() override;

    //! Adds a kind of frames to the one that the constructor's ports describe, which is
    //! kind 0. Before make_jobs(). \throws std::invalid_argument without a length tag
    //! key, since it takes packets to tell the kinds apart.
    void add_kind(const batch_kind& kind);

    //! To be called at the end of the derived class's constructor: makes the jobs, which
    //! checks the kernels' parameters, and sizes the buffers.
    void make_jobs();

    //! Where frames are of one kind. Every slot has one.
    virtual std::unique_ptr<batch_job> make_job(queue& queue) = 0;
    //! Where they are of several kinds. The status words of such a block lie word by
    //! word in a part of a batch: the first of all its frames, then the second.
    virtual std::unique_ptr<mixed_batch_job> make_mixed_job(queue& queue);

    //! The kind of a packet by the tags on its first item, or -1 and in `refusal` why it
    //! is of none. Asked only where there are several.
    virtual int kind_of(const std::vector<tag_t>& head, std::string& refusal) const;
    //! Tells that a packet was passed over, when its turn has come.
    virtual void
    refuse(const std::vector<tag_t>& head, uint64_t items, const std::string& reason);

    //! Tells the stream what happened to frame `frame` of a batch: `item` is where it
    //! stands on output port 0. Called in order; never where frames have no status words.
    virtual void report(const batch_status& status, int frame, uint64_t item) = 0;
    //! Of report(): a tag on output port 0, where many frames have one. (GNU Radio's
    //! add_item_tag does the same at a multiple of the cost.)
    void add_tag(const tag_t& tag) { d_tag_writers[0].add(tag); }
    //! Whether report() has anything to say of a frame whose status words are all 0. If
    //! not, and the words of a frame lie side by side, it need not be called for it: a
    //! call a frame takes longer than the GPU does with a small one.
    virtual bool reports_zeros() const { return true; }

    //! Whether a frame is put out; one that is not leaves no gap, and each of the others
    //! becomes a packet of its own.
    virtual bool keeps(const batch_status& status, int frame) const;
    virtual bool drops_frames() const { return false; }

    //! Whether its kernels read every input and write every output and status word once,
    //! side by side. A small batch then stays in GNU Radio's rings, which the GPU reaches
    //! over the bus: nothing is copied, so that less is submitted and waited for.
    virtual bool passes_once() const { return false; }

    //! What makes up a frame, for messages: "26 symbols x 52 tones". If it is not empty,
    //! a tag frame_start of the blocks before must be on the first item of a frame.
    virtual std::string frame_sizes() const { return {}; }
    //! \throws std::runtime_error if one of these items of an input carries such a tag,
    //! but is not the first of one of the groups into which items are cut from the first
    //! one on.
    void check_frame_starts(const std::vector<tag_t>& tags, size_t port, int group) const;

    //! How long one input may be full while another lacks a frame, and nothing moves,
    //! although one block feeds both.
    std::chrono::milliseconds d_stuck_patience{ 10000 };

    //! Whether jobs run and report() is called in this block's own thread alone, which
    //! handles its messages.
    virtual bool needs_own_thread() const { return false; }

    //! Where a slot's batches are submitted.
    virtual std::unique_ptr<queue> make_queue();
    //! Whether the batch that was submitted last to `line` with this end is done.
    virtual bool is_done(queue& line, const batch_end& end) const;
    //! How long a block with nothing under way lets room gather for a whole batch, for
    //! the sake of readers that wait for more than there is.
    std::chrono::microseconds d_room_patience{ 10000 };

    //! Bytes to which a batch is small: what it costs the host counts for more than what
    //! it costs the device.
    size_t d_small_batch = 1 << 20;

    //! How long after a larger one each block of a row still has its own thread: a stream
    //! of large batches has small ones among them, and a change costs more than it gains.
    std::chrono::microseconds d_large_batch_lasts{ 100000 };

    //! Whether batches work in a memory of their own, not in GNU Radio's rings.
    virtual bool has_own_memory() const { return d_backend.where == backend::cuda; }

    //! A warning, at most one a second; the next one says how many were left out.
    void warn_sometimes(const std::string& text);

private:
    struct slot;
    //! Where the stream stands: items of each port since start().
    struct place {
        std::vector<uint64_t> in, out;
    };
    //! Frames of one kind in a batch under way, all of it or with those after it, or a
    //! refused packet (or a part of one) that waits for its turn.
    struct flight {
        slot* busy = nullptr; //!< none where refused
        int kind = 0, frames = 0;
        const int* status = nullptr; //!< the words of these frames, on the host
        int batch_frames = 0;        //!< of the whole batch; 0 where more of it follow
        uint64_t first_in = 0;       //!< items of input 0 before its first
        std::vector<uint64_t> reserved = {}; //!< items of each output before its first
        uint64_t first_out = 0; //!< where its first stands on output 0, once published
        uint64_t refused_items = 0, packet_items = 0;
        std::vector<tag_t> head = {}; //!< of a packet that is refused
        std::string refusal = {};     //!< empty but for a packet's first part
    };
    using flights = std::vector<flight>;
    //! What a batch holds: items of each port, frames, and frames of each kind.
    struct load {
        std::vector<size_t> in = {}, out = {};
        int frames = 0;
        std::vector<int> of_kind = {};
    };
    //! A batch to be submitted, its room reserved.
    struct gathered {
        flights parts = {};
        load all = {};
    };
    //! How many frames of a batch are put out before each of them.
    struct kept_frames {
        std::vector<int> before = {}; //!< empty where all are
        int operator[](int frame) const { return before.empty() ? frame : before[frame]; }
    };
    //! The pointers of one call of general_work, and where the stream stood when they
    //! were valid.
    struct rings {
        const gr_vector_const_void_star& in;
        const gr_vector_void_star& out;
        place behind;
    };

    using turn = std::unique_lock<std::mutex>;
    using moment = clock_moment;

    //! Items, a batch or room is to be waited for.
    struct pause {
        int waiting; //!< frames that waited when it began
        std::optional<moment> held_until = {};
    };

    int work(turn& mine, const gr_vector_int& ninput_items, const rings& rings);
    bool is_stuck();
    std::string misfit_of(size_t full, size_t lacking) const;
    bool submit_waiting(const gr_vector_int& ninput_items, const rings& rings);
    void fail(const std::exception& problem);
    void find_chain();
    std::shared_ptr<batch_block> only_reader() const;
    bool advance(queue* line);
    bool advance_next(queue* line = nullptr);
    void lead_or_not(const load& batch);
    void release();
    bool is_busy() const { return !d_in_flight.empty() || d_next_is_busy; }
    bool sleeps_on() const;
    bool is_one_done(bool takes_long);
    bool is_called_again() const;
    int next_kind() const { return d_packets ? d_packets->kind() : 0; }
    int frames_waiting(const gr_vector_int& ninput_items) const;
    int frames_that_fit() const;
    int frames_to_submit(const gr_vector_int& ninput_items);
    void wait_for_room(turn& mine);
    bool wait_for_one(turn& mine);
    void wait_before_work(turn& mine);
    bool is_oldest_done() const;
    bool is_announced();
    void wait_for_announced();
    void announce();
    void may_sleep();
    bool holds_back(int waiting);
    void wait_for_more(turn& mine, moment end);
    bool at_known_packet(const gr_vector_int& ninput_items);
    int frames_in_packets(int frames);
    flight reserve(int kind, int frames);
    gathered next_batch(const gr_vector_int& ninput_items);
    int frames_beside(const load& others, int kind) const;
    void add(load& sum, const flight& part) const;
    bool stays_in_rings(const load& batch) const;
    bool status_stays_on_host(int frames) const;
    bool lends(const load& batch) const;
    packet_cutter::label label_at(uint64_t item);
    bool pass_over(const gr_vector_int& ninput_items);
    void submit(const rings& rings, gathered found);
    std::unique_ptr<kind_sorter> make_sorter(queue& line) const;
    void run_mixed(const flights& parts, const batch& whole, slot& on, queue& line);
    void collect_done(const rings& rings);
    void collect(const rings& rings);
    void take_in(size_t port, int items);
    void put_out(size_t port, int items);
    void publish(flight& batch, const rings& rings);
    void finish(const flight& done);
    void
    close_gaps(const flight& done, const kept_frames& kept_before, const rings& rings);
    void write_tags(size_t port);
    void copy_tags(const flight& done, const kept_frames& kept_before);
    void report_all(const flight& done, const kept_frames& kept_before);
    void lock_rings();
    void find_edges();
    int most_frames(const batch_kind& kind) const;
    std::string memory_problem(size_t frames) const;
    bool is_timed();
    bool shares_memory_with(const batch_block& other) const;

    static constexpr int slots_on_device = 3;

    const batch_options d_options;
    const resolved_backend d_backend;
    const std::vector<batch_port> d_inputs, d_outputs;
    const int d_status_words;
    std::vector<batch_kind> d_kinds;
    load d_most; //!< that the slots have room for
    block_counters d_counters;
    scheduler_port d_port{ *this };

    std::vector<std::unique_ptr<slot>> d_slots;
    std::deque<flight> d_in_flight;
    std::vector<slot*> d_free;
    std::vector<page_lock> d_locks;
    bool d_reaches_rings = false; //!< the device does, at their own addresses

    // One a port, null where the stream goes through the host. Kept after stop(): the
    // block behind may not have read all.
    std::vector<std::shared_ptr<device_edge>> d_edges_in, d_edges_out;
    std::vector<bool> d_host_reads; //!< one an output
    size_t d_used_outputs = 0;      //!< those that are connected
    bool d_publishes_early = false;

    // The chain. Everything above and below belongs to who holds d_turn, and a block's is
    // taken while that of the block before may be held, never the other way round.
    mutable std::mutex d_turn;
    std::shared_ptr<batch_block> d_next; //!< that this block's thread may work for too
    bool d_leads = false;                //!< it does
    bool d_is_led = false;               //!< it may be some block's d_next
    bool d_is_visited = false;           //!< by that one's thread, now
    queue* d_lent = nullptr; //!< by the block before, for what it has just made
    bool d_runs = false;
    bool d_next_is_busy = false; //!< something is under way there or behind
    bool d_is_watched = false;   //!< a thread before comes again when there is work

    // Handed to a job or passed over, with room reserved; and consumed and produced.
    // Output falls behind what was reserved where frames are dropped.
    place d_ahead, d_behind;
    uint64_t d_published = 0; //!< frames put out since start()
    std::optional<packet_cutter> d_packets;
    pmt::pmt_t d_length_key, d_source;     //!< of tags
    std::vector<tag_writer> d_tag_writers; //!< one an output
    std::string
        d_problem; //!< why the stream can't go on; what is in flight is still put out
    bool d_short_of_room = false, d_takes_any_room = false;
    int d_room = 0;               //!< frames, for which there was room when last looked
    bool d_is_lost = false;       //!< the device
    std::optional<pause> d_pause; //!< before the next call
    std::optional<moment> d_waiting_since;
    std::vector<uint64_t> d_last_seen; //!< items of each input, when it last lacked one
    moment d_last_look{};
    std::chrono::nanoseconds d_stuck_for{}; //!< nothing has moved, as far as it was seen
    moment d_last_timed{}, d_last_warning{};
    std::optional<moment> d_last_large; //!< batch
    uint64_t d_given_up = 0; //!< item of input 0 up to which announcements are not heeded
    uint64_t d_unsaid_warnings = 0;
};

} // namespace gr::cudaphy
