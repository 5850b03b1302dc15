/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE nr_shared_channel
#include "kernels/common/testing.h"
#include <functional>
#include <gnuradio/cudaphy/kernels/nr/shared_channel.h>
#include <numeric>
#include <set>

using namespace gr::cudaphy::kernels::nr;

namespace {

using parameters = shared_channel_parameters;

parameters usual(link_direction direction = link_direction::uplink)
{
    parameters p;
    p.direction = direction;
    p.resource_blocks.resize(p.bwp_size);
    std::iota(p.resource_blocks.begin(), p.resource_blocks.end(), 0);
    return p;
}

//! The parameters are refused with an error that names the clause.
void check_refused(const char* clause,
                   link_direction direction,
                   const std::function<void(parameters&)>& change)
{
    auto p = usual(direction);
    BOOST_CHECK_NO_THROW(shared_channel::make(p));
    change(p);
    try {
        shared_channel::make(p);
        BOOST_ERROR("accepted what " << clause << " forbids");
    } catch (const std::invalid_argument& problem) {
        const std::string text = problem.what();
        BOOST_TEST(text.find(clause) != std::string::npos, text << " lacks " << clause);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(what_the_standard_forbids_is_refused_with_its_clause)
{
    const auto up = link_direction::uplink, down = link_direction::downlink;
    const auto refused = [](const char* clause, link_direction of, const auto& change) {
        check_refused(clause, of, change);
    };
    refused("38.211, 4.2", up, [](auto& p) { p.numerology = 5; });
    refused("38.211, 4.2", up, [](auto& p) { p.extended_prefix = true; });
    refused("38.211, 4.4.2", up, [](auto& p) { p.grid_size = 276; });
    refused("38.211, 4.4.5", up, [](auto& p) { p.bwp_start = 1; });
    refused("6.1.2.2", up, [](auto& p) { p.resource_blocks = { 3, 2 }; });
    refused("6.1.2.2", up, [](auto& p) { p.resource_blocks = { 52 }; });
    refused("7.3.1.6", up, [](auto& p) { p.vrb_bundle = 2; });
    refused("7.3.1.6", down, [](auto& p) { p.vrb_bundle = 3; });
    refused("6.1.2.1", up, [](auto& p) { p.mapping_type = 'C'; });
    refused("6.1.2.1-1", up, [](auto& p) { p.first_symbol = 1; });
    refused("6.1.2.1-1", up, [](auto& p) {
        p.first_symbol = 1;
        p.symbols = 13;
    });
    refused("5.1.2.1-1", down, [](auto& p) {
        p.first_symbol = 3;
        p.symbols = 11;
    });
    refused("5.1.2.1-1", down, [](auto& p) { p.mapping_type = 'B'; });
    refused("7.4.1.1.2", up, [](auto& p) { p.dmrs.type = 3; });
    refused("7.4.1.1.2", up, [](auto& p) { p.dmrs.length = 0; });
    refused("7.4.1.1.2", up, [](auto& p) { p.dmrs.type_a_position = 4; });
    refused("7.4.1.1.2-3", up, [](auto& p) { p.dmrs.additional_position = 4; });
    refused("7.4.1.1.2-3", up, [](auto& p) {
        p.dmrs.length = 2;
        p.dmrs.additional_position = 2;
    });
    refused("7.4.1.1.2", up, [](auto& p) {
        p.dmrs.additional_position = 3;
        p.dmrs.type_a_position = 3;
    });
    refused("6.2.2-1", up, [](auto& p) { p.dmrs.cdm_groups_without_data = 3; });
    refused("6.2.2", up, [](auto& p) {
        p.dmrs.cdm_groups_without_data = 1;
        p.dmrs.ports = { 2 };
    });
    refused("6.4.1.1.3-1", up, [](auto& p) { p.dmrs.ports = { 4 }; });
    refused("each layer has one", up, [](auto& p) { p.layers = 2; });
    refused("two layers", up, [](auto& p) {
        p.layers = 2;
        p.dmrs.ports = { 1, 1 };
    });
    refused("7.4.1.1.1", up, [](auto& p) { p.dmrs.n_id[1] = 65536; });
    refused("7.4.1.1.1", up, [](auto& p) { p.dmrs.n_scid = 2; });
    refused("6.4.1.1.1.2", up, [](auto& p) { p.dmrs.hopping = sequence_hopping::group; });
    refused("5.1.6.3-1", down, [](auto& p) {
        p.ptrs.on = true;
        p.ptrs.time_density = 3;
    });
    refused("7.4.1.2.2-1", down, [](auto& p) {
        p.ptrs.on = true;
        p.ptrs.element_offset = 4;
    });
    refused("6.3.1.3", up, [](auto& p) { p.layers = 5; });
    refused("6.3.1.4", down, [](auto& p) {
        p.transform_precoding = true;
        p.table = mcs_table::qam256;
    });
    refused("6.1.4.1", up, [](auto& p) { p.transform_precoding = true; });
    refused("6.3.1.4", up, [](auto& p) {
        p.transform_precoding = true;
        p.table = mcs_table::transform_qam64;
        p.resource_blocks.resize(7);
    });
    const auto spread = [](auto& p, int blocks) {
        p.transform_precoding = true;
        p.table = mcs_table::transform_qam64;
        p.resource_blocks.resize(blocks);
        p.ptrs.on = true;
    };
    refused("6.4.1.2.2.2-1", up, [&](auto& p) {
        spread(p, 8);
        p.ptrs.groups = 8; // of two samples
    });
    refused("do not fit 2 resource blocks", up, [&](auto& p) {
        spread(p, 2);
        p.ptrs.groups = 8;
        p.ptrs.samples = 4;
    });
    refused("6.4.1.2.2.2", up, [&](auto& p) {
        spread(p, 8);
        p.ptrs.time_density = 4;
    });
    refused("6.3.1.5", down, [](auto& p) { p.antenna_ports = 2; });
    refused("6.3.1.5-1", up, [](auto& p) {
        p.antenna_ports = 2;
        p.tpmi = 6;
    });
    refused("6.3.1.1", up, [](auto& p) { p.n_id = 1024; });
    refused("38.321", up, [](auto& p) { p.rnti = -1; });
    refused("5.1.3.1", up, [](auto& p) { p.table = mcs_table::qam1024; });
    refused("5.1.3.1", up, [](auto& p) { p.mcs[0] = 29; });
    refused("5.1.3.2", up, [](auto& p) { p.overhead = 5; });
    refused("5.4.2.1", up, [](auto& p) {
        p.mcs[0] = 28;
        p.limited_buffer = 1;
    });
    refused("reserved", up, [](auto& p) { p.reserved.resize(5); });
    refused("5.1.4", up, [](auto& p) { p.reserved.assign(14 * 624, 1); });
    refused("5.1.3.2", up, [](auto& p) {
        p.mapping_type = 'B';
        p.symbols = 1;
        p.overhead = 18;
        p.dmrs.cdm_groups_without_data = 1;
    });
    refused("6.3.1.6", up, [](auto& p) {
        p.mapping_type = 'B';
        p.symbols = 1;
    });
}

BOOST_AUTO_TEST_CASE(every_element_of_the_allocation_has_one_use)
{
    for (const auto direction : { link_direction::uplink, link_direction::downlink }) {
        for (const int type : { 1, 2 }) {
            for (const int length : { 1, 2 }) {
                auto p = usual(direction);
                p.dmrs.type = type;
                p.dmrs.length = length;
                p.dmrs.additional_position = 1;
                p.dmrs.cdm_groups_without_data = type;
                p.ptrs.on = true;
                p.resource_blocks = { 1, 2, 5, 6, 7, 30 };
                p.reserved.assign(14 * 624, 0);
                p.reserved[4 * 624 + 12] = 1;
                const auto channel = shared_channel::make(p);
                const auto& map = channel->map();
                std::multiset<uint32_t> used(map.data.begin(), map.data.end());
                used.insert(map.ptrs.begin(), map.ptrs.end());
                for (const int symbol : map.dmrs_symbols) {
                    for (const auto subcarrier : map.dmrs_subcarriers) {
                        used.insert(symbol * map.subcarriers + subcarrier);
                    }
                }
                used.insert(4 * 624 + 12);
                std::multiset<uint32_t> expected;
                for (int l = 0; l < 14; ++l) {
                    for (const int block : p.resource_blocks) {
                        for (int k = 0; k < 12; ++k) {
                            expected.insert(l * 624 + 12 * block + k);
                        }
                    }
                }
                BOOST_TEST((used == expected));
                BOOST_TEST(!map.ptrs.empty());
                BOOST_TEST(std::accumulate(map.data_in_symbol.begin(),
                                           map.data_in_symbol.end(),
                                           size_t(0)) == map.data.size());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(interleaving_changes_the_order_of_data_alone)
{
    auto p = usual(link_direction::downlink);
    const auto plain = shared_channel::make(p)->map();
    p.vrb_bundle = 4;
    const auto mixed = shared_channel::make(p)->map();
    BOOST_TEST((plain.data != mixed.data));
    BOOST_TEST((std::set<uint32_t>(plain.data.begin(), plain.data.end()) ==
                std::set<uint32_t>(mixed.data.begin(), mixed.data.end())));
    BOOST_TEST(plain.dmrs_sequence == mixed.dmrs_sequence,
               boost::test_tools::per_element());
    // 13 bundles of four: the second virtual bundle lies at the seventh physical one.
    BOOST_TEST(mixed.data[48] == 12u * 4 * 6);
}

BOOST_AUTO_TEST_CASE(phase_tracking_stands_as_the_clause_counts)
{
    auto p = usual(link_direction::downlink);
    p.resource_blocks = { 0, 1, 2, 3, 4 };
    p.rnti = 3;
    p.ptrs.on = true;
    p.ptrs.time_density = 2;
    p.dmrs.additional_position = 1; // symbols 2 and 11
    const auto map = shared_channel::make(p)->map();
    // 0, then DM-RS at 2 starts anew: 4, 6, 8, 10, then 11 does: 13.
    std::set<uint32_t> symbols, subcarriers;
    for (const auto element : map.ptrs) {
        symbols.insert(element / 624);
        subcarriers.insert(element % 624);
    }
    BOOST_TEST((symbols == std::set<uint32_t>{ 0, 4, 6, 8, 10, 13 }));
    // 5 mod 2 = 1 and 3 mod 1 = 0: blocks 0, 2 and 4.
    BOOST_TEST((subcarriers == std::set<uint32_t>{ 0, 24, 48 }));
    for (size_t i = 0; i < map.ptrs.size(); ++i) {
        BOOST_TEST(map.dmrs_subcarriers[map.ptrs_pilot[i]] == map.ptrs[i] % 624);
    }
    p.dmrs.length = 2; // symbols 2, 3, 10 and 11
    std::set<uint32_t> again;
    const auto doubled = shared_channel::make(p)->map();
    for (const auto element : doubled.ptrs) {
        again.insert(element / 624);
    }
    BOOST_TEST((again == std::set<uint32_t>{ 0, 5, 7, 9, 13 }));
}

BOOST_AUTO_TEST_CASE(layers_from_five_on_have_two_codewords)
{
    auto p = usual(link_direction::downlink);
    p.dmrs.length = 2;
    const int first[] = { 2, 3, 3, 4 };
    for (int layers = 5; layers <= 8; ++layers) {
        p.layers = layers;
        p.dmrs.ports.resize(layers);
        std::iota(p.dmrs.ports.begin(), p.dmrs.ports.end(), 0);
        p.mcs[1] = 20;
        const auto channel = shared_channel::make(p);
        BOOST_REQUIRE(channel->codewords().size() == 2u);
        BOOST_TEST(channel->codewords()[0].layers == first[layers - 5]);
        BOOST_TEST(channel->codewords()[1].first_layer == first[layers - 5]);
        BOOST_TEST(channel->codewords()[1].layers == layers - first[layers - 5]);
        BOOST_TEST(channel->codewords()[1].payload > channel->codewords()[0].payload);
        BOOST_TEST(channel->scrambling_c_init(1) ==
                   channel->scrambling_c_init(0) + (1u << 14));
    }
}
