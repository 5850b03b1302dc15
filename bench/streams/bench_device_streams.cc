/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include "bench/streams/benchmark_copies.h"
#include "bench/streams/benchmark_idle_ends.h"
#include "bench/streams/benchmark_quantiles.h"
#include "bench/streams/benchmark_turns.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <gnuradio/cudaphy/kernels/backend.h>
#include <gnuradio/cudaphy/ldpc_decoder.h>
#include <gnuradio/cudaphy/matrix_inverse.h>
#include <gnuradio/cudaphy/runtime/block_statistics.h>
#include <gnuradio/cudaphy/soft_demapper.h>
#include <gnuradio/logger.h>
#include <gnuradio/prefs.h>
#include <gnuradio/top_block.h>
#include <memory>
#include <string>
#include <vector>

// bench_device_streams [WHAT...] [BACKEND [SECONDS [PAIRS]]]
//
// Measures the gain of streams between neighbouring blocks that stay on the GPU. WHAT
// chooses measurements; without it, all run:
// - 4x2048 and others: order and max_batch (0: the block's own) of one Matrix Inverse, or
//   three in a row. The source publishes its ring as filled at the start; the sink reads
//   nothing. Streams are on the device or in GNU Radio's rings, in turn. The sink counts
//   for SECONDS (0.2) after a warm-up. The bound: copies of the same batches between
//   page-locked memory and the device, both ways at once.
// - copies: three between two Copy blocks, with large rings and with 64 KiB, in PAIRS
//   (150) of flowgraphs that take turns of SECONDS: the gain, its confidence interval,
//   and the load of the Copy blocks.
// - latency: the time of a lone packet from source to sink, max_batch one packet or the
//   block's own, in as many pairs.
// - gpus: branches of one flowgraph on all GPUs and on one, and copies likewise.

using namespace gr::cudaphy;
using namespace gr::cudaphy::benchmarks;

namespace {

constexpr int repeats = 5;

//! Blocks in a row, and where their streams are.
struct chain {
    const char* name;
    int blocks;
    bool on_device;
};

constexpr std::array<chain, 3> chains{ { { "1 block", 1, true },
                                         { "3 blocks, on the device", 3, true },
                                         { "3 blocks, through the host", 3, false } } };
constexpr size_t three_on_device = 1, three_through_host = 2; //!< indices of chains

using inverses = std::vector<matrix_inverse::sptr>;

//! For the streams of flowgraphs that start later.
void stay_on_device(bool they_do)
{
    gr::prefs::singleton()->set_bool("cudaphy", "stay_on_device", they_do);
}

void run(gr::top_block& top, bool on_device)
{
    stay_on_device(on_device);
    top.run();
}

//! 64-QAM symbols of codewords of zeros. The result: information bits, eight a byte.
struct words : content {
    static kernels::ldpc_code::sptr code()
    {
        static const auto made = kernels::ldpc_code::nr5g(1, 384, 24);
        return made;
    }
    words() : content(sizeof(gr_complex), 1)
    {
        std::mt19937 engine(1);
        std::normal_distribution<float> normal;
        const float bits_of_zero = 3 / std::sqrt(42.0f), noise = 0.05f;
        for (int i = 0; i < 4096; ++i) {
            elements.emplace_back(bits_of_zero + noise * normal(engine),
                                  bits_of_zero + noise * normal(engine));
        }
    }
    bool is_first_result(const void* first) const override
    {
        return *static_cast<const char*>(first) == 0;
    }
};

struct benchmark {
    std::string backend;
    double run_seconds;
    int pairs; //!< of flowgraphs between Copy blocks, whose rates differ

    inverses make_row(int blocks,
                      int order,
                      const std::string& length_tag_key,
                      int max_batch,
                      int device = 0) const
    {
        inverses row;
        for (int i = 0; i < blocks; ++i) {
            row.push_back(matrix_inverse::make(
                order, "full", "complex", length_tag_key, backend, device, max_batch));
        }
        return row;
    }

