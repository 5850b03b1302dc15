/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr/require.h"
#include "kernels/nr_cell/polar_table.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr5g.h>
#include <gnuradio/cudaphy/kernels/nr_cell/polar_code.h>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

using nr::require;

int log2_above(int value)
{
    int n = 0;
    while (1 << n < value) {
        ++n;
    }
    return n;
}

//! N (section 5.3.1).
int code_size(int information, int coded)
{
    int by_rate_matching = log2_above(coded);
    // E <= 9/8 · 2^(n - 1) and K / E < 9/16
    if (8 * coded <= 9 << (by_rate_matching - 1) && 16 * information < 9 * coded) {
        --by_rate_matching;
    }
    const int by_lowest_rate = log2_above(8 * information);
    return 1 << std::clamp(std::min(by_rate_matching, by_lowest_rate), 5, 9);
}

//! d = u G (section 5.3.1.2), in place.
void transform(view<uint8_t> u)
{
    for (size_t half = 1; half < u.size(); half *= 2) {
        for (size_t i = 0; i < u.size(); ++i) {
            if (!(i & half)) {
                u[i] ^= u[i + half];
            }
        }
    }
}

} // namespace

polar_code::polar_code(int information, int coded) : d_coded(coded)
{
    require(information >= 25 && information <= 164,
            "polar codes of PBCH and PDCCH take 25 to 164 bits with CRC (TS 38.212, "
            "5.3.1.1)");
    require(coded >= information && coded <= 8192,
            "a polar code sends at least its information, and at most 8192 bits (TS "
            "38.212, 5.3.1)");
    d_size = code_size(information, coded);
    require(d_size >= information,
            "the polar code is shorter than its information (TS 38.212, 5.3.1)");
    for (int n = 0; n < d_size; ++n) { // section 5.4.1.1
        const int block = d_size / 32;
        d_order.push_back(sub_blocks[n / block] * block + n % block);
    }
    choose_places(information);
}

void polar_code::choose_places(int information)
{
    const int n = d_size, e = d_coded;
    std::vector<uint8_t> frozen(n);
    d_shortened = e < n && 16 * information > 7 * e;
    if (d_shortened) { // section 5.4.1.1
        for (int i = e; i < n; ++i) {
            frozen[d_order[i]] = 1;
        }
    } else if (e < n) {
        for (int i = 0; i < n - e; ++i) {
            frozen[d_order[i]] = 1;
        }
        const double first = 4 * e >= 3 * n ? std::ceil(3.0 * n / 4 - e / 2.0)
                                            : std::ceil(9.0 * n / 16 - e / 4.0);
        std::fill(frozen.begin(), frozen.begin() + int(first), uint8_t(1));
    }
    d_carries.assign(n, 0);
    int left = information;
    for (int i = 511; i >= 0 && left; --i) {
        const int place = reliability[i];
        if (place < n && !frozen[place]) {
            d_carries[place] = 1;
            --left;
        }
    }
    require(!left, "rate matching leaves too few bit channels (TS 38.212, 5.3.1.2)");
    // Information bits go to rising places, in the order of the input interleaver.
    d_places.resize(information);
    int place = 0;
    for (const int pattern : input_pattern) {
        const int bit = pattern - (164 - information);
        if (bit >= 0) {
            while (!d_carries[place]) {
                ++place;
            }
            d_places[bit] = place++;
        }
    }
}

void polar_code::encode(view<const uint8_t> bits, view<uint8_t> coded) const
{
    require(bits.size() == d_places.size() && coded.size() == size_t(d_coded),
            "bits do not fit the polar code");
    std::vector<uint8_t> u(d_size);
    for (size_t k = 0; k < bits.size(); ++k) {
        u[d_places[k]] = bits[k] & 1;
    }
    transform(u);
    const int first = d_shortened ? 0 : std::max(0, d_size - d_coded);
    for (int k = 0; k < d_coded; ++k) { // section 5.4.1.2
        coded[k] = u[d_order[(first + k) % d_size]];
    }
}

void polar_code::recover(view<const float> llr, view<float> values) const
{
    require(llr.size() == size_t(d_coded) && values.size() == size_t(d_size),
            "LLRs do not fit the polar code");
    std::fill(values.begin(), values.end(), 0.0f);
    const int first = d_shortened ? 0 : std::max(0, d_size - d_coded);
    for (int k = 0; k < d_coded; ++k) {
        values[d_order[(first + k) % d_size]] += std::isnan(llr[k]) ? 0 : llr[k];
    }
    for (int i = d_coded; d_shortened && i < d_size; ++i) {
        values[d_order[i]] = certain;
    }
    for (auto& value : values) {
        value = std::clamp(value, -certain, certain);
    }
}

void polar_code::extract(view<const uint8_t> u, view<uint8_t> bits) const
{
    require(u.size() == size_t(d_size) && bits.size() == d_places.size(),
            "bits do not fit the polar code");
    for (size_t k = 0; k < bits.size(); ++k) {
        bits[k] = u[d_places[k]];
    }
}

uint32_t crc24c(view<const uint8_t> bits, int ones)
{
    std::vector<uint8_t> all(ones, 1);
    all.insert(all.end(), bits.begin(), bits.end());
    return nr5g::remainder(nr5g::crc24c, all);
}

} // namespace gr::cudaphy::kernels::nr_cell
