/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr/require.h"
#include "kernels/nr_cell/smoothing.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/dmrs_sequence.h>
#include <gnuradio/cudaphy/kernels/nr/gold_sequence.h>
#include <gnuradio/cudaphy/kernels/nr_cell/pdcch.h>
#include <gnuradio/cudaphy/kernels/nr_cell/polar_code.h>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

constexpr int bundle = 6, rows = 2; // L and R of CORESET 0 (TS 38.211, 7.3.2.2)
constexpr int data_in_reg = 9;      // resource elements without DM-RS
constexpr int fixed_fields = 28;    // bits of the DCI besides its resource blocks
constexpr int dci_crc_bits = 24, ones = 24;

int bits_of_blocks(int blocks)
{
    int bits = 0;
    while (1 << bits < blocks * (blocks + 1) / 2) {
        ++bits;
    }
    return bits;
}

bool of_dmrs(int subcarrier) { return subcarrier % 4 == 1; } // section 7.4.1.3.2

//! The LLRs of all REGs of a bundle.
class region_reader
{
public:
    explicit region_reader(const control_region& from) : d_from(from)
    {
        const auto& set = from.set;
        d_llr.resize(size_t(set.symbols) * set.blocks * data_in_reg * 2);
        for (int l = 0; l < set.symbols; ++l) {
            // From the CORESET's first block on (section 7.4.1.3.2).
            d_dmrs.emplace_back(3 * set.blocks);
            nr::dmrs_gold_sequence(
                nr::dmrs_c_init(14, from.slot, from.first_symbol + l, from.cell, 0),
                0,
                d_dmrs.back());
        }
        const int regs = set.symbols * set.blocks;
        for (int first = 0; first < regs; first += bundle) {
            read_bundle(first);
        }
    }

    //! LLRs of a candidate, in increasing order of first subcarrier, then symbol
    //! (section 7.3.2.5), descrambled (section 7.3.2.3).
    std::vector<float> candidate(const pdcch_candidate& c) const
    {
        const auto& set = d_from.set;
        std::vector<uint8_t> used(size_t(set.symbols) * set.blocks);
        for (int cce = c.first_cce; cce < c.first_cce + c.level; ++cce) {
            for (const int reg : regs_of_cce(set, d_from.cell, cce)) {
                used[reg] = 1;
            }
        }
        std::vector<float> out;
        for (int l = 0; l < set.symbols; ++l) {
            for (int k = 0; k < set.blocks; ++k) {
                if (used[k * set.symbols + l]) {
                    const auto first = d_llr.begin() + place(k, l);
                    out.insert(out.end(), first, first + 2 * data_in_reg);
                }
            }
        }
        // n_RNTI = 0 in common search spaces.
        nr::gold_sequence c_n(static_cast<uint32_t>(d_from.cell));
        for (auto& value : out) {
            value = c_n.next(1) ? -value : value;
        }
        return out;
    }

private:
    size_t place(int block, int symbol) const
    {
        return (size_t(symbol) * d_from.set.blocks + block) * 2 * data_in_reg;
    }

    const complex64& element(int symbol, int subcarrier) const
    {
        return d_from.elements[size_t(symbol) * 12 * d_from.set.blocks + subcarrier];
    }

    //! A bundle has one precoding (section 7.3.2.2), so it has a channel of its own; that
    //! of its symbols is the same.
    void read_bundle(int first)
    {
        const int symbols = d_from.set.symbols;
        const int first_block = first / symbols, blocks = bundle / symbols;
        pilots known;
        std::vector<double> wanted;
        float power = 0;
        for (int k = 12 * first_block; k < 12 * (first_block + blocks); ++k) {
            wanted.push_back(k);
            if (!of_dmrs(k)) {
                continue;
            }
            complex64 sum = 0;
            for (int l = 0; l < symbols; ++l) {
                sum += element(l, k) * std::conj(d_dmrs[l][k / 4]);
            }
            known.at.push_back(k);
            known.channel.push_back(sum / float(symbols));
            known.noise.push_back(d_from.noise / symbols);
            power += std::norm(known.channel.back());
        }
        power /= known.at.size();
        constexpr double spread = 0.035; // half a prefix
        const auto h = smooth(known, power, spread, wanted);
        const float scale = 2 * std::sqrt(2.0f) / (d_from.noise + 1e-4f * power + 1e-30f);
        for (int l = 0; l < symbols; ++l) {
            for (int block = first_block; block < first_block + blocks; ++block) {
                auto* to = d_llr.data() + place(block, l);
                for (int k = 12 * block; k < 12 * block + 12; ++k) {
                    if (!of_dmrs(k)) {
                        const auto z =
                            element(l, k) * std::conj(h[k - 12 * first_block]) * scale;
                        *to++ = z.real();
                        *to++ = z.imag();
                    }
                }
            }
        }
    }

