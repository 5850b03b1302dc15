/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/benchmark.h"
#include "runtime/benchmark_copies.h"
#include "runtime/benchmark_quantiles.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <gnuradio/block_detail.h>
#include <gnuradio/blocks/copy.h>
#include <gnuradio/buffer.h>
#include <gnuradio/cudaphy/kernels/backend.h>
#include <gnuradio/cudaphy/matrix_inverse.h>
#include <gnuradio/cudaphy/runtime/block_statistics.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/logger.h>
#include <gnuradio/prefs.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// bench_device_streams [WHAT...] [BACKEND [SECONDS]]
//
// What it gains that streams between neighbouring blocks stay on the GPU: one Matrix
// Inverse, or three in a row, between a source that publishes what lies in its ring since
// the start and a sink that reads nothing, with the streams on the device and through
// GNU Radio's rings, turn by turn; between two of GNU Radio's Copy blocks also. Rates are
// counted at the sink after a warm-up, for SECONDS (0.2) a run. The bound is what copies
// of as many bytes a batch between page-locked memory and the device reach, both ways at
// once. Then how long a packet that comes alone takes from the source to the sink, and
// where there are several GPUs, what a branch of one flowgraph on each of them comes to
// beside one alone. WHAT chooses among them: an order and max_batch such as 4x2048,
// latency, and gpus.

using namespace gr::cudaphy;
using benchmarks::median, benchmarks::quantile;
using clock_type = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

namespace {

constexpr int repeats = 5;
constexpr int packet = 1200, packets = 500; //!< LTE, 20 MHz
constexpr auto period = std::chrono::microseconds(400);
constexpr double warm_up = 0.06;

//! Some matrices that are far from singular, and so are their inverses.
struct matrices {
    explicit matrices(int n) : order(n), bytes(sizeof(gr_complex) * n * n)
    {
        std::mt19937 engine(1);
        std::normal_distribution<float> normal;
        elements.resize(size_t{ 1024 } * n * n);
        for (size_t i = 0; i < elements.size(); ++i) {
            const auto within = i % (size_t(n) * n);
            const float diagonal = within % (n + 1) == 0 ? 4 * std::sqrt(float(n)) : 0;
            elements[i] = { normal(engine) + diagonal, normal(engine) };
        }
    }
    //! Whether `got` is the inverse of the first one.
    bool is_first_inverse(const gr_complex* got) const
    {
        for (int r = 0; r < order; ++r) {
            for (int c = 0; c < order; ++c) {
                gr_complex sum = r == c ? -1 : 0;
                for (int k = 0; k < order; ++k) {
                    sum += elements[r * order + k] * got[k * order + c];
                }
                if (!(std::abs(sum) < 1e-3)) {
                    return false;
                }
            }
        }
        return true;
    }

