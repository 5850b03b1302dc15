/* SPDX-License-Identifier: GPL-3.0-or-later */
// 5G NR receiver. A peak slot: 273 resource blocks at 30 kHz, 4 layers at 4 antennas,
// 256-QAM of rate 0.93, DM-RS at two positions; on the CPU also a small cell's: 52
// resource blocks, 2 layers at 2 antennas, 64-QAM of rate 0.55. By name (nr_slot.h):
// "precoded", "ptrs", "massive", "massive12". One slot from the host's memory to packed
// bytes, several there, and batches of slots from a GPU's memory. Arguments: backends,
// names, and slots of a batch (then only these); without, all slots. "once": without
// times, for tools. "white": noise is taken for white, not asked whether it is. A slot
// lasts 500 us.
#include "bench/benchmark.h"
#include "bench/receiver/nr_slot.h"
#include <chrono>
#include <ctime>
#include <gnuradio/cudaphy/kernels/nr/receiver.h>
#include <gnuradio/cudaphy/kernels/page_locked.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::kernels::nr;
using namespace gr::cudaphy::benchmarks;

namespace {

double core_time()
{
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

struct taken {
    double best, median, core; //!< seconds a call
};

template <typename Run>
taken time_of(const Run& run, int calls)
{
    for (int i = 0; i < 4; ++i) {
        run();
    }
    std::vector<double> each;
    const double core = core_time();
    for (int i = 0; i < calls; ++i) {
        const auto start = std::chrono::steady_clock::now();
        run();
        each.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
                .count());
    }
    std::sort(each.begin(), each.end());
    return { each.front(), each[each.size() / 2], (core_time() - core) / calls };
}

void print(const std::string& where, const char* what, int slots, const taken& time)
{
    std::printf("%-29s %-24s %3d slots: median %8.1f us, best %8.1f us, %7.1f us a slot, "
                "core time %8.1f us\n",
                where.c_str(),
                what,
                slots,
                1e6 * time.median,
                1e6 * time.best,
                1e6 * time.median / slots,
                1e6 * time.core);
    benchmarks::record({ "5G NR receiver",
                         where + ", " + what + ", " + std::to_string(slots) + " slots",
                         1e6 * time.median / slots,
                         "us/slot" });
}

bool same(const reception& got, const std::vector<uint8_t>& payload)
{
    const auto& block = got.codewords.front();
    bool equal = block.ok && block.payload.size() == payload.size() / 8;
    for (size_t i = 0; equal && i < payload.size(); ++i) {
        equal = (block.payload[i / 8] >> (7 - i % 8) & 1) == payload[i];
    }
    return equal;
}

void measure_one(const std::string& name,
                 receiver& with,
                 const std::vector<complex64>& grid,
                 const std::vector<reception_order>& order,
                 int calls)
{
    print(name,
          "from the host's memory",
          1,
          time_of([&] { with.run(grid, 3, order); }, calls));
    if (void* const locked = page_locked_memory(grid.size() * sizeof(complex64))) {
        auto* const from = static_cast<complex64*>(locked);
        std::copy(grid.begin(), grid.end(), from);
        const view<const complex64> there(from, grid.size());
        print(name,
              "from page-locked memory",
              1,
              time_of([&] { with.run(there, 3, order); }, calls));
        release_page_locked(locked);
    }
}

void measure(const scenario& of,
             backend where,
             const std::vector<std::string>& chosen,
             bool once,
             bool white)
{
    const auto name = name_of(where) + ", " + of.name + (white ? ", white" : "");
    std::vector<shared_channel::sptr> channels;
    std::vector<std::vector<uint8_t>> payloads;
    for (int u = 0; u < of.users; ++u) {
        channels.push_back(channel_of(of, u));
        payloads.push_back(random_payload(*channels.back()));
    }
    receiver_parameters p;
    p.packed = true;
    p.noise = white ? noise_model::white : noise_model::automatic;
    receiver with(channels, of.antennas, p, where);
    const std::vector<reception_order> order(of.users, { { 0 } });
    const auto grid = received_slot(of, channels, payloads, 3);
    const auto got = with.run(grid, 3, order);
    for (int u = 0; u < of.users; ++u) {
        const auto& block = got[u].codewords.front();
        double iterations = 0;
        for (const int one : block.iterations) {
            iterations += one;
        }
        std::printf(
            "%s: %zu bits, %zu code blocks, %.1f iterations, SINR %.1f dB%s, %s\n",
            name.c_str(),
            payloads[u].size(),
            block.iterations.size(),
            iterations / double(block.iterations.size()),
            block.sinr_db,
            got[u].colored_noise ? ", colored noise" : "",
            same(got[u], payloads[u]) ? "decoded" : "NOT DECODED");
    }
    const int calls = of.antennas > 16         ? 20
                      : where == backend::cuda ? 400
                      : of.blocks > 100        ? 20
                                               : 200;
    if (chosen.empty() && !once) {
        measure_one(name, with, grid, order, calls);
    }
    if (where != backend::cuda) {
        const int slots = static_cast<int>(with.slots_at_once());
        std::vector<complex64> all;
        for (int i = 0; i < slots; ++i) {
            all.insert(all.end(), grid.begin(), grid.end());
        }
        const std::vector<int> numbers(slots, 3);
        const std::vector<std::vector<reception_order>> orders(slots, order);
        print(name,
              "from the host's memory",
              slots,
              time_of([&] { with.run_slots(all, numbers, orders); }, calls));
        return;
    }
    const auto q = queue::make(where);
    for (const int slots : { 1, 2, 4, 8, 12, 16, 24, 30, 40 }) {
        const bool large = of.antennas > 16 && slots > 4;
        if (large || !benchmarks::is_chosen(chosen, std::to_string(slots))) {
            continue;
        }
        std::vector<complex64> all;
        std::vector<int> numbers;
        for (int i = 0; i < slots; ++i) {
            all.insert(all.end(), grid.begin(), grid.end());
            numbers.push_back(3);
        }
        const array<complex64> on_device(*q, view<const complex64>(all));
        q->synchronize();
        const std::vector<std::vector<reception_order>> orders(slots, order);
        const view<const complex64> from = on_device;
        receiver of_batch(channels, of.antennas, p, where);
        for (const auto& of_slot : of_batch.run_slots(from, numbers, orders)) {
            for (int u = 0; u < of.users; ++u) {
                if (!same(of_slot[u], payloads[u])) {
                    std::printf("a slot of %d is NOT DECODED\n", slots);
                }
            }
        }
        if (!once) {
            print(name,
                  "from the GPU's memory",
                  slots,
                  time_of([&] { of_batch.run_slots(from, numbers, orders); }, calls / 2));
        }
    }
}

} // namespace

int main(int argc, char** argv)
{
    const auto chosen = benchmarks::take_words(
        argc, argv, { "1", "2", "4", "8", "12", "16", "24", "30", "40" });
    const bool once = !benchmarks::take_words(argc, argv, { "once" }).empty();
    const bool white = !benchmarks::take_words(argc, argv, { "white" }).empty();
    const scenario* const scenarios[] = { &peak,          &small,   &precoded,
                                          &precoded_ptrs, &massive, &most_massive };
    std::vector<std::string> names;
    for (const auto* const one : scenarios) {
        names.push_back(one->word);
    }
    const auto named = benchmarks::take_words(argc, argv, names);
    for (const auto where : benchmarks::measured_backends(argc, argv)) {
        for (const auto* const one : scenarios) {
            const bool usual = one == &peak || (one == &small && where == backend::cpu);
            if (named.empty() ? usual : benchmarks::is_chosen(named, one->word)) {
                measure(*one, where, chosen, once, white);
            }
        }
    }
}
