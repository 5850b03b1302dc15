/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/algebra/circulant_inverse.h"
#include <algorithm>
#include <map>
#include <numeric>

namespace gr::cudaphy::kernels {

bool ldpc_circulant_sum::serves(const ldpc_circulants& blocks)
{
    const int z = blocks.lifting_size;
    return z >= 128 && (z & (z - 1)) == 0 &&
           std::all_of(blocks.all.begin(), blocks.all.end(), [](const auto& c) {
               return c.missing < 0;
           });
}

int ldpc_circulant_sum::weight() const
{
    return std::accumulate(d_words.begin(), d_words.end(), 0, [](int sum, uint64_t word) {
        return sum + __builtin_popcountll(word);
    });
}

void ldpc_circulant_sum::add(const ldpc_circulant_sum& other, int rotation)
{
    // Times x^-rotation: coefficient i comes from i + rotation.
    const size_t words = d_words.size();
    const size_t first = rotation / 64;
    const int bit = rotation % 64;
    for (size_t w = 0; w < words; ++w) {
        const uint64_t low = other.d_words[(w + first) % words];
        const uint64_t high = other.d_words[(w + first + 1) % words];
        d_words[w] ^= bit == 0 ? low : low >> bit | high << (64 - bit);
    }
}

void ldpc_circulant_sum::add(int rotation)
{
    const int at = (lifting_size() - rotation) % lifting_size();
    d_words[at / 64] ^= uint64_t{ 1 } << at % 64;
}

ldpc_circulant_sum ldpc_circulant_sum::operator*(const ldpc_circulant_sum& other) const
{
    const int z = lifting_size();
    ldpc_circulant_sum product(z);
    for (int i = 0; i < z; ++i) {
        if (has(i)) {
            product.add(other, (z - i) % z);
        }
    }
    return product;
}

ldpc_circulant_sum ldpc_circulant_sum::inverse() const
{
    // u^(Z - 1) = u u^2 u^4 ... u^(Z / 2); a square has its coefficients twice as far.
    const int z = lifting_size();
    auto power = *this;
    auto product = *this;
    for (int exponent = 2; exponent < z; exponent *= 2) {
        ldpc_circulant_sum square(z);
        for (int i = 0; i < z; ++i) {
            if (power.has(i)) {
                square.add((z - 2 * i % z) % z);
            }
        }
        power = square;
        product = product * power;
    }
    return product;
}

std::optional<ldpc_circulant_matrix> invert(ldpc_circulant_matrix m)
{
    const size_t rows = m.size();
    const size_t columns = rows > 0 ? m[0].size() : 0;
    if (columns == 0 || rows < columns) {
        return {};
    }
    const ldpc_circulant_sum zero(m[0][0].lifting_size());
    ldpc_circulant_matrix of_rows(rows, { rows, zero });
    for (size_t r = 0; r < rows; ++r) {
        of_rows[r][r].add(0);
    }
    for (size_t c = 0; c < columns; ++c) {
        // Row c becomes the one that gives column c.
        size_t pivot = c;
        while (pivot < rows && !m[pivot][c].is_regular()) {
            ++pivot;
        }
        if (pivot == rows) {
            return {};
        }
        std::swap(m[c], m[pivot]);
        std::swap(of_rows[c], of_rows[pivot]);
        const auto scale = m[c][c].inverse();
        const auto times = [](const ldpc_circulant_sum& factor) {
            return [&factor](const ldpc_circulant_sum& x) { return x * factor; };
        };
        for (auto* row : { &m[c], &of_rows[c] }) {
            std::transform(row->begin(), row->end(), row->begin(), times(scale));
        }
        for (size_t r = 0; r < rows; ++r) {
            const auto factor = m[r][c];
            if (r == c || factor.weight() == 0) {
                continue;
            }
            for (size_t i = 0; i < columns; ++i) {
                m[r][i].add(m[c][i] * factor);
            }
            for (size_t i = 0; i < rows; ++i) {
                of_rows[r][i].add(of_rows[c][i] * factor);
            }
        }
    }
    of_rows.erase(of_rows.begin() + columns, of_rows.end());
    return of_rows;
}

std::optional<ldpc_circulant_matrix>
solve_aside(int z,
            const std::vector<std::vector<ldpc_circulants::circulant>>& rows,
            const std::vector<ldpc_circulants::circulant>& steps,
            const std::vector<int>& aside,
            const std::vector<int>& left)
{
    // Each unknown string in terms of the strings set aside.
    std::map<int, std::vector<ldpc_circulant_sum>> strings;
    const std::vector<ldpc_circulant_sum> none(aside.size(), ldpc_circulant_sum(z));
    const auto sum_of = [&](int row, int rotation) {
        auto sum = none;
        for (const auto& c : rows[row]) {
            const auto found = strings.find(c.column);
            for (size_t a = 0; found != strings.end() && a < aside.size(); ++a) {
                sum[a].add(found->second[a], (c.shift - rotation + z) % z);
            }
        }
        return sum;
    };
    for (size_t a = 0; a < aside.size(); ++a) {
        strings[aside[a]] = none;
        strings[aside[a]][a].add(0);
    }
    for (const auto& by : steps) {
        strings[by.column] = sum_of(by.row, by.shift);
    }
    ldpc_circulant_matrix m;
    for (const int row : left) {
        m.push_back(sum_of(row, 0));
    }
    return invert(std::move(m));
}

} // namespace gr::cudaphy::kernels
