/* SPDX-License-Identifier: GPL-3.0-or-later */
// The tables that CUDA's encoders walk, walked bit by bit.
#define BOOST_TEST_MODULE ldpc_encoder_tables
#include "kernels/common/testing.h"
#include "kernels/ldpc/encoder/accumulator_tables.h"
#include "kernels/ldpc/encoder/placed_strings.h"
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <numeric>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

using bits = std::vector<uint8_t>;

struct word {
    bits info, expected;

    explicit word(const ldpc_code::sptr& code)
        : info(random_bits(size_t(code->k()))), expected(size_t(code->n()))
    {
        auto q = queue::make(backend::reference);
        ldpc_encoder::make(code, backend::reference)->run(info, expected, *q);
    }
};

bits encoded(const ldpc_circulant_tables& t, const bits& info)
{
    const auto z = size_t(t.z);
    std::vector<bits> strings(size_t(t.strings), bits(z));
    for (const auto& input : t.inputs) {
        for (int i = input.first; i < input.end; ++i) {
            strings[size_t(input.string)][size_t(i)] = info[size_t(input.offset + i)];
        }
    }
    for (const auto& phase : t.phases) {
        // The sums of a phase see what was there before it.
        auto made = strings;
        bits before(z);
        for (int s = phase.first; s < phase.last; ++s) {
            bits sum(z);
            for (int i = t.sums[size_t(s)].first; i < t.sums[size_t(s) + 1].first; ++i) {
                const auto& term = t.terms[size_t(i)];
                for (size_t j = 0; j < z; ++j) {
                    sum[j] ^=
                        strings[size_t(term.string)][(j + size_t(term.rotation)) % z];
                }
            }
            for (size_t j = 0; phase.is_chain && j < z; ++j) {
                sum[j] ^= before[j];
            }
            before = made[size_t(t.sums[size_t(s)].to)] = sum;
        }
        strings = made;
    }
    bits out;
    for (const auto& run : t.outputs) {
        const auto from = strings[size_t(run.string)].begin() + run.first;
        out.insert(out.end(), from, from + run.bits);
    }
    return out;
}

//! The same with strings in their places, those that are read rotated twice in a row.
bits encoded(const ldpc_circulant_tables& t,
             const ldpc_placed_strings& p,
             const bits& info)
{
    const auto z = size_t(t.z);
    bits all(size_t(p.words) * 32);
    const auto put = [&](int32_t to, const bits& string) {
        for (size_t copy = 0; copy <= size_t(to & 1); ++copy) {
            std::copy(string.begin(),
                      string.end(),
                      all.begin() + (to >> 1) * 32 + std::ptrdiff_t(copy * z));
        }
    };
    for (const auto& input : p.inputs) {
        bits string(z);
        for (int i = input.first; i < input.end; ++i) {
            string[size_t(i)] = info[size_t(input.offset + i)];
        }
        put(input.to, string);
    }
    for (const auto& phase : t.phases) {
        bits sum(z);
        const auto before = all;
        for (int s = phase.first; s < phase.last; ++s) {
            if (!phase.is_chain) {
                sum.assign(z, 0);
            }
            for (int i = p.sums[size_t(s)].first; i < p.sums[size_t(s) + 1].first; ++i) {
                for (size_t j = 0; j < z; ++j) {
                    sum[j] ^= before[p.terms[size_t(i)] + j];
                }
            }
            put(p.sums[size_t(s)].to, sum);
        }
    }
    bits out;
    for (const auto& place : p.outputs) {
        const uint32_t count = place.first & 63;
        for (uint32_t i = 0; i < 32; ++i) {
            const auto at = i < count ? (place.first >> 6) + i : place.second + i - count;
            out.push_back(all.at(at));
        }
    }
    BOOST_TEST(std::accumulate(out.begin() + t.n, out.end(), 0) == 0);
    out.resize(size_t(t.n));
    return out;
}

bits encoded(const ldpc_accumulator_tables& t, const bits& info)
{
    auto out = info;
    uint8_t sum = 0;
    for (int j = 0; j < t.z; ++j) {
        for (int r = 0; r < t.rows; ++r) {
            for (int i = t.starts[size_t(r)]; i < t.starts[size_t(r) + 1]; ++i) {
                const auto& term = t.terms[size_t(i)];
                sum ^= info[size_t(term.string * t.z + (j + term.rotation) % t.z)];
            }
            out.push_back(sum);
        }
    }
    return out;
}

