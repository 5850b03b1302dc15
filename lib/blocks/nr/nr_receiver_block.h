/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/nr/harq_store.h"
#include "blocks/nr/nr_order.h"
#include "blocks/nr/packet_gatherer.h"
#include "blocks/nr/reception_status.h"
#include "blocks/nr/slot_block.h"
#include <condition_variable>
#include <gnuradio/cudaphy/kernels/backend.h>
#include <gnuradio/cudaphy/nr_shared_channel_receiver.h>
#include <list>
#include <thread>

namespace gr::cudaphy {

//! Receivers of PUSCH and PDSCH: all but their names.
class nr_receiver_block : virtual public nr_shared_channel_receiver, public slot_block
{
public:
    bool start() override;
    bool stop() override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& in,
                     gr_vector_void_star& out) override;

    void set_channels(const channel_list& channels) override;
    std::string backend() const override { return name_of(d_backend.where); }
    uint64_t slots() const override { return d_status.all().slots; }
    uint64_t frames() const override { return d_status.all().blocks; }
    uint64_t frame_errors() const override { return d_status.all().errors; }
    double average_iterations() const override;
    double average_sinr_db() const override;
    uint64_t refused_schedules() const override { return d_refused_orders; }
    uint64_t refused_packets() const override { return d_in ? d_in->refused() : 0; }
    uint64_t harq_bytes() const override { return d_harq.bytes(); }
    uint64_t forgotten_processes() const override { return d_harq.released(); }

protected:
    nr_receiver_block(kernels::nr::link_direction link,
                      const channel_list& channels,
                      int antennas,
                      const nr_receiver_options& options);

private:
    using channel = kernels::nr::shared_channel;
    using reception = kernels::nr::reception;

    //! A slot that waits to be received.
    struct expected_slot {
        size_t packet; //!< among those that wait
        int slot, frame;
        pmt::pmt_t rx_time;
        std::vector<nr_order> orders;
    };
    using slots_view = view<expected_slot>;

    void check(const channel_list& channels) const;
    kernels::nr::receiver& receiver_of(const std::vector<nr_order>& orders);
    void run(size_t there, const gr_vector_const_void_star& in);
    void expect();
    pmt::pmt_t read_slot();
    std::vector<nr_order> orders_of_tags();
    void receive_all();
    size_t together(size_t first) const;
    void receive(slots_view slots);
    std::vector<kernels::nr::reception_order>
    reception_orders(std::vector<nr_order>& orders, std::vector<harq_store::use>& kept);
    bool received(slots_view slots, std::vector<std::vector<reception>>& got);
    void keep_account_of(const nr_order& order, const reception& got);
    void publish(const expected_slot& slot, const nr_order& order, const reception& got);
    void take_message(const pmt::pmt_t& message);
    void refuse_order(const std::string& problem);
    void complain(const std::string& problem);
    void report_status();

    const kernels::nr::link_direction d_link;
    const int d_antennas;
    const nr_receiver_options d_options;
    const resolved_backend d_backend;
    kernels::nr::receiver_parameters d_parameters;

    std::mutex d_mutex;
    channel_list d_next_channels; //!< under d_mutex; empty: no change
    channel_list d_channels;
    //! By the users that are expected, which are separated jointly; last used, first.
    std::list<std::pair<std::vector<size_t>, std::unique_ptr<kernels::nr::receiver>>>
        d_receivers;

    slot_clock d_clock; //!< of the slot that comes next
    nr_schedule d_schedule;
    harq_store d_harq;
    std::unique_ptr<packet_gatherer> d_in;
    std::vector<expected_slot> d_expected;
    std::string d_complaint;
    std::atomic<uint64_t> d_refused_orders{ 0 };

    reception_status d_status;
    std::thread d_reporter;
    std::mutex d_report_mutex;
    std::condition_variable d_report_end;
    bool d_ended = false;
};

} // namespace gr::cudaphy
