/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE nr5g
#include "kernels/common/testing.h"
#include <algorithm>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr5g.h>
#include <limits>
#include <numeric>

// CRCs, segmentation and rate matching against the steps of 3GPP TS 38.212. Nothing here
// depends on the backend.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::kernels::nr5g;
using namespace gr::cudaphy::testing;
namespace data = boost::unit_test::data;

namespace {

std::vector<uint8_t> bits_of(const std::string& text)
{
    std::vector<uint8_t> bits;
    for (const unsigned char c : text) {
        for (int i = 7; i >= 0; --i) {
            bits.push_back((c >> i) & 1);
        }
    }
    return bits;
}

//! Division of bits · x^n by a polynomial that is given by its exponents.
uint32_t divided(std::vector<uint8_t> bits, const std::vector<int>& exponents)
{
    const int n = exponents[0];
    const size_t size = bits.size();
    bits.resize(size + n);
    for (size_t i = 0; i < size; ++i) {
        if (bits[i]) {
            for (const int e : exponents) {
                bits[i + n - e] ^= 1;
            }
        }
    }
    uint32_t rest = 0;
    for (size_t i = size; i < bits.size(); ++i) {
        rest = rest << 1 | bits[i];
    }
    return rest;
}

struct standard_crc {
    const char* name;
    std::vector<int> exponents; //!< section 5.1
};
const std::vector<standard_crc> crcs = {
    { "24A", { 24, 23, 18, 17, 14, 11, 10, 7, 6, 5, 4, 3, 1, 0 } },
    { "24B", { 24, 23, 6, 5, 1, 0 } },
    { "24C", { 24, 23, 21, 20, 17, 15, 13, 12, 8, 4, 2, 1, 0 } },
    { "16", { 16, 12, 5, 0 } },
    { "11", { 11, 10, 9, 5, 0 } },
    { "6", { 6, 5, 0 } },
};

//! Section 5.4.2 as written: for each coded bit its index in the codeword without
//! fillers.
std::vector<int> selected(const rate_matcher::parameters& p, int coded)
{
    const int z = p.lifting_size;
    const int n = (p.base_graph == 1 ? 66 : 50) * z;
    const int k = (p.base_graph == 1 ? 22 : 10) * z;
    std::vector<int> d(n, -1); // d_i: the bit without fillers, or -1 for NULL
    int next = 0;
    for (int i = 0; i < n; ++i) {
        const bool filler = i >= k - 2 * z - p.fillers && i < k - 2 * z;
        d[i] = filler ? -1 : next++;
    }
    const int n_cb = p.limited_buffer ? std::min(n, p.limited_buffer) : n;
    const double part[2][4] = { { 0, 17, 33, 56 }, { 0, 13, 25, 43 } };
    const int k_0 = static_cast<int>(
        std::floor(part[p.base_graph - 1][p.redundancy_version] * n_cb / n) * z);
    std::vector<int> e;
    for (int j = 0; static_cast<int>(e.size()) < coded; ++j) {
        if (d[(k_0 + j) % n_cb] >= 0) {
            e.push_back(d[(k_0 + j) % n_cb]);
        }
    }
    std::vector<int> f(coded);
    const int columns = coded / p.modulation_order;
    for (int j = 0; j < columns; ++j) {
        for (int i = 0; i < p.modulation_order; ++i) {
            f[i + j * p.modulation_order] = e[i * columns + j];
        }
    }
    return f;
}

int draw(int least, int most)
{
    return std::uniform_int_distribution<int>(least, most)(generator());
}

const std::vector<int> orders = { 1, 2, 4, 6, 8, 10 };

rate_matcher::parameters random_matching(int order, int version)
{
    const std::vector<int> sizes = { 2, 3, 7, 15, 36, 104, 384 };
    rate_matcher::parameters p;
    p.base_graph = draw(1, 2);
    p.lifting_size = sizes[draw(0, sizes.size() - 1)];
    const int most = ((p.base_graph == 1 ? 20 : 8)) * p.lifting_size - 1;
    p.fillers = draw(0, 2) ? draw(0, most) : 0;
    p.modulation_order = order;
    p.redundancy_version = version;
    if (draw(0, 2) == 0) {
        p.limited_buffer = draw(p.lifting_size, 70 * p.lifting_size);
    }
    return p;
}

template <typename Call>
void refuses(const Call& call, const std::string& what)
{
    BOOST_CHECK_EXCEPTION(call(), std::invalid_argument, [&what](const auto& problem) {
        const bool found = std::string(problem.what()).find(what) != std::string::npos;
        if (!found) {
            BOOST_TEST_MESSAGE(problem.what());
        }
        return found;
    });
}

} // namespace

