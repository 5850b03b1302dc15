/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/nr/slot_block.h"
#include "blocks/packets/packet_refusal.h"
#include <array>
#include <deque>
#include <gnuradio/cudaphy/kernels/backend.h>
#include <gnuradio/cudaphy/kernels/nr/transmitter.h>
#include <gnuradio/cudaphy/nr_shared_channel_transmitter.h>
#include <mutex>

namespace gr::cudaphy {

//! Transmitters of PUSCH and PDSCH: all but their names.
class nr_transmitter_block : virtual public nr_shared_channel_transmitter,
                             public slot_block
{
public:
    bool start() override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& in,
                     gr_vector_void_star& out) override;

    void set_channel(kernels::nr::shared_channel::sptr channel) override;
    std::string backend() const override { return name_of(d_backend.where); }
    uint64_t slots() const override { return d_slots; }
    uint64_t frames() const override { return d_blocks; }
    uint64_t refused_packets() const override { return d_refused; }

    //! Streams that the outputs are. \throws std::invalid_argument
    static int streams(const kernels::nr::shared_channel::sptr& channel,
                       const nr_transmitter_options& options);

protected:
    nr_transmitter_block(kernels::nr::link_direction link,
                         const kernels::nr::shared_channel::sptr& channel,
                         const nr_transmitter_options& options);

private:
    struct transport_block {
        pmt::pmt_t metadata;
        std::vector<uint8_t> bits; //!< of all codewords
        std::array<int, 2> redundancy_versions;
        std::optional<int64_t> slot, frame;
    };

    void check(const kernels::nr::shared_channel::sptr& channel) const;
    void take_channel();
    void take_pdus();
    void take(const pmt::pmt_t& pdu);
    void refuse(const pmt::pmt_t& metadata,
                const pmt::pmt_t& vector,
                const packet_refusal& why);
    std::optional<transport_block> next_block();
    void send(const std::optional<transport_block>& block);
    std::vector<gr_complex> grid_of(const transport_block& block);

    const kernels::nr::link_direction d_link;
    const nr_transmitter_options d_options;
    const resolved_backend d_backend;
    const int d_streams;

    std::mutex d_mutex;
    kernels::nr::shared_channel::sptr d_next_channel; //!< under d_mutex
    std::unique_ptr<kernels::nr::transmitter> d_transmitter;

    slot_clock d_clock; //!< of the slot that leaves next
    std::deque<transport_block> d_waiting;
    std::atomic<uint64_t> d_slots{ 0 }, d_blocks{ 0 }, d_refused{ 0 };
};

} // namespace gr::cudaphy
