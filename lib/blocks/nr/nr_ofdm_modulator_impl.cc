/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/nr/packet_gatherer.h"
#include "blocks/nr/slot_block.h"
#include <algorithm>
#include <gnuradio/cudaphy/nr_ofdm_modulator.h>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

class nr_ofdm_modulator_impl : public nr_ofdm_modulator, public slot_block
{
public:
    nr_ofdm_modulator_impl(const kernels::nr::ofdm_parameters& p,
                           int ports,
                           int slot,
                           const std::string& length_tag_key)
        : gr::block("nr_ofdm_modulator",
                    gr::io_signature::make(ports, ports, sizeof(gr_complex)),
                    gr::io_signature::make(ports, ports, sizeof(gr_complex))),
          slot_block(
              required_key(length_tag_key), "cpu", [this] { return refused_packets(); }),
          d_ofdm(p), d_ports(ports), d_first_slot(checked_slot(slot, p.numerology)),
          d_clock(p.numerology, slot),
          d_in(ports, size_t(d_ofdm.symbols_per_slot()) * p.subcarriers, d_length_key)
    {
        set_tag_propagation_policy(TPP_DONT);
    }

    bool start() override
    {
        d_clock = slot_clock(d_ofdm.parameters().numerology, d_first_slot);
        d_in.clear();
        forget_leaving();
        return block::start();
    }

    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& in,
                     gr_vector_void_star& out) override
    {
        return guarded([&] { run(noutput_items, ninput_items, in, out); });
    }

    double sample_rate() const override { return d_ofdm.sample_rate(); }
    uint64_t slots() const override { return d_slots; }
    uint64_t refused_packets() const override { return d_in.refused(); }

private:
    void run(size_t room,
             const gr_vector_int& ninput_items,
             const gr_vector_const_void_star& in,
             gr_vector_void_star& out)
    {
        const size_t there = *std::min_element(ninput_items.begin(), ninput_items.end());
        const auto tags = next_tags(in.size(), there);
        size_t taken = 0, given = 0;
        while (true) {
            given += put_out(out, given, room - given);
            if (leaving() || taken == there) {
                break;
            }
            taken += d_in.take(in, taken, there, tags, nitems_read(0) + taken);
            if (d_in.full()) {
                modulate();
                d_in.release();
            }
        }
        consume_each(static_cast<int>(taken));
    }

    void modulate()
    {
        const auto began = std::chrono::steady_clock::now();
        const auto& head = d_in.tags()[0];
        if (const auto slot = tag_number(head, slot_keys::slot)) {
            if (!d_clock.set(*slot, tag_number(head, slot_keys::frame))) {
                d_logger->warn("a tag says slot {}, but a frame has slots 0 to {}, and "
                               "frames are 0 to 1023 (TS 38.211, 4.3.2)",
                               *slot,
                               d_clock.slots_a_frame() - 1);
            }
        }
        tag_lists tags(d_ports);
        for (int port = 0; port < d_ports; ++port) {
            for (auto tag : d_in.tags()[port]) {
                if (!is_length(tag) && !pmt::eqv(tag.key, slot_keys::slot) &&
                    !pmt::eqv(tag.key, slot_keys::frame)) {
                    tag.offset = 0;
                    tags[port].push_back(tag);
                }
            }
            add_slot(tags[port], d_clock);
        }
        std::vector<gr_complex> samples(d_ports * d_ofdm.samples(d_clock.slot(), 1));
        d_ofdm.modulate(d_in.items(0, 1), d_ports, 1, d_clock.slot(), samples);
        d_clock.advance(1);
        ++d_slots;
        leave(std::move(samples), std::move(tags));
        computed(1, began);
    }

    const kernels::nr::ofdm d_ofdm;
    const int d_ports, d_first_slot;
    slot_clock d_clock; //!< the slot that comes next
    packet_gatherer d_in;
    std::atomic<uint64_t> d_slots{ 0 };
};

} // namespace

nr_ofdm_modulator::sptr nr_ofdm_modulator::make(const kernels::nr::ofdm_parameters& ofdm,
                                                int ports,
                                                int slot,
                                                const std::string& length_tag_key)
{
    return gnuradio::make_block_sptr<nr_ofdm_modulator_impl>(
        ofdm, checked_streams("ports", ports), slot, length_tag_key);
}

} // namespace gr::cudaphy
