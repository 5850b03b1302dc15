/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// What tests and benchmarks of LDPC decoding share: words, a channel, one call.

#include "kernels/ldpc/ldpc_code_builder.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <random>

namespace gr::cudaphy::testing {

using namespace kernels;

struct decoded {
    std::vector<uint8_t> bits;
    std::vector<int> iterations, ok;
};

//! `words` random codewords, (words, n).
inline std::vector<uint8_t>
random_codewords(const ldpc_code::sptr& code, size_t words, std::mt19937& random)
{
    std::vector<uint8_t> info(words * code->k());
    for (auto& bit : info) {
        bit = random() >> 31;
    }
    std::vector<uint8_t> out(words * code->n());
    auto here = queue::make(backend::reference);
    ldpc_encoder::make(code, backend::reference)->run(info, out, *here);
    return out;
}

//! The LLRs 2 y / sigma^2 of bits sent as BPSK (0 as +1) through white Gaussian noise.
inline std::vector<float> received_llrs(const std::vector<uint8_t>& bits,
                                        double rate,
                                        double eb_n0_db,
                                        std::mt19937& random)
{
    const double sigma = std::sqrt(0.5 / rate / std::pow(10.0, eb_n0_db / 10));
    std::normal_distribution<float> noise(0.0f, static_cast<float>(sigma));
    std::vector<float> out(bits.size());
    for (size_t i = 0; i < bits.size(); ++i) {
        const float y = (bits[i] ? -1.0f : 1.0f) + noise(random);
        out[i] = y * static_cast<float>(2 / (sigma * sigma));
    }
    return out;
}

//! As 5G NR: a staircase, two columns punctured, a few information bits shortened.
inline ldpc_code::sptr punctured_code()
{
    ldpc_code_description d;
    d.name = "punctured";
    auto& blocks = d.circulants;
    blocks.lifting_size = 36;
    blocks.block_rows = 6;
    blocks.block_columns = 12;
    for (int r = 0; r < 6; ++r) {
        for (int c = 0; c < 6; ++c) {
            if (c < 2 || (c + r) % 3 == 0) {
                blocks.all.push_back({ r, c, (7 * r * r + 11 * c * r + c) % 36 });
            }
        }
        if (r > 0) {
            blocks.all.push_back({ r, 6 + r - 1, 0 });
        }
        blocks.all.push_back({ r, 6 + r, 0 });
    }
    d.n = 12 * 36;
    d.systematic = true;
    for (int i = 0; i < 36; ++i) {
        d.punctured.push_back(i);
    }
    for (int i = 6 * 36 - 10; i < 6 * 36; ++i) {
        d.shortened.push_back(i);
    }
    d.add_rows_of_circulants();
    return ldpc_code_builder::build(std::move(d));
}

//! The header's formulas in float32, a bit at a time: what CPU and CUDA must give
//! exactly.
inline decoded decode_plainly_in_float(const ldpc_code& code,
                                       const ldpc_decoder::parameters& p,
                                       const std::vector<float>& llr)
{
    const auto column = [&code](int i) {
        return code.transmitted().empty() ? i : code.transmitted()[i];
    };
    decoded out;
    for (size_t start = 0; start < llr.size(); start += code.n()) {
        std::vector<float> l(code.variables()), r(code.edges());
        std::vector<uint8_t> hard(code.variables());
        for (int i = 0; i < code.n(); ++i) {
            const float value = llr[start + i];
            l[column(i)] = std::isnan(value) ? 0 : std::max(-1e4f, std::min(1e4f, value));
        }
        for (const int i : code.shortened()) {
            l[i] = 1e4f;
        }
        int iteration = 0;
        for (;; ++iteration) {
            std::transform(
                l.begin(), l.end(), hard.begin(), [](float x) { return x < 0; });
            if (iteration == p.max_iterations ||
                (p.early_stop && code.is_codeword(hard.data()))) {
                break;
            }
            float scale = p.scale;
            if (scale == 0) {
                const int halvings = iteration / 15;
                scale = 1 - (1 - code.default_scale()) / std::exp2(halvings * 1.0f);
            }
            for (const auto& layer : code.layers()) {
                for (const int check : layer) {
                    const int first = code.row_start()[check];
                    const int last = code.row_start()[check + 1];
                    std::vector<float> q;
                    for (int e = first; e < last; ++e) {
                        q.push_back(l[code.columns()[e]] - r[e]);
                    }
                    for (int e = first; e < last; ++e) {
                        float least = 1e4f;
                        bool negative = false;
                        for (int other = first; other < last; ++other) {
                            if (other != e) {
                                least = std::min(least, std::abs(q[other - first]));
                                negative ^= q[other - first] < 0;
                            }
                        }
                        const float message = scale * least;
                        r[e] = negative ? -message : message;
                        l[code.columns()[e]] = q[e - first] + r[e];
                    }
                }
            }
        }
        for (int i = 0; i < code.n(); ++i) {
            out.bits.push_back(hard[column(i)]);
        }
        out.iterations.push_back(iteration);
        out.ok.push_back(code.is_codeword(hard.data()));
    }
    return out;
}

} // namespace gr::cudaphy::testing
