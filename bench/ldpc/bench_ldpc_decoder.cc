/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include "bench/ldpc/bench_ldpc_cases.h"
#include "bench/ldpc/bench_ldpc_words.h"
#include <cstdio>
#include <gnuradio/cudaphy/kernels/ldpc_mixed_decoder.h>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tbb/global_control.h>
#ifdef CUDAPHY_HAVE_CUDA
#include "bench/ldpc/bench_ldpc_cuda.h"
#include "bench/linalg/bench_inverse_cuda.h"
#endif

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using benchmarks::bench_case, benchmarks::cases, benchmarks::received_words;

namespace {

//! "floats" are decoded in int8, the default.
enum class form { int8, floats, float32 };
const std::vector<form> all_forms{ form::int8, form::floats, form::float32 };
const char* name_of(form how)
{
    return how == form::int8 ? "int8" : how == form::floats ? "floats" : "float32";
}

//! The least number of lane instructions for an edge. In float32: load, subtract,
//! magnitude, two minima and a maximum, add, store. In int8: half of four, because a lane
//! takes the edges of two codewords.
double instructions_an_edge(form how) { return how == form::float32 ? 8 : 2; }

//! Lane instructions a second; 0: unknown.
double instruction_rate(queue& q)
{
    if (q.where() == backend::cuda) {
        for (const auto& device : devices()) {
            if (device.index == q.device() &&
                device.name.find("H200") != std::string::npos) {
                return 132 * 128 * 1.98e9; // multiprocessors, lanes, clock
            }
        }
    }
    return 0;
}

//! Codewords of a batch: on CUDA multiples of 2112, which is 16 for each multiprocessor
//! of an H200.
size_t batch_for(backend where, const ldpc_code& code)
{
    if (where == backend::cuda) {
        const double turns = double(size_t{ 1 } << 26) / (2112.0 * code.n());
        return 2112 * std::max<size_t>(1, static_cast<size_t>(turns + 0.5));
    }
    if (where == backend::reference) {
        return 1;
    }
    const size_t words = std::max<size_t>(1, (size_t{ 1 } << 21) / code.n());
    return (words + 127) / 128 * 128;
}

class measured_decoder
{
public:
    measured_decoder(
        queue& q, const bench_case& what, bool early_stop, form how, size_t words)
        : d_queue(q), d_code(*what.code), d_int8(how == form::int8), d_words(words),
          d_received(what.code,
                     words,
                     early_stop ? what.early_eb_n0 : what.eb_n0,
                     what.steps,
                     how == form::int8),
          d_bits(q, words * bytes_a_word()), d_iterations(q, words), d_ok(q, words)
    {
        d_decoder = ldpc_decoder::make(what.code,
                                       parameters(what.iterations, early_stop, how),
                                       q.where(),
                                       q.device());
        if (d_int8) {
            d_int8_llr = array<int8_t>(q, view<const int8_t>(d_received.int8));
        } else {
            d_float_llr = array<float>(q, view<const float>(d_received.floats));
        }
    }

    static ldpc_decoder::parameters parameters(int iterations, bool early_stop, form how)
    {
        ldpc_decoder::parameters p;
        p.max_iterations = iterations;
        p.early_stop = early_stop;
        p.packed = true;
        p.llr = how == form::int8 ? ldpc_decoder::number::int8
                                  : ldpc_decoder::number::float32;
        if (how == form::float32) {
            p.calculation = ldpc_decoder::arithmetic::float32;
        }
        return p;
    }

    void run()
    {
        const auto all = part(0);
        d_decoder->run(all.llr, all.out, d_queue);
    }
    //! The words as a part of a batch of several codes.
    ldpc_mixed_decoder::part part(int number)
    {
        const size_t llrs = d_words * d_code.n();
        return { number,
                 d_int8 ? ldpc_decoder::received{ d_int8_llr.data(),
                                                  llrs,
                                                  ldpc_decoder::number::int8 }
                        : ldpc_decoder::received{ d_float_llr.data(),
                                                  llrs,
                                                  ldpc_decoder::number::float32 },
                 { d_bits, d_iterations, d_ok } };
    }
    //! From the host's LLRs to the host's bits.
    void run_with_copies(std::vector<uint8_t>& bits)
    {
        d_queue.copy_in(d_int8 ? static_cast<void*>(d_int8_llr.data())
                               : d_float_llr.data(),
                        llr_data(),
                        llr_bytes());
        run();
        d_queue.copy_out(bits.data(), d_bits.data(), bits.size());
    }

    double seconds()
    {
        return benchmarks::seconds_per_call(d_queue, [this] { run(); });
    }
    //! Waits for each call.
    double latency()
    {
        return benchmarks::seconds_per_call(d_queue, [this] {
            run();
            d_queue.synchronize();
        });
    }

