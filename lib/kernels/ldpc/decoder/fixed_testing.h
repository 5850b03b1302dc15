/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// For tests of the decoder in int8 arithmetic: a call of the decoder beside its oracle.

#include "kernels/ldpc/decoder/makers.h"
#include "kernels/ldpc/decoder/testing.h"

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

//! With the tested backend's limits and steps.
template <typename Llr>
decoded decoded_by_reference(const ldpc_code::sptr& code,
                             const parameters& p,
                             const std::vector<Llr>& llr)
{
    const auto decoding =
        ldpc_decoding{ code, p, ldpc_decoding::scales_of(*code, p) }.with_steps(
            tested_backend() == backend::cuda ? ldpc_decoding::steps_on_cuda
                                              : ldpc_decoding::steps_elsewhere);
    const auto oracle =
        make_ldpc_fixed_decoder_reference(decoding, tested_limits(decoding));
    return decode(*oracle, *code, p, llr, backend::reference);
}

//! `words` words that repeat these.
template <typename T>
std::vector<T> repeated(const std::vector<T>& given, size_t distinct, size_t words)
{
    const size_t a_word = given.size() / distinct;
    std::vector<T> out(words * a_word);
    for (size_t i = 0; i < out.size(); ++i) {
        out[i] = given[i % given.size()];
    }
    return out;
}

//! \param distinct  after how many words they repeat, because the reference decodes one
//!                  after the other; 0: they do not
template <typename Llr>
decoded check(const ldpc_code::sptr& code,
              parameters p,
              const std::vector<Llr>& llr,
              size_t distinct = 0)
{
    p.llr = number_of<Llr>;
    decoded got;
    BOOST_TEST_CONTEXT(code->name() << ", " << llr.size() / code->n() << " words")
    {
        const auto tested = ldpc_decoder::make(code, p, tested_backend());
        BOOST_TEST((tested->calculation() == ldpc_decoder::arithmetic::int8));
        got = decode(*tested, *code, p, llr, tested_backend());
        // The reference is its own oracle: the tests look at what it decoded.
        auto expected = got;
        if (tested_backend() != backend::reference) {
            const size_t words = llr.size() / code->n(),
                         some = distinct ? distinct : words;
            expected = decoded_by_reference(
                code, p, std::vector<Llr>(llr.begin(), llr.begin() + some * code->n()));
            if (some < words) {
                expected.bits = repeated(expected.bits, some, words);
                expected.iterations = repeated(expected.iterations, some, words);
                expected.ok = repeated(expected.ok, some, words);
                expected.soft = repeated(expected.soft, some, words);
            }
        }
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

} // namespace gr::cudaphy::testing
