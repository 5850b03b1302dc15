/* SPDX-License-Identifier: GPL-3.0-or-later */
// DVB-S2 Frame Sync on one core: symbols a second with lock and while it searches. With
// the argument "quality": what is found, and what the carrier's estimate costs, near the
// thresholds of the standard (EN 302 307-1, table 13).
#include "bench/benchmark.h"
#include "kernels/dvb/frame_sync/carrier.h"
#include "kernels/dvb/frame_sync/frame_sync_testing.h"
#include <cmath>
#include <ctime>
#include <gnuradio/cudaphy/kernels/constellation.h>
#include <gnuradio/cudaphy/kernels/dvbs2_frame_sync.h>
#include <map>
#include <random>
#include <tbb/global_control.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using testing::pl_channel;
using testing::pl_transmitter;
using symbols_t = std::vector<std::complex<float>>;

namespace {

//! Seconds that the program spent on a core.
double core_time()
{
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

symbols_t points_of(const dvb_mode& mode)
{
    const auto points = constellation::make(mode.constellation()).points;
    return { points.begin(), points.end() };
}

symbols_t noise(size_t count)
{
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    symbols_t out(count);
    for (auto& one : out) {
        one = { normal(random), normal(random) };
    }
    return out;
}

//! Takes symbols in the portions of a flowgraph; returns the frames that came.
size_t take(dvbs2_frame_sync& sync, const symbols_t& symbols)
{
    constexpr size_t part = 1 << 14;
    size_t frames = 0;
    dvbs2_frame frame;
    const auto work = queue::make(backend::cpu);
    static symbols_t out(1 << 20);
    for (size_t first = 0; first < symbols.size(); first += part) {
        sync.take(symbols.data() + first, std::min(part, symbols.size() - first));
        size_t count = 0;
        while (sync.next_without_symbols(frame)) {
            ++frames;
            count += static_cast<size_t>(frame.mode.symbols());
        }
        for (; count > out.size(); count -= out.size()) {
            sync.symbols(out, *work);
        }
        sync.symbols({ out.data(), count }, *work);
    }
    return frames;
}

//! Symbols a second that go through while run() repeats; the best of some series.
template <typename Run>
double rate_of(size_t symbols, const Run& run)
{
    double best = 0;
    for (int series = 0; series < 3; ++series) {
        double taken = 0, times = 0;
        const double start = core_time();
        do {
            run();
            ++times;
            taken = core_time() - start;
        } while (taken < 0.3);
        best = std::max(best, times * static_cast<double>(symbols) / taken);
    }
    return best;
}

void print_rate(const std::string& what, double rate)
{
    std::printf("%-44s %8.1f Msym/s\n", what.c_str(), rate / 1e6);
    benchmarks::record({ "DVB-S2 Frame Sync", "one core, " + what, rate, "symbol/s" });
}

void measure_lock(int pls)
{
    const auto mode = dvb_mode::of(pls).value();
    pl_transmitter sender(0, 1);
    const int frames = 600'000 / mode.length();
    for (int i = 0; i < frames; ++i) {
        sender.send(pls, points_of(mode));
    }
    // Whole turns in the stream, so that it repeats without a seam.
    const double turns = std::floor(0.1 * static_cast<double>(sender.symbols.size()));
    const double es_n0_db = 3 + 4 * (mode.bits_a_symbol - 1);
    const pl_channel channel{ es_n0_db,
                              turns / static_cast<double>(sender.symbols.size()) };
    const auto symbols = channel(sender.symbols);
    const auto sync = dvbs2_frame_sync::make({});
    take(*sync, symbols);
    const double rate = rate_of(symbols.size(), [&] { take(*sync, symbols); });
    if (sync->so_far().lost_locks) {
        std::printf("lost %d locks\n", static_cast<int>(sync->so_far().lost_locks));
    }
    print_rate("locked, " + mode.name(), rate);
}

void measure_search()
{
    const auto symbols = noise(1 << 20);
    const auto sync = dvbs2_frame_sync::make({});
    print_rate("searching in noise",
               rate_of(symbols.size(), [&] { take(*sync, symbols); }));
}

void measure_correction()
{
    constexpr uint32_t segments = 22, each = 1440;
    const auto in = noise(segments * each);
    symbols_t out(in.size());
    std::vector<carrier_segment> all;
    for (uint32_t i = 0; i < segments; ++i) {
        all.push_back(
            { i * each, i * each, each, i * (each + 36), 0.1 * i, 0.1234, 1.5f });
    }
    const auto work = queue::make(backend::cpu);
    const auto corrector = carrier_corrector::make({});
    print_rate("correction of carrier and scrambling", rate_of(in.size(), [&] {
                   corrector->run(in.data(), out.data(), all.data(), all.size(), *work);
               }));
}

//! The receiver's result at one point.
struct quality {
    int sent = 0, found = 0;
    double first = 0;   //!< frames until the first one came
    int slipped = 0;    //!< frames whose phase is wrong for long
    double loss_db = 0; //!< of the other frames' Es/N0
    double phase = 0;   //!< rms, of the other frames, degrees
};

quality quality_at(int pls, double es_n0_db, double walk, int trials, int frames)
{
    constexpr size_t block = 360;
    const auto mode = dvb_mode::of(pls).value();
    quality out;
    double error = 0, energy = 0, squares = 0, blocks = 0;
    for (int trial = 0; trial < trials; ++trial) {
        const auto seed = static_cast<unsigned>(1000 * trial + 17);
        pl_transmitter sender(0, seed);
        sender.send_others(1000 + 977 * static_cast<size_t>(trial));
        for (int i = 0; i < frames; ++i) {
            sender.send(pls, points_of(mode));
        }
        std::map<uint64_t, const testing::sent_frame*> at;
        for (const auto& one : sender.frames) {
            at[one.at] = &one;
        }
        const pl_channel channel{ es_n0_db, 0.17, 1e-9, walk, 0.5, seed + 1 };
        const auto symbols = channel(sender.symbols);
        const auto sync = dvbs2_frame_sync::make({});
        std::vector<dvbs2_frame> found;
        dvbs2_frame frame;
        double first = 0;
        constexpr size_t part = 1024;
        for (size_t i = 0; i < symbols.size(); i += part) {
            sync->take(symbols.data() + i, std::min(part, symbols.size() - i));
            while (sync->next(frame)) {
                first = found.empty()
                            ? static_cast<double>(i + part - sender.frames[0].at)
                            : first;
                found.push_back(std::move(frame));
            }
        }
        sync->finish();
        while (sync->next(frame)) {
            found.push_back(std::move(frame));
        }
        out.first += first / mode.length() / trials;
        out.sent += frames;
        for (const auto& one : found) {
            const auto right = at.find(one.first);
            if (right == at.end() || right->second->pls != one.mode.pls) {
                continue;
            }
            ++out.found;
            const auto& data = right->second->data;
            double turned = 0, along = 0, own = 0, sent = 0, count = 0;
            for (size_t i = 0; i + block <= data.size(); i += block) {
                std::complex<double> sum = 0;
                for (size_t j = i; j < i + block; ++j) {
                    const auto z = one.symbols[j] * std::conj(data[j]);
                    sum += std::complex<double>(z);
                    along += z.real();
                    own += std::norm(one.symbols[j]);
                    sent += std::norm(data[j]);
                }
                turned += std::arg(sum) * std::arg(sum);
                ++count;
            }
            constexpr double wrong = 0.1; // rad^2
            if (turned / count > wrong) {
                ++out.slipped;
                continue;
            }
            const double factor = along / sent;
            error += own / (factor * factor) - sent;
            energy += sent;
            squares += turned;
            blocks += count;
        }
    }
    out.loss_db = 10 * std::log10(error / energy) + es_n0_db;
    out.phase = std::sqrt(squares / blocks) * 180 / M_PI;
    return out;
}

void print_quality()
{
    std::printf("Drift 1e-9 cycles/symbol^2. Phase noise: the walk's variance a symbol.\n"
                "%-28s %6s %8s %11s %6s %8s %6s %8s\n",
                "",
                "Es/N0",
                "noise",
                "found",
                "first",
                "slipped",
                "phase",
                "loss");
    struct point {
        int pls;
        double es_n0_db;
    };
    constexpr int pilots = 1;
    for (const auto& [pls, es_n0_db] : { point{ 4, -2.35 },
                                         point{ 4, 0 },
                                         point{ 4, 3 },
                                         point{ 16, 1.0 },
                                         point{ 48, 5.5 },
                                         point{ 72, 8.97 },
                                         point{ 96, 12.73 } }) {
        for (const int with : { 0, pilots }) {
            for (const double walk : { 1e-7, 1e-6, 1.6e-5 }) {
                const auto q = quality_at(pls + with, es_n0_db, walk, 4, 25);
                std::printf("%-28s %6.2f %8.1e %4d of %3d %6.1f %8d %6.2f %8.3f\n",
                            dvb_mode::of(pls + with)->name().c_str(),
                            es_n0_db,
                            walk,
                            q.found,
                            q.sent,
                            q.first,
                            q.slipped,
                            q.phase,
                            q.loss_db);
            }
        }
    }
}

} // namespace

int main(int argc, char** argv)
{
    const auto chosen = benchmarks::take_words(argc, argv, { "speed", "quality" });
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
    if (benchmarks::is_chosen(chosen, "speed")) {
        measure_correction();
        measure_search();
        for (const int pls : { 16 + 1, 16, 16 + 2 + 1, 16 + 2, 48 + 1, 48, 72 + 1, 72 }) {
            measure_lock(pls);
        }
    }
    if (!chosen.empty() && benchmarks::is_chosen(chosen, "quality")) {
        print_quality();
    }
    return 0;
}
