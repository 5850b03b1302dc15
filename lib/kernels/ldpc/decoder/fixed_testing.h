/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// For tests of the decoder in int8 arithmetic: a call of the decoder beside its oracle.

#include "kernels/common/testing.h"
#include "kernels/ldpc/codes/words_testing.h"
#include "kernels/ldpc/decoder/makers.h"

namespace gr::cudaphy::testing {

using namespace gr::cudaphy::kernels;

using parameters = ldpc_decoder::parameters;

inline parameters fixed_point()
{
    parameters p;
    p.calculation = ldpc_decoder::arithmetic::int8;
    p.max_iterations = 10;
    p.whole_words = true;
    p.llr_steps = 4;
    return p;
}

inline ldpc_fixed_limits tested_limits([[maybe_unused]] const ldpc_decoding& decoding)
{
#ifdef CUDAPHY_HAVE_CUDA
    if (tested_backend() == backend::cuda) {
        return ldpc_fixed_limits::cuda(is_one_a_block_on_cuda(decoding, 0));
    }
#endif
    return ldpc_fixed_limits::cpu();
}

struct outcome {
    std::vector<uint8_t> bits;
    std::vector<int> iterations, ok;
    std::vector<float> soft;
};

template <typename Llr>
outcome decode(ldpc_decoder& decoder,
               const ldpc_code& code,
               const parameters& p,
               const std::vector<Llr>& llr,
               backend where,
               bool with_soft = true)
{
    auto q = queue::make(where);
    const size_t words = llr.size() / code.n();
    const size_t items = p.whole_words ? code.n() : code.k();
    const size_t bytes = p.packed ? (items + 7) / 8 : items;
    const array<Llr> from(*q, view<const Llr>(llr));
    auto bits = poisoned<uint8_t>(*q, words * bytes);
    auto iterations = poisoned<int>(*q, words);
    auto ok = poisoned<int>(*q, words);
    auto soft = poisoned<float>(*q, with_soft ? words * items : 0);
    decoder.run(view<const Llr>(from), { bits, iterations, ok, soft }, *q);
    return { bits.to_host(), iterations.to_host(), ok.to_host(), soft.to_host() };
}

template <typename Llr>
outcome check(const ldpc_code::sptr& code, parameters p, const std::vector<Llr>& llr)
{
    p.llr = std::is_same_v<Llr, int8_t>    ? ldpc_decoder::number::int8
            : std::is_same_v<Llr, float16> ? ldpc_decoder::number::float16
                                           : ldpc_decoder::number::float32;
    outcome got;
    BOOST_TEST_CONTEXT(code->name() << ", " << llr.size() / code->n() << " words")
    {
        const auto tested = ldpc_decoder::make(code, p, tested_backend());
        BOOST_TEST((tested->calculation() == ldpc_decoder::arithmetic::int8));
        got = decode(*tested, *code, p, llr, tested_backend());
        const auto decoding =
            ldpc_decoding{ code, p, ldpc_decoding::scales_of(*code, p) }.with_steps(
                tested_backend() == backend::cuda ? ldpc_decoding::steps_on_cuda
                                                  : ldpc_decoding::steps_elsewhere);
        const auto oracle =
            make_ldpc_fixed_decoder_reference(decoding, tested_limits(decoding));
        const auto expected = decode(*oracle, *code, p, llr, backend::reference);
        BOOST_TEST(got.iterations == expected.iterations,
                   boost::test_tools::per_element());
        BOOST_TEST(got.ok == expected.ok, boost::test_tools::per_element());
        BOOST_TEST((got.bits == expected.bits));
        BOOST_TEST((got.soft == expected.soft));
        const auto bare = decode(*tested, *code, p, llr, tested_backend(), false);
        BOOST_TEST((bare.bits == expected.bits));
    }
    return got;
}

inline std::vector<float> noisy(const ldpc_code::sptr& code, size_t words, double eb_n0)
{
    const auto sent = random_codewords(code, words, generator());
    return received_llrs(sent, code->rate(), eb_n0, generator());
}

inline std::vector<int8_t> in_steps(const std::vector<float>& llr)
{
    std::vector<int8_t> out;
    for (const float value : llr) {
        out.push_back(static_cast<int8_t>(ldpc_fixed_steps(value, 4, fixed_point())));
    }
    return out;
}

} // namespace gr::cudaphy::testing
