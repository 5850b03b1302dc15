/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include "bench/ldpc/bench_ldpc_words.h"
#include <cstdio>
#include <cstring>
#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/cudaphy/ldpc_decoder.h>
#include <gnuradio/cudaphy/runtime/block_statistics.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/logger.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <string>
#include <thread>

// bench_ldpc_packets [BACKEND...]
//
// The rate of LDPC Decoder if every packet changes the code (VCM, ACM), and if it changes
// after long rows. In the first case a packet of so many words of the first code comes,
// then one of the second, and so on. In rows, 1024 words of one code come, then 1024 of
// the next. int8 LLRs in, packed bits out, 20 iterations with early stop. The source
// copies packets into the stream; a null sink follows the decoder.

using namespace gr::cudaphy;
using gr::cudaphy::benchmarks::received_words;
using kernels::ldpc_code;

namespace {

struct family {
    const char* name;
    std::vector<ldpc_code::sptr> codes;
    std::vector<double> eb_n0_db;
};

std::vector<family> families()
{
    std::vector<family> made{ { "802.11n 1944 1/2 2/3 3/4 5/6", {}, { 2, 2.7, 3.2, 4 } },
                              { "DVB-S2 short 1/2 2/3 3/4 8/9", {}, { 2, 3, 3.5, 5 } } };
    for (const auto* rate : { "1/2", "2/3", "3/4", "5/6" }) {
        made[0].codes.push_back(ldpc_code::wifi(1944, rate));
    }
    for (const auto* rate : { "1/2", "2/3", "3/4", "8/9" }) {
        made[1].codes.push_back(ldpc_code::dvbs2("short", rate));
    }
    return made;
}

//! LLRs of one packet.
struct packet {
    int code;
    const int8_t* llr;
    size_t bytes;
};

//! Repeats the packets without end.
class packet_source : public gr::sync_block
{
public:
    explicit packet_source(std::vector<packet> packets)
        : gr::sync_block("packet_source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, 1)),
          d_packets(std::move(packets))
    {
    }
    int work(int room, gr_vector_const_void_star&, gr_vector_void_star& out) override
    {
        int made = 0;
        while (made < room) {
            const auto& one = d_packets[d_next];
            if (d_sent == 0) {
                const auto head = nitems_written(0) + made;
                add_item_tag(0, head, d_length, pmt::from_long(one.bytes));
                add_item_tag(0, head, d_code, pmt::from_long(one.code));
            }
            const int step = std::min<size_t>(room - made, one.bytes - d_sent);
            std::memcpy(static_cast<char*>(out[0]) + made, one.llr + d_sent, step);
            made += step;
            d_sent += step;
            if (d_sent == one.bytes) {
                d_sent = 0;
                d_next = (d_next + 1) % d_packets.size();
            }
        }
        return made;
    }

private:
    const std::vector<packet> d_packets;
    const pmt::pmt_t d_length = pmt::intern("packet_len"),
                     d_code = pmt::intern("ldpc_code");
    size_t d_next = 0, d_sent = 0;
};

void measure(const family& of,
             const std::vector<received_words>& words,
             int words_a_packet,
             int packets_in_a_row,
             backend where)
{
    std::vector<packet> packets;
    double bits = 0; // information bits of a word, on average
    for (size_t c = 0; c < of.codes.size(); ++c) {
        bits += of.codes[c]->k() / double(of.codes.size());
        for (int p = 0; p < packets_in_a_row; ++p) {
            packets.push_back({ static_cast<int>(c),
                                words[c].int8.data(),
                                size_t(words_a_packet) * of.codes[c]->n() });
        }
    }
    ldpc_decoder_options decoding;
    decoding.type = "int8";
    decoding.packed = true;
    ldpc_block_options how;
    how.backend = name_of(where);
    how.length_tag_key = "packet_len";
    for (size_t c = 1; c < of.codes.size(); ++c) {
        how.codes.emplace_back(of.codes[c]->name(), of.codes[c]);
    }
    const auto top = gr::make_top_block("packets");
    const auto source = gnuradio::make_block_sptr<packet_source>(packets);
    const auto decoder = ldpc_decoder::make(of.codes[0], decoding, {}, how);
    top->connect(source, 0, decoder, 0);
    top->connect(decoder, 0, gr::blocks::null_sink::make(1), 0);
    using clock = std::chrono::steady_clock;
    const auto& counts = dynamic_cast<const counting_block&>(*decoder);
    top->start();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const auto before = counts.statistics();
    const auto begin = clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    const auto after = counts.statistics();
    const std::chrono::duration<double> time = clock::now() - begin;
    top->stop();
    top->wait();
    const double frames = after.frames - before.frames;
    std::printf("%-9s %-30s %4d words a packet, %4d packets in a row: %9.0f words/s, "
                "%8.4f Gb/s, %6.1f words a batch, %4.1f iterations, %llu failed\n",
                name_of(where).c_str(),
                of.name,
                words_a_packet,
                packets_in_a_row,
                frames / time.count(),
                frames * bits / time.count() / 1e9,
                frames / std::max<double>(1, after.batches - before.batches),
                decoder->average_iterations(),
                static_cast<unsigned long long>(decoder->frame_errors()));
    benchmarks::record({ "Flowgraphs",
                         name_of(where) + ", " + of.name + ", " +
                             std::to_string(words_a_packet * packets_in_a_row) +
                             " words of a code in a row, " +
                             std::to_string(words_a_packet) + " a packet",
                         1e-3 * frames / time.count(),
                         "thousand words/s" });
}

} // namespace

int main(int argc, char** argv)
{
    const auto measured = benchmarks::measured_backends(argc, argv);
    gr::logging::singleton().set_default_level(gr::log_level::warn);
    for (const auto& one : families()) {
        std::vector<received_words> words;
        for (size_t c = 0; c < one.codes.size(); ++c) {
            words.emplace_back(one.codes[c], 64, one.eb_n0_db[c], 4, true);
        }
        for (const auto where : measured) {
            for (const int words_a_packet : { 1, 4, 32 }) {
                measure(one, words, words_a_packet, 1, where);
            }
            measure(one, words, 32, 32, where);
        }
    }
}
