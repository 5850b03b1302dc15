/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include <chrono>
#include <cstdio>
#include <future>
#include <gnuradio/cudaphy/kernels/ldpc_mixed_decoder.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point start)
{
    return std::chrono::duration<double>(clock_type::now() - start).count();
}

//! As DVB-S2 Receiver decodes.
ldpc_decoder::parameters receiving()
{
    ldpc_decoder::parameters p;
    p.max_iterations = 50;
    p.llr = ldpc_decoder::number::int8;
    p.llr_scale = 1 / 12.f;
    p.packed = true;
    return p;
}

struct code_set {
    const char* name;
    std::vector<ldpc_code::sptr> codes;
};

std::vector<code_set> sets()
{
    std::vector<code_set> all{ { "DVB-S2 short", {} },
                               { "DVB-S2", {} },
                               { "DVB-S2X normal, 12", {} } };
    for (const char* rate :
         { "1/4", "1/3", "2/5", "1/2", "3/5", "2/3", "3/4", "4/5", "5/6", "8/9" }) {
        all[0].codes.push_back(ldpc_code::dvbs2("short", rate));
        all[1].codes.push_back(ldpc_code::dvbs2("short", rate));
        all[1].codes.push_back(ldpc_code::dvbs2("normal", rate));
    }
    all[1].codes.push_back(ldpc_code::dvbs2("normal", "9/10"));
    for (const char* rate : { "13/45",
                              "9/20",
                              "90/180",
                              "11/20",
                              "104/180",
                              "26/45",
                              "28/45",
                              "23/36",
                              "25/36",
                              "13/18",
                              "7/9",
                              "154/180" }) {
        all[2].codes.push_back(ldpc_code::dvbs2x("normal", rate));
    }
    return all;
}

//! A decoder that decodes one word over and over, as in a flowgraph that runs already.
class running_decoder
{
public:
    explicit running_decoder(queue& q)
        : d_queue(q), d_code(ldpc_code::wifi(1944, "1/2")), d_llr(q, d_code->n()),
          d_bits(q, (d_code->k() + 7) / 8), d_iterations(q, 1), d_ok(q, 1),
          d_decoder(ldpc_decoder::make(d_code, receiving(), q.where(), q.device()))
    {
        const std::vector<int8_t> steps(d_code->n(), 24);
        q.copy_in(d_llr.data(), steps.data(), steps.size());
        d_decoder->prepare();
        seconds_of_a_word();
    }
    double seconds_of_a_word()
    {
        const auto start = clock_type::now();
        d_decoder->run(view<const int8_t>(d_llr.data(), d_llr.size()),
                       { d_bits, d_iterations, d_ok },
                       d_queue);
        d_queue.synchronize();
        return seconds_since(start);
    }

private:
    queue& d_queue;
    const ldpc_code::sptr d_code;
    array<int8_t> d_llr;
    array<uint8_t> d_bits;
    array<int> d_iterations, d_ok;
    std::unique_ptr<ldpc_decoder> d_decoder;
};

void measure(queue& q, const code_set& what)
{
    running_decoder running(q);
    const auto make = [&] {
        return ldpc_mixed_decoder::make(what.codes, receiving(), q.where(), q.device());
    };
    const auto start = clock_type::now();
    const auto first = make();
    const double made = seconds_since(start);
    const auto restart = clock_type::now();
    const auto second = make();
    const double made_again = seconds_since(restart);
    auto prepared = std::async(std::launch::async, [&] { first->prepare(); });
    double longest = 0;
    do {
        longest = std::max(longest, running.seconds_of_a_word());
    } while (prepared.wait_for(std::chrono::seconds(0)) != std::future_status::ready);
    prepared.get();
    const double all_prepared = seconds_since(start);
    std::printf("%-9s %-20s %6zu %9.3f %9.3f %12.3f %14.2f\n",
                name_of(q.where()).c_str(),
                what.name,
                what.codes.size(),
                made,
                made_again,
                all_prepared,
                1e3 * longest);
    const auto name = name_of(q.where()) + ", " + what.name;
    benchmarks::record({ "LDPC decoder's start", name + ", made", made, "s" });
    benchmarks::record(
        { "LDPC decoder's start", name + ", prepared", all_prepared, "s" });
}

} // namespace

int main(int argc, char** argv)
{
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf(
        "Making decoders of several codes. made: make(). again: a second one beside it.\n"
        "prepared: from make() until all programs are translated, by all threads.\n"
        "longest: meanwhile, another decoder's call for one word, waited for.\n"
        "The driver keeps programs on disk: CUDA_CACHE_DISABLE=1 shows the first "
        "time.\n");
    std::printf("%-9s %-20s %6s %9s %9s %12s %14s\n",
                "backend",
                "codes",
                "number",
                "made s",
                "again s",
                "prepared s",
                "longest ms");
    const auto all = sets();
    for (const backend where : measured) {
        auto q = queue::make(where);
        for (const auto& what : all) {
            measure(*q, what);
        }
    }
}
