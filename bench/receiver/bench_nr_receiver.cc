/* SPDX-License-Identifier: GPL-3.0-or-later */
// 5G NR receiver, a peak slot: 273 resource blocks at 30 kHz, 4 layers at 4 antennas,
// 256-QAM of rate 0.93, DM-RS at two positions. One slot from the host's memory to
// packed bytes, and batches of slots from a GPU's memory. Arguments: backends, and slots
// of a batch; without, all of them. A slot lasts 500 us.
#include "bench/benchmark.h"
#include <chrono>
#include <cmath>
#include <ctime>
#include <gnuradio/cudaphy/kernels/nr/receiver.h>
#include <gnuradio/cudaphy/kernels/nr/transmitter.h>
#include <gnuradio/cudaphy/kernels/page_locked.h>
#include <random>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::kernels::nr;

namespace {

constexpr int antennas = 4, blocks = 273, mcs_of_rate_093 = 27;
constexpr double noise_variance = 6e-4;

shared_channel::sptr peak_channel()
{
    shared_channel_parameters p;
    p.grid_size = p.bwp_size = blocks;
    for (int i = 0; i < blocks; ++i) {
        p.resource_blocks.push_back(i);
    }
    p.layers = 4;
    p.dmrs.ports = { 0, 1, 2, 3 };
    p.dmrs.additional_position = 1;
    p.table = mcs_table::qam256;
    p.mcs[0] = mcs_of_rate_093;
    return shared_channel::make(p);
}

//! A slot at the antennas: each port's path to each antenna has a delay of its own.
std::vector<complex64> received_slot(const shared_channel::sptr& channel,
                                     const std::vector<uint8_t>& payload,
                                     int slot)
{
    transmitter sender(channel, backend::cpu);
    const auto& map = channel->map();
    const size_t size = size_t(map.symbols) * map.subcarriers;
    std::vector<complex64> ports(size * antennas), out(size * antennas);
    sender.run({ payload }, slot, { 0 }, ports);
    std::mt19937 random(slot + 1);
    std::normal_distribution<float> normal(0, std::sqrt(float(noise_variance) / 2));
    for (int a = 0; a < antennas; ++a) {
        for (size_t i = 0; i < size; ++i) {
            complex64 sum(normal(random), normal(random));
            const double tone = double(i % map.subcarriers) - map.subcarriers / 2.0;
            for (int p = 0; p < antennas; ++p) {
                // A unitary matrix at each tone.
                const double delay = (20e-9 * a + 10e-9 * p) * 30e3;
                const double turns = a * p / 4.0 - delay * tone;
                sum += ports[p * size + i] *
                       complex64(std::polar(0.5, 2 * 3.14159265358979323846 * turns));
            }
            out[a * size + i] = sum;
        }
    }
    return out;
}

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

void print(const char* where, const char* what, int slots, const taken& time)
{
    std::printf("%-5s %-36s %3d slots: median %8.1f us, best %8.1f us, %7.1f us a slot, "
                "core time %8.1f us\n",
                where,
                what,
                slots,
                1e6 * time.median,
                1e6 * time.best,
                1e6 * time.median / slots,
                1e6 * time.core);
    benchmarks::record({ "5G NR receiver",
                         std::string(where) + ", 273 PRB, 4 x 4, 256-QAM, " + what +
                             ", " + std::to_string(slots) + " slots",
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

void measure(backend where, const std::vector<std::string>& chosen)
{
    const auto name = name_of(where);
    const auto channel = peak_channel();
    std::vector<uint8_t> payload(channel->codewords().front().payload);
    std::mt19937 random(1);
    for (auto& bit : payload) {
        bit = static_cast<uint8_t>(random() >> 31);
    }
    receiver_parameters p;
    p.packed = true;
    receiver with({ channel }, antennas, p, where);
    const std::vector<reception_order> order{ { { 0 } } };
    const auto grid = received_slot(channel, payload, 3);
    const auto first = with.run(grid, 3, order).front();
    double iterations = 0;
    for (const int one : first.codewords.front().iterations) {
        iterations += one;
    }
    std::printf("%-5s %zu bits, %zu code blocks, %.1f iterations, SINR %.1f dB, %s\n",
                name.c_str(),
                payload.size(),
                first.codewords.front().iterations.size(),
                iterations / double(first.codewords.front().iterations.size()),
                first.codewords.front().sinr_db,
                same(first, payload) ? "decoded" : "NOT DECODED");
    const int calls = where == backend::cuda ? 400 : 20;
    print(name.c_str(),
          "from the host's memory",
          1,
          time_of([&] { with.run(grid, 3, order); }, calls));
    if (where != backend::cuda) {
        return;
    }
    if (void* const locked = page_locked_memory(grid.size() * sizeof(complex64))) {
        auto* const from = static_cast<complex64*>(locked);
        std::copy(grid.begin(), grid.end(), from);
        print(name.c_str(),
              "from page-locked memory",
              1,
              time_of(
                  [&] {
                      with.run({ from, grid.size() }, 3, order);
                  },
                  calls));
        release_page_locked(locked);
    }
    const auto q = queue::make(where);
    for (const int slots : { 1, 2, 4, 8, 12, 16, 24, 30, 40 }) {
        if (!benchmarks::is_chosen(chosen, std::to_string(slots))) {
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
        receiver of_batch({ channel }, antennas, p, where);
        for (const auto& got : of_batch.run_slots(from, numbers, orders)) {
            if (!same(got.front(), payload)) {
                std::printf("a slot of %d is NOT DECODED\n", slots);
            }
        }
        print(name.c_str(),
              "from the GPU's memory",
              slots,
              time_of([&] { of_batch.run_slots(from, numbers, orders); }, calls / 2));
    }
}

} // namespace

int main(int argc, char** argv)
{
    const auto chosen = benchmarks::take_words(
        argc, argv, { "1", "2", "4", "8", "12", "16", "24", "30", "40" });
    for (const auto where : benchmarks::measured_backends(argc, argv)) {
        measure(where, chosen);
    }
}
