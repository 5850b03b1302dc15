/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/nr/slot_clock.h"
#include "runtime/block_counters.h"
#include <gnuradio/block.h>
#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy {

/*!
 * \brief What the blocks of slots share: packets of complex items on several streams that
 * go in step, whatever the sizes of GNU Radio's buffers are.
 *
 * One packet at a time waits to be put out, in pieces if there is no more room.
 */
class slot_block : virtual public gr::block, public counting_block
{
public:
    block_statistics statistics() const override { return d_counters.now(); }
    void setup_rpc() override { d_counters.register_at_control_port(alias()); }
    void forecast(int noutput_items, gr_vector_int& required) override;

protected:
    using tag_lists = std::vector<std::vector<tag_t>>; //!< of each stream

    //! \param length_key  null: packets have no length tag
    slot_block(const pmt::pmt_t& length_key,
               const std::string& backend,
               std::function<uint64_t()> failures)
        : d_length_key(length_key), d_counters(backend, std::move(failures))
    {
    }

    //! Tags of the next `count` items of the inputs, in order; offsets from the next item
    //! on.
    tag_lists next_tags(size_t streams, size_t count);

    bool leaving() const { return d_sent < d_each; }
    void forget_leaving() { d_sent = d_each = 0; }
    /*!
     * A packet begins to leave.
     * \param items  (streams, items of the packet)
     * \param tags   of each stream, offsets from the packet's first item on. The length
     *               tag is added.
     */
    void leave(std::vector<gr_complex>&& items, tag_lists&& tags);
    //! Puts out what fits behind `done` items.
    size_t put_out(gr_vector_void_star& out, size_t done, size_t room);

    bool is_length(const tag_t& tag) const
    {
        return d_length_key && pmt::eqv(tag.key, d_length_key);
    }
    void
    add_tag(std::vector<tag_t>& tags, const pmt::pmt_t& key, const pmt::pmt_t& value);
    void add_slot(std::vector<tag_t>& tags, const slot_clock& clock);
    //! What general_work() returns: an exception ends the flowgraph with a message.
    int guarded(const std::function<void()>& work);
    //! Counts a call of the kernel that began then.
    void computed(uint64_t frames, std::chrono::steady_clock::time_point began);

    const pmt::pmt_t d_length_key;
    block_counters d_counters;

private:
    std::vector<gr_complex> d_items;
    tag_lists d_tags;
    size_t d_each = 0, d_sent = 0; //!< items of a stream
};

//! The length tag's key. \throws std::invalid_argument if it is empty
pmt::pmt_t required_key(const std::string& length_tag_key);
//! \throws std::invalid_argument unless it is in 1..64
int checked_streams(const char* what, int streams);
//! \throws std::invalid_argument unless a frame has such a slot
int checked_slot(int slot, int numerology);

} // namespace gr::cudaphy
