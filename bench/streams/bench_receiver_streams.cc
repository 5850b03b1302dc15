/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include "bench/streams/benchmark_cell.h"
#include "bench/streams/benchmark_quantiles.h"
#include "bench/streams/benchmark_turns.h"
#include <array>
#include <cstdio>
#include <gnuradio/cudaphy/ldpc_decoder.h>
#include <gnuradio/cudaphy/mimo_channel_estimator.h>
#include <gnuradio/cudaphy/mimo_equalizer.h>
#include <gnuradio/cudaphy/mimo_receiver.h>
#include <gnuradio/cudaphy/runtime/block_statistics.h>
#include <gnuradio/cudaphy/soft_demapper.h>
#include <gnuradio/logger.h>
#include <string>

// bench_receiver_streams [BACKEND [SLOTS [SECONDS [PAIRS]]]]
//
// MIMO Receiver compared with the chain of blocks that it replaces: channel estimator,
// equalizer, soft demapper and LDPC decoder, whose streams stay on the GPU. The sources
// publish their rings as filled at the start, and the sink reads nothing. Each launch has
// SLOTS (16; 0: the blocks' own batches) slots. PAIRS (11) of flowgraphs take turns of
// SECONDS (0.1). Results: codewords a second, the ratio of both with its confidence
// interval; for each block the frames of a batch and the time of its kernels.
//
// A slot of 20 MHz: 1200 tones, 14 symbols, 4 x 4, 64-QAM, 5G LDPC of rate 1/2, DM-RS in
// 2 symbols. The input is noise, so that every codeword takes all 10 iterations.

using namespace gr::cudaphy;
using namespace gr::cudaphy::benchmarks;

namespace {

constexpr int pilot_symbols = 2, data_symbols = symbols - pilot_symbols;
constexpr int bits = 6; //!< of a point

//! Received tones. The result: bits, one a byte.
struct noise : content {
    noise() : content(sizeof(gr_complex) * antennas, 1)
    {
        std::mt19937 engine(1);
        std::normal_distribution<float> normal;
        elements.resize(size_t{ antennas } * tones * symbols * 16);
        for (auto& element : elements) {
            element = { normal(engine), normal(engine) };
        }
    }
    bool is_first_result(const void*) const override { return true; }
};

//! A started flowgraph with the receiver as one block or as four, which takes turns.
class receiver_flowgraph
{
public:
    receiver_flowgraph(const noise& received,
                       const std::string& backend,
                       int slots,
                       bool whole)
        : d_sink(gnuradio::make_block_sptr<turn_sink>(received)),
          d_top(gr::make_top_block("receiver"))
    {
        const auto p = cell();
        const auto source = [&](int of_slot) {
            d_sources.push_back(gnuradio::make_block_sptr<turn_source>(received));
            d_sources.back()->set_min_output_buffer(4L * (slots ? slots : 16) * of_slot *
                                                    tones);
            return d_sources.back();
        };
        if (whole) {
            d_row = { mimo_receiver::make(p, {}, "", backend, 0, slots) };
            d_top->connect(source(symbols), 0, d_row[0], 0);
        } else {
            const auto estimator =
                mimo_channel_estimator::make(p.pilots, "", backend, 0, slots);
            const auto equalizer = mimo_equalizer::make(antennas,
                                                        antennas,
                                                        "mmse",
                                                        true,
                                                        data_symbols,
                                                        tones,
                                                        true,
                                                        0.01f,
                                                        "",
                                                        backend,
                                                        0,
                                                        slots);
            constexpr int vectors = data_symbols * tones;
            const auto demapper = soft_demapper::make("qam64",
                                                      antennas,
                                                      true,
                                                      0,
                                                      true,
                                                      0.01f,
                                                      "",
                                                      backend,
                                                      0,
                                                      slots * vectors,
                                                      0,
                                                      "int8");
            ldpc_decoder_options decoding;
            decoding.max_iterations = p.decoding.max_iterations;
            decoding.type = "int8";
            ldpc_block_options where;
            where.backend = backend;
            where.max_batch = slots * (vectors * antennas * bits / cell_code()->n());
            const auto decoder = ldpc_decoder::make(cell_code(), decoding, {}, where);
            d_top->connect(source(pilot_symbols), 0, estimator, 0);
            d_top->connect(source(data_symbols), 0, equalizer, 0);
            for (const int port : { 0, 1 }) { // channel matrices, noise variances
                d_top->connect(estimator, port, equalizer, 1 + port);
                d_top->connect(equalizer, port, demapper, port); // layers, their noise
            }
            d_top->connect(demapper, 0, decoder, 0);
            d_row = { estimator, equalizer, demapper, decoder };
        }
        d_top->connect(d_row.back(), 0, d_sink, 0);
        d_top->start();
    }
    ~receiver_flowgraph()
    {
        for (const auto& source : d_sources) {
            source->end();
        }
        d_top->wait();
    }
    receiver_flowgraph(const receiver_flowgraph&) = delete;
    receiver_flowgraph& operator=(const receiver_flowgraph&) = delete;

