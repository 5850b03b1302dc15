/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/benchmark.h"
#include "runtime/benchmark_copies.h"
#include "runtime/benchmark_idle_ends.h"
#include "runtime/benchmark_quantiles.h"
#include <algorithm>
#include <array>
#include <cstdio>
#include <gnuradio/blocks/copy.h>
#include <gnuradio/cudaphy/kernels/backend.h>
#include <gnuradio/cudaphy/matrix_inverse.h>
#include <gnuradio/cudaphy/runtime/block_statistics.h>
#include <gnuradio/logger.h>
#include <gnuradio/prefs.h>
#include <gnuradio/top_block.h>
#include <memory>
#include <string>
#include <vector>

// bench_device_streams [WHAT...] [BACKEND [SECONDS]]
//
// What it gains that streams between neighbouring blocks stay on the GPU: one Matrix
// Inverse, or three in a row, between a source that publishes what lies in its ring since
// the start and a sink that reads nothing, with the streams on the device and through
// GNU Radio's rings, turn by turn. Rates are counted at the sink after a warm-up, for
// SECONDS (0.2) a run. The bound is what copies of as many bytes a batch between
// page-locked memory and the device reach, both ways at once. Then the same between two
// of GNU Radio's Copy blocks, where the gain is the median of many pairs of runs, with
// its interval of confidence; how long a packet that comes alone takes from the source to
// the sink, with max_batch a packet and the block's own; and where there are several
// GPUs, what a branch of one flowgraph on each of them comes to beside one alone, and
// what copies on all do beside copies on one. WHAT chooses among them: an order and
// max_batch such as 4x2048, where 4x0 takes the block's own, copies, latency, and gpus.

using namespace gr::cudaphy;
using namespace gr::cudaphy::benchmarks;

