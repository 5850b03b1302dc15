/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include "bench/streams/benchmark_cell.h"
#include "bench/streams/benchmark_copy.h"
#include "bench/streams/benchmark_quantiles.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <gnuradio/cudaphy/mimo_receiver.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/logger.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <thread>

// bench_slot_latency [BACKEND...]
//
// The time of a lone slot through MIMO Receiver. It begins when the block before has
// written the slot to GNU Radio's buffer. It ends when work() of the block behind has the
// last bit. The next slot comes after that. A cell of 20 MHz: 1200 tones, 14 symbols, 4 x
// 4, 64-QAM, 5G LDPC of rate 1/2, DM-RS in 2 symbols. Copy in the receiver's place shows
// the scheduler's part.

using namespace gr::cudaphy;
using clock_type = std::chrono::steady_clock;

namespace {

using benchmarks::antennas, benchmarks::symbols, benchmarks::tones;

constexpr int slot_items = tones * symbols;
constexpr size_t item_bytes = sizeof(gr_complex) * antennas;
constexpr int warm_up = 50;

//! The times of slots, shared by source and sink.
struct acknowledgement {
    std::atomic<int> arrived{ 0 };
    std::vector<clock_type::time_point> sent, came;
};

//! Writes a slot, and the next one after the sink has it.
class slot_source : public gr::sync_block
{
public:
    slot_source(const std::vector<complex64>& slots, int count, acknowledgement& shared)
        : gr::sync_block("slot_source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, item_bytes)),
          d_slots(slots), d_count(count), d_shared(shared)
    {
        set_output_multiple(slot_items);
        set_min_output_buffer(4 * slot_items);
    }
    int work(int, gr_vector_const_void_star&, gr_vector_void_star& out) override
    {
        const int sent = int(d_shared.sent.size());
        if (sent == d_count) {
            return WORK_DONE;
        }
        const int known = d_slots.size() / antennas / slot_items;
        std::memcpy(out[0],
                    d_slots.data() + size_t(sent % known) * antennas * slot_items,
                    item_bytes * slot_items);
        add_item_tag(
            0, nitems_written(0), pmt::intern("packet_len"), pmt::from_long(slot_items));
        while (d_shared.arrived < sent) {
            std::this_thread::yield();
        }
        d_shared.sent.push_back(clock_type::now());
        return slot_items;
    }

private:
    const std::vector<complex64>& d_slots;
    const int d_count;
    acknowledgement& d_shared;
};

//! Takes the time at which the last item of each slot has come.
class slot_sink : public gr::sync_block
{
public:
    slot_sink(size_t bytes, uint64_t items, acknowledgement& shared)
        : gr::sync_block("slot_sink",
                         gr::io_signature::make(1, 1, bytes),
                         gr::io_signature::make(0, 0, 0)),
          d_items(items), d_shared(shared)
    {
    }
    int work(int items, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        while (nitems_read(0) + items >= d_items * (d_shared.came.size() + 1)) {
            d_shared.came.push_back(clock_type::now());
            ++d_shared.arrived;
        }
        return items;
    }

private:
    const uint64_t d_items;
    acknowledgement& d_shared;
};

void measure(const std::string& what,
             const std::vector<complex64>& slots,
             int count,
             const gr::block_sptr& block,
             size_t bytes,
             uint64_t items)
{
    acknowledgement shared;
    shared.sent.reserve(count);
    shared.came.reserve(count);
    const auto top = gr::make_top_block("slot_latency");
    const auto source = std::make_shared<slot_source>(slots, count, shared);
    const auto sink = std::make_shared<slot_sink>(bytes, items, shared);
    top->connect(source, 0, block, 0);
    top->connect(block, 0, sink, 0);
    top->run();
    std::vector<double> us;
    for (size_t i = warm_up; i < shared.came.size(); ++i) {
        us.push_back(
            std::chrono::duration<double, std::micro>(shared.came[i] - shared.sent[i])
                .count());
    }
    if (int(us.size()) != count - warm_up) {
        std::printf("%-22s lost slots\n", what.c_str());
        return;
    }
    std::printf("%-22s %9d", what.c_str(), count - warm_up);
    benchmarks::print_quantiles("one slot alone, " + what, us);
}

} // namespace

int main(int argc, char** argv)
{
    gr::logging::singleton().set_default_level(gr::log_level::warn);
    const auto measured = benchmarks::measured_backends(argc, argv);
    const auto p = benchmarks::cell();
    const auto sizes = kernels::mimo_receiver::slot_of(p);
    std::mt19937 engine(1);
    std::printf("us from GNU Radio's buffer to the sink, slots one at a time\n"
                "%-22s %9s",
                "",
                "slots");
    benchmarks::print_quantile_heads();
    for (const double snr_db : { 30.0, 20.0 }) {
        const auto sent =
            testing::send(p, sizes.words, 4, std::pow(10, -snr_db / 10), engine);
        const std::string at = ", " + std::to_string(int(snr_db)) + " dB";
        if (snr_db == 30) {
            measure("Copy",
                    sent.received,
                    4000,
                    benchmarks::make_copy(item_bytes, 4L * slot_items),
                    item_bytes,
                    slot_items);
        }
        for (const auto where : measured) {
            const auto name = name_of(where);
            const auto block = mimo_receiver::make(p, {}, "packet_len", name, 0, 1);
            measure(name + at,
                    sent.received,
                    name == "cuda" ? 4000 : 400,
                    block,
                    1,
                    sizes.words * sizes.word_bytes);
            if (block->frame_errors()) {
                std::printf("%s: %llu codewords failed\n",
                            name.c_str(),
                            static_cast<unsigned long long>(block->frame_errors()));
            }
        }
    }
}
