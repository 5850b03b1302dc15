/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/mode_table.h"
#include "kernels/dvb/pl_code.h"
#include "kernels/dvb/vl_snr_table.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/dvb_mode.h>
#include <iterator>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

constexpr int slot = 90, pilot_block = 36, slots_a_pilot_block = 16, dummy_slots = 36;
using namespace pl_code;

//! The 32 bits of the code without the pairs.
uint32_t code_of(int pls)
{
    uint32_t word = pls >= first_extended ? extended_row : 0;
    for (int i = 0; i < 6; ++i) {
        word ^= pls >> (6 - i) & 1 ? generator[i] : 0;
    }
    return word;
}

//! Null if there is none.
const mode_row* row_of(int pls)
{
    const bool extended = pls >= first_extended;
    const int number = extended ? pls & ~1 : pls >> 2;
    const auto* const first = extended ? std::begin(s2x_modes) : std::begin(s2_modes);
    const auto* const last = extended ? std::end(s2x_modes) : std::end(s2_modes);
    const auto* const row = std::find_if(
        first, last, [&](const mode_row& one) { return one.number == number; });
    return row == last ? nullptr : row;
}

//! The mode of a VL-SNR frame by its header's number.
std::optional<dvb_mode> vl_snr_mode(int number)
{
    const auto* const row =
        std::find_if(std::begin(vl_snr_modes),
                     std::end(vl_snr_modes),
                     [&](const vl_snr_row& one) { return one.number == number; });
    if (row == std::end(vl_snr_modes)) {
        return std::nullopt;
    }
    dvb_mode mode;
    mode.pls = first_vl_snr + number;
    mode.dummy = !*row->rate;
    mode.modulation = row->modulation;
    mode.frame = row->frame;
    mode.rate = row->rate;
    mode.extended = true;
    mode.pilots = !mode.dummy;
    mode.bits_a_symbol = row->bits;
    mode.repeats = row->repeats;
    return mode;
}

} // namespace

bool dvb_mode::is_vl_snr() const { return pls >= first_vl_snr; }

int dvb_mode::pl_code() const
{
    return is_vl_snr() ? set_of_vl_snr(pls - first_vl_snr).pls : pls;
}

int dvb_mode::header_symbols() const
{
    return pl_header_symbols + (is_vl_snr() ? vl_snr_header_symbols : 0);
}

int dvb_mode::symbols() const
{
    if (is_vl_snr()) {
        return set_of_vl_snr(pls - first_vl_snr).data / repeats;
    }
    const int bits = frame == "normal" ? 64800 : 16200;
    return dummy ? dummy_slots * slot : (bits + bits_a_symbol - 1) / bits_a_symbol;
}

int dvb_mode::pilot_blocks() const
{
    if (is_vl_snr()) {
        const auto& set = set_of_vl_snr(pls - first_vl_snr);
        return pilots ? 2 * (set.narrow_groups + set.wide_groups) + 1 : 0;
    }
    const int slots = (symbols() + slot - 1) / slot;
    return pilots ? (slots - 1) / slots_a_pilot_block : 0;
}

int dvb_mode::length() const
{
    if (is_vl_snr()) {
        const auto& set = set_of_vl_snr(pls - first_vl_snr);
        const int groups = set.narrow_groups + set.wide_groups;
        return header_symbols() + vl_snr_first_data +
               groups * (pilot_block + slots_a_pilot_block * slot) + pilot_block +
               set.tail;
    }
    const int slots = (symbols() + slot - 1) / slot;
    return pl_header_symbols + slots * slot + pilot_blocks() * pilot_block;
}

std::string dvb_mode::name() const
{
    return dummy ? "dummy"
                 : modulation + " " + rate + " " + frame + (pilots ? ", pilots" : "");
}

std::string dvb_mode::constellation() const
{
    if (modulation == "BPSK") {
        return "bpsk";
    }
    if (modulation == "QPSK") {
        return "dvbs2_qpsk";
    }
    if (modulation == "8PSK") {
        return "dvbs2_8psk";
    }
    std::string lower = modulation;
    for (auto& letter : lower) {
        letter = letter >= 'A' ? letter - 'A' + 'a' : letter;
    }
    if (pls < first_extended) {
        return "dvbs2_" + lower + "_" + rate;
    }
    // The only one whose radii differ with the size of the frame.
    const bool is_short = modulation == "32APSK" && rate == "2/3" && frame == "short";
    return (is_short ? "dvbs2x_short_" : "dvbs2x_") + lower + "_" + rate;
}

std::string dvb_mode::bit_interleaver() const
{
    const auto* const row = is_vl_snr() ? nullptr : row_of(pls);
    return row ? row->columns : "";
}