    const int order;
    const size_t bytes; //!< of one
    std::vector<gr_complex> elements;
};

//! A source whose ring is written once, before the flowgraph runs.
class filled_source : public gr::sync_block
{
public:
    bool start() override
    {
        const auto ring = detail()->output(0);
        auto* to = const_cast<char*>(ring->base());
        const size_t bytes = ring->bufsize() * d_content.bytes;
        const size_t piece = d_content.elements.size() * sizeof(gr_complex);
        for (size_t at = 0; at < bytes; at += piece) {
            std::memcpy(to + at, d_content.elements.data(), std::min(piece, bytes - at));
        }
        return sync_block::start();
    }

protected:
    explicit filled_source(const matrices& content)
        : gr::sync_block("filled_source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, static_cast<int>(content.bytes))),
          d_content(content)
    {
    }

private:
    const matrices& d_content;
};

//! A sink that touches no item but the first.
class idle_sink : public gr::sync_block
{
public:
    void check() const
    {
        if (!d_right) {
            throw std::runtime_error("the first item is not the first matrix's inverse");
        }
    }

protected:
    explicit idle_sink(const matrices& content)
        : gr::sync_block("idle_sink",
                         gr::io_signature::make(1, 1, static_cast<int>(content.bytes)),
                         gr::io_signature::make(0, 0, 0)),
          d_content(content)
    {
    }
    void look_at_first(const gr_vector_const_void_star& in)
    {
        if (nitems_read(0) == 0) {
            d_right = d_content.is_first_inverse(static_cast<const gr_complex*>(in[0]));
        }
    }

private:
    const matrices& d_content;
    bool d_right = false;
};

// For the rate.

class endless_source : public filled_source
{
public:
    std::atomic<bool> ends{ false };
    explicit endless_source(const matrices& content) : filled_source(content) {}
    int work(int items, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        return ends ? static_cast<int>(WORK_DONE) : items;
    }
};

//! Ends the source after so many seconds.
class rate_sink : public idle_sink
{
public:
    rate_sink(const matrices& content,
              std::shared_ptr<endless_source> source,
              double time)
        : idle_sink(content), d_source(std::move(source)), d_time(time)
    {
    }
    int work(int items, gr_vector_const_void_star& in, gr_vector_void_star&) override
    {
        const auto now = clock_type::now();
        look_at_first(in);
        const auto read = nitems_read(0) + items;
        if (read == uint64_t(items)) {
            d_start = now;
        }
        const auto since = seconds(now - d_start).count();
        if (since < warm_up) {
            d_from = d_to = { now, read };
        } else if (since < warm_up + d_time) {
            d_to = { now, read };
        } else {
            d_source->ends = true;
        }
        return items;
    }
    double rate() const
    {
        const auto time = seconds(d_to.when - d_from.when).count();
        if (!(time > 0.5 * d_time)) {
            throw std::runtime_error("too slow to be measured");
        }
        return double(d_to.items - d_from.items) / time;
    }

private:
    struct mark {
        clock_type::time_point when;
        uint64_t items;
    };
    const std::shared_ptr<endless_source> d_source;
    const double d_time;
    clock_type::time_point d_start;
    mark d_from{}, d_to{};
};

// For the latency.

class packet_sink : public idle_sink
{
public:
    std::atomic<size_t> packets_come{ 0 };
    std::vector<clock_type::time_point> times;
    explicit packet_sink(const matrices& content) : idle_sink(content)
    {
        times.reserve(packets);
    }
    int work(int items, gr_vector_const_void_star& in, gr_vector_void_star&) override
    {
        look_at_first(in);
        while (nitems_read(0) + items >= packet * (times.size() + 1)) {
            times.push_back(clock_type::now());
        }
        packets_come = times.size();
        return items;
    }
};

//! One packet a period, later where the one before has not come to the sink.
class packet_source : public filled_source
{
public:
    std::vector<clock_type::time_point> times;
    packet_source(const matrices& content, std::shared_ptr<packet_sink> sink)
        : filled_source(content), d_sink(std::move(sink))
    {
        set_output_multiple(packet);
    }
    int work(int, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        if (times.size() == packets) {
            return WORK_DONE;
        }
        do {
            std::this_thread::sleep_for(period);
        } while (d_sink->packets_come < times.size());
        add_item_tag(
            0, nitems_written(0), pmt::intern("packet_len"), pmt::from_long(packet));
        times.push_back(clock_type::now());
        return packet;
    }

private:
    const std::shared_ptr<packet_sink> d_sink;
};

//! Blocks in a row, and how their streams go.
struct chain {
    const char* name;
    int blocks;
    bool on_device, between_copies;
};

struct benchmark {
    std::string backend;
    double run_seconds;

    std::vector<matrix_inverse::sptr> connect(const gr::top_block_sptr& top,
                                              const chain& how,
                                              const matrices& content,
                                              gr::block_sptr source,
                                              const gr::block_sptr& sink,
                                              const std::string& length_tag_key,
                                              int max_batch,
                                              int device = 0) const
    {
        gr::prefs::singleton()->set_bool("cudaphy", "stay_on_device", how.on_device);
        const auto append = [&](const gr::block_sptr& block) {
            top->connect(source, 0, block, 0);
            source = block;
        };
        const auto copy = [&] {
            auto made = gr::blocks::copy::make(content.bytes);
            made->set_min_output_buffer(4L * max_batch);
            return made;
        };
        if (how.between_copies) {
            append(copy());
        }
        std::vector<matrix_inverse::sptr> row;
        for (int i = 0; i < how.blocks; ++i) {
            row.push_back(matrix_inverse::make(content.order,
                                               "full",
                                               "complex",
                                               length_tag_key,
                                               backend,
                                               device,
                                               max_batch));
            append(row.back());
        }
        if (how.between_copies) {
            append(copy());
        }
        append(sink);
        return row;
    }