    //! Codewords a second over so many seconds.
    double take_turn(double time)
    {
        for (const auto& source : d_sources) {
            source->begin();
        }
        std::this_thread::sleep_for(seconds(time / 4));
        d_sink->begin();
        std::this_thread::sleep_for(seconds(time));
        const double rate = d_sink->rate() / cell_code()->k();
        for (const auto& source : d_sources) {
            source->pause();
        }
        std::this_thread::sleep_for(seconds(time / 4));
        return rate;
    }

    void warm_up(double time) { take_turn(time); }

    void print_batches() const
    {
        for (const auto& block : d_row) {
            const auto counted = dynamic_cast<const counting_block&>(*block).statistics();
            std::printf("  %-24s %10.1f %10.1f\n",
                        block->name().c_str(),
                        double(counted.frames) / double(counted.batches),
                        1e6 * counted.compute_seconds / double(counted.batches));
        }
    }

private:
    std::vector<std::shared_ptr<turn_source>> d_sources;
    const std::shared_ptr<turn_sink> d_sink;
    const gr::top_block_sptr d_top;
    std::vector<gr::block_sptr> d_row;
};

} // namespace

int main(int argc, char** argv)
try {
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    gr::logging::singleton().set_default_level(gr::log_level::err);
    const auto where = resolve(backend_from_name(argc > 1 ? argv[1] : "auto"));
    const auto backend = name_of(where.where);
    const int slots = argc > 2 ? std::stoi(argv[2]) : 16;
    const double time = argc > 3 ? std::stod(argv[3]) : 0.1;
    const int pairs = argc > 4 ? std::stoi(argv[4]) : 11;
    const noise received;
    bool is_first = true;
    std::printf("backend %s, %d slots a launch\n", backend.c_str(), slots);
    const auto found = compare(
        pairs,
        time,
        [&](int which) {
            return std::make_unique<receiver_flowgraph>(
                received, backend, slots, which == 0);
        },
        [&](const auto& flowgraphs) {
            if (is_first) {
                std::printf("  %-24s %10s %10s\n", "a batch", "frames", "kernels, us");
                flowgraphs[0]->print_batches();
                flowgraphs[1]->print_batches();
            }
            is_first = false;
        });
    std::printf("%.4g M codewords/s in one block, %.4g block by block, ",
                1e-6 * median(found.rates[0]),
                1e-6 * median(found.rates[1]));
    print_gain(found.gains);
    record({ "Flowgraphs",
             "the receiver in four blocks, " + std::to_string(slots) + " slots a launch",
             1e-6 * median(found.rates[1]),
             "M codewords/s",
             {},
             { 1e-6 * median(found.rates[0]), "MIMO Receiver" } });
    return 0;
} catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
}
