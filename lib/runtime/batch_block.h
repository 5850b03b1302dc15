/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_job.h"
#include "runtime/batch_kind.h"
#include "runtime/block_counters.h"
#include "runtime/device/device_block.h"
#include "runtime/stream/stream_tags.h"
#include <chrono>
#include <gnuradio/block.h>
#include <string>
#include <vector>

namespace gr::cudaphy {

class batch_end;
class batch_worker;

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

/*!
 * \brief The base of the module's blocks: turns streams into batches and batches into
 * streams.
 *
 * A frame is the least that the block's kernel works on: a matrix, a group of received
 * vectors, a codeword. A derived class writes three things: the ports, which it hands to
 * the constructor, make_job() and report(). The rest of what it may override has a
 * default.
 *
 * - Batches: up to three are under way at once on a GPU. Items are consumed and produced
 * when their batch is done, so that nothing is lost at the end of a stream: the last
 * frames make a smaller batch. batch_pacer.h says when a batch is submitted.
 * - Packets: with a length tag key, packets of any length pass, also longer than any
 * buffer. The length tag is read at each packet's head, and written at the head of the
 * packet made from it, in the items of each output port. A packet must be a whole number
 * of frames. Every other tag of input port 0 goes to the item made from the item that it
 * was on.
 * - Memory: GNU Radio's rings are page-locked in place. Between two such blocks on one
 * GPU items stay there (device_edge.h), unless another block reads them too. If no output
 * has a reader on the host, items are published as soon as the work that makes them is
 * submitted, and no thread waits between blocks. report() then adds its tags after that.
 * - Threads: one thread may work for a row of blocks with small batches (block_row.h).
 * - Kinds: frames may be of several kinds, which differ in size and in what is done to
 * them. Each packet's tags say its kind. Packets of all kinds share batches, and leave in
 * the order in which they came. A packet of no known kind, or whose length does not fit
 * its kind, is passed over and refused.
 * - The last output ports need not be connected, if the block's signature says so.
 * - A missing or wrong length tag, inputs that do not fit each other or the frames
 * (stuck_inputs.h), and a CUDA error end the flowgraph with a message in the log. What
 * was produced before stays whole.
 */
class batch_block : virtual public gr::block, public counting_block, public device_block
{
protected:
    //! \param inputs, outputs  the ports; the last outputs may stay unconnected
    //! \param status_words  ints that a job writes about each frame
    //! \throws std::invalid_argument, backend_unavailable
    batch_block(const batch_options& options,
                std::vector<batch_port> inputs,
                std::vector<batch_port> outputs,
                int status_words);
    ~batch_block() override;

    //! If frames are of one kind. Every batch under way has a job of its own.
    virtual std::unique_ptr<batch_job> make_job(queue& queue) = 0;

    //! Tells the stream what happened to frame `frame` of a batch: `item` is where it
    //! stands on output port 0. Called in order; never if frames have no status words.
    virtual void report(const batch_status& status, int frame, uint64_t item) = 0;

    //! To be called at the end of the derived class's constructor: makes the jobs, which
    //! checks the kernels' parameters, and sizes the buffers.
    void make_jobs();

    //! For report(): a tag on output port 0. GNU Radio's add_item_tag does the same at a
    //! multiple of the cost.
    void add_tag(const tag_t& tag) { d_tags.add(tag); }
    //! Whether report() has anything to say of a frame whose status words are all 0. If
    //! not, and the words of a frame lie side by side, report() is not called for such a
    //! frame: a call a frame takes longer than the GPU does with a small one.
    virtual bool reports_zeros() const { return true; }

    //! Whether a frame is put out; one that is not leaves no gap, and each of the others
    //! becomes a packet of its own.
    virtual bool keeps(const batch_status& status, int frame) const;
    virtual bool drops_frames() const { return false; }

    // Several kinds of frames.

    //! Adds a kind of frames to the one that the constructor's ports describe, which is
    //! kind 0. Before make_jobs(). \throws std::invalid_argument without a length tag
    //! key, since it takes packets to tell the kinds apart.
    void add_kind(const batch_kind& kind);
    //! In place of make_job(). The status words of such a block lie word by word in a
    //! part of a batch: the first of all its frames, then the second.
    virtual std::unique_ptr<mixed_batch_job> make_mixed_job(queue& queue);
    //! The kind of a packet by the tags on its first item, or -1 and in `refusal` why it
    //! is of none.
    virtual int kind_of(const std::vector<tag_t>& head, std::string& refusal) const;
    //! Tells that a packet was passed over, when its turn has come.
    virtual void
    refuse(const std::vector<tag_t>& head, uint64_t items, const std::string& reason);

    // Streams that do not fit.

    //! What makes up a frame, for messages: "26 symbols x 52 tones". If it is not empty,
    //! a tag frame_start of the blocks before must be on the first item of a frame.
    virtual std::string frame_sizes() const { return {}; }
    //! \throws std::runtime_error if an item of input `port` carries a tag frame_start,
    //! and its number is no multiple of `group`
    void check_frame_starts(const std::vector<tag_t>& tags, size_t port, int group) const;
    //! How long one input may be full while another lacks a frame, and nothing moves,
    //! although one block feeds both.
    std::chrono::milliseconds d_stuck_patience{ 10000 };
    //! A warning, at most one a second; the next one says how many were left out.
    void warn_sometimes(const std::string& text);

    // Where and when the work is done.

    //! Whether its kernels read every input and write every output and status word once,
    //! side by side. A small batch then stays in GNU Radio's rings, which the GPU reaches
    //! over the bus: nothing is copied, so that less is submitted and waited for.
    virtual bool passes_once() const { return false; }
    //! Whether jobs run and report() is called in this block's own thread alone, which
    //! handles its messages.
    virtual bool needs_own_thread() const { return false; }
    //! Where a slot's batches are submitted.
    virtual std::unique_ptr<queue> make_queue();
    //! Whether the batch that was submitted last to `where` with this end is done.
    virtual bool is_done(queue& where, const batch_end& end) const;
    //! Whether batches work in a memory of their own, not in GNU Radio's rings.
    virtual bool has_own_memory() const { return d_backend.where == backend::cuda; }
    //! How long a block with nothing under way lets room gather for a whole batch. A
    //! reader may wait for more items than there are.
    std::chrono::microseconds d_room_patience{ 10000 };
    //! Bytes to which a batch is small: what it costs the host counts for more than what
    //! it costs the device.
    size_t d_small_batch = 1 << 20;
    //! How long after a larger batch each block of a row still has its own thread. A
    //! stream of large batches has small ones among them, and a change costs more than it
    //! gains.
    std::chrono::microseconds d_large_batch_lasts{ 100000 };

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
    std::optional<place> works_on() const override;
    //! A block that drops frames closes the gaps on the host.
    bool writes_there() const override { return !drops_frames(); }

private:
    friend class batch_worker;
    void size_rings(const batch_load& most);
    std::string memory_problem(size_t frames) const;

    const batch_options d_options;
    const resolved_backend d_backend;
    const std::vector<batch_port> d_inputs, d_outputs;
    const int d_status_words;
    std::vector<batch_kind> d_kinds;
    block_counters d_counters;
    stream_tags d_tags;
    std::unique_ptr<batch_worker> d_worker;
    std::chrono::steady_clock::time_point d_last_warning{};
    uint64_t d_left_out_warnings = 0;
};

} // namespace gr::cudaphy
