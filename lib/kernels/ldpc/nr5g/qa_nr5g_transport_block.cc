/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE nr5g_transport_block
#include "kernels/common/testing.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr5g_transport_block.h>
#include <limits>

// Transport blocks of 5G NR from payload to payload.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::kernels::nr5g;
using namespace gr::cudaphy::testing;

namespace {

//! LLRs of bits sent as BPSK at a linear Es/N0. int8 LLRs have 8 steps a unit.
template <typename T>
std::vector<T>
received(const std::vector<uint8_t>& bits, double es_n0, std::mt19937& random)
{
    const float sigma = std::sqrt(0.5 / es_n0);
    std::normal_distribution<float> noise(0.0f, sigma);
    std::vector<T> llr(bits.size());
    for (size_t i = 0; i < bits.size(); ++i) {
        const float value = 2 * ((bits[i] ? -1 : 1) + noise(random)) / (sigma * sigma);
        llr[i] = std::is_same_v<T, float>
                     ? value
                     : std::clamp(std::nearbyint(8 * value), -127.0f, 127.0f);
    }
    return llr;
}

transport_block_decoder::parameters decoding(ldpc_decoder::number llr)
{
    transport_block_decoder::parameters p;
    p.decoding.max_iterations = 10;
    p.decoding.llr = llr;
    return p;
}

constexpr auto floats = ldpc_decoder::number::float32;
constexpr auto int8s = ldpc_decoder::number::int8;

std::vector<uint8_t> encoded(const segmentation& parts,
                             const std::vector<uint8_t>& payload,
                             const transmission& how,
                             int coded,
                             int limited_buffer = 0)
{
    std::vector<uint8_t> bits(coded, 77);
    transport_block_encoder(parts, limited_buffer, tested_backend())
        .encode(payload, how, bits);
    return bits;
}

struct rates {
    double first, second;
};

//! Transport block error rates after one and after two transmissions.
rates error_rates(const segmentation& parts, double es_n0, int coded, int second_version)
{
    std::mt19937 random(7); // the same noise in every run
    const int words = 60;
    transport_block_encoder encoder(parts, 0, tested_backend());
    transport_block_decoder decoder(parts, decoding(floats), tested_backend());
    rates out{ 0, 0 };
    std::vector<uint8_t> payload(parts.payload), bits(coded), got(parts.payload);
    for (int i = 0; i < words; ++i) {
        for (auto& bit : payload) {
            bit = random() >> 31;
        }
        decoder.clear();
        const transmission first{ 1, 4, 0 };
        encoder.encode(payload, first, bits);
        bool ok = decoder.decode(received<float>(bits, es_n0, random), first, got).ok;
        BOOST_TEST((!ok || got == payload));
        out.first += !ok;
        if (!ok) {
            const transmission second{ 1, 4, second_version };
            encoder.encode(payload, second, bits);
            ok = decoder.decode(received<float>(bits, es_n0, random), second, got).ok;
            BOOST_TEST((!ok || got == payload));
            out.second += !ok;
        }
    }
    out.first /= words;
    out.second /= words;
    return out;
}

template <typename Call>
void refuses(const Call& call, const std::string& what)
{
    BOOST_CHECK_EXCEPTION(call(), std::invalid_argument, [&](const auto& problem) {
        return std::string(problem.what()).find(what) != std::string::npos;
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(what_was_encoded_is_decoded_in_floats_and_int8)
{
    for (const auto& [payload_bits, rate] :
         { std::pair{ 24, 0.2 }, { 640, 0.5 }, { 3824, 0.9 }, { 8456, 0.6 } }) {
        const auto parts = segment(payload_bits, base_graph(payload_bits, rate));
        for (const auto& how : { transmission{ 1, 2, 0 },
                                 transmission{ 2, 6, 0 },
                                 transmission{ 3, 8, 0 } }) {
            const int unit = how.layers * how.modulation_order;
            const int coded = (static_cast<int>(payload_bits / rate) / unit + 1) * unit;
            const auto payload = random_bits(payload_bits);
            const auto bits = encoded(parts, payload, how, coded);
            BOOST_TEST(*std::max_element(bits.begin(), bits.end()) <= 1);
            std::vector<uint8_t> got(payload_bits, 77);
            const double es_n0 = 10;
            transport_block_decoder decoder(parts, decoding(floats), tested_backend());
            auto out =
                decoder.decode(received<float>(bits, es_n0, generator()), how, got);
            BOOST_TEST(out.ok, parts.payload << " bits");
            BOOST_TEST(got == payload);
            BOOST_TEST(out.block_ok == std::vector<int>(parts.blocks, 1));
            transport_block_decoder small(parts, decoding(int8s), tested_backend());
            out = small.decode(received<int8_t>(bits, es_n0, generator()), how, got);
            BOOST_TEST(out.ok, parts.payload << " bits in int8");
            BOOST_TEST(got == payload);
        }
    }
}

//! Versions 1 and 2 begin behind the systematic bits, and so wrap around the buffer's
//! end.
BOOST_AUTO_TEST_CASE(any_redundancy_version_that_carries_enough_is_decoded)
{
    const auto parts = segment(1000, 2);
    const auto payload = random_bits(1000);
    for (int version = 0; version < 4; ++version) {
        for (const int limited : { 0, 3000 }) {
            const transmission how{ 1, 2, version };
            const auto bits = encoded(parts, payload, how, 5000, limited);
            auto p = decoding(floats);
            p.limited_buffer = limited;
            transport_block_decoder decoder(parts, p, tested_backend());
            std::vector<uint8_t> got(1000);
            BOOST_TEST(
                decoder.decode(received<float>(bits, 10, generator()), how, got).ok);
            BOOST_TEST(got == payload);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_second_transmission_lets_fewer_transport_blocks_fail)
{
    // Above 3824 bits the CRC has 24 bits. One of 16 passes by chance too often.
    const auto parts = segment(3848, 1);
    const int coded = 5000; // rate 3/4
    const double es_n0 = std::pow(10, 0.05);
    const auto chase = error_rates(parts, es_n0, coded, 0);
    const auto incremental = error_rates(parts, es_n0, coded, 2);
    BOOST_TEST_MESSAGE("first " << chase.first << ", chase " << chase.second
                                << ", incremental redundancy " << incremental.second);
    BOOST_TEST(chase.first > 0.9);
    BOOST_TEST(chase.second < 0.5);
    BOOST_TEST(incremental.second < 0.05);
}

//! New parity bits help more than the old ones sent twice.
BOOST_AUTO_TEST_CASE(incremental_redundancy_beats_chase_combining)
{
    const auto parts = segment(3848, 1);
    const double es_n0 = std::pow(10, -0.22);
    BOOST_TEST(error_rates(parts, es_n0, 5000, 2).second + 0.2 <
               error_rates(parts, es_n0, 5000, 0).second);
}

BOOST_AUTO_TEST_CASE(only_blocks_that_failed_are_decoded_again)
{
    const auto parts = segment(8456, 1);
    const auto payload = random_bits(8456);
    const transmission how{ 1, 2, 0 };
    const int coded = 12000;
    const auto bits = encoded(parts, payload, how, coded);
    auto llr = received<float>(bits, 10, generator());
    const auto clean = llr;
    std::fill(llr.begin() + coded / 2, llr.end(), 0.0f); // the second block is lost
    transport_block_decoder decoder(parts, decoding(floats), tested_backend());
    std::vector<uint8_t> got(8456);
    auto out = decoder.decode(llr, how, got);
    BOOST_TEST(!out.ok);
    BOOST_TEST(out.block_ok[0] == 1);
    out = decoder.decode(clean, how, got);
    BOOST_TEST(out.ok);
    BOOST_TEST(out.iterations[0] == 0);
    BOOST_TEST(got == payload);
    // clear() forgets the block.
    decoder.clear();
    std::fill(llr.begin(), llr.end(), 0.0f);
    out = decoder.decode(llr, how, got);
    BOOST_TEST(!out.ok);
    BOOST_TEST(got != payload);
}

//! The CRC of zeros is zero, so a block of erasures must not pass.
BOOST_AUTO_TEST_CASE(zeros_pass_only_where_zeros_were_sent)
{
    const auto parts = segment(500, 2);
    const transmission how;
    std::vector<uint8_t> got(500, 1);
    transport_block_decoder decoder(parts, decoding(floats), tested_backend());
    auto out = decoder.decode(std::vector<float>(1500), how, got);
    BOOST_TEST(!out.ok);
    BOOST_TEST(out.block_ok[0] == 0);
    BOOST_TEST(!decoder.decode(view<const float>(), how, got).ok);
    const std::vector<uint8_t> zeros(500);
    const auto bits = encoded(parts, zeros, how, 1500);
    out = decoder.decode(received<float>(bits, 1, generator()), how, got);
    BOOST_TEST(out.ok);
    BOOST_TEST(got == zeros);
}

BOOST_AUTO_TEST_CASE(llrs_that_are_not_finite_harm_no_other_transport_block)
{
    const auto parts = segment(500, 2);
    const auto payload = random_bits(500);
    const transmission how;
    const auto clean =
        received<float>(encoded(parts, payload, how, 1500), 10, generator());
    transport_block_decoder decoder(parts, decoding(floats), tested_backend());
    std::vector<uint8_t> got(500);
    for (const float bad :
         { std::nanf(""), std::numeric_limits<float>::infinity(), 0.0f }) {
        auto llr = clean;
        std::fill(llr.begin(), llr.begin() + 1000, bad);
        decoder.clear();
        BOOST_CHECK_NO_THROW(decoder.decode(llr, how, got));
        decoder.clear();
        BOOST_TEST(decoder.decode(clean, how, got).ok);
        BOOST_TEST(got == payload);
    }
    // NaN is an erasure, and the other LLRs are enough.
    auto llr = clean;
    llr[3] = llr[77] = std::nanf("");
    decoder.clear();
    BOOST_TEST(decoder.decode(llr, how, got).ok);
}

BOOST_AUTO_TEST_CASE(refuses_types_and_sizes)
{
    const auto parts = segment(500, 2);
    transport_block_decoder decoder(parts, decoding(floats), tested_backend());
    std::vector<uint8_t> payload(500), few(499), coded(1001);
    std::vector<float> llr(1001);
    std::vector<int8_t> llr8(1000);
    refuses([&] { decoder.decode(llr8, {}, payload); }, "float32");
    refuses([&] { decoder.decode(llr, {}, payload); }, "multiple of 2");
    llr.resize(1000);
    refuses([&] { decoder.decode(llr, {}, few); }, "payload has 499");
    refuses([&] { decoder.decode(llr, { 5, 2, 0 }, payload); }, "layers");
    refuses([&] { decoder.decode(llr, { 1, 2, 4 }, payload); }, "redundancy version");
    BOOST_CHECK_NO_THROW(decoder.decode(view<const float>(), {}, payload));
    transport_block_encoder encoder(parts, 0, tested_backend());
    refuses([&] { encoder.encode(payload, {}, coded); }, "multiple of 2");
    refuses([&] { encoder.encode(few, {}, view<uint8_t>(coded).part(0, 1000)); },
            "payload has 499");
    auto p = decoding(ldpc_decoder::number::float16);
    refuses([&] { transport_block_decoder(parts, p, tested_backend()); },
            "float32 or int8");
    p = decoding(floats);
    p.decoding.max_iterations = 0;
    refuses([&] { transport_block_decoder(parts, p, tested_backend()); },
            "max_iterations");
}