    const control_region& d_from;
    std::vector<std::vector<complex64>> d_dmrs; // of each symbol
    std::vector<float> d_llr;                   // (symbols, blocks, 9, 2)
};

int take(view<const uint8_t> bits, int& at, int count)
{
    int out = 0;
    for (int i = 0; i < count; ++i) {
        out = 2 * out + (bits[at++] & 1);
    }
    return out;
}

} // namespace

std::vector<int> regs_of_cce(const coreset_zero& set, int cell, int cce)
{
    const int bundles = set.blocks * set.symbols / bundle, columns = bundles / rows;
    // f(x) of section 7.3.2.2; a CCE is one bundle.
    const int c = cce / rows, r = cce % rows;
    const int first = (r * columns + c + cell) % bundles * bundle;
    std::vector<int> out;
    for (int i = 0; i < bundle; ++i) {
        out.push_back(first + i);
    }
    return out;
}

std::vector<pdcch_candidate> pdcch_candidates(const coreset_zero& set)
{
    const int cces = set.blocks * set.symbols / 6;
    std::vector<pdcch_candidate> out;
    for (const auto& [level, most] : { std::pair(4, 4), { 8, 2 }, { 16, 1 } }) {
        const int places = cces / level;
        std::vector<int> seen;
        for (int m = 0; m < most && places; ++m) {
            const int at = m * cces / (level * most) % places;
            if (std::find(seen.begin(), seen.end(), at) == seen.end()) {
                seen.push_back(at);
                out.push_back({ at * level, level });
            }
        }
    }
    return out;
}

int system_information_dci_size(int blocks)
{
    return bits_of_blocks(blocks) + fixed_fields;
}

std::optional<system_information_dci>
read_system_information_dci(view<const uint8_t> bits, int blocks)
{
    nr::require(bits.size() == size_t(system_information_dci_size(blocks)),
                "the DCI has other bits than its format says (TS 38.212, 7.3.1.2.1)");
    int at = 0;
    const int value = take(bits, at, bits_of_blocks(blocks));
    system_information_dci out{};
    // TS 38.214, section 5.1.2.2.2.
    out.blocks = value / blocks + 1;
    out.first_block = value % blocks;
    if (out.first_block + out.blocks > blocks) {
        out.blocks = blocks - value / blocks + 1;
        out.first_block = blocks - 1 - value % blocks;
    }
    if (value >= blocks * (blocks + 1) / 2 || out.first_block + out.blocks > blocks) {
        return std::nullopt;
    }
    out.time_allocation = take(bits, at, 4);
    out.interleaved = take(bits, at, 1);
    out.mcs = take(bits, at, 5);
    out.redundancy_version = take(bits, at, 2);
    out.of_sib1 = take(bits, at, 1) == 0;
    return out;
}

std::vector<system_information_dci>
decode_system_information_dcis(const control_region& from)
{
    nr::require(from.elements.size() ==
                    size_t(from.set.symbols) * 12 * size_t(from.set.blocks),
                "the elements are not those of the CORESET");
    const region_reader reader(from);
    const int size = system_information_dci_size(from.set.blocks);
    std::vector<system_information_dci> out;
    for (const auto& candidate : pdcch_candidates(from.set)) {
        const auto llr = reader.candidate(candidate);
        const polar_code code(size + dci_crc_bits, static_cast<int>(llr.size()));
        std::vector<uint8_t> bits(code.information());
        if (!polar_decoder(code).decode(llr, { ones, si_rnti }, bits)) {
            continue;
        }
        bits.resize(size);
        if (auto dci = read_system_information_dci(bits, from.set.blocks)) {
            dci->candidate = candidate;
            out.push_back(*dci);
        }
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr_cell