namespace {

constexpr int repeats = 5;
constexpr int pairs = 41; //!< between Copy blocks, whose rates differ from run to run

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
            made->set_min_output_buffer(std::max(4L * max_batch, 8192L));
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
        double largest;
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
        return { sink->rate(),
                 double(counted.frames) / double(counted.batches),
                 double(counted.largest_batch) };
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
    std::vector<double>
    latency(const chain& how, const matrices& content, int max_batch) const
    {
        const auto top = gr::make_top_block("latency");
        const auto sink = gnuradio::make_block_sptr<packet_sink>(content);
        const auto source = gnuradio::make_block_sptr<packet_source>(content, sink);
        const auto row =
            connect(top, how, content, source, sink, "packet_len", max_batch);
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
    const std::array<chain, 3> chains{
        { { "1 block", 1, true, false },
          { "3 blocks, on the device", 3, true, false },
          { "3 blocks, through the host", 3, false, false } }
    };
    const auto batch = max_batch ? max_batch : runs.rate(chains[0], content, 0).largest;
    const auto batch_bytes = size_t(batch) * content.bytes;
    std::vector<std::vector<double>> rates(chains.size()), batches(chains.size());
    std::vector<double> copies;
    for (int turn = 0; turn < repeats; ++turn) {
        copies.push_back(runs.backend == "cuda" ? copies_both_ways(batch_bytes) : 0);
        for (size_t c = 0; c < chains.size(); ++c) {
            const auto got = runs.rate(chains[c], content, max_batch);
            rates[c].push_back(got.rate);
            batches[c].push_back(got.batch);
        }
    }
    const auto bound = median(copies);
    std::printf("%d x %d, %s %.0f (%.2f MB)",
                content.order,
                content.order,
                max_batch ? "max_batch" : "the block's own batches of",
                double(batch),
                1e-6 * double(batch_bytes));
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

//! Whether streams on the device cost anything where others limit the rate: each run
//! through the host has one on the device beside it, before it and after it by turns.
void print_between_copies(const benchmark& runs, const matrices& content, int max_batch)
{
    const chain on_device{ "", 3, true, true }, through_host{ "", 3, false, true };
    std::vector<double> there, here, gains;
    for (int pair = 0; pair < pairs; ++pair) {
        const bool first = pair % 2;
        const double one =
            runs.rate(first ? on_device : through_host, content, max_batch).rate;
        const double other =
            runs.rate(first ? through_host : on_device, content, max_batch).rate;
        there.push_back(first ? one : other);
        here.push_back(first ? other : one);
        gains.push_back(there.back() / here.back());
    }
    const auto [least, most] = median_between(gains);
    std::printf("Copy, 3 blocks %d x %d, max_batch %d, Copy: on the device %.2f M/s, "
                "through the host %.2f; on the device %.3f x, median of %d pairs, with "
                "95 %% certainty %.3f to %.3f\n",
                content.order,
                content.order,
                max_batch,
                1e-6 * median(there),
                1e-6 * median(here),
                median(gains),
                pairs,
                least,
                most);
}

void print_branches(const benchmark& runs, const matrices& content, int max_batch)
{
    const int count = int(devices().size());
    if (runs.backend != "cuda" || count < 2) {
        return;
    }
    const auto batch_bytes = size_t(max_batch) * content.bytes;
    std::vector<double> alone, together, one_bus, all_buses;
    for (int turn = 0; turn < repeats; ++turn) {
        one_bus.push_back(copies_both_ways(batch_bytes));
        all_buses.push_back(copies_both_ways(batch_bytes, count));
        alone.push_back(runs.branches(1, content, max_batch));
        together.push_back(runs.branches(count, content, max_batch));
    }
    std::printf(
        "3 blocks on each of %d GPUs, %d x %d, max_batch %d: %.2f M/s, %.2f x "
        "one GPU's %.2f; copies both ways of all at once %.1f GB/s each, %.2f x one's "
        "%.1f\n",
        count,
        content.order,
        content.order,
        max_batch,
        1e-6 * median(together),
        median(together) / median(alone),
        1e-6 * median(alone),
        1e-9 * median(all_buses),
        median(all_buses) / median(one_bus),
        1e-9 * median(one_bus));
}

void print_latencies(const benchmark& runs, const matrices& content, int max_batch)
{
    const std::array<chain, 3> chains{
        { { "1 block", 1, true, false },
          { "3 blocks, on the device", 3, true, false },
          { "3 blocks, through the host", 3, false, false } }
    };
    std::array<std::vector<double>, 3> took;
    for (int turn = 0; turn < repeats; ++turn) {
        for (size_t c = 0; c < chains.size(); ++c) {
            const auto more = runs.latency(chains[c], content, max_batch);
            took[c].insert(took[c].end(), more.begin(), more.end());
        }
    }
    std::printf("A packet of %d matrices %d x %d (%.0f KB) alone, %d of them, %s\n"
                "  %-32s %8s %8s %8s  us, source to sink\n",
                packet,
                content.order,
                content.order,
                1e-3 * packet * double(content.bytes),
                repeats * (packets - packets / 10),
                max_batch ? "batches of a packet" : "the block's own batches",
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
    constexpr std::array<int, 4> batches{ 0, 2048, 8192, 32768 };
    const auto name = [](int order, int max_batch) {
        return std::to_string(order) + "x" + std::to_string(max_batch);
    };
    std::vector<std::string> known{ "copies", "latency", "gpus" };
    for (const int order : orders) {
        for (const int max_batch : batches) {
            known.push_back(name(order, max_batch));
        }
    }
    const auto chosen = take_words(argc, argv, known);
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
            if (is_chosen(chosen, name(order, max_batch))) {
                print_rates(runs, content, max_batch);
            }
        }
    }
    if (is_chosen(chosen, "copies")) {
        for (const int order : orders) {
            print_between_copies(runs, matrices(order), 8192);
        }
    }
    if (is_chosen(chosen, "latency")) {
        for (const int max_batch : { packet, 0 }) {
            print_latencies(runs, matrices(8), max_batch);
        }
    }
    if (is_chosen(chosen, "gpus")) {
        print_branches(runs, matrices(4), 32768);
        print_branches(runs, matrices(8), 8192);
    }
} catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
}
