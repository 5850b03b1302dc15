/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include "bench/streams/benchmark_copy.h"
#include "bench/streams/benchmark_quantiles.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/cudaphy/kernels/backend.h>
#include <gnuradio/cudaphy/matrix_inverse.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/logger.h>
#include <gnuradio/realtime.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/thread/thread.h>
#include <gnuradio/top_block.h>
#include <random>
#include <sched.h>
#include <thread>

// bench_packet_latency [BACKEND...]
//
// The time of a packet from GNU Radio's ring before a block to the ring behind it. A
// packet of 1200 matrices of order 8 (LTE, 20 MHz) comes every 0.5 ms, which is also the
// time that it may take.
//
// A thread polls the write indices of both rings and takes the times. So the block and
// its wake-up by the scheduler count, and nothing behind the block does. That thread
// occupies a core. If it loses the core, the time until it runs again counts in full.
//
// GNU Radio's Copy block shows the scheduler's part (packets of one matrix) and the time
// of one copy. The flowgraph's threads run in three ways: freely; with real-time
// priority, if that is permitted; and all on one core (set_processor_affinity), which is
// awake when the block is called.

using namespace gr::cudaphy;
using clock_type = std::chrono::steady_clock;

namespace {

constexpr int order = 8;
constexpr int lte_packet = 1200;
constexpr int packets = 4000, warm_up = 200;
constexpr auto period = std::chrono::microseconds(500);
constexpr size_t item_bytes = sizeof(gr_complex) * order * order;

//! Writes a packet, with its length tag, every period.
class packet_source : public gr::sync_block
{
public:
    explicit packet_source(int packet)
        : gr::sync_block("packet_source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, item_bytes)),
          d_packet(packet), d_matrices(size_t(packet) * order * order)
    {
        std::mt19937 engine(1);
        std::normal_distribution<float> normal;
        for (auto& element : d_matrices) {
            element = { normal(engine), normal(engine) };
        }
        set_output_multiple(packet);
        set_min_output_buffer(4 * packet);
    }
    int work(int, gr_vector_const_void_star&, gr_vector_void_star& out) override
    {
        if (d_written == packets) {
            return WORK_DONE;
        }
        const auto now = clock_type::now();
        d_next = d_written ? std::max(d_next + period, now) : now + 10 * period;
        std::this_thread::sleep_until(d_next);
        std::memcpy(out[0], d_matrices.data(), d_packet * item_bytes);
        add_item_tag(
            0, nitems_written(0), pmt::intern("packet_len"), pmt::from_long(d_packet));
        ++d_written;
        return d_packet;
    }

private:
    const int d_packet;
    std::vector<gr_complex> d_matrices;
    clock_type::time_point d_next;
    int d_written = 0;
};

//! Takes the time at which work() sees the last item of each packet.
class packet_sink : public gr::sync_block
{
public:
    std::vector<clock_type::time_point> times;

    explicit packet_sink(int packet)
        : gr::sync_block("packet_sink",
                         gr::io_signature::make(1, 1, item_bytes),
                         gr::io_signature::make(0, 0, 0)),
          d_packet(packet)
    {
        times.reserve(packets);
    }
    int work(int items, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        while (nitems_read(0) + items >= d_packet * (times.size() + 1)) {
            times.push_back(clock_type::now());
        }
        return items;
    }

private:
    const int d_packet;
};

//! When each packet was complete in a ring: after `after`, and before `before`. The two
//! differ more if the watching thread had to wait for a core.
struct ring_watch {
    const int packet;
    gr::buffer_sptr ring = {};
    std::vector<clock_type::time_point> after = {}, before = {};
    clock_type::time_point last = {};

