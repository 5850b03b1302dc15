/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/encoder/placed_strings.h"
#include <algorithm>

namespace gr::cudaphy::kernels {

std::optional<ldpc_placed_strings>
ldpc_placed_strings::make(const ldpc_circulant_tables& t)
{
    if (t.z < least_z || t.z > most_z) {
        return {};
    }
    ldpc_placed_strings out;
    const int in_words = (t.z + 31) / 32;
    std::vector<int32_t> to;
    int at = 0;
    for (const char rotated : t.rotated) {
        to.push_back(at << 1 | int(rotated != 0));
        // A read takes the word behind the last one, too.
        at += (rotated ? 2 * in_words : in_words) + 1;
    }
    const auto zeros = uint32_t(at) * 32;
    // Masked bits are read up to a string's length before the information.
    out.words = std::max(at + 2, in_words);
    const auto bit_of = [&](int string, int bit) {
        return uint32_t(to[size_t(string)] >> 1) * 32 + uint32_t(bit);
    };
    for (const auto& input : t.inputs) {
        out.inputs.push_back(
            { to[size_t(input.string)], input.offset, input.first, input.end });
    }
    for (size_t s = 0; s + 1 < t.sums.size(); ++s) {
        out.sums.push_back({ to[size_t(t.sums[s].to)], t.sums[s].first });
    }
    out.sums.push_back({ 0, t.sums.back().first });
    for (const auto& term : t.terms) {
        out.terms.push_back(bit_of(term.string, term.rotation));
    }

    place open{ 0, 0 }; // the word that is not complete
    int filled = 0;
    for (const auto& run : t.outputs) {
        const uint32_t begin = bit_of(run.string, run.first);
        int done = 0;
        if (filled) {
            done = 32 - filled;
            if (run.bits < done) {
                return {};
            }
            open.second = begin;
            out.outputs.push_back(open);
        }
        for (; done + 32 <= run.bits; done += 32) {
            out.outputs.push_back({ (begin + uint32_t(done)) << 6 | 32, 0 });
        }
        filled = run.bits - done;
        open = { (begin + uint32_t(done)) << 6 | uint32_t(filled), 0 };
    }
    if (filled) {
        open.second = zeros;
        out.outputs.push_back(open);
    }
    return out;
}

} // namespace gr::cudaphy::kernels
