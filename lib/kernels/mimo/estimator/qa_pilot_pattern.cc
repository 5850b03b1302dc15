/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE pilot_pattern
#include "kernels/common/testing.h"
#include <cmath>
#include <gnuradio/cudaphy/kernels/pilot_pattern.h>
#include <set>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

complex64 at(const pilot_pattern& p, int symbol, int tone, int layer)
{
    return p.pilots.at((size_t(symbol) * p.tones + tone) * p.layers + layer);
}

//! Correlation of two layers over all pilots from tone `first` to before `last`.
complex64 correlation(const pilot_pattern& p, int a, int b, int first, int last)
{
    complex64 sum = 0;
    for (int s = 0; s < p.symbols; ++s) {
        for (int k = first; k < last; ++k) {
            sum += at(p, s, k, a) * std::conj(at(p, s, k, b));
        }
    }
    return sum;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_pseudo_random_sequence_obeys_its_recursion_from_the_start)
{
    // 3GPP TS 38.211, 5.2.1, written out over whole arrays.
    for (const uint32_t init : { 0u, 1u, 0x12345678u & 0x7FFFFFFF, 0x7FFFFFFFu }) {
        std::vector<int> x1(3000), x2(3000);
        x1[0] = 1;
        for (int i = 0; i < 31; ++i) {
            x2[i] = init >> i & 1;
        }
        for (int n = 0; n + 31 < 3000; ++n) {
            x1[n + 31] = (x1[n + 3] + x1[n]) % 2;
            x2[n + 31] = (x2[n + 3] + x2[n + 2] + x2[n + 1] + x2[n]) % 2;
        }
        const auto c = pseudo_random_bits(init, 1000);
        for (int n = 0; n < 1000; ++n) {
            BOOST_TEST(int(c[n]) == (x1[n + 1600] + x2[n + 1600]) % 2);
        }
    }
    BOOST_TEST(pseudo_random_bits(1, 0).empty());
}

