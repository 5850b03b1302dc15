/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_error_rates
#include "kernels/common/testing.h"
#include "kernels/ldpc/ldpc_testing.h"

// Frame error rates over BPSK and white Gaussian noise against figures of others.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

struct point {
    double eb_n0, rate;
    size_t frames;
};

size_t frame_errors(const ldpc_code::sptr& code,
                    const ldpc_decoder::parameters& p,
                    double eb_n0,
                    size_t frames)
{
    auto q = queue::make(tested_backend());
    auto decoder = ldpc_decoder::make(code, p, tested_backend());
    size_t errors = 0;
    const size_t most = code->n() > 10000 ? 64 : 2000; // bounds the memory
    for (size_t done = 0; done < frames; done += most) {
        const size_t words = std::min(most, frames - done);
        const auto sent = random_codewords(code, words, generator());
        const array<float> llr(
            *q, view<const float>(received_llrs(sent, code->rate(), eb_n0, generator())));
        auto bits = poisoned<uint8_t>(*q, sent.size());
        auto iterations = poisoned<int>(*q, words);
        auto ok = poisoned<int>(*q, words);
        decoder->run(llr, bits, iterations, ok, *q);
        const auto got = bits.to_host();
        for (size_t i = 0; i < words; ++i) {
            errors += !std::equal(sent.begin() + i * code->n(),
                                  sent.begin() + (i + 1) * code->n(),
                                  got.begin() + i * code->n());
        }
    }
    return errors;
}

//! Within a factor, and four standard deviations of the count.
void check(const ldpc_code::sptr& code,
           const ldpc_decoder::parameters& p,
           const point& published,
           double factor)
{
    const double expected = published.rate * published.frames;
    const double most = factor * expected;
    const double least = expected / factor;
    const double errors = frame_errors(code, p, published.eb_n0, published.frames);
    BOOST_TEST_MESSAGE(code->name() << ", " << published.eb_n0 << " dB: " << errors
                                    << " errors, published " << expected);
    BOOST_TEST_CONTEXT(code->name() << " at " << published.eb_n0 << " dB")
    {
        BOOST_TEST(errors <= most + 4 * std::sqrt(most));
        BOOST_TEST(errors >= least - 4 * std::sqrt(least));
    }
}

void check(const ldpc_code::sptr& code,
           int iterations,
           float scale,
           const point& published,
           double factor)
{
    ldpc_decoder::parameters p;
    p.max_iterations = iterations;
    p.scale = scale;
    p.whole_words = true;
    check(code, p, published, factor);
}

bool slow() { return tested_backend() == backend::reference; }

} // namespace

// AFF3CT's published references, git 021a9e0: layered normalised min-sum of factor 1.0,
// 10 iterations.
BOOST_AUTO_TEST_CASE(wifi_648_rate_5_6_has_the_published_frame_error_rate)
{
    const auto code = ldpc_code::wifi(648, "5/6");
    check(code, 10, 1.0f, { 3.5, 2.28e-1, slow() ? 400u : 2000u }, 1.5);
    if (!slow()) {
        check(code, 10, 1.0f, { 4.0, 3.63e-2, 6000 }, 1.5);
        check(code, 10, 1.0f, { 4.5, 1.84e-3, 12000 }, 1.5);
    }
}

// The same source: normalised min-sum of factor 0.75, 10 iterations; its schedule is not
// stated, and a layered one converges in about half the iterations of a flooding one. So
// the rate has an upper bound alone.
BOOST_AUTO_TEST_CASE(dvbs2_short_rate_8_9_is_no_worse_than_published)
{
    const auto code = ldpc_code::dvbs2("short", "8/9");
    ldpc_decoder::parameters p;
    p.max_iterations = 10;
    p.scale = 0.75f;
    p.whole_words = true;
    const size_t frames = slow() ? 16 : 320;
    const double most = 1.5 * 7.17e-2 * frames;
    BOOST_TEST(frame_errors(code, p, 3.8, frames) <= most + 4 * std::sqrt(most));
}

// The same source: layered sum-product, 50 iterations.
BOOST_AUTO_TEST_CASE(ccsds_128_64_has_the_published_frame_error_rate_of_sum_product)
{
    ldpc_decoder::parameters p;
    p.max_iterations = 50;
    p.rule = ldpc_decoder::check_rule::sum_product;
    p.whole_words = true;
    const auto code = ldpc_code::ccsds("tc", 64);
    check(code, p, { 2.0, 3.33e-1, slow() ? 200u : 2000u }, 1.5);
    if (!slow()) {
        check(code, p, { 3.0, 4.96e-2, 4000 }, 1.5);
        check(code, p, { 3.5, 1.03e-2, 8000 }, 1.5);
    }
}

// At 1.0 dB and 50 iterations they fail in .31 (sum-product), .39 (offset .5), .42 (the
// code's own factor) and .74 (no factor) of the frames.
BOOST_AUTO_TEST_CASE(sum_product_fails_less_often_than_min_sum)
{
    if (slow()) {
        return;
    }
    const auto code = ldpc_code::wifi(648, "1/2");
    const size_t frames = 4000;
    ldpc_decoder::parameters p;
    p.max_iterations = 50;
    p.whole_words = true;
    const double scaled = frame_errors(code, p, 1.0, frames);
    p.scale = 1;
    const double plain = frame_errors(code, p, 1.0, frames);
    p.rule = ldpc_decoder::check_rule::sum_product;
    const double sum_product = frame_errors(code, p, 1.0, frames);
    p.rule = ldpc_decoder::check_rule::offset_min_sum;
    const double offset = frame_errors(code, p, 1.0, frames);
    BOOST_TEST_MESSAGE("frame errors of " << frames << ": sum-product " << sum_product
                                          << ", min-sum " << scaled << ", factor 1 "
                                          << plain << ", offset .5 " << offset);
    BOOST_TEST(sum_product < scaled);
    BOOST_TEST(offset < plain);
    BOOST_TEST(scaled < plain);
}

// Where a frame in a thousand or less fails with a good factor, a bad one fails often:
// .75 instead of .84 at DVB-S2's rate 1/2 fails two frames in three, at rate 1/4 all of
// them.
BOOST_AUTO_TEST_CASE(each_code_has_a_factor_that_suits_it)
{
    const struct {
        ldpc_code::sptr code;
        double eb_n0;
        size_t frames;
    } cases[] = {
        { ldpc_code::wifi(1944, "1/2"), 1.9, 1000 },
        { ldpc_code::wifi(1944, "2/3"), 2.6, 1000 },
        { ldpc_code::wifi(1944, "3/4"), 3.1, 1000 },
        { ldpc_code::wifi(1944, "5/6"), 3.9, 1000 },
    };
    if (slow()) {
        return;
    }
    for (const auto& [code, eb_n0, frames] : cases) {
        const double errors = frame_errors(code, { 20, 0, true, true, 0 }, eb_n0, frames);
        BOOST_TEST(errors <= 0.01 * frames, code->name() << ": " << errors);
    }
}
