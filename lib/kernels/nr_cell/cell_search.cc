/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/parallel.h"
#include "kernels/nr/require.h"
#include "kernels/nr_cell/sib1_receiver.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr_cell/cell_search.h>
#include <mutex>
#include <tuple>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

using nr::require;

//! Stretches that are searched at a time, and what they share: a block of four symbols of
//! 15 kHz lies wholly in one.
constexpr double stretch_seconds = 41e-3, shared_seconds = 0.4e-3;
constexpr float certain_correlation = 0.25f;
constexpr size_t most_in_stretch = 16; // peaks at one frequency

bool allowed(int scs)
{
    return scs == 15000 || scs == 30000 || scs == 120000 || scs == 240000;
}

//! The frequencies at which a block lies wholly within the sample rate.
bool fits(double frequency, int scs, double rate)
{
    return std::abs(frequency) + 121.0 * scs <= rate / 2;
}

struct place {
    int scs;
    double frequency;
};

std::vector<pss_peak> find_peaks(const recording& given,
                                 const cell_search_parameters& p,
                                 const std::vector<place>& places)
{
    const double rate = given.rate, seconds = given.seconds();
    std::vector<pss_peak> out;
    std::mutex turn;
    for (double start = 0; start < seconds; start += stretch_seconds - shared_seconds) {
        const int64_t first = int64_t(start * rate);
        const double length = std::min(stretch_seconds, seconds - start);
        const spectrum stretch(given, first, size_t(length * rate));
        for_each_part(places.size(), 1, [&](size_t from, size_t to) {
            for (size_t i = from; i < to; ++i) {
                const auto peaks = find_pss(stretch,
                                            places[i].frequency,
                                            places[i].scs,
                                            double(first) / rate,
                                            length,
                                            p.threshold,
                                            most_in_stretch);
                const std::lock_guard<std::mutex> lock(turn);
                out.insert(out.end(), peaks.begin(), peaks.end());
            }
        });
    }
    return out;
}

//! The highest of peaks that are one and the same, falling.
std::vector<pss_peak> distinct(std::vector<pss_peak> peaks, size_t most)
{
    std::sort(peaks.begin(), peaks.end(), [](const auto& a, const auto& b) {
        return std::tie(b.correlation, a.time, a.nominal) <
               std::tie(a.correlation, b.time, b.nominal);
    });
    std::vector<pss_peak> out;
    for (const auto& peak : peaks) {
        const bool known = std::any_of(out.begin(), out.end(), [&](const auto& other) {
            return other.n_id_2 == peak.n_id_2 && other.scs == peak.scs &&
                   std::abs(other.time - peak.time) * peak.scs < 1 &&
                   std::abs(other.frequency - peak.frequency) < 60.0 * peak.scs;
        });
        if (!known) {
            out.push_back(peak);
        }
        if (out.size() == most) {
            break;
        }
    }
    return out;
}

bool overlap(const received_ssb& a, const received_ssb& b)
{
    const double duration = 4.3 / std::min(a.scs, b.scs);
    return std::abs(a.time - b.time) < duration &&
           std::abs(a.frequency - b.frequency) < 120.0 * (a.scs + b.scs);
}

//! Blocks that are believed, those with MIB first, then by strength.
std::vector<received_ssb> receive(const recording& from,
                                  const std::vector<pss_peak>& peaks)
{
    std::vector<std::optional<received_ssb>> blocks(peaks.size());
    for_each_part(peaks.size(), 1, [&](size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) {
            blocks[i] = receive_ssb(from, peaks[i]);
        }
    });
    std::vector<received_ssb> out;
    for (const bool decoded : { true, false }) {
        for (const auto& block : blocks) {
            if (!block || bool(block->mib) != decoded) {
                continue;
            }
            // Sidelobes of a block lie beside it.
            const bool beside =
                std::any_of(out.begin(), out.end(), [&](const auto& other) {
                    return overlap(other, *block);
                });
            if (decoded || (!beside && block->pss_correlation > certain_correlation &&
                            block->sss_correlation > certain_correlation)) {
                out.push_back(*block);
            }
        }
    }
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
        return std::pair(bool(a.mib), a.snr) > std::pair(bool(b.mib), b.snr);
    });
    return out;
}

//! Cases B and C (TS 38.213, 4.1) and least bandwidths that a block may have, the
//! likelier ones first (TS 38.101-1, tables 5.3.5-1 and 5.4.3.3-1).
std::vector<ssb_reading> readings(const received_ssb& block, double frequency)
{
    const auto within = [&](double first, double last) {
        return frequency >= first && frequency <= last;
    };
    const char fixed = block.scs == 15000    ? 'A'
                       : block.scs == 120000 ? 'D'
                       : block.scs == 240000 ? 'E'
                                             : 0;
    if (fixed) {
        return { { fixed, false } };
    }
    const bool case_b = within(869e6, 894e6) || within(2110e6, 2200e6); // n5, n66
    const bool wide = within(4400e6, 5000e6);                           // n79
    std::vector<ssb_reading> out;
    for (const bool w : { wide, !wide }) {
        for (const bool b : { case_b, !case_b }) {
            out.push_back({ b ? 'B' : 'C', w });
        }
    }
    return out;
}

void read_sib1(const recording& from,
               const received_ssb& block,
               const std::vector<ssb_reading>& how,
               found_cell& out)
{
    bool first = true;
    for (const auto& one : how) {
        const auto start = frame_time(block, one.pattern);
        auto outcome = receive_sib1(from, block, one);
        const bool done = !outcome.bytes.empty();
        if (first || done || (outcome.dci_found && !out.sib1.dci_found)) {
            out.pattern = one.pattern;
            out.frame_time = start.value_or(0) * from.rate;
            out.sib1 = std::move(outcome);
        }
        first = false;
        if (done) {
            return;
        }
    }
}

