/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/pilots.h"
#include "kernels/common/pi.h"
#include <cmath>

namespace gr::cudaphy::kernels::nr {
namespace {

// Samples whose energy times this is infinite would overflow sums of energies.
constexpr float far = 1e6f;

} // namespace

pilot_observations observe_pilots(const shared_channel& channel,
                                  const pilot_layout& of,
                                  view<const complex64> grid,
                                  int antennas,
                                  const std::vector<complex64>& values,
                                  double turns_a_symbol)
{
    const auto& map = channel.map();
    pilot_observations out;
    out.antennas = antennas;
    out.values =
        planes(size_t(of.positions()) * of.sets() * antennas * 2, size_t(of.pilots));
    const size_t a_slot = size_t(map.symbols) * map.subcarriers;
    const float scale = 1 / (map.dmrs_amplitude * static_cast<float>(of.length));
    const auto between =
        complex64(std::polar(1.0, -2 * pi * turns_a_symbol * 0.5)) * scale;
    std::vector<float> check(of.sets()); // not 0 if a sample is not finite
    for (int position = 0; position < of.positions(); ++position) {
        for (int time = 0; time < of.length; ++time) {
            const complex64* const sent =
                values.data() + (size_t(position) * of.length + time) * map.pilots;
            // With two symbols: the first is turned on to the middle, the second back.
            const complex64 turn = of.length == 1 ? complex64(scale)
                                   : time         ? between
                                                  : std::conj(between);
            for (int antenna = 0; antenna < antennas; ++antenna) {
                const complex64* const symbol =
                    grid.data() + antenna * a_slot +
                    size_t(of.first_symbol[position] + time) * map.subcarriers;
                for (int group = 0; group < of.groups; ++group) {
                    const auto* const subcarrier =
                        map.dmrs_subcarriers.data() + size_t(group) * map.pilots;
                    for (int sign = 0; sign < of.length; ++sign) {
                        const size_t row =
                            out.row(of, position, sign * of.groups + group, antenna, 0);
                        float* const re[] = { out.values.re_of(row),
                                              out.values.re_of(row + 1) };
                        float* const im[] = { out.values.im_of(row),
                                              out.values.im_of(row + 1) };
                        const auto signed_turn = sign && time ? -turn : turn;
                        float sum = 0;
                        for (int j = 0; j < map.pilots; ++j) {
                            const auto z =
                                product(product_conj(symbol[subcarrier[j]], sent[j]),
                                        signed_turn);
                            re[j & 1][j / 2] += z.real();
                            im[j & 1][j / 2] += z.imag();
                            sum += 0 * (far * energy(z));
                        }
                        check[sign * of.groups + group] += sum;
                    }
                }
            }
        }
    }
    for (const float sum : check) {
        out.finite.push_back(sum == 0);
    }
    return out;
}

std::vector<complex64> delay_phases(const pilot_layout& of, double delay)
{
    std::vector<complex64> out(of.tones);
    const auto step = std::polar(1.0, -2 * pi * delay);
    for (const auto& run : of.runs) {
        complex128 phase = 1;
        for (int i = 0; i < run.tones; ++i) {
            out[run.first_tone + i] = complex64(phase);
            phase = { phase.real() * step.real() - phase.imag() * step.imag(),
                      phase.real() * step.imag() + phase.imag() * step.real() };
        }
    }
    return out;
}

void undo_delay(const pilot_layout& of,
                const std::vector<complex64>& phases,
                pilot_observations& observed)
{
    const size_t rows = observed.values.re.size() / of.pilots;
    for (size_t row = 0; row < rows; ++row) {
        const int parity = static_cast<int>(row % 2);
        const int set = static_cast<int>(row / 2 / observed.antennas % of.sets());
        const int start = of.comb_start(set % of.groups, parity);
        float* const re = observed.values.re_of(row);
        float* const im = observed.values.im_of(row);
        for (int j = 0; j < of.pilots; ++j) {
            const auto z =
                product_conj({ re[j], im[j] }, phases[size_t(j) * of.spacing + start]);
            re[j] = z.real();
            im[j] = z.imag();
        }
    }
}

} // namespace gr::cudaphy::kernels::nr