    template <typename Blocks>
    static void check(const Blocks& row, const idle_sink& sink)
    {
        sink.check();
        for (const auto& block : row) {
            if (dynamic_cast<const counting_block&>(*block).statistics().failures) {
                throw std::runtime_error(block->name() + " failed");
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
        const auto row = make_row(how.blocks, content.order, "", max_batch);
        connect(top, source, row, sink);
        run(*top, how.on_device);
        check(row, *sink);
        const auto counted =
            dynamic_cast<const counting_block&>(*row.back()).statistics();
        return { sink->rate(),
                 double(counted.frames) / double(counted.batches),
                 double(counted.largest_batch) };
    }

    //! Makes the blocks of a branch on a device.
    using make_branch = std::function<std::vector<gr::block_sptr>(int device)>;

    //! Items a second at the ends of all branches of one flowgraph, one on each of the
    //! first `devices` GPUs.
    double branches(int devices, const content& content, const make_branch& make) const
    {
        const auto top = gr::make_top_block("branches");
        std::vector<std::shared_ptr<rate_sink>> sinks;
        std::vector<std::vector<gr::block_sptr>> rows;
        for (int device = 0; device < devices; ++device) {
            const auto source = gnuradio::make_block_sptr<endless_source>(content);
            sinks.push_back(
                gnuradio::make_block_sptr<rate_sink>(content, source, run_seconds));
            rows.push_back(make(device));
            connect(top, source, rows.back(), sinks.back());
        }
        run(*top, true);
        double rate = 0;
        for (size_t b = 0; b < rows.size(); ++b) {
            check(rows[b], *sinks[b]);
            rate += sinks[b]->rate();
        }
        return rate;
    }

    //! Seconds of each packet except the first ones.
    std::vector<double>
    latency(const chain& how, const matrices& content, int max_batch) const
    {
        const auto top = gr::make_top_block("latency");
        const auto sink = gnuradio::make_block_sptr<packet_sink>(content);
        const auto source = gnuradio::make_block_sptr<packet_source>(content, sink);
        const auto row = make_row(how.blocks, content.order, "packet_len", max_batch);
        connect(top, source, row, sink);
        run(*top, how.on_device);
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
        record({ "Flowgraphs",
                 chains[c].name + content.name() + batch_name(max_batch),
                 1e-9 * bytes,
                 "GB/s",
                 { bound > 0 ? 1e-9 * bound : std::nan(""), "copies both ways" } });
        if (c == three_through_host) {
            std::printf("   on the device %.2f x", median(rates[three_on_device]) / rate);
        }
        std::printf("\n");
    }
}

//! Whether streams on the device cost anything if other threads limit the rate: the Copy
//! blocks' copies, or, with GNU Radio's default ring of 64 KiB, how soon the threads on
//! both sides of that ring wake each other.
void print_between_copies(const benchmark& runs,
                          const matrices& content,
                          int max_batch,
                          bool small_before,
                          bool small_behind)
{
    const long large = std::max(4L * max_batch, 8192L);
    std::array<inverses, 2> rows; // through the host, on the device
    std::array<std::vector<double>, 2> first_busy, last_busy;
    const auto found = compare(
        runs.pairs,
        runs.run_seconds,
        [&](int which) {
            rows[which] = runs.make_row(3, content.order, "", max_batch);
            stay_on_device(which == 1);
            return std::make_unique<row_between_copies>(
                content,
                std::vector<gr::block_sptr>(rows[which].begin(), rows[which].end()),
                small_before ? 0 : large,
                small_behind ? 0 : large);
        },
        [&](const auto& flowgraphs) {
            for (int which = 0; which < 2; ++which) {
                benchmark::check(rows[which], flowgraphs[which]->sink());
                first_busy[which].push_back(median(flowgraphs[which]->busy[0]));
                last_busy[which].push_back(median(flowgraphs[which]->busy[1]));
            }
        });
    const auto name = [](bool is_small) { return is_small ? "64 KiB" : "large"; };
    std::printf(
        "ring (%s), Copy, 3 blocks %d x %d, max_batch %d, Copy, ring (%s): on the "
        "device ",
        name(small_before),
        content.order,
        content.order,
        max_batch,
        name(small_behind));
    print_gain(found.gains);
    record({ "Flowgraphs",
             std::string("between Copy blocks, rings ") + name(small_before) + ", " +
                 name(small_behind) + content.name() + batch_name(max_batch),
             1e-6 * median(found.rates[1]),
             "M/s",
             {},
             { 1e-6 * median(found.rates[0]), "streams through the host" } });
    constexpr std::array<const char*, 2> names{ "through the host", "on the device" };
    for (int which = 0; which < 2; ++which) {
        std::printf("  %-32s %8.2f M/s, the first Copy's thread at work %.0f %% of the "
                    "time, the last one's %.0f %%\n",
                    names[which],
                    1e-6 * median(found.rates[which]),
                    100 * median(first_busy[which]),
                    100 * median(last_busy[which]));
    }
}

//! Branches on all GPUs compared with one branch alone.
void print_branches(const benchmark& runs,
                    const std::string& name,
                    const content& content,
                    const benchmark::make_branch& make)
{
    const int count = int(devices().size());
    std::vector<double> alone, together;
    for (int turn = 0; turn < repeats; ++turn) {
        alone.push_back(runs.branches(1, content, make));
        together.push_back(runs.branches(count, content, make));
    }
    std::printf("%s on each of %d GPUs: %.2f M/s, %.2f x one GPU's %.2f\n",
                name.c_str(),
                count,
                1e-6 * median(together),
                median(together) / median(alone),
                1e-6 * median(alone));
    record({ "Flowgraphs",
             name + " on each of " + std::to_string(count) + " GPUs",
             1e-6 * median(together),
             "M/s",
             {},
             { 1e-6 * median(alone), "one GPU" } });
}

//! Soft Demapper and LDPC Decoder. Tags on each word limit the rate.
std::vector<gr::block_sptr> make_receiver(const std::string& backend,
                                          int device,
                                          int iterations,
                                          const std::string& word_tags)
{
    const auto demapper = soft_demapper::make(
        "qam64", 1, true, 0, false, 0.005f, "", backend, device, 0, 0, "int8");
    ldpc_decoder_options decoding;
    decoding.max_iterations = iterations;
    decoding.early_stop = false;
    decoding.type = "int8";
    decoding.packed = true;
    ldpc_output_options output;
    output.word_tags = word_tags;
    ldpc_block_options where;
    where.backend = backend;
    where.device = device;
    return { demapper, ldpc_decoder::make(words::code(), decoding, output, where) };
}

//! Branches with many codewords a second, with tags on all or on failed ones; with few
//! codewords; and with inversions, which copies to and from the host limit.
void print_all_branches(const benchmark& runs)
{
    const int count = int(devices().size());
    if (runs.backend != "cuda" || count < 2) {
        return;
    }
    const std::pair<int, const char*> receivers[]{ { 20, "all" },
                                                   { 20, "failed" },
                                                   { 200, "all" } };
    for (const auto& [iterations, tagged] : receivers) {
        auto longer = runs; // several batches a GPU, at a tenth of the rate
        longer.run_seconds *= iterations / 20;
        const auto name = "Soft Demapper, LDPC Decoder with " +
                          std::to_string(iterations) + " iterations, tags on " + tagged +
                          " words (bytes)";
        print_branches(longer, name, words(), [&](int device) {
            return make_receiver(runs.backend, device, iterations, tagged);
        });
    }
    for (const int order : { 4, 8 }) {
        const auto size = std::to_string(order);
        const matrices content(order);
        print_branches(
            runs, "3 inversions " + size + " x " + size, content, [&](int device) {
                const auto row = runs.make_row(3, order, "", 0, device);
                return std::vector<gr::block_sptr>(row.begin(), row.end());
            });
    }
    constexpr size_t bytes = 4 << 20; // as the blocks' own batches
    std::vector<double> one, all;
    for (int turn = 0; turn < repeats; ++turn) {
        one.push_back(copies_both_ways(bytes));
        all.push_back(copies_both_ways(bytes, count));
    }
    std::printf("Copies both ways of all at once: %.1f GB/s each, %.2f x one's %.1f\n",
                1e-9 * median(all),
                median(all) / median(one),
                1e-9 * median(one));
}

void print_latencies(const benchmark& runs, const matrices& content, int max_batch)
{
    std::array<std::vector<double>, chains.size()> took;
    std::vector<double> ratios; // of medians, on the device to through the host
    for (int pair = 0; pair < runs.pairs; ++pair) {
        std::array<double, chains.size()> medians{};
        for (size_t c = 0; c < chains.size(); ++c) {
            const auto which = pair % 2 ? chains.size() - 1 - c : c;
            const auto more = runs.latency(chains[which], content, max_batch);
            took[which].insert(took[which].end(), more.begin(), more.end());
            medians[which] = median(more);
        }
        ratios.push_back(medians[three_on_device] / medians[three_through_host]);
    }
    std::printf("A packet of %d matrices %d x %d (%.0f KB) alone, %d of them, %s\n"
                "  %-32s %8s %8s %8s  us, source to sink\n",
                packet,
                content.order,
                content.order,
                1e-3 * packet * double(content.bytes),
                runs.pairs * int(packets - packets / 10),
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
        std::printf("\n");
        record({ "Flowgraphs",
                 std::string("a packet alone, ") + chains[c].name + content.name() +
                     batch_name(max_batch),
                 1e6 * median(took[c]),
                 "us" });
    }
    std::printf("  the device's of the host's ");
    print_gain(ratios);
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
    const benchmark runs{ name_of(where),
                          argc > 2 ? std::stod(argv[2]) : 0.2,
                          argc > 3 ? std::stoi(argv[3]) : 150 };
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
            print_between_copies(runs, matrices(order), 8192, false, false);
            print_between_copies(runs, matrices(order), 8192, true, false);
            print_between_copies(runs, matrices(order), 8192, false, true);
        }
    }
    if (is_chosen(chosen, "latency")) {
        for (const int max_batch : { packet, 0 }) {
            print_latencies(runs, matrices(8), max_batch);
        }
    }
    if (is_chosen(chosen, "gpus")) {
        print_all_branches(runs);
    }
} catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
}
