/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/frame_sync/frame_carrier.h"
#include "kernels/common/pi.h"
#include "kernels/dvb/frame_sync/pl_scrambler.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/constellation.h>

namespace gr::cudaphy::kernels {
namespace {

//! Known symbols of which amplitude and noise are means.
constexpr double averaged_symbols = 2048;
constexpr float most_amplitude_clip = 6; //!< of the mean: larger ones are clicks
constexpr float most_energy_of_median = 64;
constexpr int part_symbols = 9; //!< known symbols that are summed to search frequencies
constexpr int data_part = 30;   //!< data symbols likewise
constexpr int most_marked = 90; //!< known symbols whose phase is one mark

std::vector<std::complex<float>> points_of(const dvb_mode& mode)
{
    const auto all = constellation::make(mode.constellation()).points;
    return { all.begin(), all.end() };
}

} // namespace

frame_carrier::frame_carrier(int gold_code)
{
    const std::complex<float> turns[] = { 1, { 0, -1 }, -1, { 0, 1 } };
    const float part = std::sqrt(0.5f);
    const auto scrambling = pl_scrambling(gold_code, most_frame_symbols);
    d_pilots.resize(pl_header_symbols);
    for (const auto turn : scrambling) {
        d_pilots.push_back(std::complex<float>(part, -part) * turns[turn]);
    }
}

void frame_carrier::restart()
{
    d_is_certain = false;
    d_search.reset();
    d_weight = d_real = d_energy = 0;
    d_header_power = d_header_energy = 0;
    d_headers_measured = 0;
    d_followed = {};
    d_most_bits = 0;
}

const frame_carrier::mode_kind& frame_carrier::kind_of(int pls)
{
    auto found = d_kinds.find(pls);
    if (found == d_kinds.end()) {
        const auto mode = dvb_mode::of(pls).value();
        found = d_kinds.emplace(pls, mode_kind{ mode, frame_layout(mode), {} }).first;
        if (!mode.dummy && !mode.pilots) {
            found->second.points = points_of(mode);
        }
    }
    return found->second;
}

//! The header that begins at a place, of a VL-SNR frame both of them.
frame_carrier::known_part frame_carrier::header_part(int pls, int at)
{
    auto& header = d_headers[pls];
    if (header.empty()) {
        for (const auto symbol : pl_header(pls)) {
            header.push_back(std::conj(symbol));
        }
        if (pls >= first_vl_snr) {
            for (const auto symbol : vl_snr_header(pls - first_vl_snr)) {
                header.push_back(std::conj(symbol));
            }
        }
    }
    return { at, static_cast<int>(header.size()), header.data() };
}

std::vector<frame_carrier::known_part>
frame_carrier::known_parts(const frame_header& frame, const frame_header* next)
{
    std::vector<known_part> parts{ header_part(frame.pls, 0) };
    for (const auto& one : kind_of(frame.pls).layout.known) {
        parts.push_back({ one.at, one.count, d_pilots.data() + one.at });
    }
    if (next) {
        parts.push_back(header_part(next->pls, static_cast<int>(next->at - frame.at)));
    }
    return parts;
}

//! Parts over which the carrier's phase is steady.
std::vector<frame_carrier::known_part>
frame_carrier::split(const std::vector<known_part>& parts)
{
    std::vector<known_part> out;
    for (const auto& part : parts) {
        for (int first = 0; first < part.count; first += most_marked) {
            out.push_back({ part.at + first,
                            std::min(most_marked, part.count - first),
                            part.conjugate + first });
        }
    }
    return out;
}

std::complex<float> frame_carrier::clipped(std::complex<float> symbol) const
{
    const auto limit = most_amplitude_clip *
                       static_cast<float>(std::sqrt(d_amplitude * d_amplitude + d_noise));
    return std::norm(symbol) > limit * limit ? std::complex<float>(0) : symbol;
}

const phase_table* frame_carrier::table_of(int pls)
{
    const auto& kind = kind_of(pls);
    if (kind.points.empty()) {
        return nullptr;
    }
    const double es_n0 = d_amplitude * d_amplitude / d_noise;
    const int half_decibels =
        static_cast<int>(std::lround(std::clamp(20 * std::log10(es_n0), -8.0, 50.0)));
    const auto key = std::make_pair(kind.mode.constellation(), half_decibels);
    auto found = d_tables.find(key);
    if (found == d_tables.end()) {
        found = d_tables
                    .emplace(key,
                             phase_table::make(kind.points,
                                               std::pow(10, -half_decibels / 20.0)))
                    .first;
    }
    return found->second.quarters.empty() ? nullptr : &found->second;
}

frame_carrier::header_energies
frame_carrier::energies_of_header(const symbol_buffer& symbols, const frame_header& frame)
{
    const auto* const in = symbols.at(frame.at);
    const int count = kind_of(frame.pls).mode.header_symbols();
    std::vector<float> energies(static_cast<size_t>(count));
    std::transform(
        in, in + count, energies.begin(), [](const auto& one) { return std::norm(one); });
    auto ordered = energies;
    const auto middle = ordered.begin() + count / 2;
    std::nth_element(ordered.begin(), middle, ordered.end());
    double energy = 0;
    for (const float one : energies) {
        energy += one <= most_energy_of_median * *middle ? one : 0;
    }
    energy /= count;
    // |sum|^2 / symbols, the values taken off, is the score times the energy.
    return { energy, (frame.score - 1) * energy / (count - 1) };
}

//! Amplitude and noise by a header whose phase is not known.
void frame_carrier::measure_header(const symbol_buffer& symbols,
                                   const frame_header& frame)
{
    const auto header = energies_of_header(symbols, frame);
    d_header_power += header.of_signal;
    d_header_energy += header.of_symbols;
    ++d_headers_measured;
    const double total = d_header_energy / d_headers_measured;
    const double power =
        std::clamp(d_header_power / d_headers_measured, 0.02 * total, 0.999 * total);
    d_amplitude = std::sqrt(power);
    d_noise = total - power;
}

void frame_carrier::learn(const symbol_buffer& symbols,
                          const frame_header& frame,
                          const frame_header* next)
{
    if (d_is_certain) {
        return;
    }
    measure_header(symbols, frame);
    d_most_bits = std::max(d_most_bits, kind_of(frame.pls).mode.bits_a_symbol);
    if (!d_search) {
        d_search.emplace(frame.frequency);
    }
    d_search->forget(frame.length);
    const auto* const in = symbols.at(frame.at);
    std::vector<known_block> blocks;
    for (const auto& part : known_parts(frame, next)) {
        known_block block{ part.count, {} };
        for (int first = 0; first < part.count; first += part_symbols) {
            const int last = std::min(first + part_symbols, part.count);
            partial_sum sum{ part.at + (first + last - 1) / 2.0, 0 };
            for (int i = first; i < last; ++i) {
                sum.sum +=
                    std::complex<double>(clipped(in[part.at + i]) * part.conjugate[i]) *
                    std::polar(1.0,
                               -2 * pi * d_search->centre() * (part.at + i - sum.at));
            }
            block.parts.push_back(sum);
        }
        blocks.push_back(std::move(block));
    }
    d_search->add_known(blocks, d_noise);
    if (const auto* const table = table_of(frame.pls)) {
        const auto& data = kind_of(frame.pls).layout.data[0];
        const auto count = static_cast<size_t>(data.count) / data_part;
        const size_t harmonics = table->quarters.size();
        d_sums.resize(count * harmonics);
        phase_sums(*table,
                   in + data.at,
                   count,
                   data_part,
                   d_search->centre(),
                   static_cast<float>(1 / d_amplitude),
                   d_sums.data());
        for (size_t h = 0; h < harmonics; ++h) {
            d_search->add_data(
                d_sums.data() + h, count, harmonics, data_part, 4 * table->quarters[h]);
        }
    }
    if (d_search->is_found()) {
        settle();
    }
}

void frame_carrier::settle()
{
    constexpr double deviation = 2e-5;
    // Points that lie densely are for oscillators of little phase noise, and their phase
    // slips if it may walk far.
    constexpr double walk = 4e-6, walk_of_dense_points = 4e-7;
    constexpr int dense = 4; // bits a symbol
    if (d_search && !d_is_certain) {
        d_tracker.begin(d_search->frequency(),
                        deviation,
                        d_most_bits < dense ? walk : walk_of_dense_points);
        d_is_certain = true;
        d_checked = d_misfits = 0;
        d_error = d_error_spread = 0;
        if (d_weight == 0) { // by the headers that were learnt from
            d_weight = pl_header_symbols * d_headers_measured;
            d_real = d_weight * d_amplitude;
            d_energy = d_weight * (d_amplitude * d_amplitude + d_noise);
        }
    }
}

corrected_frame frame_carrier::follow(const symbol_buffer& symbols,
                                      const frame_header& frame,
                                      const frame_header* next)
{
    const auto& kind = kind_of(frame.pls);
    const auto* const in = symbols.at(frame.at);
    const auto parts = split(known_parts(frame, next));
    phase_marks marks;
    marks.frequency = d_tracker.frequency();
    marks.amplitude = d_amplitude;
    marks.noise = d_noise;
    marks.length = next ? static_cast<double>(next->at - frame.at) : frame.length;
    for (const auto& part : parts) {
        known_mark mark{ part.at + (part.count - 1) / 2.0, part.count, 0 };
        const auto step = std::polar(1.0, -2 * pi * marks.frequency);
        auto turn = std::polar(1.0, pi * marks.frequency * (part.count - 1));
        for (int i = 0; i < part.count; ++i) {
            mark.sum +=
                std::complex<double>(clipped(in[part.at + i]) * part.conjugate[i]) * turn;
            turn *= step;
        }
        marks.known.push_back(mark);
    }
    if (const auto* const table = table_of(frame.pls)) {
        const auto& data = kind.layout.data[0];
        const size_t block = kind.mode.bits_a_symbol > 3 ? 180 : 360;
        const size_t count = static_cast<size_t>(data.count) / block;
        marks.quarters = table->quarters;
        marks.first_block = data.at;
        marks.block_symbols = static_cast<double>(block);
        marks.blocks.resize(count * table->quarters.size());
        phase_sums(*table,
                   in + data.at,
                   count,
                   block,
                   marks.frequency,
                   static_cast<float>(1 / d_amplitude),
                   marks.blocks.data());
    }
    const auto& points = d_tracker.follow(marks);
    measure_parts(symbols, frame, parts, points, marks.frequency);
    corrected_frame out;
    const auto& last = points.back();
    out.frequency = marks.frequency + (last.phase - points[0].phase) /
                                          std::max(last.at - points[0].at, 1.0) /
                                          (2 * pi);
    out.noise_variance = d_noise / (d_amplitude * d_amplitude);
    add_segments(kind, points, marks.frequency, out.segments);
    check_frequency(frame, marks.frequency);
    return out;
}

//! Gives the frequency up if headers or data contradict it for long.
void frame_carrier::check_frequency(const frame_header& frame, double frequency)
{
    constexpr int frames = 64; // over which headers' frequencies are averaged
    // Pilots confuse frequencies 7e-4 apart, headers alone those a cycle a frame apart.
    const auto& mode = kind_of(frame.pls).mode;
    const double most_error = mode.pilots ? 3e-4 : std::min(3e-4, 0.5 / frame.length);
    constexpr int most_misfits = 3;
    d_checked = std::min(d_checked + 1, frames);
    const double missed = frame.frequency - frequency - d_error;
    d_error += missed / d_checked;
    d_error_spread += (missed * missed - d_error_spread) / d_checked;
    d_misfits = d_tracker.fits() ? 0 : d_misfits + 1;
    // A few frames tell a great error; what noise makes of a header is at least this.
    constexpr int few = 4;
    const double symbols = mode.header_symbols();
    const double es_n0 = d_amplitude * d_amplitude / d_noise;
    const double least_spread = 6 / (4 * pi * pi * symbols * symbols * symbols * es_n0);
    const double deviations = d_checked == frames ? 4 : 6;
    const double uncertainty =
        deviations * std::sqrt(std::max(d_error_spread, least_spread) / d_checked);
    if ((d_checked >= few && std::abs(d_error) > std::max(most_error, uncertainty)) ||
        d_misfits == most_misfits || is_astray()) {
        restart();
    }
}

//! Whether known symbols cancel out, though each header by itself is strong.
bool frame_carrier::is_astray() const
{
    constexpr double least_frames = 3;
    constexpr double least_part = 0.25; // of the headers' power
    const double amplitude =
        std::max(d_followed.real, 0.0) / std::max(d_followed.symbols, 1.0);
    return d_followed.frames > least_frames && amplitude * amplitude * d_followed.frames <
                                                   least_part * d_followed.header_power;
}

//! Amplitude and noise by the known symbols, whose phase is known.
void frame_carrier::measure_parts(const symbol_buffer& symbols,
                                  const frame_header& frame,
                                  const std::vector<known_part>& parts,
                                  const std::vector<phase_point>& points,
                                  double frequency)
{
    const auto* const in = symbols.at(frame.at);
    size_t p = 0;
    double number = 0, real = 0, energy = 0;
    for (const auto& part : parts) {
        const double middle = part.at + (part.count - 1) / 2.0;
        while (p + 1 < points.size() && points[p].at < middle) {
            ++p;
        }
        const double cycles = std::remainder(frequency * part.at, 1.0);
        const double phase = points[p].phase + points[p].step * (part.at - points[p].at);
        auto turn = std::polar(1.0, -2 * pi * cycles - phase);
        const auto step = std::polar(1.0, -2 * pi * frequency - points[p].step);
        for (int i = 0; i < part.count; ++i) {
            const auto symbol = clipped(in[part.at + i]);
            const auto straight = std::complex<double>(symbol * part.conjugate[i]) * turn;
            turn *= step;
            number += symbol != std::complex<float>(0);
            real += straight.real();
            energy += std::norm(symbol);
        }
    }
    const auto header = energies_of_header(symbols, frame);
    d_followed.add(number, real, header.of_signal);
    const double keep = std::exp(-number / averaged_symbols);
    d_weight = keep * d_weight + number;
    d_real = keep * d_real + real;
    d_energy = keep * d_energy + energy;
    if (d_weight > 0 && d_energy > 0) {
        const double total = d_energy / d_weight;
        const double power = std::clamp(d_real / d_weight, 0.0, 1e18);
        const double signal = std::clamp(power * power, 0.02 * total, 0.9999 * total);
        d_amplitude = std::sqrt(signal);
        d_noise = total - signal;
    }
}

//! Between two points the carrier's frequency is constant.
void frame_carrier::add_segments(const mode_kind& kind,
                                 const std::vector<phase_point>& points,
                                 double frequency,
                                 std::vector<carrier_segment>& to) const
{
    size_t p = 0, out = 0;
    for (const auto& data : kind.layout.data) {
        int at = data.at;
        const int end = data.at + data.count;
        while (at < end) {
            while (p + 1 < points.size() && points[p + 1].at <= at) {
                ++p;
            }
            const bool between = p + 1 < points.size();
            const double step = between ? (points[p + 1].phase - points[p].phase) /
                                              (points[p + 1].at - points[p].at)
                                        : points[p].step;
            const int next =
                between
                    ? std::min(end, static_cast<int>(std::floor(points[p + 1].at)) + 1)
                    : end;
            const double phase = points[p].phase + step * (at - points[p].at);
            carrier_segment one;
            one.in = static_cast<size_t>(at);
            one.out = out;
            one.count = static_cast<uint32_t>(next - at);
            one.place = static_cast<uint32_t>(at - pl_header_symbols);
            one.phase = std::remainder(frequency * at, 1.0) + phase / (2 * pi);
            one.frequency = frequency + step / (2 * pi);
            one.gain = static_cast<float>(1 / d_amplitude);
            to.push_back(one);
            out += one.count;
            at = next;
        }
    }
}

} // namespace gr::cudaphy::kernels
