/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include "bench/streams/benchmark_idle_ends.h"
#include "kernels/dvb/bb_checks.h"
#include <cstdio>
#include <ctime>
#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/cudaphy/bb_deframer.h>
#include <gnuradio/cudaphy/bch_decoder.h>
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <gnuradio/cudaphy/ldpc_decoder.h>
#include <gnuradio/cudaphy/runtime/block_statistics.h>
#include <gnuradio/logger.h>
#include <gnuradio/top_block.h>

// bench_dvb_streams [BACKEND...]
//
// What LDPC Decoder takes alone, and with BCH Decoder and Baseband Deframer behind it: a
// plain stream of int8 LLRs of DVB-S2's normal frames, QPSK half a decibel above the
// threshold, from a ring that is written once, to a null sink. GNU Radio has no block to
// compare with: its DVB blocks, gr-dtv, only transmit S2, and hold no BCH decoder. "a
// core": bits a second of processor time, of all threads.

using namespace gr::cudaphy;
using namespace gr::cudaphy::benchmarks;
using namespace gr::cudaphy::kernels;

namespace {

constexpr int frame = 64800;

//! LLRs of frames that carry the same whole transport packets, each with its own noise.
struct frames : content {
    frames(const char* rate, double eb_n0_db)
        : content(1, 1), inner(ldpc_code::dvbs2("normal", rate)),
          outer(bch_code::dvbs2("normal", rate))
    {
        const auto word = sent_word();
        constexpr int different = 128; // a multiple of a page, too
        const double sigma =
            std::sqrt(0.5 / inner->rate() / std::pow(10.0, eb_n0_db / 10));
        const auto steps = static_cast<float>(4 * 2 / (sigma * sigma));
        std::vector<int8_t> llrs(size_t{ different } * frame);
        std::minstd_rand engine(1);
        std::normal_distribution<float> noise(0, static_cast<float>(sigma));
        for (size_t i = 0; i < llrs.size(); ++i) {
            const float llr = ((word[i % frame] ? -1.0f : 1.0f) + noise(engine)) * steps;
            llrs[i] =
                static_cast<int8_t>(std::clamp(std::nearbyint(llr), -127.0f, 127.0f));
        }
        elements.resize(llrs.size() / sizeof(gr_complex));
        std::memcpy(static_cast<void*>(elements.data()), llrs.data(), llrs.size());
    }
    bool is_first_result(const void*) const override { return true; }

    const ldpc_code::sptr inner;
    const bch_code::sptr outer;

private:
    std::vector<uint8_t> sent_word() const
    {
        constexpr int transport = 188;
        const int bytes = outer->k() / 8, packets = (bytes - 10) / transport;
        std::mt19937 engine(1);
        std::vector<uint8_t> content(transport - 1);
        for (auto& byte : content) {
            byte = engine() >> 24;
        }
        const int bits = packets * transport * 8;
        std::vector<uint8_t> whole{ 0xf0,
                                    0,
                                    transport * 8 >> 8,
                                    transport * 8 & 255,
                                    static_cast<uint8_t>(bits >> 8),
                                    static_cast<uint8_t>(bits & 255),
                                    0x47,
                                    0,
                                    0 };
        whole.push_back(crc8(whole.data(), whole.size()));
        for (int p = 0; p < packets; ++p) {
            whole.push_back(crc8(content.data(), content.size())); // of the one before
            whole.insert(whole.end(), content.begin(), content.end());
        }
        whole.resize(bytes);
        std::vector<uint8_t> info;
        for (int i = 0; i < outer->k(); ++i) {
            info.push_back((whole[i / 8] ^ bb_scrambler()[i / 8]) >> (7 - i % 8) & 1);
        }
        std::vector<uint8_t> middle(outer->n()), word(frame);
        const auto here = queue::make(backend::cpu);
        kernels::bch_encoder::make(outer, {}, backend::cpu)->run(info, middle, *here);
        kernels::ldpc_encoder::make(inner, backend::cpu)->run(middle, word, *here);
        here->synchronize();
        return word;
    }
};

enum class row { decoder, outer, deframer };

void measure(const frames& received, row end, bool packed, backend where)
{
    ldpc_decoder_options decoding;
    decoding.type = "int8";
    decoding.packed = packed;
    ldpc_block_options inner_block;
    bch_block_options outer_block;
    inner_block.backend = outer_block.backend = name_of(where);
    const auto inner =
        gr::cudaphy::ldpc_decoder::make(received.inner, decoding, {}, inner_block);
    const auto outer = gr::cudaphy::bch_decoder::make(
        received.outer, { packed, packed }, {}, outer_block);
    const auto deframer =
        gr::cudaphy::bb_deframer::make(received.outer->k(), -1, true, packed, "");
    const auto source = gnuradio::make_block_sptr<endless_source>(received);
    source->set_min_output_buffer(20L * 128 * frame); // whole frames go round in it
    std::vector<gr::block_sptr> blocks{ inner };
    if (end != row::decoder) {
        blocks.push_back(outer);
    }
    if (end == row::deframer) {
        blocks.push_back(deframer);
    }
    const auto top = gr::make_top_block("dvb");
    gr::block_sptr last = source;
    for (const auto& block : blocks) {
        top->connect(last, 0, block, 0);
        last = block;
    }
    top->connect(last, 0, gr::blocks::null_sink::make(1), 0);
    top->start();
    if (source->detail()->output(0)->bufsize() % frame != 0) {
        throw std::runtime_error("no whole number of frames fits the source's ring");
    }
    const auto& counts = dynamic_cast<const counting_block&>(*blocks.back());
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const auto before = counts.statistics().frames;
    const auto begin = clock_type::now();
    const auto cpu_begin = std::clock();
    std::this_thread::sleep_for(std::chrono::seconds(2));
    const auto count = counts.statistics().frames - before;
    const double time = seconds(clock_type::now() - begin).count();
    const double cpu_time = double(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
    source->ends = true;
    top->wait();
    const auto seen = deframer->so_far();
    if (outer->frame_errors() || seen.bad_headers || seen.bad_packets > 1) {
        throw std::runtime_error("frames were not decoded");
    }
    const double bits = 1e-9 * double(count) * received.outer->k();
    const std::string what = end == row::decoder ? "LDPC decoder"
                             : end == row::outer ? "LDPC and BCH decoder"
                                                 : "LDPC and BCH decoder, deframer";
    std::printf("%-9s %-20s %-32s %-7s %8.3f Gb/s, %6.3f Gb/s a core, %4.1f iterations, "
                "%llu bits corrected\n",
                name_of(where).c_str(),
                received.inner->name().c_str(),
                what.c_str(),
                packed ? "packed" : "bytes",
                bits / time,
                bits / cpu_time,
                inner->average_iterations(),
                static_cast<unsigned long long>(outer->corrected_bits()));
    record({ "Flowgraphs",
             name_of(where) + ", " + received.inner->name() + ", " + what +
                 (packed ? ", packed" : ", bytes"),
             bits / time,
             "Gb/s" });
}

} // namespace

int main(int argc, char** argv)
try {
    const auto measured = measured_backends(argc, argv);
    gr::logging::singleton().set_default_level(gr::log_level::err);
    for (const auto& received : { frames("1/2", 1.5), frames("9/10", 4.4) }) {
        for (const auto where : measured) {
            for (const bool packed : { false, true }) {
                for (const auto end : { row::decoder, row::outer, row::deframer }) {
                    measure(received, end, packed, where);
                }
            }
        }
    }
    return 0;
} catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
}
