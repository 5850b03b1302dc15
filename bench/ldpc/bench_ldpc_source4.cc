/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include "bench/ldpc/bench_ldpc_words.h"
#include "kernels/ldpc/decoder/as_published/source4_splits.h"
#include <algorithm>
#include <cstdio>
#include <functional>
#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>
#include <string>
#include <tbb/global_control.h>
#include <thread>
#ifdef CUDAPHY_HAVE_CUDA
#include "bench/ldpc/bench_ldpc_cuda.h"
#endif

// Measures what source 4 prints in its tables (Lu Zouchen, CETC 20th institute, 2018): a
// (1024, 512) code of row weight 6, scaled min-sum, BPSK at 3.0 dB, 10,000 frames. The
// check nodes (CNP) and the variable nodes (VNP) run on the CPU or the GPU; then speed
// against the number of threads.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels::source4;
using kernels::ldpc_code;
using kernels::ldpc_decoder;

namespace {

constexpr size_t all_frames = 10000;
constexpr double eb_n0_db = 3.0;
constexpr int most_iterations = 20; // the source prints no limit
constexpr float factor = 0.75f;     // the source prints no factor

code code_of(const ldpc_code& from)
{
    const auto& blocks = from.circulants();
    if (blocks.lifting_size < 1 || blocks.lifting_size > 256 || !blocks.checks.empty() ||
        !blocks.bits.empty() || blocks.block_rows > 256 || blocks.block_columns > 256) {
        throw std::runtime_error("not a quasi-cyclic code of small circulants");
    }
    code c;
    const int rows = blocks.block_rows, columns = blocks.block_columns;
    const int count = static_cast<int>(blocks.all.size());
    c.sizes = { from.n(),     from.checks(),   blocks.lifting_size,
                count / rows, count / columns, factor };
    std::vector<int> in_row(rows), in_column(columns);
    for (const auto& block : blocks.all) {
        c.by_row.push_back({ static_cast<uint8_t>(block.row),
                             static_cast<uint8_t>(block.column),
                             static_cast<uint8_t>(block.shift),
                             static_cast<uint8_t>(in_row[block.row]++) });
        ++in_column[block.column];
    }
    const auto irregular = [](const std::vector<int>& weights) {
        return std::count(weights.begin(), weights.end(), weights[0]) !=
               static_cast<int>(weights.size());
    };
    if (irregular(in_row) || irregular(in_column)) {
        throw std::runtime_error("not a regular code");
    }
    c.by_column = c.by_row;
    std::stable_sort(c.by_column.begin(),
                     c.by_column.end(),
                     [](const entry& a, const entry& b) { return a.column < b.column; });
    return c;
}

//! What one split gave for all frames.
struct outcome {
    double seconds = 0;
    size_t iterations = 0;
    std::vector<uint8_t> hard; //!< (bits, frames)
};

class comparison
{
public:
    comparison()
        : d_code(ldpc_code::regular(1024, 3, 6)), d_parts(code_of(*d_code)),
          d_received(d_code, all_frames, eb_n0_db, 1, false),
          d_by_bit(transposed(d_received.floats, all_frames, d_code->n()))
    {
    }

    bool run(bool with_cuda)
    {
        std::printf(
            "%s, row weight %d, %zu frames at %.1f dB, scaled min-sum, factor %g, at "
            "most "
            "%d\niterations, messages in float32. Speed-ups are over the serial CPU.\n",
            d_code->name().c_str(),
            d_parts.sizes.row_weight,
            all_frames,
            eb_n0_db,
            factor,
            most_iterations);
        formulas();
        const outcome serial = on_cpu(1);
        d_serial = &serial;
        std::printf("\n%-44s %7s %9s %9s %9s %9s %6s %6s\n",
                    "where",
                    "at once",
                    "s",
                    "us/frame",
                    "Mbit/s",
                    "speed-up",
                    "source",
                    "iter.");
        line("4. serial CPU", 1, serial, "1");
        if (with_cuda) {
            splits();
        }
        cores();
        if (with_cuda) {
            gpu_threads();
        }
        today(with_cuda);
        return d_good;
    }

private:
    static std::vector<float>
    transposed(const std::vector<float>& in, size_t rows, size_t columns)
    {
        std::vector<float> out(in.size());
        for (size_t i = 0; i < rows; ++i) {
            for (size_t j = 0; j < columns; ++j) {
                out[j * rows + i] = in[i * columns + j];
            }
        }
        return out;
    }