    static void check(const std::vector<matrix_inverse::sptr>& row, const idle_sink& sink)
    {
        sink.check();
        for (const auto& block : row) {
            if (block->failures()) {
                throw std::runtime_error("matrices were not inverted");
            }
        }
    }

    struct measured {
        double rate;  //!< items a second
        double batch; //!< items a launch of the last block, on average
    };
    measured rate(const chain& how, const matrices& content, int max_batch) const
    {
        const auto top = gr::make_top_block("rate");
        const auto source = gnuradio::make_block_sptr<endless_source>(content);
        const auto sink =
            gnuradio::make_block_sptr<rate_sink>(content, source, run_seconds);
        const auto row = connect(top, how, content, source, sink, "", max_batch);
        top->run();
        check(row, *sink);
        const auto counted =
            dynamic_cast<const counting_block&>(*row.back()).statistics();
        return { sink->rate(), double(counted.frames) / double(counted.batches) };
    }

    //! Items a second of a branch on each of the GPUs to `devices`, in one flowgraph.
    double branches(int devices, const matrices& content, int max_batch) const
    {
        const chain how{ "", 3, true, false };
        const auto top = gr::make_top_block("branches");
        std::vector<std::shared_ptr<rate_sink>> sinks;
        std::vector<std::vector<matrix_inverse::sptr>> rows;
        for (int device = 0; device < devices; ++device) {
            const auto source = gnuradio::make_block_sptr<endless_source>(content);
            sinks.push_back(
                gnuradio::make_block_sptr<rate_sink>(content, source, run_seconds));
            rows.push_back(
                connect(top, how, content, source, sinks.back(), "", max_batch, device));
        }
        top->run();
        double rate = 0;
        for (size_t b = 0; b < rows.size(); ++b) {
            check(rows[b], *sinks[b]);
            rate += sinks[b]->rate();
        }
        return rate;
    }

