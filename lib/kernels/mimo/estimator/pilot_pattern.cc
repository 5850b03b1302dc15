/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/sizes.h"
#include "kernels/mimo/checks.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/pilot_pattern.h>
#include <numeric>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

pilot_pattern silent(int symbols, int tones, int layers, int group)
{
    pilot_pattern out{ symbols, tones, layers, {}, std::vector<int>(tones), group };
    out.pilots.resize(size_t(symbols) * tones * layers);
    // The carrier in the middle.
    std::iota(out.tone_numbers.begin(), out.tone_numbers.end(), -(tones / 2));
    return out;
}

complex64& at(pilot_pattern& p, int symbol, int tone, int layer)
{
    return p.pilots[(size_t(symbol) * p.tones + tone) * p.layers + layer];
}

float sign(uint8_t bit) { return bit ? -1.0f : 1.0f; }

// LTF_left and LTF_right of IEEE Std 802.11-2020, 19.3.9.3.4 (L-LTF) and 19.3.9.4.6.
constexpr int8_t ltf_left[26] = { 1, 1, -1, -1, 1, 1, -1, 1, -1, 1, 1, 1, 1,
                                  1, 1, -1, -1, 1, 1, -1, 1, -1, 1, 1, 1, 1 };
constexpr int8_t ltf_right[26] = { 1,  -1, -1, 1,  1,  -1, 1,  -1, 1,  -1, -1, -1, -1,
                                   -1, 1,  1,  -1, -1, 1,  -1, 1,  -1, 1,  1,  1,  1 };
// P_HTLTF of 19.3.9.4.6, row i for stream i, column n for symbol n.
constexpr int8_t p_htltf[4][4] = {
    { 1, -1, 1, 1 }, { 1, 1, -1, 1 }, { 1, 1, 1, -1 }, { -1, 1, 1, 1 }
};

//! The HT-LTF sequence from the lowest tone to the highest, 0 at the carrier:
//! HTLTF(-28..28) and HTLTF(-58..58) of 19.3.9.4.6.
std::vector<int> ht_ltf(int bandwidth_mhz)
{
    std::vector<int> out;
    const auto add = [&](const auto& values) {
        for (const int value : values) {
            out.push_back(value);
        }
    };
    const auto left = [&] { add(ltf_left); };
    const auto right = [&] { add(ltf_right); };
    using list = std::initializer_list<int>;
    if (bandwidth_mhz == 20) {
        add(list{ 1, 1 });
        left();
        add(list{ 0 });
        right();
        add(list{ -1, -1 });
    } else {
        left();
        add(list{ 1 });
        right();
        add(list{ -1, -1, -1, 1, 0, 0, 0, -1, 1, 1, -1 });
        left();
        add(list{ 1 });
        right();
    }
    return out;
}

} // namespace

channel_estimator::parameters pilot_pattern::estimator(int receive_antennas) const
{
    channel_estimator::parameters p{ receive_antennas, layers, tones, pilots };
    p.pilots_by_tone = true;
    p.tone_numbers = tone_numbers;
    p.group_symbols = group_symbols;
    return p;
}

std::vector<uint8_t> pseudo_random_bits(uint32_t c_init, int count)
{
    // Two shift registers of 31 bits; bit 0 is x(n).
    uint32_t x1 = 1, x2 = c_init & 0x7FFFFFFF;
    const auto step = [&] {
        const uint32_t next1 = (x1 >> 3 ^ x1) & 1;
        const uint32_t next2 = (x2 >> 3 ^ x2 >> 2 ^ x2 >> 1 ^ x2) & 1;
        x1 = x1 >> 1 | next1 << 30;
        x2 = x2 >> 1 | next2 << 30;
    };
    for (int n = 0; n < 1600; ++n) {
        step();
    }
    std::vector<uint8_t> out;
    for (int n = 0; n < count; ++n) {
        out.push_back((x1 ^ x2) & 1);
        step();
    }
    return out;
}

pilot_pattern comb_pilots(int symbols, int layers, int tones)
{
    argument_checks{ "comb_pilots" }.range("layers", layers, 1, 16);
    argument_checks{ "comb_pilots" }.range("tones", tones, layers, 65536);
    argument_checks{ "comb_pilots" }.range("symbols", symbols, 1, 65536 / tones);
    auto out = silent(symbols, tones, layers, 1);
    const auto bits = pseudo_random_bits(1, tones);
    for (int s = 0; s < symbols; ++s) {
        for (int k = 0; k < tones; ++k) {
            at(out, s, k, k % layers) = sign(bits[k]) * std::sqrt(float(layers));
        }
    }
    return out;
}

pilot_pattern block_pilots(int symbols, int layers, int tones)
{
    argument_checks{ "block_pilots" }.range("tones", tones, 1, 65536);
    argument_checks{ "block_pilots" }.range("layers", layers, 1, 16);
    argument_checks{ "block_pilots" }.range("symbols", symbols, layers, 65536);
    checked_product("block_pilots: symbols * tones * layers",
                    1 << 22, // what estimators take
                    { symbols, tones, layers });
    const auto codes = orthogonal_pilots(symbols, layers);
    auto out = silent(symbols, tones, layers, symbols);
    const auto bits = pseudo_random_bits(1, tones);
    for (int s = 0; s < symbols; ++s) {
        for (int k = 0; k < tones; ++k) {
            for (int t = 0; t < layers; ++t) {
                at(out, s, k, t) = sign(bits[k]) * codes[s * layers + t];
            }
        }
    }
    return out;
}

