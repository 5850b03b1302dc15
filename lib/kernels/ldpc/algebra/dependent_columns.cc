/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/algebra/dependent_columns.h"
#include "kernels/common/parallel.h"
#include <algorithm>
#include <array>
#include <numeric>

// Elimination of 64 columns (a word) at a time, from the right. The pivots are found in
// that word alone; each row remembers which pivots were added to it. Then every other row
// takes its sum of up to 64 pivots, eight at a time from a table of their 256 sums
// (Arlazarov, Dinic, Kronrod, Faradzev, 1970). So the matrix, which is larger than the
// caches, is read once for 64 pivots: 30,000 rows of 60,000 bits take seconds.

namespace gr::cudaphy::kernels {
namespace {

constexpr size_t table_bits = 8; // of eight tables
constexpr size_t ahead = 8;      // rows: each lies on pages of its own, far from the last
constexpr size_t tile = 32;      // words: the tables of one take 512 KiB

//! The sums of each eight of up to 64 pivots' words first..last - 1.
class pivot_sums
{
public:
    pivot_sums(const bit_matrix& m,
               const std::vector<int>& pivots,
               size_t first,
               size_t last)
        : d_first(first), d_width(last - first),
          d_sums(((pivots.size() + table_bits - 1) / table_bits << table_bits) * d_width)
    {
        for (size_t p = 0; p < pivots.size(); ++p) {
            const size_t table = p / table_bits << table_bits;
            const size_t bit = size_t{ 1 } << p % table_bits;
            const uint64_t* pivot = m.words(pivots[p]) + first;
            for (size_t below = 0; below < bit; ++below) {
                const uint64_t* from = sum(table + below);
                uint64_t* to = sum(table + bit + below);
                for (size_t w = 0; w < d_width; ++w) {
                    to[w] = from[w] ^ pivot[w];
                }
            }
        }
    }

    //! Adds the pivots named by the bits of `which`.
    void add(uint64_t which, uint64_t* row) const
    {
        if (which == 0) {
            return;
        }
        const uint64_t* from[8]; // of each table; sum 0 is zeros
        for (size_t table = 0; table < 8; ++table, which >>= table_bits) {
            const size_t here = which & ((1 << table_bits) - 1);
            from[table] = sum(here ? (table << table_bits) + here : 0);
        }
        row += d_first;
        for (size_t w = 0; w < d_width; ++w) {
            row[w] ^= from[0][w] ^ from[1][w] ^ from[2][w] ^ from[3][w] ^ from[4][w] ^
                      from[5][w] ^ from[6][w] ^ from[7][w];
        }
    }

private:
    uint64_t* sum(size_t i) { return d_sums.data() + i * d_width; }
    const uint64_t* sum(size_t i) const { return d_sums.data() + i * d_width; }

    const size_t d_first, d_width;
    std::vector<uint64_t> d_sums;
};

} // namespace

std::vector<int>
dependent_columns(bit_matrix& m, int columns, const std::vector<char>& left_out)
{
    std::vector<int> dependent, open(m.rows());
    std::iota(open.begin(), open.end(), 0);
    std::vector<uint64_t> strip, added;
    for (int word = (columns + 63) / 64 - 1; word >= 0; --word) {
        strip.resize(open.size());
        added.assign(open.size(), 0);
        for (size_t i = 0; i < open.size(); ++i) {
            strip[i] = m.words(open[i])[word];
        }
        std::vector<int> pivots;     // rows of m
        std::vector<uint64_t> terms; // mask of earlier pivots added to each pivot
        for (int c = std::min(columns, 64 * (word + 1)) - 1; c >= 64 * word; --c) {
            if (left_out[c]) {
                continue;
            }
            const uint64_t bit = uint64_t{ 1 } << c % 64;
            const auto found = std::find_if(
                strip.begin(), strip.end(), [bit](uint64_t w) { return w & bit; });
            if (found == strip.end()) {
                dependent.push_back(c);
                continue;
            }
            const auto i = found - strip.begin();
            const uint64_t pivot = strip[i], name = uint64_t{ 1 } << pivots.size();
            pivots.push_back(open[i]);
            terms.push_back(added[i]);
            open[i] = open.back();
            strip[i] = strip.back();
            added[i] = added.back();
            open.pop_back();
            strip.pop_back();
            added.pop_back();
            for (size_t r = 0; r < strip.size(); ++r) {
                const uint64_t takes = strip[r] & bit ? ~uint64_t{ 0 } : 0;
                strip[r] ^= pivot & takes;
                added[r] |= name & takes;
            }
        }
        if (pivots.empty()) {
            continue;
        }
        // Only the words to the left, because those to the right are not read again.
        for (size_t p = 0; p < pivots.size(); ++p) {
            for (uint64_t rest = terms[p]; rest; rest &= rest - 1) {
                m.add_words(pivots[p], m, pivots[__builtin_ctzll(rest)], word);
            }
        }
        for_each_part((static_cast<size_t>(word) + tile - 1) / tile,
                      1,
                      [&](size_t first_tile, size_t last_tile) {
                          for (size_t t = first_tile; t < last_tile; ++t) {
                              const auto last = std::min<size_t>(word, (t + 1) * tile);
                              const pivot_sums sums(m, pivots, t * tile, last);
                              for (size_t r = 0; r < open.size(); ++r) {
                                  if (r + ahead < open.size()) {
                                      const uint64_t* next = m.words(open[r + ahead]);
                                      for (size_t w = t * tile; w < last; w += 8) {
                                          __builtin_prefetch(next + w, 1);
                                      }
                                  }
                                  sums.add(added[r], m.words(open[r]));
                              }
                          }
                      });
    }
    return dependent;
}

} // namespace gr::cudaphy::kernels
