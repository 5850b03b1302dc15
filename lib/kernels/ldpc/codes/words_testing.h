/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Shared by the tests of LDPC: random codewords, a channel, small codes.

#include "kernels/ldpc/codes/builder.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <random>
#include <set>

namespace gr::cudaphy::testing {

using namespace kernels;

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

//! A code like 5G NR's: a staircase, a block column punctured, a few information bits
//! shortened.
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

//! A code with checks of degree 1 to 650, and some bits in no check.
inline ldpc_code::sptr irregular_code(std::mt19937& random)
{
    const int n = 700;
    std::vector<std::vector<int>> rows;
    std::uniform_int_distribution<int> column(0, n - 20);
    for (const int degree : { 1, 2, 2, 3, 31, 32, 33, 63, 64, 65, 96, 97, 300, 650 }) {
        for (int i = 0; i < (degree > 60 ? 1 : 8); ++i) {
            std::set<int> row;
            while (static_cast<int>(row.size()) < degree) {
                row.insert(column(random));
            }
            rows.emplace_back(row.begin(), row.end());
        }
    }
    return ldpc_code::from_rows(n, rows, "irregular");
}

inline ldpc_code::sptr hamming()
{
    return ldpc_code::from_rows(
        7, { { 0, 1, 2, 4 }, { 0, 1, 3, 5 }, { 0, 2, 3, 6 } }, "Hamming (7, 4)");
}

//! As random_codewords, of information words that end with their CRC.
inline std::vector<uint8_t> random_codewords(const ldpc_code::sptr& code,
                                             const ldpc_decoder::crc& crc,
                                             size_t words,
                                             std::mt19937& random)
{
    std::vector<uint8_t> info(words * code->k());
    for (size_t start = 0; start < info.size(); start += code->k()) {
        uint8_t* word = &info[start];
        const int data = code->k() - crc.bits;
        for (int i = 0; i < data; ++i) {
            word[i] = random() >> 31;
        }
        std::vector<uint8_t> rest(word, word + code->k());
        for (int i = 0; i < data; ++i) { // long division
            for (int term = 0; rest[i] && term < crc.bits; ++term) {
                rest[i + 1 + term] ^= crc.polynomial >> (crc.bits - 1 - term) & 1;
            }
        }
        std::copy(rest.begin() + data, rest.end(), word + data);
    }
    std::vector<uint8_t> out(words * code->n());
    auto here = queue::make(backend::reference);
    ldpc_encoder::make(code, backend::reference)->run(info, out, *here);
    return out;
}

} // namespace gr::cudaphy::testing
