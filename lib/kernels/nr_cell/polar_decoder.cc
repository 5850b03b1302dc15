/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr/require.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr_cell/polar_code.h>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

using nr::require;

//! LLR of the left half's bit, min-sum.
float left(float a, float b)
{
    const float least = std::min(std::abs(a), std::abs(b));
    return (a < 0) != (b < 0) ? -least : least;
}

} // namespace

// A level of size s has its LLRs at [s, 2s) of path::llr, and the partial sums of its two
// children, each of s / 2 bits, at [s, 2s) of path::sums.
polar_decoder::polar_decoder(const polar_code& code, int paths)
    : d_code(code), d_most(paths), d_levels(0), d_channel(code.size())
{
    require(paths >= 1 && paths <= 64, "a polar decoder's list has 1 to 64 paths");
    while (1 << d_levels < code.size()) {
        ++d_levels;
    }
}

//! LLRs of all levels that change before this bit is decided.
void polar_decoder::compute(path& p, int bit) const
{
    // Levels above the lowest one that a carry of `bit` reaches are as they were.
    const int unchanged = bit ? __builtin_ctz(unsigned(bit)) : d_levels - 1;
    for (int level = unchanged; level >= 0; --level) {
        const int size = 1 << level;
        const float* const above =
            level + 1 == d_levels ? d_channel.data() : p.llr.data() + 2 * size;
        float* const here = p.llr.data() + size;
        if (bit >> level & 1) {
            const uint8_t* const sums = p.sums.data() + 2 * size;
            for (int i = 0; i < size; ++i) {
                here[i] = above[size + i] + (sums[i] ? -above[i] : above[i]);
            }
        } else {
            for (int i = 0; i < size; ++i) {
                here[i] = left(above[i], above[size + i]);
            }
        }
    }
}

//! Takes a decision, and the partial sums that it completes.
void polar_decoder::feed(path& p, int bit, uint8_t value) const
{
    p.u[bit] = value;
    uint8_t* const sums = p.sums.data();
    sums[2 + (bit & 1)] = value;
    // Both children of a node are known: the node is a child itself.
    for (int size = 2; size < d_code.size() && (bit & (size - 1)) == size - 1;
         size *= 2) {
        uint8_t* const to = sums + 2 * size + (bit & size ? size : 0);
        for (int i = 0; i < size / 2; ++i) {
            to[i] = sums[size + i] ^ sums[size + size / 2 + i];
            to[size / 2 + i] = sums[size + size / 2 + i];
        }
    }
}

//! Keeps the best d_most of both decisions of all paths.
void polar_decoder::fork(int bit)
{
    struct choice {
        float metric;
        int from;
        uint8_t value;
    };
    std::vector<choice> choices;
    for (size_t i = 0; i < d_paths.size(); ++i) {
        const float llr = d_paths[i].llr[1];
        const uint8_t likely = llr < 0;
        choices.push_back({ d_paths[i].metric, int(i), likely });
        choices.push_back(
            { d_paths[i].metric + std::abs(llr), int(i), uint8_t(1 - likely) });
    }
    const size_t kept = std::min(choices.size(), size_t(d_most));
    std::partial_sort(
        choices.begin(),
        choices.begin() + kept,
        choices.end(),
        [](const choice& a, const choice& b) { return a.metric < b.metric; });
    d_spare.clear();
    std::vector<int> uses(d_paths.size());
    for (size_t i = 0; i < kept; ++i) {
        ++uses[choices[i].from];
    }
    for (size_t i = 0; i < kept; ++i) {
        auto& from = d_paths[choices[i].from];
        // The last use of a path takes its memory.
        d_spare.push_back(--uses[choices[i].from] ? from : std::move(from));
        d_spare.back().metric = choices[i].metric;
        feed(d_spare.back(), bit, choices[i].value);
    }
    std::swap(d_paths, d_spare);
}

void polar_decoder::run()
{
    const int n = d_code.size();
    path first;
    first.llr.resize(n);
    first.sums.resize(2 * n);
    first.u.resize(n);
    d_paths.assign(1, first);
    for (int bit = 0; bit < n; ++bit) {
        for (auto& p : d_paths) {
            compute(p, bit);
        }
        if (d_code.carries()[bit]) {
            fork(bit);
            continue;
        }
        for (auto& p : d_paths) {
            p.metric += std::max(0.0f, -p.llr[1]);
            feed(p, bit, 0);
        }
    }
}

bool polar_decoder::decode(view<const float> llr, const check& how, view<uint8_t> bits)
{
    require(bits.size() == size_t(d_code.information()),
            "bits do not fit the polar code");
    d_code.recover(llr, d_channel);
    if (std::all_of(
            llr.begin(), llr.end(), [](float x) { return !(x < 0) && !(x > 0); })) {
        return false;
    }
    run();
    std::sort(d_paths.begin(), d_paths.end(), [](const path& a, const path& b) {
        return a.metric < b.metric;
    });
    for (const auto& p : d_paths) {
        d_code.extract(p.u, bits);
        std::vector<uint8_t> masked(bits.begin(), bits.end());
        for (int i = 0; i < 24; ++i) {
            masked[masked.size() - 1 - i] ^= how.mask >> i & 1;
        }
        if (crc24c(masked, how.ones) == 0) {
            return true;
        }
    }
    return false;
}

} // namespace gr::cudaphy::kernels::nr_cell
