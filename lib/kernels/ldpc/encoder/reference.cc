/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/algebra/bit_matrix.h"
#include "kernels/ldpc/encoder/makers.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

constexpr double most_coefficients = 2147483648.0; // 256 MiB

/*!
 * Solves H c = 0 word by word, in three parts that the constructor prepares.
 *
 * 1. A check with a single unknown bit gives that bit, and this is repeated until no such
 *    check is left. In DVB-S2 this part gives every parity bit.
 * 2. The inverse of a dense matrix gives the unknown bits that several checks share.
 * 3. A bit that only one of the remaining checks has is given by that check at the end,
 *    because all its other bits are then known. In 5G NR this part gives the parity bits
 *    behind the core.
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
        find_first(known, used);
        find_last(known, used);
        invert_the_rest(known, used);
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

    //! Goes through the unused checks until none gives a bit. choose(unknown bits of a
    //! check) returns the bit that the check gives, or -1.
    template <typename Choose>
    std::vector<given>
    find(std::vector<char>& known, std::vector<char>& used, Choose choose) const
    {
        std::vector<given> all;
        for (bool found = true; found;) {
            found = false;
            for (int r = 0; r < d_code->checks(); ++r) {
                const int column = used[r] ? -1 : choose(unknowns(r, known));
                if (column >= 0) {
                    all.push_back({ r, column });
                    known[column] = used[r] = 1;
                    found = true;
                }
            }
        }
        return all;
    }

    //! Part 1 of the class's comment.
    void find_first(std::vector<char>& known, std::vector<char>& used)
    {
        d_first = find(known, used, [](const std::vector<int>& unknown) {
            return unknown.size() == 1 ? unknown[0] : -1;
        });
    }

    //! Part 3. Marks its bits as known, so that part 2 leaves them out. The checks that
    //! were found first need the bits that were found later, so the order is reversed.
    void find_last(std::vector<char>& known, std::vector<char>& used)
    {
        std::vector<int> checks_of(d_code->variables()); // unused checks of each column
        for (int r = 0; r < d_code->checks(); ++r) {
            for (const int column : unknowns(r, known)) {
                ++checks_of[column];
            }
        }
        d_last = find(known, used, [&](const std::vector<int>& unknown) {
            const auto alone = std::find_if(
                unknown.begin(), unknown.end(), [&](int c) { return checks_of[c] == 1; });
            if (alone == unknown.end()) {
                return -1;
            }
            for (const int column : unknown) {
                --checks_of[column];
            }
            return *alone;
        });
        std::reverse(d_last.begin(), d_last.end());
    }

    //! Part 2.
    void invert_the_rest(const std::vector<char>& known, const std::vector<char>& used)
    {
        std::vector<int> index_of(d_code->variables());
        for (int c = 0; c < d_code->variables(); ++c) {
            if (!known[c]) {
                index_of[c] = static_cast<int>(d_solved.size());
                d_solved.push_back(c);
            }
        }
        std::vector<int> rest;
        for (int r = 0; r < d_code->checks(); ++r) {
            if (!used[r]) {
                rest.push_back(r);
            }
        }
        if (static_cast<double>(rest.size()) * d_solved.size() > most_coefficients) {
            throw std::invalid_argument(
                "ldpc_encoder: " + d_code->name() + " takes a dense matrix of " +
                std::to_string(rest.size()) + " rows of " +
                std::to_string(d_solved.size()) +
                " bits on the reference backend; at most 2^31 bits are allowed");
        }
        bit_matrix all(rest.size(), d_solved.size());
        for (size_t i = 0; i < rest.size(); ++i) {
            for (const int column : unknowns(rest[i], known)) {
                all.set(i, index_of[column]);
            }
        }
        bit_matrix square(d_solved.size(), d_solved.size());
        for (const int i : independent_rows(all, d_solved.size())) {
            square.add(d_equations.size(), all, i);
            d_equations.push_back(rest[i]);
        }
        d_inverse = inverse_of(std::move(square));
    }

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

    //! \param[in,out] word  a bit for each column of H; 0 before the call
    void encode(const uint8_t* info, uint8_t* word) const
    {
        for (int i = 0; i < d_code->k(); ++i) {
            word[d_code->info_positions()[i]] = info[i] & 1;
        }
        for (const auto& step : d_first) {
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
        for (const auto& step : d_last) {
            word[step.column] = sum(step.row, word);
        }
    }

    ldpc_code::sptr d_code;
    parameters d_parameters;
    ldpc_encoder_bytes d_bytes;
    std::vector<given> d_first, d_last;
    std::vector<int> d_solved, d_equations;
    bit_matrix d_inverse;
};

} // namespace

CUDAPHY_HOST_MAKER_2(reference,
                     ldpc_encoder,
                     ldpc_encoder_reference,
                     ldpc_code::sptr,
                     ldpc_encoder::parameters)

} // namespace gr::cudaphy::kernels
