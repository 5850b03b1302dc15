/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/benchmark.h"
#include "kernels/ldpc/ldpc_testing.h"
#include <cstdio>
#include <numeric>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

struct bench_case {
    ldpc_code::sptr code;
    double eb_n0; //!< at which a word in a thousand or so fails
    int iterations;
};

//! An edge takes about eight instructions of a lane: load, subtract, magnitude, two
//! minima and a maximum, add, store.
constexpr double instructions_an_edge = 8;

//! Lane instructions a second, 0 where unknown.
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

size_t batch_for(backend where, const ldpc_code& code)
{
    const size_t bits = where == backend::cuda  ? size_t{ 64 } << 20
                        : where == backend::cpu ? size_t{ 1 } << 21
                                                : 1;
    const size_t words = std::max<size_t>(1, bits / code.n());
    return where == backend::reference ? words : (words + 31) / 32 * 32;
}

class measured_decoder
{
public:
    measured_decoder(queue& q, const bench_case& what, bool early_stop, size_t words)
        : d_queue(q), d_words(words), d_llr(q, view<const float>(llrs(what, words))),
          d_bits(q, words * what.code->k()), d_iterations(q, words), d_ok(q, words)
    {
        ldpc_decoder::parameters p;
        p.max_iterations = what.iterations;
        p.early_stop = early_stop;
        d_decoder = ldpc_decoder::make(what.code, p, q.where(), q.device());
    }

    double seconds()
    {
        return benchmarks::seconds_per_call(d_queue, [this] { run(); });
    }
    //! Waiting for each call.
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

private:
    static std::vector<float> llrs(const bench_case& what, size_t words)
    {
        // 64 different words, over and over
        std::mt19937 random(1);
        const size_t different = std::min<size_t>(words, 64);
        const auto sent = testing::random_codewords(what.code, different, random);
        auto out = testing::received_llrs(sent, what.code->rate(), what.eb_n0, random);
        const size_t period = out.size();
        out.resize(words * what.code->n());
        for (size_t i = period; i < out.size(); ++i) {
            out[i] = out[i - period];
        }
        return out;
    }
    void run() { d_decoder->run(d_llr, d_bits, d_iterations, d_ok, d_queue); }

    queue& d_queue;
    size_t d_words;
    array<float> d_llr;
    array<uint8_t> d_bits;
    array<int> d_iterations, d_ok;
    std::unique_ptr<ldpc_decoder> d_decoder;
};

void measure(queue& q, const bench_case& what, double bandwidth)
{
    const auto& code = *what.code;
    const double alone = measured_decoder(q, what, false, 1).latency();
    for (const bool early_stop : { false, true }) {
        const size_t words = batch_for(q.where(), code);
        measured_decoder decoder(q, what, early_stop, words);
        const double seconds = decoder.seconds();
        const double iterations = decoder.mean_iterations();
        const double edges = double(words) * code.edges() * iterations;
        const double bytes_bound = words * (4.0 * code.n() + code.k() + 8) / bandwidth;
        const double rate = instruction_rate(q);
        const double bound =
            rate > 0 ? std::max(bytes_bound, edges * instructions_an_edge / rate)
                     : bytes_bound;
        std::printf(
            "%-9s %-18s %-5s %5.1f %6zu %10.1f %9.3f %9.2f %10.1f %7.2f %% %10.1f\n",
            name_of(q.where()).c_str(),
            code.name().c_str(),
            early_stop ? "early" : "all",
            iterations,
            words,
            1e6 * seconds,
            1e-9 * words * code.k() / seconds,
            1e-9 * edges / seconds,
            1e6 * bound,
            100 * bound / seconds,
            1e6 * alone);
    }
}

} // namespace

int main(int argc, char** argv)
{
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf(
        "Layered min-sum, %g instructions an edge and iteration. bound: the greater\n"
        "of these at the machine's rate (where it is known) and of 4 bytes a bit\n"
        "in, 1 an information bit out, at the bandwidth of a copy.\n"
        "one: a single codeword, all iterations, from call to result.\n",
        instructions_an_edge);
    std::printf("%-9s %-18s %-5s %5s %6s %10s %9s %9s %10s %9s %10s\n",
                "backend",
                "code",
                "stop",
                "iter.",
                "words",
                "us",
                "Gbit/s",
                "Gedges/s",
                "bound us",
                "of bound",
                "one, us");
    const bench_case cases[] = { { ldpc_code::wifi(1944, "1/2"), 2.0, 10 },
                                 { ldpc_code::wifi(1944, "5/6"), 4.0, 10 },
                                 { ldpc_code::dvbs2("normal", "1/2"), 1.3, 20 },
                                 { ldpc_code::dvbs2("short", "8/9"), 4.2, 20 } };
    for (const backend where : measured) {
        const auto q = queue::make(where);
        const double bandwidth = benchmarks::copy_bandwidth(*q);
        std::printf(
            "%s: a copy moves %.1f GB/s\n", name_of(where).c_str(), 1e-9 * bandwidth);
        for (const auto& what : cases) {
            measure(*q, what, bandwidth);
        }
    }
}