std::string dvb_mode::code() const
{
    return dummy ? "" : (extended ? "dvbs2x_" : "dvbs2_") + frame + "_" + rate;
}

std::optional<dvb_mode> dvb_mode::of(int pls)
{
    if (pls >= first_vl_snr) {
        return vl_snr_mode(pls - first_vl_snr);
    }
    dvb_mode mode;
    mode.pls = pls;
    mode.pilots = pls & 1;
    const bool extended = pls >= first_extended;
    if (pls >> 2 == 0) {
        mode.dummy = true;
        mode.pilots = false;
        mode.modulation = "QPSK";
        mode.frame = "short";
        return mode;
    }
    const auto* const row = row_of(pls);
    if (!row) {
        return std::nullopt;
    }
    const bool is_short = extended ? pls >= first_short_mode : pls >> 1 & 1;
    mode.frame = is_short ? "short" : "normal";
    mode.extended = row->rate[0] == '.';
    mode.rate = row->rate + (mode.extended ? 1 : 0);
    if (is_short && mode.rate == "9/10") {
        return std::nullopt;
    }
    mode.modulation = row->modulation;
    mode.bits_a_symbol = row->bits;
    std::copy_if(std::begin(row->rings),
                 std::end(row->rings),
                 std::back_inserter(mode.rings),
                 [](int ring) { return ring > 0; });
    return mode;
}

std::vector<std::complex<float>> vl_snr_header(int number)
{
    if (number < 0 || number > 15) {
        throw std::invalid_argument("vl_snr_header: number is " + std::to_string(number) +
                                    ", allowed are 0 to 15");
    }
    std::vector<std::complex<float>> out(vl_snr_header_symbols);
    constexpr int edge = 2, rows = 16; // bits 0 before and behind the rows
    for (int i = 0; i < vl_snr_header_symbols; ++i) {
        const int row = (i - edge) / vl_snr_row_bits, bit = (i - edge) % vl_snr_row_bits;
        const bool within = i >= edge && row < rows;
        const bool inverted =
            within && ((vl_snr_rows[row] >> (vl_snr_row_bits - 1 - bit) ^
                        vl_snr_signs[number] >> (rows - 1 - row)) &
                       1);
        out[i] = inverted ? -turned(i) : turned(i);
    }
    return out;
}

std::array<std::complex<float>, pl_header_symbols> pl_header(int pls)
{
    if (pls >= first_vl_snr) {
        pls = set_of_vl_snr(pls - first_vl_snr).pls;
    }
    std::array<std::complex<float>, pl_header_symbols> out;
    for (int i = 0; i < pl_start_symbols; ++i) {
        const bool bit = start_of_frame >> (pl_start_symbols - 1 - i) & 1;
        out[i] = bit ? -turned(i) : turned(i);
    }
    const uint32_t code = code_of(pls);
    // S2X turns the code's symbols by a quarter.
    const std::complex<float> turn(pls >= first_extended ? 0 : 1,
                                   pls >= first_extended ? 1 : 0);
    for (int i = 0; i < 64; ++i) {
        const bool bit =
            (code >> (31 - i / 2) ^ (i % 2 ? pls : 0) ^ scrambler >> (63 - i)) & 1;
        const auto symbol = turned(pl_start_symbols + i) * turn;
        out[pl_start_symbols + i] = bit ? -symbol : symbol;
    }
    return out;
}

pls_decision decide_pls(const std::complex<float>* symbols)
{
    pls_decision best{ 0, -2, -2 };
    for (const bool extended : { false, true }) {
        for (const int pilots : { 0, 1 }) {
            float sums[32];
            for (int i = 0; i < 32; ++i) {
                float pair[2];
                for (int j = 0; j < 2; ++j) {
                    const int at = 2 * i + j;
                    const auto straight =
                        symbols[at] * std::conj(turned(pl_start_symbols + at));
                    const float value = extended ? straight.imag() : straight.real();
                    const bool flip = (scrambler >> (63 - at) ^ (j ? pilots : 0) ^
                                       (extended ? extended_row >> (31 - i) : 0)) &
                                      1;
                    pair[j] = flip ? -value : value;
                }
                sums[i] = pair[0] + pair[1];
            }
            transform(sums);
            for (int u = 0; u < 32; ++u) {
                for (const bool negative : { false, true }) {
                    const float correlation = (negative ? -sums[u] : sums[u]) / 64;
                    if (correlation > best.correlation) {
                        best.second = best.correlation;
                        best.correlation = correlation;
                        best.pls = code_of_value(u, negative, extended, pilots);
                    } else {
                        best.second = std::max(best.second, correlation);
                    }
                }
            }
        }
    }
    return best;
}

} // namespace gr::cudaphy::kernels