    void look()
    {
        const auto now = clock_type::now();
        while (before.size() < packets &&
               ring->nitems_written() >= packet * (before.size() + 1)) {
            after.push_back(last);
            before.push_back(clock_type::now());
        }
        last = now;
    }
};

void print_row(const char* what,
               const std::vector<clock_type::time_point>& from,
               const std::vector<clock_type::time_point>& to)
{
    std::vector<double> us;
    for (size_t p = warm_up; p < std::min(from.size(), to.size()); ++p) {
        us.push_back(1e6 * std::chrono::duration<double>(to[p] - from[p]).count());
    }
    if (us.size() != packets - warm_up) {
        std::printf("%-44s lost packets\n", what);
        return;
    }
    std::printf("%-44s", what);
    benchmarks::print_quantiles(what, us);
}

//! How the flowgraph's threads are scheduled.
enum class scheduling { free, real_time, one_core };

//! The cores that this process may use.
std::vector<int> allowed_cores()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    std::vector<int> cores;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &set)) {
            cores.push_back(core);
        }
    }
    return cores;
}

void measure(const std::string& what,
             const gr::block_sptr& block,
             scheduling how,
             int packet = lte_packet)
{
    const auto top = gr::make_top_block("latency");
    const auto source = std::make_shared<packet_source>(packet);
    const auto sink = std::make_shared<packet_sink>(packet);
    top->connect(source, 0, block, 0);
    top->connect(block, 0, sink, 0);
    const auto cores = allowed_cores();
    // The watching thread takes another core.
    const bool one_core = how == scheduling::one_core && cores.size() > 1;
    if (one_core) {
        for (const auto& each : std::vector<gr::block_sptr>{ source, block, sink }) {
            each->set_processor_affinity({ cores[0] });
        }
    } else if (how == scheduling::one_core) {
        std::printf("%s: takes two cores, and there is one\n", what.c_str());
        return;
    }

    ring_watch in{ packet }, out{ packet };
    for (auto* times : { &in.after, &in.before, &out.after, &out.before }) {
        times->reserve(packets);
    }
    std::atomic<bool> started{ false }, ended{ false };
    // The watcher starts before the priority is raised, so that it does not inherit it: a
    // thread that never sleeps must not keep other threads from a core.
    std::thread watcher([&] {
        if (one_core) {
            gr::thread::thread_bind_to_processor(cores[1]);
        }
        while (!started) {
        }
        while (!ended && out.before.size() < packets) {
            in.look();
            out.look();
        }
        in.look(); // the last packet, if `ended` was seen first
        out.look();
    });
    std::thread runner([&] { // the flowgraph's threads inherit this one's priority
        if (how == scheduling::real_time &&
            gr::enable_realtime_scheduling() != gr::RT_OK) {
            std::printf("%s: real-time scheduling is not permitted here\n", what.c_str());
        }
        top->start();
        in.ring = block->detail()->input(0)->buffer();
        out.ring = block->detail()->output(0);
        started = true;
        top->wait();
        ended = true;
    });
    runner.join();
    watcher.join();
    print_row((what + ", ring to ring").c_str(), in.after, out.before);
    print_row((what + ", ring to sink").c_str(), in.after, sink->times);
}

} // namespace

int main(int argc, char** argv)
{
    gr::logging::singleton().set_default_level(gr::log_level::warn);
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf("%d packets of %d matrices of order %d, one every %d us; us from the "
                "ring before the block to\nthe ring behind it, and to the work() of the "
                "block after it\n%-44s",
                packets,
                lte_packet,
                order,
                int(period.count()),
                "");
    benchmarks::print_quantile_heads();
    for (const auto how :
         { scheduling::free, scheduling::real_time, scheduling::one_core }) {
        const std::string suffix = how == scheduling::real_time  ? ", real-time"
                                   : how == scheduling::one_core ? ", one core"
                                                                 : "";
        const auto copy = [] {
            return benchmarks::make_copy(item_bytes, 4L * lte_packet);
        };
        measure("Copy, packets of 1" + suffix, copy(), how, 1);
        measure("Copy" + suffix, copy(), how);
        for (const auto where : measured) {
            const auto name = name_of(where);
            for (const int max_batch : { lte_packet, lte_packet / 3 }) {
                measure(name + ", max_batch " + std::to_string(max_batch) + suffix,
                        matrix_inverse::make(
                            order, "full", "complex", "packet_len", name, 0, max_batch),
                        how);
            }
        }
    }
}