    //! Compares the formulas of the GPU's threads, in plain loops, with the serial
    //! program.
    void formulas()
    {
        const shape& s = d_parts.sizes;
        const size_t frames = 20;
        std::vector<float> q(s.edges() * frames), theirs(q.size()), ours(q.size());
        std::mt19937 random(2);
        std::normal_distribution<float> value(1.0f, 2.0f);
        std::generate(q.begin(), q.end(), [&] { return value(random); });
        cpu(d_parts, frames).check_nodes(q.data(), theirs.data());
        for (int check = 0; check < s.checks; ++check) {
            for (int j = 0; j < s.row_weight; ++j) {
                for (size_t f = 0; f < frames; ++f) {
                    ours[(size_t(check) * s.row_weight + j) * frames + f] =
                        check_message(s, q.data(), frames, check, j, f);
                }
            }
        }
        // Each edge of a bit is an edge of a check of that bit.
        bool good = ours == theirs;
        for (int bit = 0; bit < s.bits; ++bit) {
            for (int i = 0; i < s.column_weight; ++i) {
                const int edge = edge_of(s, d_parts.by_column.data(), bit, i);
                good &= bit == bit_of(s,
                                      d_parts.by_row.data(),
                                      edge / s.row_weight,
                                      edge % s.row_weight);
            }
        }
        std::vector<float> llr(s.bits * frames, 0.5f);
        std::vector<uint8_t> hard(llr.size()), done(frames);
        std::vector<float> q_ours(q.size()), q_theirs(q.size());
        cpu(d_parts, frames)
            .bit_nodes(
                llr.data(), ours.data(), q_theirs.data(), hard.data(), done.data());
        for (int bit = 0; bit < s.bits; ++bit) {
            for (size_t f = 0; f < frames; ++f) {
                const float total = update_bit(s,
                                               d_parts.by_column.data(),
                                               llr.data(),
                                               ours.data(),
                                               q_ours.data(),
                                               frames,
                                               bit,
                                               f);
                good &= (total < 0) == hard[bit * frames + f];
            }
        }
        good &= q_ours == q_theirs;
        expect(good, "the GPU's formulas differ from the serial program's");
    }

    void expect(bool holds, const char* what)
    {
        if (!holds) {
            std::printf("FAILED: %s\n", what);
            d_good = false;
        }
    }

    //! Decodes the frames one by one, on that number of threads.
    outcome on_cpu(int threads)
    {
        const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                        threads);
        outcome out;
        const size_t n = d_code->n();
        std::vector<uint8_t> by_frame(n * all_frames);
        std::vector<size_t> iterations(all_frames);
        const auto start = std::chrono::steady_clock::now();
        for_each_part(all_frames, 100, [&](size_t first, size_t last) {
            const cpu here(d_parts, 1);
            host_arrays h(d_parts.sizes, 1);
            for (size_t f = first; f < last; ++f) {
                iterations[f] =
                    decode_on_cpu(here, &d_received.floats[f * n], h, most_iterations);
                std::copy(h.hard.begin(), h.hard.end(), &by_frame[f * n]);
            }
        });
        out.seconds = since(start);
        for (const size_t count : iterations) {
            out.iterations += count;
        }
        out.hard.resize(by_frame.size());
        for (size_t f = 0; f < all_frames; ++f) {
            for (size_t i = 0; i < n; ++i) {
                out.hard[i * all_frames + f] = by_frame[f * n + i];
            }
        }
        return out;
    }

    static double since(std::chrono::steady_clock::time_point start)
    {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    }

    void line(const char* where, size_t at_once, const outcome& out, const char* source)
    {
        std::printf("%-44s %7zu %9.4f %9.2f %9.1f %9.2f %6s %6.2f\n",
                    where,
                    at_once,
                    out.seconds,
                    1e6 * out.seconds / all_frames,
                    1e-6 * all_frames * d_code->k() / out.seconds,
                    d_serial->seconds / out.seconds,
                    source,
                    double(out.iterations) / all_frames);
        benchmarks::record(
            { "LDPC decoding split between CPU and GPU",
              std::string(where) + ", " + std::to_string(at_once) + " at once",
              1e6 * out.seconds / all_frames,
              "us a frame",
              {},
              { 1e6 * d_serial->seconds / all_frames, "serial CPU" } });
        expect(out.hard.empty() ||
                   (out.hard == d_serial->hard && out.iterations == d_serial->iterations),
               "other decisions than the serial program's");
    }

