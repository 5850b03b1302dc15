/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/receiver/mimo_receiver_layout.h"
#include "kernels/common/sizes.h"
#include "kernels/ldpc/decoder/schedule.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

[[noreturn]] void refuse(const std::string& what)
{
    throw std::invalid_argument("mimo_receiver: " + what);
}

//! Whether no layer sends on a tone of a pilot symbol.
bool silent(const channel_estimator::parameters& p, int pilot_symbol, int tone)
{
    const size_t row =
        p.pilots_by_tone ? size_t(pilot_symbol) * p.tones + tone : pilot_symbol;
    for (int t = 0; t < p.layers; ++t) {
        if (p.pilots[row * p.layers + t] != complex64(0)) {
            return false;
        }
    }
    return true;
}

void check(const mimo_receiver::parameters& p)
{
    // What the layout is made from; the kernels check the rest.
    if (p.symbols < 1 || p.symbols > 1024) {
        refuse("symbols is " + std::to_string(p.symbols) + ", allowed are 1 to 1024");
    }
    const auto& e = p.pilots;
    const int most_layers =
        p.method == detector::zero_forcing ? std::min(e.receive_antennas, 16) : 16;
    if (e.receive_antennas < 1 || e.receive_antennas > 128 || e.layers < 1 ||
        e.layers > most_layers || e.tones < 1 || e.tones > 65536) {
        refuse("receive_antennas is " + std::to_string(e.receive_antennas) +
               ", layers is " + std::to_string(e.layers) + ", tones is " +
               std::to_string(e.tones) +
               "; allowed are 1 to 128, 1 to 16 (zero forcing: at most "
               "receive_antennas), 1 to "
               "65536");
    }
    const size_t row = size_t(e.pilots_by_tone ? e.tones : 1) * e.layers;
    if (e.pilots.size() != row * p.pilot_symbols.size()) {
        refuse("pilots has " + std::to_string(e.pilots.size()) + " items, " +
               std::to_string(row) + " for each of the " +
               std::to_string(p.pilot_symbols.size()) + " pilot_symbols fit");
    }
    int last = -1;
    for (const int symbol : p.pilot_symbols) {
        if (symbol <= last || symbol >= p.symbols) {
            refuse("pilot_symbols has " + std::to_string(symbol) + ", allowed are 0 to " +
                   std::to_string(p.symbols - 1) + " (symbols), ascending");
        }
        last = symbol;
    }
    if (p.points.bits < 1 || p.points.bits > 10) {
        refuse("points has " + std::to_string(p.points.bits) +
               " bits, allowed are 1 to 10");
    }
    // So that what is of a slot fits an int.
    checked_product("mimo_receiver: symbols * tones * receive_antennas",
                    1 << 30,
                    { p.symbols, e.tones, e.receive_antennas });
    checked_product("mimo_receiver: symbols * tones * layers * bits of a point",
                    1 << 30,
                    { p.symbols, e.tones, e.layers, p.points.bits });
    checked_product(
        "mimo_receiver: times * tones * receive_antennas * layers",
        1 << 30,
        { std::max<int64_t>(1, e.times.size()), e.tones, e.receive_antennas, e.layers });
    if (!p.code) {
        refuse("code is null");
    }
}

} // namespace

receiver_layout::receiver_layout(const mimo_receiver::parameters& p)
{
    check(p);
    symbols = p.symbols;
    tones = p.pilots.tones;
    receive = p.pilots.receive_antennas;
    layers = p.pilots.layers;
    bits = p.points.bits;
    pilot_rows = int(p.pilot_symbols.size());
    data_rows = 0;
    times = std::max(1, int(p.pilots.times.size()));
    pilot_row.assign(symbols, -1);
    data_row.assign(symbols, -1);
    for (int i = 0; i < pilot_rows; ++i) {
        pilot_row[p.pilot_symbols[i]] = i;
    }
    bool all = true;
    for (int symbol = 0; symbol < symbols; ++symbol) {
        const int pilot = pilot_row[symbol];
        std::vector<int> with_data;
        for (int tone = 0; tone < tones; ++tone) {
            if (pilot < 0 || (p.data_beside_pilots && silent(p.pilots, pilot, tone))) {
                with_data.push_back(data_rows * tones + tone);
            }
        }
        if (with_data.empty()) {
            continue;
        }
        all = all && int(with_data.size()) == tones;
        places.insert(places.end(), with_data.begin(), with_data.end());
        data_row[symbol] = data_rows++;
    }
    slot.vectors = places.size();
    if (all) {
        places.clear();
    }
    slot.received = size_t(symbols) * row_items();
    slot.estimates = times;
    slot.channel = times * row_items() * layers;
    slot.layers = slot.vectors * layers;
    slot.words = demapped_bits() / p.code->n();
    slot.soft_bits = slot.words * p.code->n();
    const size_t word_bits = p.decoding.whole_words ? p.code->n() : p.code->k();
    slot.word_bytes = p.decoding.packed ? (word_bits + 7) / 8 : word_bits;
    if (slot.words == 0) {
        refuse("a slot holds " + std::to_string(demapped_bits()) +
               " bits, fewer than a codeword's " + std::to_string(p.code->n()));
    }
    if (data_rows % times) {
        refuse("there are " + std::to_string(times) + " times, but " +
               std::to_string(data_rows) + " symbols with data, which they must divide");
    }
}

channel_estimator::parameters estimator_of(const mimo_receiver::parameters& p)
{
    auto out = p.pilots;
    if (!out.times.empty() && out.pilot_times.empty()) {
        out.pilot_times.assign(p.pilot_symbols.begin(), p.pilot_symbols.end());
    }
    return out;
}

equalizer::parameters equalizer_of(const mimo_receiver::parameters& p,
                                   const receiver_layout& layout)
{
    return { layout.receive,
             layout.layers,
             p.method,
             p.unbiased,
             layout.data_rows / layout.times,
             layout.tones,
             p.route };
}

soft_demapper::parameters demapper_of(const mimo_receiver::parameters& p, backend where)
{
    const float own = where == backend::cuda ? ldpc_decoding::steps_on_cuda
                                             : ldpc_decoding::steps_elsewhere;
    return { p.points,
             p.max_log,
             p.decoding.llr_positive,
             p.decoding.llr_steps > 0 ? p.decoding.llr_steps : own };
}

ldpc_decoder::parameters decoder_of(const mimo_receiver::parameters& p, backend where)
{
    auto out = p.decoding;
    if (out.llr == ldpc_decoder::number::int8) {
        out.llr_scale /= demapper_of(p, where).llr_steps;
    }
    return out;
}

} // namespace gr::cudaphy::kernels
