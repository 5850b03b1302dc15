/* SPDX-License-Identifier: GPL-3.0-or-later */
// A cell: 1200 tones and 14 symbols a millisecond, 4 layers at 4 antennas, 64-QAM, 5G's
// LDPC code of rate 1/2, DM-RS in 2 symbols. The receiver beside its own kernels called
// one by one, from memory of the queue.
#include "bench/benchmark.h"
#include "kernels/receiver/mimo_receiver_testing.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <tbb/global_control.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

constexpr double slot_seconds = 1e-3;

//! Whether to count the time that the program spent on a core, not the time that passed:
//! the speed of one core, whatever else the machine does.
bool by_core_time = false;

double now()
{
    timespec time;
    clock_gettime(by_core_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

//! Seconds of one call: on a GPU, where many are queued; else the shortest of many.
template <typename Run>
double seconds_of(queue& q, const Run& run)
{
    if (q.where() == backend::cuda) {
        return benchmarks::seconds_per_call(q, run);
    }
    double best = 1e9, all = 0;
    for (int call = 0; call < 3 || (call < 400 && all < 2); ++call) {
        const double start = now();
        run();
        const double taken = now() - start;
        best = std::min(best, taken);
        all += taken;
    }
    return best;
}

testing::receiver::parameters cell()
{
    nr_dmrs pilots;
    pilots.ports = 4;
    pilots.resource_blocks = 100;
    pilots.symbols = { 2, 11 };
    auto p = testing::receiver_of(
        nr_dmrs_pilots(pilots), 4, 14, { 2, 11 }, "qam64", ldpc_code::nr5g(1, 384, 24));
    p.decoding.llr = ldpc_decoder::number::int8;
    p.decoding.max_iterations = 10;
    p.decoding.packed = true;
    return p;
}

//! The arrays of both ways, for some slots.
class measurement
{
public:
    measurement(queue& q,
                const testing::receiver::parameters& p,
                const std::vector<complex64>& received,
                size_t slots)
        : d_q(q), d_p(p), d_slots(slots),
          d_plan(mimo_receiver::make(p, q.where(), q.device())), d_s(d_plan->slot()),
          d_received(q, view<const complex64>(received.data(), slots * d_s.received)),
          d_workspace(q, d_plan->workspace_bytes(slots)),
          d_bits(q, slots * d_s.words * d_s.word_bytes),
          d_iterations(q, slots * d_s.words), d_ok(q, slots * d_s.words),
          d_status(q, slots)
    {
    }

    double receiver()
    {
        return seconds_of(d_q, [&] { run(); });
    }

    //! The share of failed codewords, and their mean number of iterations.
    std::pair<double, double> errors()
    {
        run();
        double failed = 0, iterations = 0;
        for (const int ok : d_ok.to_host()) {
            failed += !ok;
        }
        for (const int each : d_iterations.to_host()) {
            iterations += each;
        }
        return { failed / d_ok.size(), iterations / d_ok.size() };
    }

    //! Seconds of each kernel by itself, and of all of them one after the other, with
    //! pilots and data already apart: all but the receiver's own copies.
    std::pair<std::vector<double>, double>
    kernels_alone(const std::vector<complex64>& received)
    {
        const size_t row = size_t(d_p.pilots.tones) * d_p.pilots.receive_antennas;
        std::vector<complex64> pilots, data;
        for (size_t i = 0; i < d_slots * d_p.symbols; ++i) {
            const auto& at = d_p.pilot_symbols;
            const bool pilot =
                std::find(at.begin(), at.end(), int(i % d_p.symbols)) != at.end();
            auto& to = pilot ? pilots : data;
            to.insert(to.end(), &received[i * row], &received[i * row] + row);
        }
        const array<complex64> p(d_q, view<const complex64>(pilots));
        const array<complex64> y(d_q, view<const complex64>(data));
        array<complex64> h(d_q, d_slots * d_s.channel), x(d_q, d_slots * d_s.layers);
        array<float> n0(d_q, d_slots), noise(d_q, d_slots * d_s.layers);
        array<int> tones(d_q, d_slots * d_p.pilots.tones);
        array<int8_t> llr(d_q, d_slots * d_s.layers * d_p.points.bits);
        array<int8_t> words(d_q, d_slots * d_s.soft_bits);
        const auto estimator =
            channel_estimator::make(d_p.pilots, d_q.where(), d_q.device());
        const auto separator =
            equalizer::make({ d_p.pilots.receive_antennas,
                              d_p.pilots.layers,
                              d_p.method,
                              true,
                              d_p.symbols - int(d_p.pilot_symbols.size()),
                              d_p.pilots.tones },
                            d_q.where(),
                            d_q.device());
        const auto demapper = soft_demapper::make(
            { d_p.points, true, 0, d_plan->llr_steps() }, d_q.where(), d_q.device());
        const auto decoder =
            ldpc_decoder::make(d_p.code, d_p.decoding, d_q.where(), d_q.device());
        const auto estimate = [&] { estimator->run(p, h, n0, d_status, d_q); };
        const auto separate = [&] { separator->run(y, h, n0, x, noise, tones, d_q); };
        const auto demap = [&] { demapper->run(x, noise, llr, d_q); };
        const auto decode = [&] {
            decoder->run(words, { d_bits, d_iterations, d_ok }, d_q);
        };
        estimate();
        separate();
        demap();
        // Drops the bits behind each slot's codewords, once and not timed.
        const auto demapped = llr.to_host();
        std::vector<int8_t> kept;
        for (size_t slot = 0; slot < d_slots; ++slot) {
            const auto* const from = &demapped[slot * d_s.layers * d_p.points.bits];
            kept.insert(kept.end(), from, from + d_s.soft_bits);
        }
        d_q.copy_in(words.data(), kept.data(), kept.size());
        d_q.synchronize();
        const auto seconds = [&](const auto& each) { return seconds_of(d_q, each); };
        const std::vector<double> alone{
            seconds(estimate), seconds(separate), seconds(demap), seconds(decode)
        };
        return { alone, seconds([&] {
                     estimate();
                     separate();
                     demap();
                     decode();
                 }) };
    }

    //! Median and 99th percentile of a slot's way from the host to bits on the host.
    std::pair<double, double> latency(const std::vector<complex64>& received)
    {
        const size_t bytes = d_s.received * sizeof(complex64);
        std::vector<uint8_t> bits(d_s.words * d_s.word_bytes);
        std::vector<double> taken;
        double all = 0;
        while (taken.size() < 2000 && (taken.size() < 100 || all < 5)) {
            const auto start = std::chrono::steady_clock::now();
            d_q.copy_in(d_received.data(), received.data(), bytes);
            run(1);
            d_q.copy_out(bits.data(), d_bits.data(), bits.size());
            d_q.synchronize();
            taken.push_back(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
                    .count());
            all += taken.back();
        }
        std::sort(taken.begin(), taken.end());
        return { taken[taken.size() / 2], taken[taken.size() * 99 / 100] };
    }

    //! Bytes of a received slot and of its bits: each must be touched once at least.
    double bytes() const
    {
        return double(d_slots) *
               (d_s.received * sizeof(complex64) + d_s.words * d_s.word_bytes);
    }

private:
    void run() { run(d_slots); }
    void run(size_t slots)
    {
        const size_t words = slots * d_s.words;
        d_plan->run(d_received.all().part(0, slots * d_s.received),
                    { d_bits.all().part(0, words * d_s.word_bytes),
                      d_iterations.all().part(0, words),
                      d_ok.all().part(0, words),
                      d_status.all().part(0, slots) },
                    d_workspace,
                    d_q);
    }

    queue& d_q;
    const testing::receiver::parameters d_p;
    const size_t d_slots;
    const std::unique_ptr<mimo_receiver> d_plan;
    const mimo_receiver::sizes d_s;
    array<complex64> d_received;
    array<unsigned char> d_workspace;
    array<uint8_t> d_bits;
    array<int> d_iterations, d_ok, d_status;
};

void measure(queue& q,
             const testing::receiver::parameters& p,
             const std::vector<complex64>& received,
             size_t slots,
             double bandwidth,
             const std::string& at,
             const char* cores = "")
{
    measurement one(q, p, received, slots);
    const auto [failed, iterations] = one.errors();
    const double seconds = one.receiver();
    const auto [alone, chain] = one.kernels_alone(received);
    std::printf("%-14s %5zu %9.0f %9.0f %7.2f %8.1f | %8.0f %8.0f %8.0f %8.0f | %6.3f "
                "%5.2f\n",
                (name_of(q.where()) + cores).c_str(),
                slots,
                1e6 * seconds / slots,
                1e6 * chain / slots,
                slots * slot_seconds / seconds,
                1e6 * one.bytes() / bandwidth / slots,
                1e6 * alone[0] / slots,
                1e6 * alone[1] / slots,
                1e6 * alone[2] / slots,
                1e6 * alone[3] / slots,
                failed,
                iterations);
    benchmarks::record({ "MIMO receiver",
                         name_of(q.where()) + cores + ", " + std::to_string(slots) +
                             " slots a call, " + at,
                         1e6 * seconds / slots,
                         "us a slot",
                         { 1e6 * one.bytes() / bandwidth / slots,
                           "tones in and bits out at a copy's bandwidth" },
                         { 1e6 * chain / slots, "the kernels one by one" } });
}

//! Slots at so many dB of a layer's SNR, eight different ones over and over.
std::vector<complex64> slots_at(const testing::receiver::parameters& p,
                                size_t words,
                                size_t count,
                                double snr_db)
{
    std::mt19937 random(1);
    auto sent = testing::send(p, words, 8, std::pow(10, -snr_db / 10), random).received;
    const size_t different = sent.size();
    for (size_t slot = 8; slot < count; slot += 8) {
        sent.resize(sent.size() + different);
        std::copy_n(sent.begin(), different, sent.end() - different);
    }
    return sent;
}

void measure_at(double snr_db,
                const testing::receiver::parameters& p,
                size_t words,
                queue& q,
                double bandwidth)
{
    std::vector<size_t> batches{ 1, 4, 8 };
    if (q.where() == backend::cuda) {
        batches = { 1, 4, 16, 40 };
    } else if (q.where() == backend::reference) {
        batches = { 1 };
    }
    const auto sent = slots_at(p, words, batches.back(), snr_db);
    const auto at = std::to_string(std::lround(snr_db)) + " dB";
    std::printf("%s\n", at.c_str());
    for (const size_t slots : batches) {
        measure(q, p, sent, slots, bandwidth, at);
    }
    measurement one(q, p, sent, 1);
    const auto [median, late] = one.latency(sent);
    std::printf("%-14s one slot from the host's memory to bits there: median %.0f us, "
                "99th percentile %.0f us\n",
                name_of(q.where()).c_str(),
                1e6 * median,
                1e6 * late);
    const auto alone = name_of(q.where()) + ", one slot from host to host, " + at;
    benchmarks::record({ "MIMO receiver", alone + ", median", 1e6 * median, "us" });
    benchmarks::record({ "MIMO receiver", alone + ", 99 %", 1e6 * late, "us" });
    if (q.where() == backend::cpu) {
        const tbb::global_control one_core(tbb::global_control::max_allowed_parallelism,
                                           1);
        by_core_time = true;
        for (const size_t slots : batches) {
            measure(q, p, sent, slots, bandwidth, at, ", 1 core");
        }
        by_core_time = false;
    }
}

} // namespace

int main(int argc, char** argv)
{
    const auto measured = benchmarks::measured_backends(argc, argv);
    const auto p = cell();
    const size_t words = mimo_receiver::slot_of(p).words;
    std::printf("a slot: %zu codewords, %.0f bits of information, every ms; bound: tones "
                "in and bits out once, at a copy's\nbandwidth; times in us a slot; peer: "
                "the same kernels one by one, with pilots and data apart already\n",
                words,
                double(words) * p.code->k());
    std::printf("%-14s %5s %9s %9s %7s %8s | %8s %8s %8s %8s | %6s %5s\n",
                "backend",
                "slots",
                "receiver",
                "kernels",
                "cells",
                "bound",
                "estimate",
                "equalize",
                "demap",
                "decode",
                "BLER",
                "iter.");
    for (const backend where : measured) {
        const auto q = queue::make(where);
        const double bandwidth = benchmarks::copy_bandwidth(*q);
        for (const double snr_db : { 30, 20 }) {
            measure_at(snr_db, p, words, *q, bandwidth);
        }
    }
}
