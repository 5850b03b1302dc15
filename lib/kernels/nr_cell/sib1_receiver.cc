/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_cell/sib1_receiver.h"
#include "kernels/nr_cell/numerology.h"
#include "kernels/nr_cell/pdsch_receiver.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/ofdm.h>
#include <stdexcept>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

constexpr int symbols_of_slot = 14;
constexpr double frame_seconds = 10e-3;
//! SIB1 comes every 20 ms (TS 38.331, 5.2.1), and clocks drift: no frames are further.
constexpr int most_frames = 8;

std::string in_mhz(double hz) { return std::to_string(hz / 1e6) + " MHz"; }

int first_symbol_of(const received_ssb& block, char pattern)
{
    const auto first = ssb_first_symbols(pattern);
    const auto& mib = *block.mib;
    if (mib.ssb_index >= int(first.size())) {
        return -1;
    }
    const int half = 5 * 14 << numerology(block.scs);
    return mib.half_frame * half + first[mib.ssb_index];
}

class sib1_reader
{
public:
    sib1_reader(const recording& from, const received_ssb& block, const ssb_reading& how)
        : d_from(from), d_block(block), d_mib(*block.mib), d_how(how)
    {
    }

    sib1_outcome run()
    {
        const auto problem = locate();
        d_out.reason = problem.empty() ? search() : problem;
        return d_out;
    }

private:
    //! Finds CORESET 0. \returns what is wrong
    std::string locate()
    {
        const bool fr2 = d_block.scs >= 120000;
        const int most = fr2 ? 11 : 23;
        if (d_mib.subcarrier_offset > most) {
            return "the cell sends no SIB1 beside this block: k_SSB is " +
                   std::to_string(d_mib.subcarrier_offset) + " (TS 38.213, 4.1)";
        }
        d_scs = (fr2 ? 60000 : 15000) << d_mib.common_spacing;
        const auto set = find_coreset_zero(
            d_block.scs, d_scs, d_mib.coreset_zero, d_mib.subcarrier_offset, d_how.wide);
        if (!set) {
            return "controlResourceSetZero " + std::to_string(d_mib.coreset_zero) +
                   " is reserved (TS 38.213, 13)";
        }
        d_out.set = *set;
        d_out.scs = d_scs;
        // TS 38.211, 7.4.3.1: k_SSB counts 15 kHz in FR1, and subCarrierSpacingCommon in
        // FR2. Subcarrier 120 is the block's nominal frequency.
        const double of_offset = fr2 ? d_scs : 15e3;
        const double first = d_block.nominal - ssb_middle * double(d_block.scs) -
                             d_mib.subcarrier_offset * of_offset -
                             12.0 * set->offset * d_scs;
        d_centre = first + 6.0 * set->blocks * d_scs;
        const double reach = 6.0 * set->blocks * d_scs;
        if (std::abs(d_centre) + reach > d_from.rate / 2) {
            return "CORESET 0 spans " + in_mhz(d_centre - reach) + " to " +
                   in_mhz(d_centre + reach) +
                   " from the samples' centre, which the sample rate does not hold";
        }
        return {};
    }

    //! Tries the monitoring occasions, the nearest ones first. \returns why none helped
    std::string search()
    {
        const int symbol = first_symbol_of(d_block, d_how.pattern);
        const auto start = frame_time(d_block, d_how.pattern);
        if (!start) {
            return "the block's index is not one of case " +
                   std::string(1, d_how.pattern) + " (TS 38.213, 4.1)";
        }
        const auto occasions = monitoring_occasions(
            d_out.set,
            { d_mib.ssb_index, d_mib.system_frame_number, symbol, d_block.scs },
            d_mib.search_space_zero,
            d_scs);
        if (occasions.empty()) {
            return "searchSpaceZero " + std::to_string(d_mib.search_space_zero) +
                   " is reserved (TS 38.213, 13)";
        }
        int seen = 0;
        for (int i = 0; i <= 2 * most_frames; ++i) {
            const int away = i % 2 ? -(i + 1) / 2 : i / 2;
            const int frame = (d_mib.system_frame_number + away + 1024) % 1024;
            for (const auto& occasion : occasions) {
                if (occasion.frame != frame % 2 ||
                    !holds(*start + away * frame_seconds, occasion.slot)) {
                    continue;
                }
                ++seen;
                if (read(*start + away * frame_seconds, frame, occasion)) {
                    return {};
                }
            }
        }
        if (!seen) {
            return "no slot with PDCCH of SIB1 lies wholly in the samples; record 25 ms "
                   "or "
                   "more";
        }
        return d_out.dci_found ? d_problem
                               : "no DCI of SIB1 in " + std::to_string(seen) +
                                     " slots (TS 38.213, 13)";
    }

    double slot_time(double frame, int slot) const
    {
        return frame + symbol_time(symbols_of_slot * slot, d_scs);
    }