    double mean_iterations() const
    {
        const auto counts = d_iterations.to_host();
        return std::accumulate(counts.begin(), counts.end(), 0.0) / d_words;
    }
    double block_error_rate() const
    {
        return double(d_received.wrong(d_bits.to_host())) / d_words;
    }
    size_t bytes_a_word() const { return (d_code.k() + 7) / 8; }
    size_t llr_bytes() const
    {
        return d_words * d_code.n() * (d_int8 ? sizeof(int8_t) : sizeof(float));
    }
    void* llr_data()
    {
        return d_int8 ? static_cast<void*>(d_received.int8.data())
                      : d_received.floats.data();
    }
    //! Bytes read and written in the queue's memory, with two integers for each word.
    double bytes() const { return llr_bytes() + d_words * (bytes_a_word() + 8.0); }

private:
    queue& d_queue;
    const ldpc_code& d_code;
    bool d_int8;
    size_t d_words;
    received_words d_received;
    array<int8_t> d_int8_llr;
    array<float> d_float_llr;
    array<uint8_t> d_bits;
    array<int> d_iterations, d_ok;
    std::unique_ptr<ldpc_decoder> d_decoder;
};

const char* or_dash(const char* text) { return text ? text : "-"; }

//! Where a backend does not offer it, the line says why.
template <typename Measure>
void line(const bench_case& what, form how, const Measure& measure)
{
    std::printf("%-28s %-7s ", what.code->name().c_str(), name_of(how));
    try {
        measure();
    } catch (const std::exception& problem) {
        std::printf("%s\n", problem.what());
    }
}

void throughput(queue& q,
                const bench_case& what,
                bool early,
                form how,
                double bandwidth,
                const char* cores)
{
    line(what, how, [&] {
        const size_t words = batch_for(q.where(), *what.code);
        measured_decoder decoder(q, what, early, how, words);
        const double seconds = decoder.seconds();
        const double iterations = decoder.mean_iterations();
        const double edges = double(words) * what.code->edges() * iterations;
        const double rate = instruction_rate(q);
        const double arithmetic = rate > 0 ? edges * instructions_an_edge(how) / rate : 0;
        const double bound = std::max(decoder.bytes() / bandwidth, arithmetic);
        std::printf(
            "%5.1f %6zu %10.1f %9.3f %8.1f %9.1f %6.1f %% %6.2f %8.1e  %s\n",
            iterations,
            words,
            1e6 * seconds,
            1e-9 * words * what.code->k() / seconds,
            1e-9 * edges / seconds,
            1e6 * bound,
            100 * bound / seconds,
            early ? what.early_eb_n0 : what.eb_n0,
            decoder.block_error_rate(),
            or_dash(q.where() == backend::cuda ? what.others.cuda : what.others.cpu));
        const double information = 1e-9 * words * what.code->k();
        benchmarks::record({ "LDPC decoder",
                             name_of(q.where()) + cores + ", " + what.code->name() +
                                 ", " + name_of(how) +
                                 (early ? ", early stop" : ", all iterations"),
                             information / seconds,
                             "Gb/s",
                             { information / bound,
                               arithmetic * bandwidth > decoder.bytes()
                                   ? "instructions of the edges"
                                   : "bytes at a copy's bandwidth" } });
    });
}

void throughputs(queue& q,
                 const std::vector<bench_case>& codes,
                 const std::vector<form>& forms,
                 bool early,
                 double bandwidth,
                 const char* cores)
{
    std::printf("\n%s, %s%s\n%-28s %-7s %5s %6s %10s %9s %8s %9s %8s %6s %8s  %s\n",
                name_of(q.where()).c_str(),
                early ? "stopping early where a word in a hundred fails"
                      : "all iterations",
                cores,
                "code",
                "LLRs",
                "iter.",
                "words",
                "us",
                "Gbit/s",
                "Gedges/s",
                "bound us",
                "of bound",
                "Eb/N0",
                "BLER",
                "peers, all iterations");
    for (const auto& what : codes) {
        for (const form how : forms) {
            throughput(q, what, early, how, bandwidth, cores);
        }
    }
}

//! One codeword, all iterations.
void latencies(queue& q)
{
    std::printf(
        "\n%s, one codeword alone, all iterations, us\n%-28s %-7s %12s %12s  %s\n",
        name_of(q.where()).c_str(),
        "code",
        "LLRs",
        "with wait",
        "in a graph",
        "peers");
    for (const auto& what : cases()) {
        for (const form how : all_forms) {
            line(what, how, [&] {
                measured_decoder decoder(q, what, false, how, 1);
                const double waited = decoder.latency();
                std::printf("%12.1f ", 1e6 * waited);
                const auto alone = name_of(q.where()) + ", " + what.code->name() + ", " +
                                   name_of(how) + ", one codeword";
                benchmarks::record(
                    { "LDPC decoder", alone + " with the wait", 1e6 * waited, "us" });
#ifdef CUDAPHY_HAVE_CUDA
                if (q.where() == backend::cuda) {
                    const double within =
                        benchmarks::seconds_within_graph(q, [&] { decoder.run(); });
                    std::printf(
                        "%12.1f  %s\n", 1e6 * within, or_dash(what.others.cuda_alone));
                    benchmarks::record(
                        { "LDPC decoder", alone + " in a graph", 1e6 * within, "us" });
                    return;
                }
#endif
                std::printf("%12s  %s\n", "-", or_dash(what.others.cpu_alone));
            });
        }
    }
}

struct mixed_case {
    const char* name;
    std::vector<ldpc_code::sptr> codes;
    std::vector<double>
        eb_n0; //!< dB, at least 0.1 above the point where a word in a hundred fails
};

//! Batches of several codes with early stop in int8: code by code, and in one call.
void mixtures(queue& q)
{
    std::vector<mixed_case> all{
        { "802.11n 1944 1/2 2/3 3/4 5/6", {}, { 2, 2.8, 3.2, 4 } },
        { "BG1 Z384 46 24 12 4 rows", {}, { 1.1, 1.6, 2.5, 4.3 } },
        { "DVB-S2 short 1/2 3/5 3/4 8/9", {}, { 1.5, 2, 3, 4 } },
    };
    for (const char* rate : { "1/2", "2/3", "3/4", "5/6" }) {
        all[0].codes.push_back(ldpc_code::wifi(1944, rate));
    }
    for (const int rows : { 46, 24, 12, 4 }) {
        all[1].codes.push_back(ldpc_code::nr5g(1, 384, rows));
    }
    for (const char* rate : { "1/2", "3/5", "3/4", "8/9" }) {
        all[2].codes.push_back(ldpc_code::dvbs2("short", rate));
    }
    std::printf("\n%s, batches of four codes, int8, stopping early, us a batch\n"
                "%-30s %10s %12s %10s %9s %10s %10s\n",
                name_of(q.where()).c_str(),
                "codes",
                "words each",
                "one by one",
                "with wait",
                "together",
                "with wait",
                "launches");
    for (const auto& what : all) {
        const auto p = measured_decoder::parameters(10, true, form::int8);
        const auto mixed = ldpc_mixed_decoder::make(what.codes, p, q.where(), q.device());
        mixed->prepare();
        for (const size_t words : { 1, 16, 256 }) {
            std::vector<std::unique_ptr<measured_decoder>> each;
            std::vector<ldpc_mixed_decoder::part> parts;
            std::vector<int> numbers;
            for (size_t c = 0; c < what.codes.size(); ++c) {
                const bench_case one{ what.codes[c], 10, 0, what.eb_n0[c], 8, {} };
                each.push_back(
                    std::make_unique<measured_decoder>(q, one, true, form::int8, words));
                numbers.push_back(static_cast<int>(c));
                parts.push_back(each.back()->part(numbers.back()));
            }
            const auto one_by_one = [&] {
                for (const auto& one : each) {
                    one->run();
                }
            };
            const auto together = [&] { mixed->run(parts, q); };
            const auto us = [&](const auto& run, bool waits) {
                return 1e6 * benchmarks::seconds_per_call(q, [&] {
                           run();
                           if (waits) {
                               q.synchronize();
                           }
                       });
            };
            const double apart = us(one_by_one, false),
                         apart_waited = us(one_by_one, true);
            const double joint = us(together, false), joint_waited = us(together, true);
            std::printf("%-30s %10zu %12.1f %10.1f %9.1f %10.1f %10d\n",
                        what.name,
                        words,
                        apart,
                        apart_waited,
                        joint,
                        joint_waited,
                        mixed->launches(numbers));
            benchmarks::record({ "LDPC decoder",
                                 name_of(q.where()) + ", " + what.name + ", " +
                                     std::to_string(words) + " words of each",
                                 joint,
                                 "us",
                                 {},
                                 { apart, "a launch for each code" } });
        }
    }
}

#ifdef CUDAPHY_HAVE_CUDA
//! Page-locked host memory to the same, three batches under way.
void host_to_host(int device)
{
    std::printf("\ncuda, host to host, page-locked memory, three batches under way, all "
                "iterations\n%-28s %-7s %6s %10s %9s %10s\n",
                "code",
                "LLRs",
                "words",
                "us",
                "Gbit/s",
                "GB/s in");
    struct lane {
        lane(const bench_case& what, form how, size_t words, int device)
            : q(queue::make(backend::cuda, device)), decoder(*q, what, false, how, words),
              bits(words * decoder.bytes_a_word()),
              llr_lock(decoder.llr_data(), decoder.llr_bytes()),
              bits_lock(bits.data(), bits.size())
        {
        }
        std::unique_ptr<queue> q;
        measured_decoder decoder;
        std::vector<uint8_t> bits;
        benchmarks::page_locked llr_lock, bits_lock;
    };
    for (const auto& what : cases()) {
        for (const form how : all_forms) {
            line(what, how, [&] {
                const size_t words = 2112;
                std::vector<std::unique_ptr<lane>> lanes;
                for (int i = 0; i < 3; ++i) {
                    lanes.push_back(std::make_unique<lane>(what, how, words, device));
                }
                size_t turn = 0;
                const auto next = [&] {
                    auto& one = *lanes[turn++ % lanes.size()];
                    one.q->synchronize(); // its last batch is out
                    one.decoder.run_with_copies(one.bits);
                };
                for (int i = 0; i < 6; ++i) {
                    next();
                }
                const int calls = 60;
                const auto start = std::chrono::steady_clock::now();
                for (int i = 0; i < calls; ++i) {
                    next();
                }
                for (auto& one : lanes) {
                    one->q->synchronize();
                }
                const std::chrono::duration<double> took =
                    std::chrono::steady_clock::now() - start;
                const double seconds = took.count() / calls;
                std::printf("%6zu %10.1f %9.3f %10.1f\n",
                            words,
                            1e6 * seconds,
                            1e-9 * words * what.code->k() / seconds,
                            1e-9 * lanes[0]->decoder.llr_bytes() / seconds);
                benchmarks::record({ "LDPC decoder",
                                     "cuda, " + what.code->name() + ", " + name_of(how) +
                                         ", host to host",
                                     1e-9 * words * what.code->k() / seconds,
                                     "Gb/s" });
            });
        }
    }
}
#endif

void measure(backend where, const std::set<std::string>& sections)
{
    const auto q = queue::make(where);
    const double bandwidth = benchmarks::copy_bandwidth(*q);
    std::printf("\n%s: %s; a copy moves %.1f GB/s\n",
                name_of(where).c_str(),
                resolve(where).reason.c_str(),
                1e-9 * bandwidth);
    const auto asked = [&](const char* section) {
        return sections.empty() || sections.count(section) > 0;
    };
    const char* const cores = where == backend::cpu ? ", all cores" : "";
    for (const bool early : { false, true }) {
        if (asked(early ? "early" : "standard")) {
            if (where == backend::cpu) {
                const tbb::global_control one(
                    tbb::global_control::max_allowed_parallelism, 1);
                throughputs(*q,
                            cases(),
                            all_forms,
                            early,
                            benchmarks::copy_bandwidth(*q),
                            ", one core");
            }
            throughputs(*q, cases(), all_forms, early, bandwidth, cores);
        }
        if (asked("dvb")) {
            throughputs(
                *q, benchmarks::dvb_cases(), { form::int8 }, early, bandwidth, cores);
        }
    }
    if (asked("alone")) {
        latencies(*q);
    }
    if (asked("mixed")) {
        mixtures(*q);
    }
#ifdef CUDAPHY_HAVE_CUDA
    if (asked("host") && where == backend::cuda) {
        host_to_host(q->device());
    }
#endif
}

} // namespace

