/* SPDX-License-Identifier: GPL-3.0-or-later */
// The textbook: long division bit by bit, syndromes by Horner's rule, the error locator
// as the solution of Newton's identities (Peterson), its roots one by one.
#include "kernels/bch/galois_field.h"
#include "kernels/bch/makers.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

std::vector<uint8_t> unpacked(const uint8_t* word, int bits, bool packed)
{
    std::vector<uint8_t> out(bits);
    for (int i = 0; i < bits; ++i) {
        out[i] = (packed ? word[i / 8] >> (7 - i % 8) : word[i]) & 1;
    }
    return out;
}

void store(const std::vector<uint8_t>& bits, int count, uint8_t* word, bool packed)
{
    if (packed) {
        std::fill_n(word, (count + 7) / 8, uint8_t{ 0 });
    }
    for (int i = 0; i < count; ++i) {
        if (packed) {
            word[i / 8] |= bits[i] << (7 - i % 8);
        } else {
            word[i] = bits[i];
        }
    }
}

class bch_encoder_reference : public bch_encoder
{
public:
    bch_encoder_reference(bch_code::sptr code, const bch_packing& p)
        : d_code(std::move(code)), d_packing(p)
    {
    }

    void run(view<const uint8_t> info, view<uint8_t> words, queue&) override
    {
        const int k = d_code->k(), n = d_code->n();
        const size_t in = bch_bytes(k, d_packing.packed_input);
        const size_t out = bch_bytes(n, d_packing.packed_output);
        const size_t batch = bch_batch("bch_encoder", info, in, words, out);
        const auto& g = d_code->generator();
        for (size_t w = 0; w < batch; ++w) {
            auto bits = unpacked(info.data() + w * in, k, d_packing.packed_input);
            auto left = bits;
            left.resize(n);
            for (int i = 0; i < k; ++i) {
                if (left[i]) {
                    for (size_t j = 0; j < g.size(); ++j) {
                        left[i + j] ^= g[j];
                    }
                }
            }
            bits.insert(bits.end(), left.begin() + k, left.end());
            store(bits, n, words.data() + w * out, d_packing.packed_output);
        }
    }

private:
    bch_code::sptr d_code;
    bch_packing d_packing;
};

class bch_decoder_reference : public bch_decoder
{
public:
    bch_decoder_reference(bch_code::sptr code, const bch_packing& p)
        : d_code(std::move(code)), d_packing(p),
          d_field(d_code->m(), d_code->polynomial())
    {
    }

    size_t workspace_bytes(size_t) const override { return 0; }

    void run(view<const uint8_t> words,
             view<uint8_t> info,
             view<int32_t> corrected,
             view<uint8_t>,
             queue&) override
    {
        const int k = d_code->k(), n = d_code->n();
        const size_t in = bch_bytes(n, d_packing.packed_input);
        const size_t out = bch_bytes(k, d_packing.packed_output);
        const size_t batch = bch_decoder_batch(words, in, info, out, corrected);
        for (size_t w = 0; w < batch; ++w) {
            auto bits = unpacked(words.data() + w * in, n, d_packing.packed_input);
            corrected.data()[w] = correct(bits);
            store(bits, k, info.data() + w * out, d_packing.packed_output);
        }
    }

private:
    //! S_j = r(alpha^j), j = 1 .. 2 t
    std::vector<uint32_t> syndromes(const std::vector<uint8_t>& bits) const
    {
        std::vector<uint32_t> s(2 * d_code->t() + 1);
        for (size_t j = 1; j < s.size(); ++j) {
            const uint32_t at = d_field.exp(j % d_field.order());
            for (const auto bit : bits) {
                s[j] = d_field.multiply(s[j], at) ^ bit;
            }
        }
        return s;
    }

    static bool all_zero(const std::vector<uint32_t>& s)
    {
        return std::all_of(s.begin(), s.end(), [](uint32_t one) { return one == 0; });
    }

    int correct(std::vector<uint8_t>& bits) const
    {
        const auto syndrome = syndromes(bits);
        if (all_zero(syndrome)) {
            return 0;
        }
        for (int errors = d_code->t(); errors > 0; --errors) {
            const auto locator = solve(syndrome, errors);
            if (locator.empty()) {
                continue; // fewer errors
            }
            auto right = bits;
            const auto found = positions(locator, static_cast<int>(bits.size()));
            for (const int at : found) {
                right[at] ^= 1;
            }
            if (static_cast<int>(found.size()) != errors || !all_zero(syndromes(right))) {
                return failed;
            }
            bits = right;
            return errors;
        }
        return failed;
    }

    //! lambda_1 .. lambda_errors of S_(i + errors) = sum_j lambda_j S_(i + errors - j),
    //! i = 1 .. errors; none if the equations are singular.
    std::vector<uint32_t> solve(const std::vector<uint32_t>& syndrome, int errors) const
    {
        const int width = errors + 1;
        std::vector<uint32_t> a(errors * width);
        for (int i = 0; i < errors; ++i) {
            for (int j = 1; j <= errors; ++j) {
                a[i * width + j - 1] = syndrome[i + 1 + errors - j];
            }
            a[i * width + errors] = syndrome[i + 1 + errors];
        }
        for (int c = 0; c < errors; ++c) {
            int pivot = c;
            while (pivot < errors && a[pivot * width + c] == 0) {
                ++pivot;
            }
            if (pivot == errors) {
                return {};
            }
            std::swap_ranges(a.begin() + c * width,
                             a.begin() + (c + 1) * width,
                             a.begin() + pivot * width);
            for (int r = 0; r < errors; ++r) {
                if (r != c && a[r * width + c]) {
                    const auto factor =
                        d_field.divide(a[r * width + c], a[c * width + c]);
                    for (int j = c; j < width; ++j) {
                        a[r * width + j] ^= d_field.multiply(factor, a[c * width + j]);
                    }
                }
            }
        }
        std::vector<uint32_t> lambda(errors);
        for (int c = 0; c < errors; ++c) {
            lambda[c] = d_field.divide(a[c * width + errors], a[c * width + c]);
        }
        return lambda;
    }

    //! Bits i of the word with 1 + sum_j lambda_j X^-j = 0, X = alpha^(n - 1 - i).
    std::vector<int> positions(const std::vector<uint32_t>& lambda, int n) const
    {
        std::vector<int> found;
        for (int i = 0; i < n; ++i) {
            const uint32_t inverse =
                d_field.exp((d_field.order() - (n - 1 - i)) % d_field.order());
            uint32_t power = 1, sum = 1;
            for (const auto coefficient : lambda) {
                power = d_field.multiply(power, inverse);
                sum ^= d_field.multiply(coefficient, power);
            }
            if (sum == 0) {
                found.push_back(i);
            }
        }
        return found;
    }

    bch_code::sptr d_code;
    bch_packing d_packing;
    galois_field d_field;
};

} // namespace

CUDAPHY_HOST_MAKER_2(
    reference, bch_encoder, bch_encoder_reference, bch_code::sptr, bch_packing)

CUDAPHY_HOST_MAKER_2(
    reference, bch_decoder, bch_decoder_reference, bch_code::sptr, bch_packing)

} // namespace gr::cudaphy::kernels
