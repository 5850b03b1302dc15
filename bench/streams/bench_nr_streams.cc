/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include "bench/receiver/nr_slot.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <gnuradio/cudaphy/nr_pusch_receiver.h>
#include <gnuradio/cudaphy/runtime/block_statistics.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <thread>

// bench_nr_streams [BACKEND ...]
//
// NR PUSCH Receiver in a flowgraph whose sources repeat one slot as fast as they may: a
// slot of 52 resource blocks on the CPU, one of 273 on a GPU (nr_slot.h), each with room
// for one slot in GNU Radio's buffers, and for 16 of them. Results: time and core time a
// slot, the sources' copies included, and the slots of a batch.

using namespace gr::cudaphy;
using namespace gr::cudaphy::benchmarks;

namespace {

constexpr double seconds = 2;

//! An antenna's samples of a slot, again and again.
class slot_source : public gr::sync_block
{
public:
    explicit slot_source(std::vector<gr_complex> slot)
        : gr::sync_block("slot_source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, sizeof(gr_complex))),
          d_slot(std::move(slot))
    {
    }
    int work(int items, gr_vector_const_void_star&, gr_vector_void_star& out) override
    {
        auto* to = static_cast<gr_complex*>(out[0]);
        for (int left = items; left > 0;) {
            if (d_at == 0) {
                add_item_tag(0,
                             nitems_written(0) + (items - left),
                             pmt::mp("packet_len"),
                             pmt::from_long(static_cast<long>(d_slot.size())));
                add_item_tag(0,
                             nitems_written(0) + (items - left),
                             pmt::mp("slot"),
                             pmt::from_long(3));
            }
            const size_t step = std::min<size_t>(left, d_slot.size() - d_at);
            to = std::copy_n(d_slot.data() + d_at, step, to);
            d_at = (d_at + step) % d_slot.size();
            left -= static_cast<int>(step);
        }
        return items;
    }

private:
    const std::vector<gr_complex> d_slot;
    size_t d_at = 0;
};

double core_time()
{
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

void measure(const scenario& of, backend where, int slots_of_room)
{
    const auto channel = channel_of(of);
    const auto grid = received_slot(of, { channel }, { random_payload(*channel) }, 3);
    const size_t each = grid.size() / of.antennas;
    nr_receiver_options options;
    options.backend = name_of(where);
    options.status_period = 0;
    const auto receiver = nr_pusch_receiver::make({ channel }, of.antennas, options);
    const auto top = gr::make_top_block("nr");
    for (int a = 0; a < of.antennas; ++a) {
        const auto source =
            gnuradio::make_block_sptr<slot_source>(std::vector<gr_complex>(
                grid.begin() + a * each, grid.begin() + (a + 1) * each));
        source->set_min_output_buffer(static_cast<long>(slots_of_room * each));
        top->connect(source, 0, receiver, a);
    }
    top->start();
    const auto wait = [](double time) {
        std::this_thread::sleep_for(std::chrono::duration<double>(time));
    };
    wait(seconds / 2);
    const auto began = std::chrono::steady_clock::now();
    const double core = core_time();
    const auto first = receiver->slots();
    wait(seconds);
    const double slots = double(receiver->slots() - first);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    const double core_taken = core_time() - core;
    const auto* const counting = dynamic_cast<const counting_block*>(receiver.get());
    const auto statistics = counting ? counting->statistics() : block_statistics{};
    top->stop();
    top->wait();
    std::printf("%s, %s, room for %2d slots: %7.1f us a slot, core time %7.1f us, %.1f "
                "slots a batch, %llu errors\n",
                name_of(where).c_str(),
                of.name,
                slots_of_room,
                1e6 * took.count() / slots,
                1e6 * core_taken / slots,
                double(statistics.frames) /
                    double(std::max<uint64_t>(statistics.batches, 1)),
                static_cast<unsigned long long>(receiver->frame_errors()));
    record({ "5G NR receiver",
             name_of(where) + ", " + of.name + ", in a flowgraph, room for " +
                 std::to_string(slots_of_room) + " slots",
             1e6 * took.count() / slots,
             "us/slot" });
}

} // namespace

int main(int argc, char** argv)
{
    for (const auto where : measured_backends(argc, argv)) {
        for (const int room : { 1, 16 }) {
            measure(where == backend::cuda ? peak : small, where, room);
        }
    }
}