    //! Seconds of each packet but the first ones.
    std::vector<double> latency(const chain& how, const matrices& content) const
    {
        const auto top = gr::make_top_block("latency");
        const auto sink = gnuradio::make_block_sptr<packet_sink>(content);
        const auto source = gnuradio::make_block_sptr<packet_source>(content, sink);
        const auto row = connect(top, how, content, source, sink, "packet_len", packet);
        top->run();
        check(row, *sink);
        std::vector<double> took;
        for (size_t p = packets / 10; p < sink->times.size(); ++p) {
            took.push_back(seconds(sink->times[p] - source->times[p]).count());
        }
        if (sink->times.size() != packets) {
            throw std::runtime_error("packets were lost");
        }
        return took;
    }
};

//! Rates of all chains for one size of matrices and of batches.
void print_rates(const benchmark& runs, const matrices& content, int max_batch)
{
    std::vector<chain> chains{ { "1 block", 1, true, false },
                               { "3 blocks, on the device", 3, true, false },
                               { "3 blocks, through the host", 3, false, false } };
    if (max_batch == 8192) {
        chains.push_back({ "Copy, 3 on the device, Copy", 3, true, true });
        chains.push_back({ "Copy, 3 through the host, Copy", 3, false, true });
    }
    std::vector<std::vector<double>> rates(chains.size()), batches(chains.size());
    std::vector<double> copies;
    for (int turn = 0; turn < repeats; ++turn) {
        copies.push_back(runs.backend == "cuda"
                             ? benchmarks::copies_both_ways(content.bytes * max_batch)
                             : 0);
        for (size_t c = 0; c < chains.size(); ++c) {
            const auto got = runs.rate(chains[c], content, max_batch);
            rates[c].push_back(got.rate);
            batches[c].push_back(got.batch);
        }
    }
    const auto bound = median(copies);
    std::printf("%d x %d, max_batch %d (%.2f MB)",
                content.order,
                content.order,
                max_batch,
                1e-6 * double(content.bytes) * max_batch);
    if (bound > 0) {
        std::printf(": copies both ways %.1f GB/s each", 1e-9 * bound);
    }
    std::printf("\n");
    for (size_t c = 0; c < chains.size(); ++c) {
        const auto rate = median(rates[c]);
        const auto bytes = rate * double(content.bytes);
        std::printf("  %-32s %8.2f %8.2f %8.2f %8.2f %8.0f",
                    chains[c].name,
                    1e-6 * rate,
                    1e-9 * bytes,
                    1e-9 * double(content.bytes) *
                        *std::min_element(rates[c].begin(), rates[c].end()),
                    1e-9 * double(content.bytes) *
                        *std::max_element(rates[c].begin(), rates[c].end()),
                    median(batches[c]));
        if (bound > 0) {
            std::printf(" %6.0f %%", 100 * bytes / bound);
        }
        if (chains[c].blocks == 3 && !chains[c].on_device) {
            std::printf("   on the device %.2f x", median(rates[c - 1]) / rate);
        }
        std::printf("\n");
    }
}

void print_branches(const benchmark& runs, const matrices& content, int max_batch)
{
    const int count = int(devices().size());
    if (runs.backend != "cuda" || count < 2) {
        return;
    }
    std::vector<double> alone, together;
    for (int turn = 0; turn < repeats; ++turn) {
        alone.push_back(runs.branches(1, content, max_batch));
        together.push_back(runs.branches(count, content, max_batch));
    }
    std::printf("3 blocks on each of %d GPUs, %d x %d, max_batch %d: %.2f M/s, %.2f x "
                "one GPU's %.2f\n",
                count,
                content.order,
                content.order,
                max_batch,
                1e-6 * median(together),
                median(together) / median(alone),
                1e-6 * median(alone));
}

void print_latencies(const benchmark& runs, const matrices& content)
{
    const std::array<chain, 3> chains{
        { { "1 block", 1, true, false },
          { "3 blocks, on the device", 3, true, false },
          { "3 blocks, through the host", 3, false, false } }
    };
    std::array<std::vector<double>, 3> took;
    for (int turn = 0; turn < repeats; ++turn) {
        for (size_t c = 0; c < chains.size(); ++c) {
            const auto more = runs.latency(chains[c], content);
            took[c].insert(took[c].end(), more.begin(), more.end());
        }
    }
    std::printf("A packet of %d matrices %d x %d (%.0f KB) alone, %d of them\n"
                "  %-32s %8s %8s %8s  us, source to sink\n",
                packet,
                content.order,
                content.order,
                1e-3 * packet * double(content.bytes),
                repeats * (packets - packets / 10),
                "",
                "median",
                "90 %",
                "99 %");
    for (size_t c = 0; c < chains.size(); ++c) {
        std::printf("  %-32s %8.1f %8.1f %8.1f",
                    chains[c].name,
                    1e6 * median(took[c]),
                    1e6 * quantile(took[c], 0.9),
                    1e6 * quantile(took[c], 0.99));
        if (chains[c].blocks == 3 && !chains[c].on_device) {
            std::printf("   on the device %.2f x", median(took[c - 1]) / median(took[c]));
        }
        std::printf("\n");
    }
}

} // namespace

int main(int argc, char** argv)
try {
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    gr::logging::singleton().set_default_level(gr::log_level::warn);
    constexpr std::array<int, 2> orders{ 4, 8 };
    constexpr std::array<int, 3> batches{ 2048, 8192, 32768 };
    const auto name = [](int order, int max_batch) {
        return std::to_string(order) + "x" + std::to_string(max_batch);
    };
    std::vector<std::string> known{ "latency", "gpus" };
    for (const int order : orders) {
        for (const int max_batch : batches) {
            known.push_back(name(order, max_batch));
        }
    }
    const auto chosen = benchmarks::take_words(argc, argv, known);
    const auto where = resolve(backend_from_name(argc > 1 ? argv[1] : "auto")).where;
    const benchmark runs{ name_of(where), argc > 2 ? std::stod(argv[2]) : 0.2 };
    std::printf("Matrix Inverse, complex64, full pivoting, backend %s; median of %d\n"
                "  %-32s %8s %8s %8s %8s %8s %8s\n",
                runs.backend.c_str(),
                repeats,
                "",
                "M/s",
                "GB/s",
                "least",
                "most",
                "a batch",
                runs.backend == "cuda" ? "of copy" : "");
    for (const int order : orders) {
        const matrices content(order);
        for (const int max_batch : batches) {
            if (benchmarks::is_chosen(chosen, name(order, max_batch))) {
                print_rates(runs, content, max_batch);
            }
        }
    }
    if (benchmarks::is_chosen(chosen, "latency")) {
        print_latencies(runs, matrices(8));
    }
    if (benchmarks::is_chosen(chosen, "gpus")) {
        print_branches(runs, matrices(4), 32768);
        print_branches(runs, matrices(8), 8192);
    }
} catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
}