void circulants_encode(const ldpc_code::sptr& code)
{
    BOOST_TEST_CONTEXT(code->name())
    {
        const word w(code);
        const auto tables = ldpc_circulant_tables::make(*code);
        BOOST_REQUIRE(tables.has_value());
        BOOST_TEST((encoded(*tables, w.info) == w.expected));
        const auto placed = ldpc_placed_strings::make(*tables);
        BOOST_TEST(placed.has_value() == (tables->z >= 32 && tables->z <= 512));
        if (placed) {
            BOOST_TEST((encoded(*tables, *placed, w.info) == w.expected));
        }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(tables_of_circulants_encode)
{
    if (tested_backend() != backend::cpu) {
        return; // independent of the backend
    }
    for (const int n : { 648, 1296, 1944 }) {
        for (const auto rate : { "1/2", "2/3", "3/4", "5/6" }) {
            circulants_encode(ldpc_code::wifi(n, rate));
        }
    }
    for (const auto rate : { "1/2", "2/3A", "2/3B", "3/4A", "3/4B", "5/6" }) {
        circulants_encode(ldpc_code::wimax(2304, rate));
    }
    for (const int z : { 16, 30, 36, 64, 104, 208, 384 }) {
        circulants_encode(ldpc_code::nr5g(1, z, 46));
        circulants_encode(ldpc_code::nr5g(1, z, 5));
        circulants_encode(ldpc_code::nr5g(2, z, 20, 2 * z + 1));
        circulants_encode(ldpc_code::nr5g(2, z, 42, 8));
    }
}

BOOST_AUTO_TEST_CASE(tables_of_running_sums_encode)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    for (const auto& code : { ldpc_code::dvbs2("short", "1/4"),
                              ldpc_code::dvbs2("short", "8/9"),
                              ldpc_code::dvbs2("normal", "1/4"),
                              ldpc_code::dvbs2("normal", "2/3"),
                              ldpc_code::dvbs2("normal", "9/10"),
                              ldpc_code::dvbs2x("short", "32/45"),
                              ldpc_code::dvbt2("short", "3/5") }) {
        BOOST_TEST_CONTEXT(code->name())
        {
            const word w(code);
            const auto tables = ldpc_accumulator_tables::make(*code);
            BOOST_REQUIRE(tables.has_value());
            BOOST_TEST((encoded(*tables, w.info) == w.expected));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_staircase_is_one_chain)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    // 802.11n: the rows' sums; the strings set aside from their running sum; the rest.
    const auto t = ldpc_circulant_tables::make(*ldpc_code::wifi(1944, "1/2"));
    BOOST_REQUIRE(t.has_value());
    BOOST_REQUIRE_EQUAL(t->phases.size(), 3u);
    BOOST_TEST(!t->phases[0].is_chain);
    BOOST_TEST(t->phases[1].is_chain);
    BOOST_TEST(t->phases[2].is_chain);
    BOOST_TEST(ldpc_circulant_tables::make(*ldpc_code::nr5g(1, 384, 46))->phases.size() <=
               6u);
}

BOOST_AUTO_TEST_CASE(codes_of_other_forms_have_no_tables)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    const auto has_none = [](const ldpc_code& code) {
        return !ldpc_circulant_tables::make(code) && !ldpc_accumulator_tables::make(code);
    };
    BOOST_TEST(has_none(*ldpc_code::ccsds("ar4ja", 1024, "1/2"))); // dense circulants
    BOOST_TEST(has_none(*ldpc_code::ccsds("c2", 7154)));
    BOOST_TEST(has_none(*ldpc_code::ten_gbase_t()));
    BOOST_TEST(has_none(*ldpc_code::regular()));
    BOOST_TEST(has_none(*ldpc_code::dvbs2x("short", "1/5 VL-SNR"))); // bits left out
    BOOST_TEST(!ldpc_accumulator_tables::make(*ldpc_code::wifi(1944, "1/2")));
    BOOST_TEST(!ldpc_circulant_tables::make(*ldpc_code::dvbs2("short", "1/2")));
}