    bool holds(double frame, int slot) const
    {
        const double tolerance = 2 / d_from.rate;
        return slot_time(frame, slot) > -tolerance &&
               slot_time(frame, slot + 1) < d_from.seconds() + tolerance;
    }

    //! The resource grid of CORESET 0 in a slot, (14, subcarriers).
    std::vector<complex64> demodulate(double frame, int slot) const
    {
        nr::ofdm_parameters p;
        p.numerology = numerology(d_scs);
        p.subcarriers = 12 * d_out.set.blocks;
        p.fft_size = 512;
        while (p.fft_size < p.subcarriers * 10 / 9) {
            p.fft_size *= 2;
        }
        p.carrier_frequency = d_from.reference + d_centre - d_block.phase_rate;
        const nr::ofdm ofdm(p);
        const double rate = ofdm.sample_rate(), start = slot_time(frame, slot);
        const size_t count = ofdm.samples(slot, 1);
        const double guard = 300 / rate;
        const spectrum around(d_from,
                              int64_t(std::floor((start - guard) * d_from.rate)),
                              size_t((double(count) / rate + 2 * guard) * d_from.rate));
        const double pass = (p.subcarriers / 2 + 1) * double(d_scs);
        const band of{ d_centre + d_block.frequency - d_block.nominal,
                       rate,
                       pass,
                       std::min(rate / 2, pass + rate / 32) };
        const auto samples = around.cut(of, start, count);
        std::vector<complex64> grid(size_t(symbols_of_slot) * p.subcarriers);
        ofdm.demodulate(samples, 1, 1, slot, 3 * p.fft_size / 128, grid);
        const float scale = 1 / std::sqrt(float(p.fft_size));
        for (auto& value : grid) {
            value *= scale;
        }
        return grid;
    }

    //! Decodes PDCCH and PDSCH. \returns whether SIB1 was read
    bool read(double frame, int number, const monitoring_occasion& occasion)
    {
        const auto grid = demodulate(frame, occasion.slot);
        const size_t a_symbol = 12 * size_t(d_out.set.blocks);
        const float noise = d_block.noise * float(d_scs) / float(d_block.scs);
        const control_region region{ d_out.set,
                                     d_block.cell,
                                     occasion.slot,
                                     occasion.first_symbol,
                                     view<const complex64>(grid).part(
                                         occasion.first_symbol * a_symbol,
                                         d_out.set.symbols * a_symbol),
                                     noise };
        for (const auto& dci : decode_system_information_dcis(region)) {
            if (!dci.of_sib1) {
                d_problem = "only DCIs of other system information";
                continue;
            }
            d_out.dci_found = true;
            d_out.dci = dci;
            d_out.system_frame_number = number;
            d_out.slot = occasion.slot;
            if (read_pdsch(frame, occasion.slot, grid, noise)) {
                return true;
            }
        }
        return false;
    }

    bool read_pdsch(double frame,
                    int slot,
                    const std::vector<complex64>& of_pdcch,
                    float noise)
    {
        const auto when = default_pdsch_time(
            d_out.set.pattern, d_out.dci.time_allocation, d_mib.dmrs_type_a_position);
        const auto channel = when ? sib1_channel(d_out.dci,
                                                 d_out.set,
                                                 *when,
                                                 d_block.cell,
                                                 numerology(d_scs),
                                                 d_mib.dmrs_type_a_position)
                                  : std::nullopt;
        if (!channel) {
            d_problem = "the DCI is none of SIB1: reserved time allocation or MCS";
            return false;
        }
        const int at = slot + when->slot_offset;
        if (when->slot_offset && !holds(frame, at)) {
            d_problem = "PDSCH of SIB1 does not lie wholly in the samples";
            return false;
        }
        const int of_frame = at % (10 << numerology(d_scs));
        const auto grid = when->slot_offset ? demodulate(frame, at) : of_pdcch;
        try {
            d_out.bytes = d_pdsch.receive(
                *channel, of_frame, d_out.dci.redundancy_version, grid, noise);
        } catch (const std::invalid_argument& problem) {
            d_problem = problem.what(); // a DCI that no standard transmitter sends
            return false;
        }
        d_problem = "CRC of SIB1's PDSCH fails";
        return !d_out.bytes.empty();
    }

    static constexpr int ssb_middle = 120;

    const recording& d_from;
    const received_ssb& d_block;
    const broadcast& d_mib;
    ssb_reading d_how;
    int d_scs = 0;
    double d_centre = 0; // of CORESET 0, without frequency offset
    pdsch_receiver d_pdsch;
    std::string d_problem;
    sib1_outcome d_out;
};

} // namespace

std::optional<double> frame_time(const received_ssb& block, char pattern)
{
    const int symbol = first_symbol_of(block, pattern);
    if (symbol < 0) {
        return std::nullopt;
    }
    return block.time - symbol_time(symbol, block.scs);
}

sib1_outcome
receive_sib1(const recording& from, const received_ssb& block, const ssb_reading& how)
{
    return sib1_reader(from, block, how).run();
}

} // namespace gr::cudaphy::kernels::nr_cell
