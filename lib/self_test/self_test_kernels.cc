/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "self_test/self_test_kernels.h"
#include <cmath>
#include <gnuradio/cudaphy/kernels/equalizer.h>
#include <gnuradio/cudaphy/kernels/inverse.h>
#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <gnuradio/cudaphy/kernels/soft_demapper.h>
#include <gnuradio/cudaphy/kernels/triangular_inverse.h>
#include <random>

namespace gr::cudaphy {
namespace {

using namespace kernels;

constexpr size_t pattern = 500; // divides by no vector's length
constexpr int decoded_pattern = 3, iterations = 10;

//! Complex numbers of unit variance, the same ones every time.
std::vector<complex64> noise(size_t count)
{
    std::mt19937 engine(1);
    std::normal_distribution<float> normal(0.0f, std::sqrt(0.5f));
    std::vector<complex64> made(count);
    for (auto& each : made) {
        each = { normal(engine), normal(engine) };
    }
    return made;
}

//! Random matrices, well conditioned.
std::vector<complex64> matrices(size_t count, int order)
{
    auto made = noise(count * order * order);
    for (size_t m = 0; m < count; ++m) {
        for (int i = 0; i < order; ++i) {
            made[(m * order + i) * order + i] += 2 * std::sqrt(float(order));
        }
    }
    return made;
}

template <typename T>
array<T>
repeated(queue& line, const std::vector<T>& some, size_t items, size_t some_items)
{
    const size_t times = items / some_items;
    array<T> made(line, some.size() * times);
    for (size_t t = 0; t < times; ++t) {
        line.copy_in(made.data() + t * some.size(), some.data(), some.size() * sizeof(T));
    }
    line.synchronize();
    return made;
}

//! As numbers, the first or last `count` values that lie in a queue's memory.
template <typename T>
void append(
    std::vector<float>& to, queue& line, const array<T>& from, size_t count, bool last)
{
    std::vector<T> host(count);
    const T* begin = from.data() + (last ? from.size() - count : 0);
    line.copy_out(host.data(), begin, count * sizeof(T));
    line.synchronize();
    if constexpr (std::is_same_v<T, complex64>) {
        for (const auto& each : host) {
            to.push_back(each.real());
            to.push_back(each.imag());
        }
    } else {
        to.insert(to.end(), host.begin(), host.end());
    }
}

template <typename Kernel>
class tested_inverse : public tested_kernel
{
public:
    tested_inverse(queue& line, size_t items, int order)
        : d_line(line), d_size(pattern * order * order),
          d_kernel(Kernel::make({ order }, line.where(), line.device())),
          d_a(repeated(line, matrices(pattern, order), items, pattern)),
          d_x(line, d_a.size()), d_status(line, items)
    {
    }
    void run() override { d_kernel->run(d_a, d_x, d_status, d_line); }
    std::vector<float> outputs(bool last) override
    {
        std::vector<float> found;
        append(found, d_line, d_x, d_size, last);
        append(found, d_line, d_status, pattern, last);
        return found;
    }

private:
    queue& d_line;
    const size_t d_size;
    std::unique_ptr<Kernel> d_kernel;
    array<complex64> d_a, d_x;
    array<int> d_status;
};

class tested_equalizer : public tested_kernel
{
public:
    tested_equalizer(queue& line, size_t items, int order)
        : d_line(line), d_order(order),
          d_kernel(equalizer::make({ order, order }, line.where(), line.device())),
          d_h(repeated(line, matrices(pattern, order), items, pattern)),
          d_y(repeated(line, noise(pattern * order), items, pattern)),
          d_x(line, items * order), d_n0(line, view<const float>(d_variance)),
          d_noise(line, items * order), d_status(line, items)
    {
    }
    void run() override { d_kernel->run(d_y, d_h, d_n0, d_x, d_noise, d_status, d_line); }
    std::vector<float> outputs(bool last) override
    {
        std::vector<float> found;
        append(found, d_line, d_x, pattern * d_order, last);
        append(found, d_line, d_noise, pattern * d_order, last);
        append(found, d_line, d_status, pattern, last);
        return found;
    }

private:
    queue& d_line;
    const int d_order;
    const std::vector<float> d_variance{ 0.1f };
    std::unique_ptr<equalizer> d_kernel;
    array<complex64> d_h, d_y, d_x;
    array<float> d_n0, d_noise;
    array<int> d_status;
};

class tested_demapper : public tested_kernel
{
public:
    tested_demapper(queue& line, size_t items, const std::string& name)
        : d_line(line), d_points(constellation::make(name)),
          d_kernel(
              soft_demapper::make({ d_points, true, 0 }, line.where(), line.device())),
          d_x(repeated(line, noise(pattern), items, pattern)),
          d_noise(repeated(line, std::vector<float>(pattern, 0.1f), items, pattern)),
          d_llr(line, items * d_points.bits)
    {
    }
    void run() override { d_kernel->run(d_x, d_noise, d_llr, d_line); }
    std::vector<float> outputs(bool last) override
    {
        std::vector<float> found;
        append(found, d_line, d_llr, pattern * d_points.bits, last);
        return found;
    }

private:
    queue& d_line;
    const constellation d_points;
    std::unique_ptr<soft_demapper> d_kernel;
    array<complex64> d_x;
    array<float> d_noise, d_llr;
};

//! Information words of a code; every word has others.
std::vector<uint8_t> sent_bits(const ldpc_code& code)
{
    std::mt19937 engine(2);
    std::vector<uint8_t> made(size_t(decoded_pattern) * code.k());
    for (auto& bit : made) {
        bit = engine() >> 31;
    }
    return made;
}

//! What the decoder should put out: the bits that were sent, and ok of every word.
std::vector<float> decoded(const ldpc_code& code)
{
    const auto bits = sent_bits(code);
    std::vector<float> made(bits.begin(), bits.end());
    made.insert(made.end(), decoded_pattern, 1.0f);
    return made;
}

//! BPSK words in white noise, as LLRs of T in steps of 1/8.
template <typename T>
std::vector<T> received_words(ldpc_code::sptr code, double eb_n0_db)
{
    const auto bits = sent_bits(*code);
    std::vector<uint8_t> words(size_t(decoded_pattern) * code->n());
    ldpc_encoder::make(code, backend::cpu)->run(bits, words, *queue::make(backend::cpu));
    const double rate = double(code->k()) / code->n();
    const double variance = 0.5 / (rate * std::pow(10.0, eb_n0_db / 10));
    std::mt19937 engine(3);
    std::normal_distribution<double> normal(0.0, std::sqrt(variance));
    std::vector<T> llrs(words.size());
    for (size_t i = 0; i < words.size(); ++i) {
        const double llr = 2 / variance * ((words[i] ? -1 : 1) + normal(engine));
        llrs[i] =
            std::is_same_v<T, float>
                ? static_cast<T>(llr)
                : static_cast<T>(std::lround(std::max(-127.0, std::min(127.0, 8 * llr))));
    }
    return llrs;
}

template <typename T>
class tested_decoder : public tested_kernel
{
public:
    tested_decoder(queue& line, size_t items, ldpc_code::sptr code, double eb_n0_db)
        : d_line(line), d_code(code),
          d_llr(
              repeated(line, received_words<T>(code, eb_n0_db), items, decoded_pattern)),
          d_bits(line, items * code->k()), d_iterations(line, items), d_ok(line, items)
    {
        ldpc_decoder::parameters p;
        p.max_iterations = iterations;
        p.early_stop = false;
        if (std::is_same_v<T, float>) {
            p.calculation = ldpc_decoder::arithmetic::float32;
        } else {
            p.llr = ldpc_decoder::number::int8;
        }
        d_kernel = ldpc_decoder::make(code, p, line.where(), line.device());
    }
    void run() override
    {
        d_kernel->run(view<const T>(d_llr),
                      ldpc_decoder::results{ d_bits, d_iterations, d_ok },
                      d_line);
    }
    std::vector<float> outputs(bool last) override
    {
        std::vector<float> found;
        append(found, d_line, d_bits, size_t(decoded_pattern) * d_code->k(), last);
        append(found, d_line, d_ok, decoded_pattern, last);
        return found;
    }

private:
    queue& d_line;
    ldpc_code::sptr d_code;
    array<T> d_llr;
    array<uint8_t> d_bits;
    array<int> d_iterations, d_ok;
    std::unique_ptr<ldpc_decoder> d_kernel;
};

// Multiply-adds are of real numbers, four a complex one. Gauss-Jordan takes N^3 complex
// ones, a triangle N^3 / 6; the equalizer N^3 / 2 for the Gram matrix, N^3 / 6 each for
// Cholesky and the noise, 2 N^2 for the vector.
tested_row inverse_row(const char* name, int n)
{
    return { name,
             "matrices",
             1,
             16.0 * n * n + 4,
             4.0 * n * n * n,
             false,
             pattern,
             1e-4,
             [n](queue& line, size_t items) {
                 return std::make_unique<tested_inverse<inverse<complex64>>>(
                     line, items, n);
             } };
}

tested_row triangle_row(const char* name, int n)
{
    return { name,
             "matrices",
             1,
             12.0 * n * n + 4,
             4.0 / 6 * n * n * n,
             false,
             pattern,
             1e-4,
             [n](queue& line, size_t items) {
                 return std::make_unique<tested_inverse<triangular_inverse<complex64>>>(
                     line, items, n);
             } };
}

tested_row equalizer_row(const char* name, int n)
{
    return { name,
             "vectors",
             1,
             8.0 * n * n + 20 * n + 4,
             4 * (5.0 / 6 * n * n * n + 2 * n * n),
             false,
             pattern,
             1e-4,
             [n](queue& line, size_t items) {
                 return std::make_unique<tested_equalizer>(line, items, n);
             } };
}

//! Of a bit at least a distance to either side and their difference.
tested_row demapper_row(const char* name, const char* points, int bits)
{
    return { name,
             "symbols",
             1,
             12 + 4.0 * bits,
             3.0 * bits,
             false,
             pattern,
             1e-4,
             [points](queue& line, size_t items) {
                 return std::make_unique<tested_demapper>(line, items, points);
             } };
}

//! At least eight operations an edge in float32: load, subtract, magnitude, two minima, a
//! maximum, add and store; in int8 four, since the loads and stores are shared.
template <typename T>
tested_row decoder_row(const char* name, ldpc_code::sptr code, double eb_n0_db)
{
    const bool bytes = !std::is_same_v<T, float>;
    return { name,
             "information bits",
             double(code->k()),
             double(code->n() * sizeof(T) + code->k() + 8),
             (bytes ? 4.0 : 8.0) * code->edges() * iterations,
             bytes,
             decoded_pattern,
             0,
             [code, eb_n0_db](queue& line, size_t items) {
                 return std::make_unique<tested_decoder<T>>(line, items, code, eb_n0_db);
             },
             [code] { return decoded(*code); } };
}

} // namespace

// A further kernel: a class as above, and a line here.
const std::vector<tested_row>& tested_rows()
{
    static const auto nr = ldpc_code::nr5g(1, 384, 46);
    static const auto wifi = ldpc_code::wifi(1944, "1/2");
    static const std::vector<tested_row> rows{
        inverse_row("inverse 4x4", 4),
        inverse_row("inverse 8x8", 8),
        triangle_row("triangular inverse 16x16", 16),
        equalizer_row("equalizer 4x4 MMSE", 4),
        demapper_row("demapper 64-QAM", "qam64", 6),
        decoder_row<int8_t>("LDPC 5G BG1 rate 1/3 int8", nr, 2.5),
        decoder_row<float>("LDPC 5G BG1 rate 1/3 float32", nr, 2.5),
        decoder_row<int8_t>("LDPC 802.11n rate 1/2 int8", wifi, 4.5),
        decoder_row<float>("LDPC 802.11n rate 1/2 float32", wifi, 4.5),
    };
    return rows;
}

} // namespace gr::cudaphy
