/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr/require.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/precoding.h>
#include <gnuradio/cudaphy/kernels/nr/shared_channel_parameters.h>
#include <string>

namespace gr::cudaphy::kernels::nr {
namespace {

using parameters = shared_channel_parameters;

void require_between(int value, int least, int most, const char* name, const char* clause)
{
    require(value >= least && value <= most,
            std::string(name) + " is " + std::to_string(value) +
                "; allowed: " + std::to_string(least) + " to " + std::to_string(most) +
                " (" + clause + ")");
}

bool one_of(int value, std::initializer_list<int> allowed)
{
    return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

void check_grid(const parameters& p)
{
    require_between(p.numerology, 0, 4, "numerology", "TS 38.211, 4.2");
    require(!p.extended_prefix || p.numerology == 2,
            "the extended cyclic prefix is of numerology 2 alone (TS 38.211, 4.2)");
    require_between(p.grid_size, 1, 275, "grid_size", "TS 38.211, 4.4.2");
    // Point A lies up to 2199 resource blocks below the grid.
    require_between(p.grid_start, 0, 2199, "grid_start", "TS 38.211, 4.4.2");
    require_between(p.bwp_size, 1, 275, "bwp_size", "TS 38.211, 4.4.5");
    require(
        p.bwp_start >= p.grid_start &&
            p.bwp_start + p.bwp_size <= p.grid_start + p.grid_size,
        "the bandwidth part does not lie within the resource grid (TS 38.211, 4.4.5)");
    require(!p.resource_blocks.empty(), "no resource block is allocated");
    int last = -1;
    for (const int block : p.resource_blocks) {
        require(block > last && block < p.bwp_size,
                "resource block " + std::to_string(block) + " after " +
                    std::to_string(last) + " in a bandwidth part of " +
                    std::to_string(p.bwp_size) +
                    "; they must ascend, and lie within it (TS 38.214, 5.1.2.2 and "
                    "6.1.2.2)");
        last = block;
    }
    require(p.vrb_bundle == 0 || (p.direction == link_direction::downlink &&
                                  one_of(p.vrb_bundle, { 2, 4 })),
            "resource blocks are interleaved on PDSCH alone, by bundles of 2 or 4 (TS "
            "38.211, 7.3.1.6)");
    require(p.reserved.empty() ||
                p.reserved.size() == size_t(p.symbols_per_slot()) * p.subcarriers(),
            "reserved needs an entry for each resource element of the grid's slot");
}

void check_symbols(const parameters& p)
{
    const bool a = p.mapping_type == 'A', uplink = p.direction == link_direction::uplink;
    const int slot = p.symbols_per_slot();
    require(a || p.mapping_type == 'B',
            "mapping_type is A or B (TS 38.214, 5.1.2.1 and 6.1.2.1)");
    require_between(p.first_symbol,
                    0,
                    slot - 1,
                    "first_symbol",
                    "TS 38.214, tables 5.1.2.1-1 and 6.1.2.1-1");
    require_between(p.symbols,
                    1,
                    slot - p.first_symbol,
                    "symbols from first_symbol on",
                    "TS 38.214, tables 5.1.2.1-1 and 6.1.2.1-1");
    if (uplink) {
        require(!a || (p.first_symbol == 0 && p.symbols >= 4),
                "PUSCH of mapping type A starts at symbol 0 and has at least 4 symbols "
                "(TS 38.214, table 6.1.2.1-1)");
    } else if (a) {
        require(p.first_symbol <= (p.dmrs.type_a_position == 3 ? 3 : 2) && p.symbols >= 3,
                "PDSCH of mapping type A starts at symbol 0 to 2 (3 with "
                "type_a_position 3) and has at least 3 symbols (TS 38.214, table "
                "5.1.2.1-1)");
    } else {
        require(
            p.extended_prefix ? one_of(p.symbols, { 2, 4, 6 })
                              : p.symbols >= 2 && p.symbols <= 13,
            "PDSCH of mapping type B has 2 to 13 symbols, with the extended prefix 2, "
            "4 or 6 (TS 38.214, table 5.1.2.1-1)");
    }
}

void check_dmrs(const parameters& p)
{
    const auto& d = p.dmrs;
    require_between(d.type, 1, 2, "dmrs_type", "TS 38.211, 6.4.1.1.3 and 7.4.1.1.2");
    require_between(d.length, 1, 2, "dmrs_length", "TS 38.211, 6.4.1.1.3 and 7.4.1.1.2");
    require_between(
        d.type_a_position, 2, 3, "dmrs_type_a_position", "TS 38.211, 7.4.1.1.2");
    require_between(d.additional_position,
                    0,
                    d.length == 1 ? 3 : 1,
                    "dmrs_additional_position",
                    "TS 38.211, tables 6.4.1.1.3-3, -4, 7.4.1.1.2-3 and -4");
    require_between(d.cdm_groups_without_data,
                    1,
                    d.type == 1 ? 2 : 3,
                    "cdm_groups_without_data",
                    "TS 38.214, tables 4.1-1 and 6.2.2-1");
    require_between(d.n_scid, 0, 1, "n_scid", "TS 38.211, 7.4.1.1.1");
    for (const int id : d.n_id) {
        require_between(id, 0, 65535, "dmrs_n_id", "TS 38.211, 7.4.1.1.1");
    }
    require_between(d.n_rs_id, 0, 1007, "n_rs_id", "TS 38.211, 6.4.1.1.1.2");
    require(d.reference_block >= 0 && d.reference_block <= p.bwp_start,
            "dmrs_reference_block lies in 0 to the bandwidth part's start (TS 38.211, "
            "7.4.1.1.2)");
    require(std::isfinite(d.amplitude) && d.amplitude >= 0 &&
                std::isfinite(p.ptrs.amplitude) && p.ptrs.amplitude >= 0,
            "amplitudes are finite and not negative");
    require(static_cast<int>(d.ports.size()) == p.layers,
            std::to_string(d.ports.size()) + " DM-RS ports for " +
                std::to_string(p.layers) + " layers; each layer has one");
    const int groups = d.type == 1 ? 2 : 3;
    for (size_t i = 0; i < d.ports.size(); ++i) {
        const int port = d.ports[i];
        require_between(port,
                        0,
                        2 * groups * d.length - 1,
                        "dmrs_ports of this type and length",
                        "TS 38.211, tables 6.4.1.1.3-1, -2, 7.4.1.1.2-1 and -2");
        require(port / 2 % groups < d.cdm_groups_without_data,
                "DM-RS port " + std::to_string(port) +
                    " lies in a CDM group with data; raise cdm_groups_without_data (TS "
                    "38.214, 5.1.6.2 and 6.2.2)");
        require(std::count(d.ports.begin(), d.ports.end(), port) == 1,
                "two layers have DM-RS port " + std::to_string(port));
    }
    const bool a = p.mapping_type == 'A';
    require(!a || d.additional_position < 3 || d.type_a_position == 2,
            "dmrs_additional_position 3 needs dmrs_type_a_position 2 (TS 38.211, "
            "6.4.1.1.3 and 7.4.1.1.2)");
    const auto positions = p.positions();
    require(!positions.empty() && positions.front() >= p.first_symbol &&
                positions.back() + d.length <= p.first_symbol + p.symbols,
            "there is no DM-RS of this length in these symbols (TS 38.211, tables "
            "6.4.1.1.3-3, -4, 7.4.1.1.2-3 and -4)");
}

void check_ptrs(const parameters& p)
{
    const auto& t = p.ptrs;
    if (!t.on) {
        return;
    }
    require(
        one_of(t.samples, { 2, 4 }) &&
            (one_of(t.groups, { 2, 4 }) || (t.groups == 8 && t.samples == 4)),
        "ptrs_samples is 2 or 4, ptrs_groups 2 or 4, or 8 of four samples (TS 38.211, "
        "table 6.4.1.2.2.2-1)");
    require(!p.transform_precoding || t.time_density <= 2,
            "ptrs_time_density is 1 or 2 with transform precoding (TS 38.211, "
            "6.4.1.2.2.2)");
    require(one_of(t.time_density, { 1, 2, 4 }) && one_of(t.frequency_density, { 2, 4 }),
            "ptrs_time_density is 1, 2 or 4, ptrs_frequency_density 2 or 4 (TS 38.214, "
            "tables 5.1.6.3-1 and -2)");
    require_between(
        t.element_offset, 0, 3, "ptrs_offset", "TS 38.211, table 7.4.1.2.2-1");
    const auto& ports = p.dmrs.ports;
    const int port = t.port < 0 ? *std::min_element(ports.begin(), ports.end()) : t.port;
    require(std::find(ports.begin(), ports.end(), port) != ports.end(),
            "ptrs_port is none of the DM-RS ports");
    require(p.transform_precoding || port < (p.dmrs.type == 1 ? 4 : 6),
            "PT-RS goes with DM-RS ports 0 to 3, or 0 to 5 of type 2 (TS 38.211, tables "
            "6.4.1.2.2.1-1 and 7.4.1.2.2-1)");
}

void check_transform_precoding(const parameters& p)
{
    const bool tables = p.table == mcs_table::transform_qam64 ||
                        p.table == mcs_table::transform_qam64_low_se;
    require(!tables || p.transform_precoding,
            "this MCS table is of transform precoding alone (TS 38.214, 6.1.4.1)");
    require(!p.pi2_bpsk || tables, "pi/2-BPSK needs an MCS table of transform precoding");
    if (!p.transform_precoding) {
        require(p.dmrs.hopping == sequence_hopping::neither,
                "sequences hop with transform precoding alone (TS 38.211, 6.4.1.1.1.2)");
        return;
    }
    require(p.direction == link_direction::uplink,
            "transform precoding is of PUSCH alone (TS 38.211, 6.3.1.4)");
    require(p.layers == 1, "transform precoding is of one layer (TS 38.214, 6.1.3)");
    require(tables || p.table == mcs_table::qam256,
            "with transform precoding, the MCS table is transform_qam64, "
            "transform_qam64_low_se or qam256 (TS 38.214, 6.1.4.1)");
    require(p.dmrs.type == 1 && p.dmrs.cdm_groups_without_data == 2,
            "transform precoding has DM-RS of type 1 and two CDM groups without data (TS "
            "38.214, 6.2.2)");
    require(p.reserved.empty(), "transform precoding leaves out no resource elements");
    const auto& blocks = p.resource_blocks;
    int size = static_cast<int>(blocks.size());
    require(blocks.back() - blocks.front() + 1 == size,
            "transform precoding needs adjacent resource blocks (TS 38.214, 6.1.2.2)");
    for (const int factor : { 2, 3, 5 }) {
        while (size % factor == 0) {
            size /= factor;
        }
    }
    require(size == 1,
            "transform precoding needs 2^a 3^b 5^c resource blocks, not " +
                std::to_string(blocks.size()) + " (TS 38.211, 6.3.1.4)");
}

} // namespace

std::vector<int> shared_channel_parameters::positions() const
{
    return dmrs_positions({ direction,
                            mapping_type,
                            first_symbol,
                            symbols,
                            dmrs.type_a_position,
                            dmrs.additional_position,
                            dmrs.length });
}

void shared_channel_parameters::check() const
{
    const bool uplink = direction == link_direction::uplink;
    check_grid(*this);
    require_between(
        layers, 1, uplink ? 4 : 8, "layers", "TS 38.211, 6.3.1.3 and 7.3.1.3");
    check_symbols(*this);
    check_dmrs(*this);
    check_ptrs(*this);
    check_transform_precoding(*this);
    require(uplink || antenna_ports == 0,
            "a codebook precodes PUSCH alone (TS 38.211, 6.3.1.5)");
    if (antenna_ports) {
        precoding_matrix(antenna_ports, layers, tpmi, transform_precoding); // throws
    }
    require_between(n_id, 0, 1023, "n_id", "TS 38.211, 6.3.1.1 and 7.3.1.1");
    require_between(rnti, 0, 65535, "rnti", "TS 38.321, 7.1");
    require(table != mcs_table::qam1024 || !uplink,
            "the MCS table with 1024-QAM is of PDSCH alone (TS 38.214, 5.1.3.1)");
    for (int i = 0; i < codewords(); ++i) {
        find_mcs(table, mcs[i], pi2_bpsk); // throws
    }
    require(one_of(overhead, { 0, 6, 12, 18 }),
            "overhead (xOverhead) is 0, 6, 12 or 18 (TS 38.214, 5.1.3.2 and 6.1.4.2)");
    require(limited_buffer >= 0, "limited_buffer is TBS_LBRM, or 0 for none");
}

} // namespace gr::cudaphy::kernels::nr