int main(int argc, char** argv)
{
    const std::set<std::string> known{ "standard", "early", "alone",
                                       "mixed",    "host",  "dvb" };
    std::set<std::string> sections;
    std::vector<char*> rest{ argv[0] };
    for (int i = 1; i < argc; ++i) {
        if (known.count(argv[i])) {
            sections.insert(argv[i]);
        } else {
            rest.push_back(argv[i]);
        }
    }
    std::vector<backend> measured;
    try {
        measured =
            benchmarks::measured_backends(static_cast<int>(rest.size()), rest.data());
    } catch (const std::exception& problem) {
        std::fprintf(
            stderr,
            "usage: bench_ldpc_decoder [cuda] [cpu] [reference] [standard] [early] "
            "[alone] [mixed] [host] [dvb]\n%s\n",
            problem.what());
        return 2;
    }
    std::printf(
        "Layered normalised min-sum. bound: the greater of %g (int8) or %g\n"
        "(float32) instructions an edge and iteration at the machine's rate, if\n"
        "it is known, and of the LLRs in, packed bits and two numbers a word out at a\n"
        "copy's bandwidth. BLER is of the timed words.\n",
        instructions_an_edge(form::int8),
        instructions_an_edge(form::float32));
    benchmarks::print_peers();
    for (const backend where : measured) {
        measure(where, sections);
    }
}