found_cell describe(const received_ssb& block, double rate)
{
    found_cell out{};
    out.cell = block.cell;
    out.scs = block.scs;
    out.ssb_frequency = block.nominal;
    out.frequency_offset = block.frequency - block.nominal;
    out.time = block.time * rate;
    out.snr = 10 * std::log10(std::max(block.snr, 1e-6f));
    out.pss_correlation = block.pss_correlation;
    out.sss_correlation = block.sss_correlation;
    out.mib = block.mib;
    return out;
}

bool same_block(const received_ssb& a, const found_cell& b)
{
    return a.cell == b.cell && a.scs == b.scs && bool(a.mib) == bool(b.mib) &&
           (!a.mib || a.mib->ssb_index == b.mib->ssb_index) &&
           std::abs(a.nominal - b.ssb_frequency) < 60.0 * a.scs;
}

} // namespace

void cell_search_parameters::check() const
{
    require(std::isfinite(sample_rate) && sample_rate > 0 && sample_rate <= 1e9,
            "sample_rate is " + std::to_string(sample_rate) +
                "; expected samples/s, above 0 to 1e9");
    require(std::isfinite(centre_frequency) && centre_frequency >= 0 &&
                centre_frequency <= 100e9,
            "center_frequency is not 0 to 100e9 Hz");
    require(!spacings.empty() && std::all_of(spacings.begin(), spacings.end(), allowed),
            "SS/PBCH blocks have subcarriers 15, 30, 120 or 240 kHz apart (TS 38.211, "
            "7.4.3.1)");
    require(threshold > 0 && threshold <= 1, "threshold is above 0, to 1");
    require(most_candidates >= 1 && most_candidates <= 10000,
            "most_candidates is 1 to 10000");
    bool any = false;
    for (const double frequency : ssb_frequencies) {
        require(std::isfinite(frequency), "ssb_frequency is not finite");
        for (const int scs : spacings) {
            any = any || fits(frequency, scs, sample_rate);
        }
    }
    const int least = *std::min_element(spacings.begin(), spacings.end());
    require(any,
            "no SS/PBCH block lies within the samples' band: its 242 subcarriers of " +
                std::to_string(least / 1000) + " kHz take " +
                std::to_string(242 * least / 1000) + " kHz around ssb_frequency, of " +
                std::to_string(int64_t(sample_rate / 1000)) +
                " kHz (TS 38.211, 7.4.3.1)");
}

std::vector<found_cell> search_cells(view<const complex64> samples,
                                     const cell_search_parameters& p)
{
    p.check();
    for (size_t i = 0; i < samples.size(); ++i) {
        require(std::isfinite(samples[i].real()) && std::isfinite(samples[i].imag()),
                "sample " + std::to_string(i) + " is not finite");
    }
    std::vector<place> places;
    for (const int scs : p.spacings) {
        const double block = 4.0 * ssb_step / ssb_fft / scs; // s
        if (double(samples.size()) / p.sample_rate < block) {
            continue;
        }
        for (const double frequency : p.ssb_frequencies) {
            if (fits(frequency, scs, p.sample_rate)) {
                places.push_back({ scs, frequency });
            }
        }
    }
    require(!places.empty(),
            std::to_string(samples.size()) +
                " samples are too few: an SS/PBCH block has four symbols (TS 38.211, "
                "7.4.3.1); give 20 ms or more");
    const auto from = levelled(samples, p.sample_rate, p.centre_frequency);
    if (from.scale == 0) {
        return {};
    }
    const auto peaks = distinct(find_peaks(from, p, places), size_t(p.most_candidates));
    std::vector<found_cell> out;
    for (const auto& block : receive(from, peaks)) {
        auto found = std::find_if(out.begin(), out.end(), [&](const auto& other) {
            return same_block(block, other);
        });
        if (found == out.end()) {
            found = out.insert(out.end(), describe(block, p.sample_rate));
        } else if (!found->mib || !found->sib1.bytes.empty()) {
            continue;
        }
        if (!block.mib) {
            found->sib1.reason = "MIB is not decoded";
            continue;
        }
        auto how = readings(block, p.centre_frequency + block.nominal);
        if (p.sib1) {
            read_sib1(from, block, how, *found);
        } else {
            found->pattern = how.front().pattern;
            found->frame_time =
                frame_time(block, found->pattern).value_or(0) * p.sample_rate;
            found->sib1.reason = "not asked for";
        }
    }
    return out;
}

std::vector<double> synchronization_raster(double first, double last)
{
    require(std::isfinite(first) && std::isfinite(last) && last <= 100e9,
            "the synchronization raster ends at 100 GHz (TS 38.104, 5.4.3.1)");
    std::vector<double> out;
    const auto add = [&](double frequency) {
        if (frequency >= first && frequency <= last) {
            out.push_back(frequency);
        }
    };
    for (int n = 1; n <= 2499; ++n) {
        for (const int m : { 1, 3, 5 }) {
            add(n * 1200e3 + m * 50e3);
        }
    }
    for (int n = 0; n <= 14756; ++n) {
        add(3000e6 + n * 1.44e6);
    }
    for (int n = 0; n <= 4383; ++n) {
        add(24250.08e6 + n * 17.28e6);
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr_cell
