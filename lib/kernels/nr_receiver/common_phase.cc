/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/common_phase.h"
#include <cmath>

namespace gr::cudaphy::kernels::nr {

std::vector<complex64>
common_phases(const channel_estimate& estimate, view<const complex64> grid, int slot)
{
    const auto& map = estimate.channel().map();
    if (map.ptrs.empty()) {
        return {};
    }
    const auto& layout = estimate.layout();
    const auto values = dmrs_values(estimate.channel().parameters(), map, slot);
    const size_t a_slot = size_t(map.symbols) * map.subcarriers;
    const size_t antennas = grid.size() / a_slot;
    planes h(map.ports.size() * antennas, size_t(layout.tones));
    std::vector<complex128> sums(map.symbols);
    int filled = -1;
    for (size_t i = 0; i < map.ptrs.size(); ++i) {
        const int symbol = static_cast<int>(map.ptrs[i] / map.subcarriers);
        if (symbol != filled) {
            estimate.at_symbol(symbol, 1, h);
            filled = symbol;
        }
        const int tone = layout.tone_of_subcarrier[map.ptrs[i] % map.subcarriers];
        complex64 sum = 0;
        for (size_t a = 0; a < antennas; ++a) {
            const auto sent = product(h.at(map.ptrs_layer * antennas + a, tone),
                                      values[map.ptrs_pilot[i]]);
            sum += product_conj(grid[a * a_slot + map.ptrs[i]], sent);
        }
        if (std::isfinite(sum.real()) && std::isfinite(sum.imag())) {
            sums[symbol] += complex128(sum);
        }
    }
    return phases_between(sums, layout.time);
}

std::vector<complex64> phases_between(const std::vector<complex128>& sums,
                                      const std::vector<double>& dmrs_times)
{
    const int symbols = static_cast<int>(sums.size());
    // Phases that are known, in the order of time; each is the nearest one to the last.
    std::vector<std::pair<double, double>> known;
    size_t position = 0;
    for (int symbol = 0; symbol < symbols; ++symbol) {
        if (position < dmrs_times.size() && dmrs_times[position] < symbol + 1) {
            known.emplace_back(dmrs_times[position++], 0);
        } else if (sums[symbol] != complex128(0)) {
            known.emplace_back(symbol, std::arg(sums[symbol]));
        }
    }
    std::vector<complex64> out;
    size_t next = 0;
    for (int symbol = 0; symbol < symbols; ++symbol) {
        while (next < known.size() && known[next].first <= symbol) {
            ++next;
        }
        double phase = known[next ? next - 1 : 0].second;
        if (next > 0 && next < known.size()) {
            const auto &a = known[next - 1], &b = known[next];
            const double step = std::remainder(b.second - a.second, 2 * M_PI);
            phase += step * (symbol - a.first) / (b.first - a.first);
        }
        out.push_back(complex64(std::polar(1.0, phase)));
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr
