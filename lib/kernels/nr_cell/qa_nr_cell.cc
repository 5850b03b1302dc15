/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE nr_cell
#include "kernels/common/pi.h"
#include "kernels/common/testing.h"
#include "kernels/nr_cell/smoothing.h"
#include "kernels/nr_cell/spectrum.h"
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/shared_channel.h>
#include <gnuradio/cudaphy/kernels/nr5g.h>
#include <gnuradio/cudaphy/kernels/nr_cell/cell_search.h>
#include <gnuradio/cudaphy/kernels/nr_cell/polar_code.h>
#include <random>
#include <set>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels::nr_cell;
using kernels::pi;

namespace {

std::vector<uint8_t> random_bits(size_t count, std::mt19937& chance)
{
    std::vector<uint8_t> out(count);
    for (auto& bit : out) {
        bit = chance() & 1;
    }
    return out;
}

const int sizes_of_coreset[] = { 24, 48, 96 };

} // namespace

BOOST_AUTO_TEST_CASE(what_a_polar_code_encodes_it_decodes)
{
    std::mt19937 chance(1);
    for (int information = 25; information <= 164; information += 3) {
        for (const int coded :
             { information, information + 1, 108, 216, 432, 864, 1728 }) {
            if (coded < information || (coded == information && information < 32)) {
                continue;
            }
            const polar_code code(information, coded);
            std::vector<uint8_t> bits(information), sent(coded), found(information);
            kernels::nr5g::attach(
                kernels::nr5g::crc24c, random_bits(information - 24, chance), bits);
            code.encode(bits, sent);
            std::vector<float> llr;
            for (const auto bit : sent) {
                llr.push_back(bit ? -1.0f : 1.0f);
            }
            BOOST_TEST(polar_decoder(code).decode(llr, {}, found));
            BOOST_TEST(found == bits);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_bits_before_a_dci_and_its_rnti_count_in_the_crc)
{
    std::mt19937 chance(2);
    const polar_code code(63, 432);
    auto bits = random_bits(63, chance);
    const uint32_t crc = crc24c(view<const uint8_t>(bits).part(0, 39), 24);
    for (int i = 0; i < 24; ++i) {
        bits[62 - i] = (crc ^ 0xffff) >> i & 1;
    }
    std::vector<uint8_t> sent(432), found(63);
    code.encode(bits, sent);
    std::vector<float> llr;
    for (const auto bit : sent) {
        llr.push_back(bit ? -1.0f : 1.0f);
    }
    BOOST_TEST(polar_decoder(code).decode(llr, { 24, 0xffff }, found));
    BOOST_TEST(found == bits);
    BOOST_TEST(!polar_decoder(code).decode(llr, { 24, 0xfffe }, found));
    BOOST_TEST(!polar_decoder(code).decode(llr, { 0, 0xffff }, found));
}

BOOST_AUTO_TEST_CASE(cces_of_a_coreset_share_out_its_regs)
{
    for (const int blocks : sizes_of_coreset) {
        for (int symbols = 1; symbols <= 3; ++symbols) {
            const coreset_zero set{ 1, blocks, symbols, 0 };
            for (const int cell : { 0, 1, 500, 1007 }) {
                std::set<int> seen;
                const int cces = blocks * symbols / 6;
                for (int cce = 0; cce < cces; ++cce) {
                    for (const int reg : regs_of_cce(set, cell, cce)) {
                        BOOST_TEST((reg >= 0 && reg < blocks * symbols));
                        seen.insert(reg);
                    }
                }
                BOOST_TEST(seen.size() == size_t(blocks) * symbols);
                for (const auto& candidate : pdcch_candidates(set)) {
                    BOOST_TEST(candidate.first_cce % candidate.level == 0);
                    BOOST_TEST(candidate.first_cce + candidate.level <= cces);
                }
            }
        }
    }
    // TS 38.213, table 10.1-1: 4 of level 4, 2 of 8, 1 of 16.
    BOOST_TEST(pdcch_candidates({ 1, 96, 3, 0 }).size() == 7u);
    BOOST_TEST(pdcch_candidates({ 1, 24, 2, 0 }).size() == 3u);
}

BOOST_AUTO_TEST_CASE(each_resource_indication_value_is_one_allocation)
{
    for (const int blocks : sizes_of_coreset) {
        const int size = system_information_dci_size(blocks), bits = size - 28;
        std::set<std::pair<int, int>> seen;
        for (int value = 0; value < 1 << bits; ++value) {
            std::vector<uint8_t> dci(size);
            for (int i = 0; i < bits; ++i) {
                dci[i] = value >> (bits - 1 - i) & 1;
            }
            if (const auto found = read_system_information_dci(dci, blocks)) {
                BOOST_TEST(found->first_block + found->blocks <= blocks);
                seen.insert({ found->first_block, found->blocks });
            }
        }
        BOOST_TEST(seen.size() == size_t(blocks) * (blocks + 1) / 2);
    }
}

BOOST_AUTO_TEST_CASE(every_default_time_allocation_is_a_pdsch)
{
    const int reserved[] = { 0, 1, 2 }; // of tables A, B and C
    for (int pattern = 1; pattern <= 3; ++pattern) {
        int none = 0;
        for (int row = 0; row < 16; ++row) {
            for (const int position : { 2, 3 }) {
                const auto when = default_pdsch_time(pattern, row, position);
                if (!when) {
                    ++none;
                    continue;
                }
                system_information_dci dci{};
                dci.blocks = 24;
                dci.mcs = 3;
                const auto channel =
                    sib1_channel(dci, { pattern, 24, 2, 0 }, *when, 7, 1, position);
                BOOST_REQUIRE(channel);
                BOOST_CHECK_NO_THROW(kernels::nr::shared_channel::make(*channel));
            }
        }
        BOOST_TEST(none == 2 * reserved[pattern - 1]);
    }
    BOOST_TEST(!default_pdsch_time(1, 16, 2));
    system_information_dci dci{};
    dci.blocks = 24;
    dci.mcs = 10; // 16-QAM
    BOOST_TEST(!sib1_channel(dci, { 1, 24, 2, 0 }, { 'A', 0, 2, 12 }, 7, 1, 2));
}

BOOST_AUTO_TEST_CASE(symbols_of_a_subframe_take_a_millisecond)
{
    for (int mu = 0; mu <= 4; ++mu) {
        const int scs = 15000 << mu;
        BOOST_TEST(symbol_time(14 << mu, scs) == 1e-3,
                   boost::test_tools::tolerance(1e-12));
        BOOST_TEST(symbol_time(140 << mu, scs) == 1e-2,
                   boost::test_tools::tolerance(1e-12));
    }
    BOOST_TEST(symbol_time(1, 15000) == (160 + 2048) / 30.72e6,
               boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_band_is_cut_at_any_rate_frequency_and_time)
{
    for (const double rate : { 30.72e6, 20e6, 12.345678e6 }) {
        const double tone = 2.1234e6;
        std::vector<complex64> samples(9000);
        for (size_t i = 0; i < samples.size(); ++i) {
            samples[i] = complex64(std::polar(1.0, 2 * pi * tone * double(i) / rate));
        }
        const recording whole{ samples, rate, 0, 1, 0 };
        const spectrum part(whole, 100, 8000);
        const band of{ 2e6, 3.84e6, 1.5e6, 1.9e6 };
        const double start = 1234.56 / rate;
        const auto got = part.cut(of, start, 300);
        BOOST_REQUIRE(got.size() == 300u);
        float worst = 0;
        for (size_t i = 0; i < got.size(); ++i) {
            const double t = start + double(i) / of.rate;
            const auto expected =
                complex64(std::polar(1.0, 2 * pi * (tone - of.centre) * t));
            worst = std::max(worst, std::abs(got[i] - expected));
        }
        BOOST_TEST(worst < 2e-3f);
    }
}

BOOST_AUTO_TEST_CASE(a_recording_of_one_value_is_empty)
{
    const std::vector<complex64> constant(1000, { 3, -1 }), nothing(1000);
    BOOST_TEST(levelled(constant, 1e6, 0).scale == 0);
    BOOST_TEST(levelled(nothing, 1e6, 0).scale == 0);
    auto some = nothing;
    some[5] = 1e-15f;
    BOOST_TEST(levelled(some, 1e6, 0).scale > 0);
}

BOOST_AUTO_TEST_CASE(a_smooth_channel_is_interpolated)
{
    pilots known;
    const auto channel = [](double k) {
        return complex64(std::polar(1.0, 2 * pi * 0.01 * k)) +
               complex64(std::polar(0.5, -2 * pi * 0.02 * k));
    };
    std::vector<double> wanted;
    for (int k = 0; k < 240; ++k) {
        wanted.push_back(k);
        if (k % 4 == 1) {
            known.at.push_back(k);
            known.channel.push_back(channel(k));
            known.noise.push_back(0);
        }
    }
    const auto got = smooth(known, 1.25f, 0.07, wanted);
    for (int k = 5; k < 235; ++k) {
        BOOST_TEST(std::abs(got[k] - channel(k)) < 0.03f);
    }
}

BOOST_AUTO_TEST_CASE(noise_has_no_cells_on_several_threads)
{
    std::mt19937 chance(3);
    std::normal_distribution<float> normal;
    std::vector<complex64> samples(80000);
    for (auto& value : samples) {
        value = { normal(chance), normal(chance) };
    }
    cell_search_parameters p;
    p.sample_rate = 15.36e6;
    p.ssb_frequencies = { -1e6, 0, 1e6 };
    BOOST_TEST(search_cells(samples, p).empty());
    samples[7] = NAN;
    BOOST_CHECK_THROW(search_cells(samples, p), std::invalid_argument);
}
