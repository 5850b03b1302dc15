/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr/require.h"
#include <array>
#include <cmath>
#include <gnuradio/cudaphy/kernels/constellation.h>
#include <gnuradio/cudaphy/kernels/nr/gold_sequence.h>
#include <gnuradio/cudaphy/kernels/nr/modulation.h>

namespace gr::cudaphy::kernels::nr {
namespace {

const std::vector<complex64>& points_of(int order)
{
    static const std::array<std::vector<complex64>, 5> points{
        constellation::make("qpsk").points,    constellation::make("qam16").points,
        constellation::make("qam64").points,   constellation::make("qam256").points,
        constellation::make("qam1024").points,
    };
    return points[order / 2 - 1];
}

} // namespace

void scramble(uint32_t c_init, view<uint8_t> bits)
{
    gold_sequence(c_init).scramble(bits);
}

void modulate(int order, view<const uint8_t> bits, view<complex64> symbols)
{
    require(order == 1 || (order >= 2 && order <= 10 && order % 2 == 0),
            "modulation order is 1, 2, 4, 6, 8 or 10 (TS 38.211, 5.1)");
    require(bits.size() == symbols.size() * order, "bits and symbols do not fit");
    if (order == 1) {
        const float part = static_cast<float>(std::sqrt(0.5));
        for (size_t i = 0; i < symbols.size(); ++i) {
            const float sign = bits[i] & 1 ? -part : part;
            // Every second symbol is turned by a quarter.
            symbols[i] = i % 2 ? complex64(-sign, sign) : complex64(sign, sign);
        }
        return;
    }
    const auto& points = points_of(order);
    for (size_t i = 0; i < symbols.size(); ++i) {
        unsigned label = 0;
        for (int j = 0; j < order; ++j) {
            label = label << 1 | (bits[i * order + j] & 1);
        }
        symbols[i] = points[label];
    }
}

void map_layers(int layers, view<const complex64> symbols, view<complex64> mapped)
{
    require(layers >= 1 && symbols.size() % layers == 0 &&
                mapped.size() == symbols.size(),
            "symbols do not fit the layers");
    const size_t n = symbols.size() / layers;
    for (size_t i = 0; i < n; ++i) {
        for (int layer = 0; layer < layers; ++layer) {
            mapped[layer * n + i] = symbols[i * layers + layer];
        }
    }
}

} // namespace gr::cudaphy::kernels::nr