BOOST_AUTO_TEST_SUITE(cyclic_redundancy)

BOOST_AUTO_TEST_CASE(remainders_are_those_of_long_division)
{
    for (const auto& [name, exponents] : crcs) {
        const auto code = crc_from_name(name);
        BOOST_TEST(code.bits == exponents[0]);
        for (const size_t n : { 0, 1, 7, 8, 9, 255, 256, 257, 263, 264, 1000, 8424 }) {
            const auto bits = random_bits(n);
            BOOST_TEST(remainder(code, bits) == divided(bits, exponents),
                       name << " of " << n << " bits");
        }
    }
}

//! The check values of the catalogue of parametrised CRC algorithms (G. Cook, RevEng):
//! CRC-24/LTE-A, CRC-24/LTE-B and CRC-16/XMODEM.
BOOST_AUTO_TEST_CASE(check_values_are_those_of_the_catalogue)
{
    const auto bits = bits_of("123456789");
    BOOST_TEST(remainder(crc24a, bits) == 0xcde703u);
    BOOST_TEST(remainder(crc24b, bits) == 0x23ef52u);
    BOOST_TEST(remainder(crc16, bits) == 0x31c3u);
}

BOOST_AUTO_TEST_CASE(bits_that_end_with_their_crc_leave_no_remainder)
{
    for (const auto& one : crcs) {
        const auto code = crc_from_name(one.name);
        for (const size_t n : { 0, 1, 300 }) {
            const auto bits = random_bits(n);
            std::vector<uint8_t> all(n + code.bits, 77);
            attach(code, bits, all);
            BOOST_TEST(std::equal(bits.begin(), bits.end(), all.begin()));
            BOOST_TEST(*std::max_element(all.begin(), all.end()) <= 1);
            BOOST_TEST(remainder(code, all) == 0u);
            all[draw(0, all.size() - 1)] ^= 1;
            BOOST_TEST(remainder(code, all) != 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(only_the_lowest_bit_of_a_byte_counts)
{
    auto bits = random_bits(500);
    const auto expected = remainder(crc24a, bits);
    for (auto& bit : bits) {
        bit |= generator()() & 0xfe;
    }
    BOOST_TEST(remainder(crc24a, bits) == expected);
}

BOOST_AUTO_TEST_CASE(refuses_sizes_and_names)
{
    std::vector<uint8_t> bits(10), all(33);
    refuses([&] { attach(crc24a, bits, all); }, "do not make 33");
    refuses([&] { remainder({ 0, 1 }, bits); }, "1 to 32 bits, not 0");
    refuses([&] { remainder({ 33, 1 }, bits); }, "1 to 32 bits, not 33");
    refuses([&] { crc_from_name("24D"); }, "24D");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(transport_blocks)

BOOST_AUTO_TEST_CASE(base_graph_at_the_borders_of_section_7_2_2)
{
    BOOST_TEST(base_graph(292, 0.95) == 2);
    BOOST_TEST(base_graph(293, 0.95) == 1);
    BOOST_TEST(base_graph(293, 0.67) == 2);
    BOOST_TEST(base_graph(3824, 0.67) == 2);
    BOOST_TEST(base_graph(3824, 0.68) == 1);
    BOOST_TEST(base_graph(3825, 0.67) == 1);
    BOOST_TEST(base_graph(3825, 0.25) == 2);
    BOOST_TEST(base_graph(1000000, 0.26) == 1);
    refuses([] { base_graph(0, 0.5); }, "not 0");
    refuses([] { base_graph(100, 0); }, "code rate");
    refuses([] { base_graph(100, 1.01); }, "code rate");
    refuses([] { base_graph(100, std::nan("")); }, "code rate");
}

//! A 8456 at rate 517/1024 is the example of MATLAB's nrDLSCHInfo.
BOOST_AUTO_TEST_CASE(known_transport_blocks)
{
    const struct {
        int payload, graph, crc_bits, blocks, block_bits, z, fillers;
    } known[] = {
        { 8456, 1, 24, 2, 4264, 208, 312 },     { 24, 2, 16, 1, 40, 7, 30 },
        { 3824, 2, 16, 1, 3840, 384, 0 },       { 8424, 1, 24, 1, 8448, 384, 0 },
        { 176, 2, 16, 1, 192, 32, 128 },        { 177, 2, 16, 1, 193, 26, 67 },
        { 544, 2, 16, 1, 560, 72, 160 },        { 545, 2, 16, 1, 561, 64, 79 },
        { 624, 2, 16, 1, 640, 72, 80 },         { 625, 2, 16, 1, 641, 72, 79 },
        { 1277992, 1, 24, 152, 8432, 384, 16 },
    };
    for (const auto& k : known) {
        const auto s = segment(k.payload, k.graph);
        BOOST_TEST_CONTEXT(k.payload << " bits")
        {
            BOOST_TEST(s.transport_crc.bits == k.crc_bits);
            BOOST_TEST(s.blocks == k.blocks);
            BOOST_TEST(s.block_crc.bits == (k.blocks > 1 ? 24 : 0));
            BOOST_TEST(s.block_bits == k.block_bits);
            BOOST_TEST(s.lifting_size == k.z);
            BOOST_TEST(s.fillers == k.fillers);
            BOOST_TEST(s.coded_bits() == (k.graph == 1 ? 66 : 50) * k.z);
            BOOST_TEST(s.code(4)->k() == k.block_bits);
            BOOST_TEST(s.stop_crc().polynomial == (k.blocks > 1       ? 0x800063u
                                                   : k.payload > 3824 ? 0x864cfbu
                                                                      : 0x1021u));
        }
    }
}

BOOST_AUTO_TEST_CASE(every_length_has_the_least_lifting_size_and_fits)
{
    const std::vector<int> bases = { 2, 3, 5, 7, 9, 11, 13, 15 };
    for (int graph = 1; graph <= 2; ++graph) {
        for (int payload = 1; payload <= 3824; ++payload) {
            const auto s = segment(payload, graph);
            const int b = payload + 16;
            const int k_b = graph == 1 ? 22
                            : b > 640  ? 10
                            : b > 560  ? 9
                            : b > 192  ? 8
                                       : 6;
            int least = 1 << 20;
            for (const int base : bases) {
                for (int z = base; z <= 384; z *= 2) {
                    if (k_b * z >= b) {
                        least = std::min(least, z);
                    }
                }
            }
            BOOST_REQUIRE(s.lifting_size == least);
            BOOST_REQUIRE(s.blocks == 1);
            BOOST_REQUIRE(s.block_bits == b);
            BOOST_REQUIRE(s.fillers == (graph == 1 ? 22 : 10) * least - b);
            BOOST_REQUIRE(s.fillers < (graph == 1 ? 20 : 8) * least);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_was_segmented_comes_back)
{
    for (const auto& [payload, graph] : { std::pair{ 1, 2 },
                                          { 24, 2 },
                                          { 3824, 1 },
                                          { 3848, 2 },
                                          { 8424, 1 },
                                          { 8456, 1 },
                                          { 42016, 1 } }) {
        const auto s = segment(payload, graph);
        const auto sent = random_bits(payload);
        std::vector<uint8_t> blocks(size_t(s.blocks) * s.block_bits, 77),
            got(payload, 77);
        segment(s, sent, blocks);
        for (int i = 0; i < s.blocks; ++i) {
            const auto block = view<uint8_t>(blocks).part(i * s.block_bits, s.block_bits);
            BOOST_TEST(remainder(s.stop_crc(), block) == 0u);
        }
        BOOST_TEST(desegment(s, blocks, got));
        BOOST_TEST(got == sent);
        blocks[draw(0, s.block_bits - s.block_crc.bits - 1)] ^= 1;
        BOOST_TEST(!desegment(s, blocks, got));
    }
}

BOOST_AUTO_TEST_CASE(refuses_payloads_and_sizes)
{
    refuses([] { segment(100, 3); }, "1 or 2, not 3");
    refuses([] { segment(0, 1); }, "not 0");
    refuses([] { segment(-5, 1); }, "not -5");
    refuses([] { segment(INT32_MAX, 1); }, "2^26");
    refuses([] { segment(8457, 1); }, "the next that do are 8458");
    const auto s = segment(100, 2);
    std::vector<uint8_t> payload(100), blocks(116), wrong(99);
    refuses([&] { segment(s, wrong, blocks); }, "payload has 99");
    refuses([&] { segment(s, payload, wrong); }, "blocks has 99");
    refuses([&] { desegment(s, wrong, payload); }, "blocks has 99");
    refuses([&] { desegment(s, blocks, wrong); }, "payload has 99");
}

BOOST_AUTO_TEST_CASE(coded_bits_are_shared_out_as_section_5_4_2_1_says)
{
    for (int i = 0; i < 500; ++i) {
        const int layers = draw(1, 4);
        const int order = orders[draw(0, 5)];
        const int blocks = draw(1, 20);
        const int unit = layers * order;
        const int g = unit * draw(0, 3000);
        const auto lengths = coded_lengths(g, layers, order, blocks);
        BOOST_TEST(std::accumulate(lengths.begin(), lengths.end(), 0) == g);
        for (int j = 0; j < blocks; ++j) {
            const double each = static_cast<double>(g) / (unit * blocks);
            const bool shorter = j <= blocks - (g / unit) % blocks - 1;
            BOOST_TEST(lengths[j] ==
                       unit * (shorter ? std::floor(each) : std::ceil(each)));
        }
    }
    refuses([] { coded_lengths(9, 1, 2, 1); }, "multiple of 2");
    refuses([] { coded_lengths(-2, 1, 2, 1); }, "multiple of 2");
    refuses([] { coded_lengths(8, 0, 2, 1); }, "layers");
    refuses([] { coded_lengths(8, 5, 2, 1); }, "layers");
    refuses([] { coded_lengths(9, 1, 3, 1); }, "modulation order");
    refuses([] { coded_lengths(8, 1, 2, 0); }, "1 to 32768 code blocks");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(rate_matching)

BOOST_DATA_TEST_CASE(bits_are_those_of_section_5_4_2,
                     data::make(orders) * data::xrange(4),
                     order,
                     version)
{
    for (int i = 0; i < 25; ++i) {
        const auto p = random_matching(order, version);
        const rate_matcher matcher(p);
        const int coded = order * draw(0, 2 * matcher.soft_bits() / order + 3);
        const auto from = selected(p, coded);
        const auto word = random_bits(matcher.soft_bits());
        std::vector<uint8_t> expected(coded), got(coded, 77);
        std::transform(
            from.begin(), from.end(), expected.begin(), [&](int j) { return word[j]; });
        matcher.match(word, got);
        BOOST_TEST(got == expected);
        const int reach = coded ? 1 + *std::max_element(from.begin(), from.end()) : 0;
        BOOST_TEST(matcher.reach(coded) == reach);
    }
}

BOOST_DATA_TEST_CASE(recovery_adds_each_llr_to_its_bit,
                     data::make(orders) * data::xrange(4),
                     order,
                     version)
{
    for (int i = 0; i < 25; ++i) {
        const auto p = random_matching(order, version);
        const rate_matcher matcher(p);
        const int coded = order * draw(0, 2 * matcher.soft_bits() / order + 3);
        const auto from = selected(p, coded);
        std::vector<float> llr(coded), soft(matcher.soft_bits()), expected;
        std::vector<int8_t> llr8(coded), soft8(matcher.soft_bits());
        for (int j = 0; j < coded; ++j) {
            llr[j] = llr8[j] = draw(-7, 7); // whole numbers: no rounding, no saturation
        }
        for (size_t j = 0; j < soft.size(); ++j) {
            soft[j] = soft8[j] = draw(-7, 7);
        }
        expected = soft;
        for (int j = 0; j < coded; ++j) {
            expected[from[j]] += llr[j];
        }
        matcher.recover(llr, soft);
        matcher.recover(llr8, soft8);
        BOOST_TEST(soft == expected);
        BOOST_TEST(std::equal(soft8.begin(), soft8.end(), expected.begin()));
    }
}

BOOST_AUTO_TEST_CASE(int8_saturates_and_nan_counts_as_nothing)
{
    rate_matcher::parameters p;
    p.lifting_size = 2;
    const rate_matcher matcher(p);
    const int n = matcher.soft_bits();
    std::vector<int8_t> up(n, 100), down(n, -100), soft(n);
    for (int i = 0; i < 3; ++i) {
        matcher.recover(up, soft);
    }
    BOOST_TEST(std::all_of(soft.begin(), soft.end(), [](int x) { return x == 127; }));
    for (int i = 0; i < 3; ++i) {
        matcher.recover(down, soft);
    }
    BOOST_TEST(std::all_of(soft.begin(), soft.end(), [](int x) { return x == -128; }));

    std::vector<float> llr(n, std::nanf("")), sum(n, 3);
    llr[1] = 4;
    matcher.recover(llr, sum);
    BOOST_TEST(std::accumulate(sum.begin(), sum.end(), 0.0f) == 3 * n + 4);
    llr.assign(n, std::numeric_limits<float>::infinity());
    matcher.recover(llr, sum);
    BOOST_TEST(std::isinf(sum[0]));
}

//! A buffer as long as the bits sent is enough, because the code then has few rows.
BOOST_AUTO_TEST_CASE(a_first_transmission_fits_the_code_that_it_reaches)
{
    for (const auto& s : { segment(8456, 1), segment(500, 2), segment(24, 2) }) {
        rate_matcher::parameters p;
        p.base_graph = s.base_graph;
        p.lifting_size = s.lifting_size;
        p.fillers = s.fillers;
        const rate_matcher matcher(p);
        BOOST_TEST(matcher.soft_bits() == s.coded_bits() - s.fillers);
        BOOST_TEST(matcher.rows(matcher.soft_bits()) == (s.base_graph == 1 ? 46 : 42));
        for (int coded = 2; coded <= matcher.soft_bits(); coded += 2) {
            const int rows = matcher.rows(matcher.reach(coded));
            const int n =
                (rows + (s.base_graph == 1 ? 20 : 8)) * s.lifting_size - s.fillers;
            BOOST_REQUIRE(n >= coded);
            BOOST_REQUIRE(rows >= 4);
            BOOST_REQUIRE((rows == 4 || n - s.lifting_size < coded));
        }
        BOOST_TEST(s.code(7)->n() ==
                   (7 + (s.base_graph == 1 ? 20 : 8)) * s.lifting_size - s.fillers);
        refuses([&] { matcher.rows(matcher.soft_bits() + 1); }, "no code has");
    }
}

BOOST_AUTO_TEST_CASE(refuses_parameters_and_sizes)
{
    const auto refused = [](auto change, const char* what) {
        rate_matcher::parameters p;
        change(p);
        refuses([&] { rate_matcher matcher(p); }, what);
    };
    refused([](auto& p) { p.base_graph = 0; }, "base graph");
    refused([](auto& p) { p.lifting_size = 17; }, "17");
    refused([](auto& p) { p.lifting_size = -2; }, "-2");
    refused([](auto& p) { p.fillers = -1; }, "fillers");
    refused([](auto& p) { p.fillers = 20 * 384; }, "7679");
    for (const int order : { -2, 0, 3, 5, 12 }) {
        refused([&](auto& p) { p.modulation_order = order; }, "modulation order");
    }
    refused([](auto& p) { p.redundancy_version = 4; }, "redundancy version");
    refused([](auto& p) { p.redundancy_version = -1; }, "redundancy version");
    refused([](auto& p) { p.limited_buffer = -1; }, "limited buffer");

    rate_matcher::parameters p;
    p.lifting_size = 2;
    const rate_matcher matcher(p);
    std::vector<float> llr(11), soft(200);
    std::vector<uint8_t> word(200), coded(11);
    refuses([&] { matcher.recover(llr, soft); }, "no whole number of symbols");
    refuses([&] { matcher.match(word, coded); }, "no whole number of symbols");
    llr.resize(12);
    soft.resize(11);
    refuses([&] { matcher.recover(llr, soft); }, "reach place 12");
    BOOST_CHECK_NO_THROW(matcher.recover(view<const float>(), view<float>()));
    refuses([&] { matcher.reach(-1); }, "-1");
}

BOOST_AUTO_TEST_SUITE_END()