pilot_pattern ht_ltf_pilots(int streams, int bandwidth_mhz)
{
    argument_checks{ "ht_ltf_pilots" }.range("streams", streams, 1, 4);
    if (bandwidth_mhz != 20 && bandwidth_mhz != 40) {
        throw std::invalid_argument("ht_ltf_pilots: bandwidth_mhz is " +
                                    std::to_string(bandwidth_mhz) +
                                    ", allowed are 20 and 40");
    }
    const auto sequence = ht_ltf(bandwidth_mhz);
    const int highest = int(sequence.size()) / 2;
    const int symbols = streams == 3 ? 4 : streams; // N_HTLTF
    auto out = silent(symbols, bandwidth_mhz == 20 ? 56 : 114, streams, symbols);
    int tone = 0;
    for (int number = -highest; number <= highest; ++number) {
        const int value = sequence[number + highest];
        if (!value) {
            continue;
        }
        out.tone_numbers[tone] = number;
        for (int n = 0; n < symbols; ++n) {
            for (int i = 0; i < streams; ++i) {
                at(out, n, tone, i) = float(p_htltf[i][n] * value);
            }
        }
        ++tone;
    }
    return out;
}

pilot_pattern nr_dmrs_pilots(const nr_dmrs& d)
{
    const int doubled = d.double_symbol ? 2 : 1;
    auto ports = d.port_numbers;
    if (ports.empty()) {
        argument_checks{ "nr_dmrs_pilots" }.range("ports", d.ports, 1, 4 * doubled);
        ports.resize(d.ports);
        std::iota(ports.begin(), ports.end(), 0);
    }
    for (auto port = ports.begin(); port != ports.end(); ++port) {
        argument_checks{ "nr_dmrs_pilots" }.range("a port", *port, 0, 4 * doubled - 1);
        if (std::count(ports.begin(), port, *port)) {
            throw std::invalid_argument("nr_dmrs_pilots: port " + std::to_string(*port) +
                                        " comes twice");
        }
    }
    argument_checks{ "nr_dmrs_pilots" }.range(
        "resource_blocks", d.resource_blocks, 1, 275);
    argument_checks{ "nr_dmrs_pilots" }.range(
        "first_block", d.first_block, 0, 275 - d.resource_blocks);
    argument_checks{ "nr_dmrs_pilots" }.range("slot", d.slot, 0, 159);
    argument_checks{ "nr_dmrs_pilots" }.range("scrambling_id", d.scrambling_id, 0, 65535);
    argument_checks{ "nr_dmrs_pilots" }.range("n_scid", d.n_scid, 0, 1);
    argument_checks{ "nr_dmrs_pilots" }.range(
        "the number of symbols", int(d.symbols.size()), 1, 4);
    if (!(d.amplitude > 0) || !std::isfinite(d.amplitude)) {
        throw std::invalid_argument(
            "nr_dmrs_pilots: amplitude is not positive and finite");
    }
    const int tones = 12 * d.resource_blocks;
    auto out = silent(int(d.symbols.size()) * doubled, tones, int(ports.size()), doubled);
    int row = 0;
    for (const int first : d.symbols) {
        argument_checks{ "nr_dmrs_pilots" }.range("a symbol", first, 0, 14 - doubled);
        for (int l1 = 0; l1 < doubled; ++l1, ++row) {
            const uint64_t id = d.scrambling_id;
            const uint64_t l = first + l1;
            const uint64_t init =
                (uint64_t{ 1 } << 17) * (14 * d.slot + l + 1) * (2 * id + 1) + 2 * id +
                d.n_scid;
            // r(m) is counted from point A: six values a resource block.
            const int skipped = 6 * d.first_block;
            const auto c = pseudo_random_bits(uint32_t(init & 0x7FFFFFFF),
                                              2 * (skipped + tones / 2));
            for (int m = 0; m < tones / 2; ++m) {
                const uint8_t* const bits = c.data() + 2 * (skipped + m);
                const complex64 r =
                    complex64(sign(bits[0]), sign(bits[1])) * float(M_SQRT1_2);
                for (int layer = 0; layer < int(ports.size()); ++layer) {
                    const int port = ports[layer];
                    // Table 7.4.1.1.2-1: port 1000 + 4 b2 + 2 b1 + b0 has Δ = b1, and
                    // the covers w_f = (1, 1 - 2 b0), w_t = (1, 1 - 2 b2).
                    const int delta = port >> 1 & 1;
                    const float wf = port & 1 && m & 1 ? -1.0f : 1.0f;
                    const float wt = port & 4 && l1 ? -1.0f : 1.0f;
                    at(out, row, 2 * m + delta, layer) = d.amplitude * wf * wt * r;
                }
            }
        }
    }
    return out;
}

} // namespace gr::cudaphy::kernels
