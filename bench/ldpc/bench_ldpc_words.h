/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Received words for the benchmarks of LDPC decoding.

#include "kernels/common/parallel.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <random>

namespace gr::cudaphy::benchmarks {

using kernels::ldpc_code;

//! Words sent as BPSK (0 as +1) through white Gaussian noise. A few codewords are
//! repeated, but each word has its own noise.
class received_words
{
public:
    //! \param steps  of the int8 LLRs in a unit of LLR
    received_words(const ldpc_code::sptr& code,
                   size_t words,
                   double eb_n0_db,
                   double steps,
                   bool in_int8)
        : d_code(code), d_different(std::min<size_t>(words, 32))
    {
        std::mt19937 random(1);
        d_info.resize(d_different * code->k());
        for (auto& bit : d_info) {
            bit = random() >> 31;
        }
        std::vector<uint8_t> sent(d_different * code->n());
        auto here = queue::make(backend::cpu);
        kernels::ldpc_encoder::make(code, backend::cpu)->run(d_info, sent, *here);
        here->synchronize();

        const size_t n = code->n();
        if (in_int8) {
            int8.resize(words * n);
        } else {
            floats.resize(words * n);
        }
        const double sigma =
            std::sqrt(0.5 / code->rate() / std::pow(10.0, eb_n0_db / 10));
        const auto gain = static_cast<float>(2 / (sigma * sigma));
        for_each_part(words, 1, [&](size_t first, size_t last) {
            for (size_t w = first; w < last; ++w) {
                std::minstd_rand bits(static_cast<unsigned>(w + 1));
                bits.discard(16); // neighbouring seeds begin with similar numbers
                std::normal_distribution<float> noise(0.0f, static_cast<float>(sigma));
                const uint8_t* word = &sent[w % d_different * n];
                for (size_t i = 0; i < n; ++i) {
                    const float llr = ((word[i] ? -1.0f : 1.0f) + noise(bits)) * gain;
                    if (in_int8) {
                        const float scaled = std::nearbyint(llr * float(steps));
                        int8[w * n + i] = static_cast<int8_t>(
                            std::max(-127.0f, std::min(127.0f, scaled)));
                    } else {
                        floats[w * n + i] = llr;
                    }
                }
            }
        });
    }

    //! The number of wrong words. \param packed  their decoded information bits, eight in
    //! a byte
    size_t wrong(const std::vector<uint8_t>& packed) const
    {
        const size_t k = d_code->k(), bytes = (k + 7) / 8;
        std::vector<uint8_t> right(d_different * bytes);
        for (size_t w = 0; w < d_different; ++w) {
            for (size_t i = 0; i < k; ++i) {
                right[w * bytes + i / 8] |= d_info[w * k + i] << (7 - i % 8);
            }
        }
        size_t count = 0;
        for (size_t w = 0; w < packed.size() / bytes; ++w) {
            count += !std::equal(packed.begin() + w * bytes,
                                 packed.begin() + (w + 1) * bytes,
                                 right.begin() + w % d_different * bytes);
        }
        return count;
    }

    //! (words, n); one of them is empty.
    std::vector<float> floats;
    std::vector<int8_t> int8;

private:
    ldpc_code::sptr d_code;
    size_t d_different;
    std::vector<uint8_t> d_info;
};

} // namespace gr::cudaphy::benchmarks
