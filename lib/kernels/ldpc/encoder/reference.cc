/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/algebra/bit_matrix.h"
#include "kernels/ldpc/encoder/makers.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

constexpr double most_coefficients = 2147483648.0; // 256 MiB

/*!
 * The definition, word by word: a check with one unknown bit gives that bit, as long as
 * there is one (all of DVB-S2); the unknown bits that are left are the solution of the
 * linear equations that are left, with their matrix inverted beforehand.
 */
class ldpc_encoder_reference : public ldpc_encoder
{
public:
    ldpc_encoder_reference(ldpc_code::sptr code, const parameters& p)
        : d_code(std::move(code)), d_parameters(p), d_bytes(*d_code, p)
    {
        std::vector<char> known(d_code->variables());
        for (const int column : d_code->info_positions()) {
            known[column] = 1;
        }
        for (const int column : d_code->shortened()) {
            known[column] = 1;
        }
        std::vector<char> used(d_code->checks());
        for (bool found = true; found;) {
            found = false;
            for (int r = 0; r < d_code->checks(); ++r) {
                const auto unknown = unknowns(r, known);
                if (!used[r] && unknown.size() == 1) {
                    d_given.push_back({ r, unknown[0] });
                    known[unknown[0]] = 1;
                    used[r] = 1;
                    found = true;
                }
            }
        }
        std::vector<int> place(d_code->variables());
        for (int c = 0; c < d_code->variables(); ++c) {
            if (!known[c]) {
                place[c] = static_cast<int>(d_solved.size());
                d_solved.push_back(c);
            }
        }
        if (static_cast<double>(d_code->checks()) * d_solved.size() > most_coefficients) {
            throw std::invalid_argument("ldpc_encoder: " + d_code->name() +
                                        " takes a dense matrix of " +
                                        std::to_string(d_code->checks()) + " rows of " +
                                        std::to_string(d_solved.size()) +
                                        " bits here; at most 2^31 bits are allowed");
        }
        bit_matrix all(d_code->checks(), d_solved.size());
        for (int r = 0; r < d_code->checks(); ++r) {
            for (const int column : unknowns(r, known)) {
                all.set(r, place[column]);
            }
        }
        d_equations = independent_rows(all, d_solved.size());
        bit_matrix square(d_solved.size(), d_solved.size());
        for (size_t i = 0; i < d_equations.size(); ++i) {
            square.add(i, all, d_equations[i]);
        }
        d_inverse = inverse_of(std::move(square));
    }

    void run(view<const uint8_t> info, view<uint8_t> words, queue&) override
    {
        const size_t batch = encoder_batch(d_bytes, info, words);
        std::fill(words.begin(), words.end(), uint8_t{ 0 });
        for (size_t w = 0; w < batch; ++w) {
            const uint8_t* in = info.data() + w * d_bytes.info;
            uint8_t* out = words.data() + w * d_bytes.word;
            std::vector<uint8_t> bits(d_code->k());
            for (int i = 0; i < d_code->k(); ++i) {
                bits[i] = d_parameters.packed_input ? in[i / 8] >> (7 - i % 8) : in[i];
            }
            std::vector<uint8_t> columns(d_code->variables());
            encode(bits.data(), columns.data());
            const auto& sent = d_code->transmitted();
            for (int i = 0; i < d_code->n(); ++i) {
                const uint8_t bit = columns[sent.empty() ? i : sent[i]];
                if (d_parameters.packed_output) {
                    out[i / 8] |= bit << (7 - i % 8);
                } else {
                    out[i] = bit;
                }
            }
        }
    }

private:
    struct given {
        int row, column;
    };

    std::vector<int> unknowns(int row, const std::vector<char>& known) const
    {
        std::vector<int> all;
        for (int e = d_code->row_start()[row]; e < d_code->row_start()[row + 1]; ++e) {
            if (!known[d_code->columns()[e]]) {
                all.push_back(d_code->columns()[e]);
            }
        }
        return all;
    }

    uint8_t sum(int row, const uint8_t* word) const
    {
        uint8_t total = 0;
        for (int e = d_code->row_start()[row]; e < d_code->row_start()[row + 1]; ++e) {
            total ^= word[d_code->columns()[e]];
        }
        return total;
    }

    //! `word`: all columns of H, 0 before.
    void encode(const uint8_t* info, uint8_t* word) const
    {
        for (int i = 0; i < d_code->k(); ++i) {
            word[d_code->info_positions()[i]] = info[i] & 1;
        }
        for (const auto& step : d_given) {
            word[step.column] = sum(step.row, word);
        }
        bit_matrix right(1, d_equations.size());
        for (size_t i = 0; i < d_equations.size(); ++i) {
            if (sum(d_equations[i], word)) {
                right.set(0, i);
            }
        }
        for (size_t i = 0; i < d_solved.size(); ++i) {
            word[d_solved[i]] = d_inverse.product(i, right, 0);
        }
    }

    ldpc_code::sptr d_code;
    parameters d_parameters;
    ldpc_encoder_bytes d_bytes;
    std::vector<given> d_given;
    std::vector<int> d_solved, d_equations;
    bit_matrix d_inverse;
};

} // namespace

std::unique_ptr<ldpc_encoder>
make_ldpc_encoder_reference(ldpc_code::sptr code, const ldpc_encoder::parameters& p)
{
    return std::make_unique<ldpc_encoder_reference>(std::move(code), p);
}

} // namespace gr::cudaphy::kernels