    void cores()
    {
        std::printf("\nSpeed against CPU threads, a frame each\n");
        const int most = static_cast<int>(std::thread::hardware_concurrency());
        for (int threads = 1; threads <= std::max(1, most); threads *= 2) {
            const std::string text = std::to_string(threads) + " threads";
            line(text.c_str(), 1, on_cpu(threads), "");
        }
    }

#ifdef CUDAPHY_HAVE_CUDA
    outcome on_gpu(split way, size_t at_once, int threads, int blocks = 0)
    {
        const size_t n = d_code->n();
        const auto there = gpu::make(d_parts, at_once, threads, blocks);
        const cpu here(d_parts, at_once);
        host_arrays h(d_parts.sizes, at_once);
        const benchmarks::page_locked locks[] = {
            { h.q.data(), h.q.size() * sizeof(float) },
            { h.r.data(), h.r.size() * sizeof(float) },
            { h.hard.data(), h.hard.size() },
            { d_by_bit.data(), d_by_bit.size() * sizeof(float) },
            { d_received.floats.data(), d_received.floats.size() * sizeof(float) }
        };
        outcome out;
        out.hard.resize(n * all_frames);
        // All frames at once, or one by one. The first call is not counted: it warms up.
        const float* llr = at_once == 1 ? d_received.floats.data() : d_by_bit.data();
        decode_split(way, here, llr, *there, h, most_iterations);
        double outside = 0;
        const auto start = std::chrono::steady_clock::now();
        for (size_t f = 0; f < all_frames; f += at_once) {
            out.iterations +=
                decode_split(way, here, llr + f * n, *there, h, most_iterations);
            const auto copied = std::chrono::steady_clock::now();
            for (size_t i = 0; i < n; ++i) {
                std::copy_n(&h.hard[i * at_once], at_once, &out.hard[i * all_frames + f]);
            }
            outside += since(copied);
        }
        out.seconds = since(start) - outside;
        return out;
    }

    void splits()
    {
        const struct {
            split way;
            const char* name;
            const char* source;
        } ways[] = {
            { split::checks_on_gpu,
              "1. check nodes on the GPU, variable nodes CPU",
              "2.5" },
            { split::bits_on_gpu,
              "2. variable nodes on the GPU, check nodes CPU",
              "2.5" },
            { split::all_on_gpu, "3. both on the GPU", "7" },
        };
        for (const size_t at_once : { size_t{ 1 }, all_frames }) {
            for (const auto& [way, name, source] : ways) {
                line(name, at_once, on_gpu(way, at_once, 256), source);
            }
        }
    }

    void gpu_threads()
    {
        std::printf(
            "\nBoth on the GPU: speed against the threads in use, blocks of 256\n");
        for (int blocks = 1; blocks <= 1 << 14; blocks *= 4) {
            const std::string text = std::to_string(256 * blocks) + " threads";
            line(text.c_str(),
                 all_frames,
                 on_gpu(split::all_on_gpu, all_frames, 256, blocks),
                 "");
        }
        std::printf("\nBoth on the GPU: speed against the threads of a block\n");
        for (const int threads : { 6, 32, 64, 128, 256, 512, 1024 }) {
            const std::string text = std::to_string(threads) + " threads a block";
            line(text.c_str(),
                 all_frames,
                 on_gpu(split::all_on_gpu, all_frames, threads),
                 "");
        }
    }
#else
    void splits() {}
    void gpu_threads() {}
#endif

    //! The library's decoder on the same frames; times include the copies to and from it.
    void today(bool with_cuda)
    {
        std::printf(
            "\nThis library's decoder, all frames in one call, from host to host\n");
        for (const backend where : { backend::cpu, backend::cuda }) {
            if (where == backend::cuda && !with_cuda) {
                continue;
            }
            using schedule = ldpc_decoder::message_schedule;
            for (const auto order : { schedule::flooding, schedule::layered }) {
                const std::string text =
                    name_of(where) +
                    (order == schedule::flooding ? ", flooding" : ", layered");
                try {
                    line(text.c_str(), all_frames, of_library(where, order), "");
                } catch (const std::exception& problem) {
                    std::printf("%-44s %s\n", text.c_str(), problem.what());
                }
            }
        }
    }

    outcome of_library(backend where, ldpc_decoder::message_schedule order)
    {
        const auto q = queue::make(where);
        ldpc_decoder::parameters p;
        p.max_iterations = most_iterations;
        p.scale = factor;
        p.schedule = order;
        p.calculation = ldpc_decoder::arithmetic::float32;
        const auto decoder = ldpc_decoder::make(d_code, p, where);
        array<float> llr(*q, d_received.floats.size());
        array<uint8_t> bits(*q, all_frames * d_code->k());
        array<int> iterations(*q, all_frames), ok(*q, all_frames);
        std::vector<uint8_t> host(bits.size());
        outcome out;
        out.seconds = benchmarks::seconds_per_call(*q, [&] {
            q->copy_in(llr.data(), d_received.floats.data(), llr.size() * sizeof(float));
            decoder->run(llr, bits, iterations, ok, *q);
            q->copy_out(host.data(), bits.data(), host.size());
            q->synchronize();
        });
        for (const int count : iterations.to_host()) {
            out.iterations += count;
        }
        return out;
    }

    ldpc_code::sptr d_code;
    code d_parts;
    benchmarks::received_words d_received;
    std::vector<float> d_by_bit;
    const outcome* d_serial = nullptr;
    bool d_good = true;
};

} // namespace

int main(int argc, char** argv)
{
    try {
        const auto measured = benchmarks::measured_backends(argc, argv);
        const bool with_cuda =
            std::count(measured.begin(), measured.end(), backend::cuda) > 0;
        return comparison().run(with_cuda) ? 0 : 1;
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "bench_ldpc_source4 [cuda] [cpu]: %s\n", problem.what());
        return 2;
    }
}