BOOST_AUTO_TEST_CASE(the_ht_ltf_is_that_of_the_standard)
{
    const auto p = ht_ltf_pilots(4);
    BOOST_TEST(p.symbols == 4);
    BOOST_TEST(p.tones == 56);
    BOOST_TEST(p.tone_numbers.front() == -28);
    BOOST_TEST(p.tone_numbers.back() == 28);
    BOOST_TEST(std::count(p.tone_numbers.begin(), p.tone_numbers.end(), 0) == 0);
    // IEEE Std 802.11-2020, 19.3.9.4.6: HTLTF(-28..28) without its zero.
    const std::string sequence = "++++--++-+-++++++--++-+-++++"
                                 "+--++-+-+-----++--+-+-++++--";
    for (int k = 0; k < 56; ++k) {
        const float value = sequence[k] == '+' ? 1 : -1;
        // The rows of P: (1 -1 1 1), (1 1 -1 1), (1 1 1 -1), (-1 1 1 1).
        const char* const rows[4] = { "+-++", "++-+", "+++-", "-+++" };
        for (int i = 0; i < 4; ++i) {
            for (int n = 0; n < 4; ++n) {
                BOOST_TEST(at(p, n, k, i).real() == (rows[i][n] == '+' ? value : -value));
                BOOST_TEST(at(p, n, k, i).imag() == 0);
            }
        }
    }
    BOOST_TEST(ht_ltf_pilots(1).symbols == 1);
    BOOST_TEST(ht_ltf_pilots(2).symbols == 2);
    BOOST_TEST(ht_ltf_pilots(3).symbols == 4);
    const auto wide = ht_ltf_pilots(2, 40);
    BOOST_TEST(wide.tones == 114);
    const std::set<int> present(wide.tone_numbers.begin(), wide.tone_numbers.end());
    for (int number = -58; number <= 58; ++number) {
        BOOST_TEST(present.count(number) == (std::abs(number) >= 2));
    }
    BOOST_CHECK_THROW(ht_ltf_pilots(0), std::invalid_argument);
    BOOST_CHECK_THROW(ht_ltf_pilots(5), std::invalid_argument);
    BOOST_CHECK_THROW(ht_ltf_pilots(2, 80), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(the_dm_rs_ports_have_the_codes_of_the_standards_table)
{
    // 3GPP TS 38.211, table 7.4.1.1.2-1: Δ, w_f(0), w_f(1), w_t(0), w_t(1).
    const int table[8][5] = { { 0, 1, 1, 1, 1 },  { 0, 1, -1, 1, 1 }, { 1, 1, 1, 1, 1 },
                              { 1, 1, -1, 1, 1 }, { 0, 1, 1, 1, -1 }, { 0, 1, -1, 1, -1 },
                              { 1, 1, 1, 1, -1 }, { 1, 1, -1, 1, -1 } };
    nr_dmrs d;
    d.ports = 8;
    d.resource_blocks = 3;
    d.symbols = { 2, 10 };
    d.double_symbol = true;
    d.slot = 7;
    d.scrambling_id = 513;
    d.n_scid = 1;
    d.amplitude = 2;
    const auto p = nr_dmrs_pilots(d);
    BOOST_TEST(p.symbols == 4);
    BOOST_TEST(p.group_symbols == 2);
    const int symbols[4] = { 2, 3, 10, 11 };
    for (int row = 0; row < 4; ++row) {
        // c_init of 7.4.1.1.1
        const uint64_t init =
            (131072ull * (14 * 7 + symbols[row] + 1) * (2 * 513 + 1) + 2 * 513 + 1) %
            2147483648ull;
        const auto c = pseudo_random_bits(uint32_t(init), 36);
        for (int port = 0; port < 8; ++port) {
            const auto& code = table[port];
            for (int k = 0; k < 36; ++k) {
                complex64 expected = 0;
                if (k % 2 == code[0]) {
                    const int m = k / 2; // 2 n + k'
                    const complex64 r(1 - 2 * c[2 * m], 1 - 2 * c[2 * m + 1]);
                    expected =
                        float(std::sqrt(2.0) * code[1 + m % 2] * code[3 + row % 2]) * r;
                }
                BOOST_TEST(std::abs(at(p, row, k, port) - expected) < 1e-6);
            }
        }
    }
    // With a list of ports, each layer has the pilots of its port.
    auto some = d;
    some.port_numbers = { 6, 1, 4 };
    const auto listed = nr_dmrs_pilots(some);
    BOOST_TEST(listed.layers == 3);
    for (int layer = 0; layer < 3; ++layer) {
        for (int row = 0; row < 4; ++row) {
            for (int k = 0; k < 36; ++k) {
                BOOST_TEST((at(listed, row, k, layer) ==
                            at(p, row, k, some.port_numbers[layer])));
            }
        }
    }
    // Resource blocks further up use later parts of the sequence.
    auto part = d;
    part.resource_blocks = 1;
    part.first_block = 2;
    const auto q = nr_dmrs_pilots(part);
    for (int k = 0; k < 12; ++k) {
        BOOST_TEST((at(q, 1, k, 5) == at(p, 1, 24 + k, 5)));
    }
}

BOOST_AUTO_TEST_CASE(impossible_dm_rs_are_refused)
{
    const auto refused = [](auto change) {
        nr_dmrs d;
        change(d);
        BOOST_CHECK_THROW(nr_dmrs_pilots(d), std::invalid_argument);
    };
    refused([](nr_dmrs& d) { d.ports = 0; });
    refused([](nr_dmrs& d) { d.ports = 5; });
    refused([](nr_dmrs& d) { d.double_symbol = true, d.ports = 9; });
    refused([](nr_dmrs& d) { d.port_numbers = { 1, 4 }; });
    refused([](nr_dmrs& d) { d.port_numbers = { -1 }; });
    refused([](nr_dmrs& d) { d.port_numbers = { 2, 0, 2 }; });
    refused([](nr_dmrs& d) { d.resource_blocks = 0; });
    refused([](nr_dmrs& d) { d.resource_blocks = 276; });
    refused([](nr_dmrs& d) { d.first_block = 275; });
    refused([](nr_dmrs& d) { d.symbols = {}; });
    refused([](nr_dmrs& d) { d.symbols = { 14 }; });
    refused([](nr_dmrs& d) { d.double_symbol = true, d.symbols = { 13 }; });
    refused([](nr_dmrs& d) { d.scrambling_id = 65536; });
    refused([](nr_dmrs& d) { d.n_scid = 2; });
    refused([](nr_dmrs& d) { d.slot = -1; });
    refused([](nr_dmrs& d) { d.amplitude = NAN; });
}

BOOST_AUTO_TEST_CASE(comb_and_block_pilots_keep_layers_apart_with_equal_energy)
{
    for (const int layers : { 1, 2, 3, 4, 16 }) {
        const auto comb = comb_pilots(2, layers, 48);
        const auto block = block_pilots(layers + 1, layers, 48);
        for (int a = 0; a < layers; ++a) {
            for (int b = 0; b < layers; ++b) {
                const float same = a == b;
                BOOST_TEST(std::abs(correlation(comb, a, b, 0, 48) - 2 * 48 * same) <
                           1e-3);
                for (int k = 0; k < 48; ++k) { // on each tone
                    BOOST_TEST(std::abs(correlation(block, a, b, k, k + 1) -
                                        (layers + 1) * same) < 1e-4);
                }
            }
            for (int k = 0; k < 48; ++k) {
                BOOST_TEST((at(comb, 1, k, a) != complex64(0)) == (k % layers == a));
            }
        }
    }
    BOOST_CHECK_THROW(comb_pilots(1, 4, 3), std::invalid_argument);
    BOOST_CHECK_THROW(comb_pilots(1, 17, 64), std::invalid_argument);
    BOOST_CHECK_THROW(comb_pilots(0, 1, 64), std::invalid_argument);
    BOOST_CHECK_THROW(block_pilots(1, 2, 64), std::invalid_argument);
    BOOST_CHECK_THROW(block_pilots(2, 2, 0), std::invalid_argument);
}
