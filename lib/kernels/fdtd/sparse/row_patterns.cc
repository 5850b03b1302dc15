/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/sparse/row_patterns.h"
#include <algorithm>
#include <cstring>

namespace gr::cudaphy::kernels {
namespace {

//! Rows of one matrix, as patterns.
template <typename T>
class pattern_of_rows
{
public:
    explicit pattern_of_rows(const sparse_matrix<T>& a) : d_a(a) {}

    bool same(int64_t row, int64_t other) const
    {
        const auto start = d_a.row_start[row], begin = d_a.row_start[other];
        const auto count = d_a.row_start[row + 1] - start;
        if (count != d_a.row_start[other + 1] - begin) {
            return false;
        }
        for (int64_t e = 0; e < count; ++e) {
            if (d_a.column[start + e] - row != d_a.column[begin + e] - other) {
                return false;
            }
        }
        return count == 0 ||
               std::memcmp(&d_a.value[start], &d_a.value[begin], count * sizeof(T)) == 0;
    }

    uint64_t hash(int64_t row) const
    {
        uint64_t sum = 0;
        for (auto e = d_a.row_start[row]; e < d_a.row_start[row + 1]; ++e) {
            uint64_t bits = 0;
            std::memcpy(&bits, &d_a.value[e], sizeof(T));
            sum = mix(sum ^ uint64_t(d_a.column[e] - row));
            sum = mix(sum ^ bits);
        }
        return mix(sum);
    }

private:
    //! The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), one to one.
    static uint64_t mix(uint64_t x)
    {
        x += 0x9E3779B97F4A7C15u;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        return x ^ (x >> 31);
    }

    const sparse_matrix<T>& d_a;
};

//! Rows first ... first + count - 1 have the same pattern, or stand for one.
struct alike {
    int32_t first, count;
};

//! Numbers patterns in the order in which they come, and counts their rows.
template <typename T>
class pattern_table
{
public:
    explicit pattern_table(const pattern_of_rows<T>& rows) : d_rows(rows), d_slots(1024)
    {
    }

    uint32_t add(const alike& run)
    {
        const auto hash = d_rows.hash(run.first);
        auto slot = hash & (d_slots.size() - 1);
        for (; d_slots[slot]; slot = (slot + 1) & (d_slots.size() - 1)) {
            const auto number = d_slots[slot] - 1;
            if (d_hashes[number] == hash &&
                d_rows.same(run.first, patterns[number].first)) {
                patterns[number].count += run.count;
                return number;
            }
        }
        patterns.push_back(run);
        d_hashes.push_back(hash);
        d_slots[slot] = uint32_t(patterns.size());
        if (2 * patterns.size() > d_slots.size()) {
            grow();
        }
        return uint32_t(patterns.size() - 1);
    }

    std::vector<alike> patterns; //!< first row of each, and number of rows

private:
    void grow()
    {
        d_slots.assign(2 * d_slots.size(), 0);
        for (size_t number = 0; number < patterns.size(); ++number) {
            auto slot = d_hashes[number] & (d_slots.size() - 1);
            while (d_slots[slot]) {
                slot = (slot + 1) & (d_slots.size() - 1);
            }
            d_slots[slot] = uint32_t(number + 1);
        }
    }

    const pattern_of_rows<T>& d_rows;
    std::vector<uint64_t> d_hashes;
    std::vector<uint32_t> d_slots; //!< number + 1, 0 where empty; a power of two of them
};

} // namespace

template <typename T>
std::vector<uint16_t> row_patterns<T>::of_rows() const
{
    std::vector<uint16_t> all;
    if (!runs.empty()) {
        all.reserve(size_t(runs.back().first) + runs.back().count);
    }
    for (const auto& each : runs) {
        all.insert(all.end(), each.count, each.pattern);
    }
    return all;
}

template <typename T>
row_patterns<T>
row_patterns<T>::find(const sparse_matrix<T>& a, int64_t least_rows, size_t most)
{
    const pattern_of_rows<T> rows(a);
    std::vector<alike> together;
    for (int64_t row = 0; row < a.rows; ++row) {
        if (row > 0 && rows.same(row, row - 1)) {
            ++together.back().count;
        } else {
            together.push_back({ int32_t(row), 1 });
        }
    }
    pattern_table<T> table(rows);
    std::vector<uint32_t> found;
    found.reserve(together.size());
    for (const auto& each : together) {
        found.push_back(table.add(each));
    }

    std::vector<uint32_t> kept;
    for (size_t number = 0; number < table.patterns.size(); ++number) {
        if (table.patterns[number].count >= least_rows) {
            kept.push_back(uint32_t(number));
        }
    }
    std::stable_sort(kept.begin(), kept.end(), [&](uint32_t one, uint32_t other) {
        return table.patterns[one].count > table.patterns[other].count;
    });
    kept.resize(std::min({ kept.size(), most, size_t(none) }));

    row_patterns out;
    std::vector<uint16_t> number(table.patterns.size(), none);
    for (const auto pattern : kept) {
        number[pattern] = uint16_t(out.size());
        const int64_t row = table.patterns[pattern].first;
        for (auto e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
            out.offset.push_back(int32_t(a.column[e] - row));
            out.value.push_back(a.value[e]);
        }
        out.start.push_back(int32_t(out.offset.size()));
    }
    for (size_t i = 0; i < together.size(); ++i) {
        const auto [first, count] = together[i];
        const auto pattern = number[found[i]];
        if (pattern == none) {
            for (int32_t row = first; row < first + count; ++row) {
                out.explicit_rows.push_back(row);
            }
            if (!out.runs.empty() && out.runs.back().pattern == none) {
                out.runs.back().count += count;
                continue;
            }
        }
        out.runs.push_back({ first, count, pattern });
    }
    return out;
}

template struct row_patterns<float>;
template struct row_patterns<double>;
template struct row_patterns<complex64>;

} // namespace gr::cudaphy::kernels
