/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr/precoded_ptrs.h"
#include "kernels/nr/require.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/dmrs_sequence.h>
#include <gnuradio/cudaphy/kernels/nr/gold_sequence.h>

namespace gr::cudaphy::kernels::nr {

std::vector<int> precoded_ptrs_places(int groups, int samples, int tones)
{
    std::vector<int> out;
    for (int g = 0; g < groups; ++g) {
        // Pairs stand in the middle of equal parts of the symbol. Of groups of four the
        // first one begins the symbol, the last one ends it, and the others do as pairs.
        int first = g * tones / groups + tones / (2 * groups) - samples / 2;
        if (samples == 2) {
            first = (2 * g + 1) * tones / (2 * groups) - 1;
        } else if (g == 0) {
            first = 0;
        } else if (g == groups - 1) {
            first = tones - samples;
        }
        require(out.empty() || first > out.back(),
                std::to_string(groups) + " groups of " + std::to_string(samples) +
                    " samples of PT-RS do not fit " + std::to_string(tones / 12) +
                    " resource blocks; give fewer or more blocks (TS 38.211, table "
                    "6.4.1.2.2.2-1)");
        for (int i = 0; i < samples; ++i) {
            out.push_back(first + i);
        }
    }
    return out;
}

float precoded_ptrs_amplitude(int order)
{
    if (order <= 2) {
        return 1;
    }
    const double levels = 1 << order / 2; // on an axis: odd integers up to levels - 1
    return static_cast<float>((levels - 1) * std::sqrt(3 / (levels * levels - 1)));
}

std::vector<complex64> precoded_ptrs_values(const shared_channel_parameters& p,
                                            const resource_map& map,
                                            int slot)
{
    // Table 6.4.1.2.1.2-1: a row of signs for each RNTI modulo their number.
    constexpr float signs[4][4] = {
        { 1, 1, 1, 1 }, { 1, -1, 1, -1 }, { 1, 1, -1, -1 }, { 1, -1, -1, 1 }
    };
    const auto& places = map.precoded_ptrs_places;
    std::vector<complex64> out;
    if (places.empty()) {
        return out;
    }
    const int samples = p.ptrs.samples;
    const int first = map.precoded_ptrs_symbols.front();
    gold_sequence sequence(dmrs_c_init(map.symbols, slot, first, p.dmrs.n_rs_id, 0));
    const float size = map.ptrs_amplitude * static_cast<float>(std::sqrt(0.5));
    for (size_t i = 0; i < places.size(); ++i) {
        const float sign = signs[p.rnti % samples][i % samples];
        const float part = sequence.next(1) ? -sign * size : sign * size;
        // pi/2-BPSK, a quarter turn further at odd places.
        out.push_back(places[i] % 2 ? complex64(-part, part) : complex64(part, part));
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr
