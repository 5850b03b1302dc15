/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/frame_sync/vl_snr_straightener.h"
#include "kernels/dvb/frame_sync/frame_layout.h"
#include "kernels/dvb/frame_sync/pl_scrambler.h"
#include "kernels/dvb/pl_code.h"

namespace gr::cudaphy::kernels {
namespace {

constexpr size_t most_places = 33282; //!< symbols of the longest frame

} // namespace

vl_snr_straightener::vl_snr_straightener(int gold_code)
    : d_queue(queue::make(backend::cpu)),
      d_corrector(carrier_corrector::make({ gold_code, most_places })),
      d_turns(pl_scrambling(gold_code, most_places))
{
}

std::vector<std::complex<float>>
vl_snr_straightener::run(const dvb_mode& mode,
                         const std::complex<float>* in,
                         const std::vector<carrier_segment>& segments)
{
    std::vector<std::complex<float>> symbols(
        static_cast<size_t>(mode.symbols() * mode.repeats));
    d_corrector->run(in, symbols.data(), segments.data(), segments.size(), *d_queue);
    auto& factors = d_factors[mode.pl_code()];
    if (factors.empty()) {
        constexpr std::complex<float> back[] = { 1, { 0, -1 }, -1, { 0, 1 } };
        for (const auto& part : frame_layout(mode).data) {
            for (int i = 0; i < part.count; ++i) {
                const int turn = d_turns[part.at + i - pl_header_symbols];
                const auto point = pl_code::turned(static_cast<int>(factors.size()));
                // Quarter turns back on, half turns off: j^turn (-1)^(turn & 1).
                factors.push_back(back[turn] * std::conj(point));
            }
        }
    }
    const int repeats = mode.repeats;
    const auto gain = 1 / static_cast<float>(repeats);
    for (size_t i = 0; i < symbols.size() / repeats; ++i) {
        std::complex<float> sum = 0;
        for (int j = 0; j < repeats; ++j) {
            sum += symbols[repeats * i + j] * factors[repeats * i + j];
        }
        symbols[i] = gain * sum;
    }
    symbols.resize(symbols.size() / repeats);
    return symbols;
}

} // namespace gr::cudaphy::kernels
