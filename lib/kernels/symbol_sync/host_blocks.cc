/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/symbol_sync/host_blocks.h"
#include <algorithm>

namespace gr::cudaphy::kernels {

symbol_sync_on_host::symbol_sync_on_host(const symbol_sync_parameters& p, backend where)
    : symbol_sync_steps(p, where), d_lines(ring()), d_timings(ring()), d_phases(ring()),
      d_segments(ring()), d_symbols(ring() * static_cast<size_t>(plan().most_symbols))
{
}

window_sums symbol_sync_on_host::sums_of(int64_t block, int candidate)
{
    const int64_t first = window_of(block);
    const int size = window_size(), half = size / 2;
    window_sums sums{};
    sums.candidate = plan().candidate(candidate);
    for (int j = 0; j < size; ++j) {
        const auto value =
            line(first + j) * complex128(plan().turns[j * plan().candidates + candidate]);
        sums.real += value.real();
        sums.imag += value.imag();
        if (j < half) {
            sums.early_real += value.real();
            sums.early_imag += value.imag();
        } else if (j >= size - half) {
            sums.late_real += value.real();
            sums.late_imag += value.imag();
        }
        sums.total += share_of(first + j);
    }
    return sums;
}

void symbol_sync_on_host::set_timing(int64_t block, const window_sums& sums)
{
    timing(block) = timing_of(sums,
                              window_size(),
                              plan().half_window,
                              static_cast<int>(block - window_of(block)),
                              plan().advance,
                              plan().most_clock_error);
}

void symbol_sync_on_host::count_symbols(range blocks)
{
    for (int64_t b = blocks.first; b < blocks.last; ++b) {
        d_phases[slot(b)] = b == 0 ? static_cast<uint64_t>(to_fixed(timing(0).phase))
                                   : d_phases[slot(b - 1)] +
                                         static_cast<uint64_t>(symbols_between(
                                             timing(b - 1), timing(b), plan().advance));
    }
}

segment_instants symbol_sync_on_host::instants(int64_t segment)
{
    const auto part = span_of(segment);
    const uint64_t phase = d_phases[slot(part.at)];
    if (part.between) {
        const auto symbols = static_cast<int64_t>(d_phases[slot(segment)] - phase);
        return instants_of(part.begin, part.end, phase, symbols);
    }
    return instants_beside(part.begin,
                           part.end,
                           part.reference,
                           phase,
                           (1 + timing(part.at).clock_error) / plan().samples_per_symbol);
}

void symbol_sync_on_host::set_energy(int64_t segment,
                                     const segment_instants& instants,
                                     double energy)
{
    d_segments[slot(segment)] = { instants,
                                  instants.count ? energy / instants.count : 0 };
}

double symbol_sync_on_host::gain(int64_t segment, int64_t known) const
{
    const double own = d_segments[slot(segment)].energy;
    if (!(own > 0)) {
        return 0;
    }
    const auto window = gain_window_of(segment, known, plan().gain_blocks);
    double sum = 0;
    int count = 0;
    for (int64_t s = window.first; s < window.last; ++s) {
        const double energy = d_segments[slot(s)].energy;
        if (is_like(energy, own)) {
            sum += energy;
            ++count;
        }
    }
    return std::sqrt(count / sum);
}

symbol_block symbol_sync_on_host::block_of(int64_t segment, int64_t known)
{
    const auto& at = d_segments[slot(segment)].instants;
    const auto& from = timing(span_of(segment).at);
    return { static_cast<double>(at.base) + static_cast<double>(at.first) / fixed_one,
             static_cast<double>(at.step) / fixed_one,
             at.count,
             static_cast<float>(from.clock_error),
             static_cast<float>(from.line),
             static_cast<float>(gain(segment, known)) };
}

void symbol_sync_on_host::give(
    range segments, int64_t known, view<complex64> to, view<symbol_block> blocks, queue&)
{
    complex64* next = to.data();
    for (int64_t s = segments.first; s < segments.last; ++s) {
        const auto block = block_of(s, known);
        const auto* const from = symbols(s);
        for (int i = 0; i < block.symbols; ++i) {
            *next++ = from[i] * block.gain;
        }
        blocks[static_cast<size_t>(s - segments.first)] = block;
    }
}

} // namespace gr::cudaphy::kernels
