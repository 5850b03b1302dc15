/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_cuda_program
#include "kernels/ldpc/decoder/makers.h"
#include "kernels/ldpc/decoder/testing.h"
#include "kernels/ldpc/decoder_cuda_int8/kernel.h"
#include "kernels/ldpc/decoder_cuda_int8/ptx_machine_testing.h"
#include "kernels/ldpc/decoder_cuda_int8/row_pairs.h"
#include "kernels/ldpc/decoder_cuda_int8/source.h"
#include <array>
#include <cmath>
#include <limits>
#include <set>

// Runs the programs of the int8 decoder for CUDA on a machine for PTX in C++, without a
// GPU. Compares every bit, iteration and soft value with the reference, and looks for
// races.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

using parameters = ldpc_decoder::parameters;
using number = ldpc_decoder::number;
using form = ldpc_cuda_kernel::form;

constexpr int hopper = 227 * 1024; // bytes of shared memory a block

parameters fixed_point(int iterations, bool early_stop)
{
    parameters p;
    p.calculation = ldpc_decoder::arithmetic::int8;
    p.max_iterations = iterations;
    p.early_stop = early_stop;
    p.packed = true;
    p.llr_steps = 4;
    return p;
}

struct outcome {
    std::vector<uint8_t> bits;
    std::vector<int> iterations, ok;
    std::vector<float> soft;

    outcome(const ldpc_decoding& d, size_t words)
        : bits(words * d.output_bytes(), 0xee), iterations(words, -9), ok(words, -9),
          soft(words * d.output_bits(), -9)
    {
    }
};

//! A launch's arguments and arrays for the codewords of one code.
class inputs
{
public:
    inputs(const ldpc_decoding& decoding, const ldpc_cuda_kernel& kernel)
        : d_decoding(decoding), d_kernel(kernel),
          d_scales(ldpc_cuda_source::factors(decoding)), d_slots(slot_count),
          d_workspace(size_t(slot_count) * kernel.workspace_words * kernel.threads,
                      0xabababab)
    {
        const auto terms = decoding.crc_terms();
        for (size_t i = 0; i < kernel.info().size(); ++i) {
            d_info.push_back(kernel.info()[i]);
            d_info.push_back(terms.empty() ? 0 : terms[i]);
        }
    }
    template <typename Llr>
    ldpc_cuda_arguments arguments(const std::vector<Llr>& llr, outcome& got)
    {
        return { llr.data(),
                 got.bits.data(),
                 got.iterations.data(),
                 got.ok.data(),
                 got.soft.data(),
                 d_scales.data(),
                 d_kernel.sources().data(),
                 d_kernel.outputs().data(),
                 d_info.data(),
                 static_cast<uint32_t>(got.ok.size()),
                 d_decoding.words_have_steps() ? 1 : d_decoding.parameters.llr_steps,
                 static_cast<uint32_t>(d_decoding.parameters.max_iterations),
                 slot_count,
                 d_workspace.data(),
                 d_slots.data() };
    }
    unsigned blocks_for(size_t words) const
    {
        return static_cast<unsigned>((words + d_kernel.codewords - 1) /
                                     d_kernel.codewords);
    }
    void check_after() const
    {
        BOOST_TEST((d_slots == std::vector<uint32_t>(slot_count)));
    }

private:
    static constexpr uint32_t slot_count = 2;
    const ldpc_decoding& d_decoding;
    const ldpc_cuda_kernel& d_kernel;
    std::vector<uint32_t> d_scales, d_info, d_slots, d_workspace;
};

template <typename Llr>
float steps_of(const ldpc_decoding& decoding, const Llr* llr)
{
    return decoding.word_steps().of_word([&](float least) {
        return std::count_if(llr, llr + decoding.code->n(), [&](const Llr& value) {
            return std::abs(value_of(value)) >= least;
        });
    });
}

template <typename Llr>
outcome on_machine(const ldpc_decoding& decoding,
                   const ldpc_cuda_kernel& kernel,
                   const std::vector<Llr>& llr,
                   bool backwards)
{
    const size_t words = llr.size() / decoding.code->n();
    outcome got(decoding, words);
    inputs given(decoding, kernel);
    const auto arguments = given.arguments(llr, got);
    ptx_machine::launch how;
    how.blocks = given.blocks_for(words);
    how.threads = kernel.threads;
    how.shared_bytes = kernel.shared_bytes;
    how.arguments = &arguments;
    how.backwards = backwards;
    std::vector<float> steps;
    for (size_t word = 0; word < words && decoding.words_have_steps(); ++word) {
        steps.push_back(steps_of(decoding, llr.data() + word * decoding.code->n()));
        std::memcpy(&got.iterations[word], &steps.back(), sizeof(int));
    }
    ptx_machine(kernel.source()).run(how);
    given.check_after();
    for (size_t word = 0; word < steps.size(); ++word) {
        for (int i = 0; i < decoding.output_bits(); ++i) {
            got.soft[word * decoding.output_bits() + i] /= steps[word];
        }
    }
    return got;
}

template <typename Llr>
outcome check(const ldpc_code::sptr& code,
              parameters p,
              form wanted,
              const std::vector<Llr>& llr,
              bool backwards = false,
              int shared_bytes = hopper)
{
    p.llr = number_of<Llr>;
    const auto decoding =
        ldpc_decoding{ code, p, ldpc_decoding::scales_of(*code, p) }.with_steps(12);
    const ldpc_cuda_kernel kernel(decoding, shared_bytes, wanted);
    BOOST_TEST(kernel.shared_bytes <= shared_bytes);
    outcome expected(decoding, llr.size() / code->n());
    BOOST_TEST_CONTEXT(code->name() << (wanted == form::folded ? ", folded" : ", pairs"))
    {
        auto q = queue::make(backend::reference);
        make_ldpc_fixed_decoder_reference(decoding,
                                          ldpc_fixed_limits::cuda(wanted == form::folded))
            ->run(view<const Llr>(llr),
                  { expected.bits, expected.iterations, expected.ok, expected.soft },
                  *q);
        const auto got = on_machine(decoding, kernel, llr, backwards);
        BOOST_TEST(got.iterations == expected.iterations,
                   boost::test_tools::per_element());
        BOOST_TEST(got.ok == expected.ok, boost::test_tools::per_element());
        BOOST_TEST((got.bits == expected.bits));
        BOOST_TEST((got.soft == expected.soft));
    }
    return expected;
}

} // namespace

BOOST_AUTO_TEST_CASE(long_frames_folded)
{
    // Plans differ: rows in pairs, odd in number, copies, messages in device memory.
    // A run takes every second one, from the first or the second on.
    auto visits = [count = generator()() % 2](const ldpc_code::sptr& code) mutable {
        if (count++ % 2) {
            return;
        }
        check(code, fixed_point(2, false), form::folded, in_steps(noisy(code, 1, 2.0)));
    };
    for (const char* rate : { "1/4",
                              "1/3",
                              "2/5",
                              "1/2",
                              "3/5",
                              "2/3",
                              "3/4",
                              "4/5",
                              "5/6",
                              "8/9",
                              "9/10" }) {
        visits(ldpc_code::dvbs2("normal", rate));
    }
    for (const char* rate :
         { "13/45",   "9/20",    "90/180",  "96/180",  "11/20",   "100/180",
           "104/180", "26/45",   "18/30",   "28/45",   "23/36",   "116/180",
           "20/30",   "124/180", "25/36",   "128/180", "13/18",   "132/180",
           "22/30",   "135/180", "140/180", "7/9",     "154/180", "2/9 VL-SNR" }) {
        visits(ldpc_code::dvbs2x("normal", rate));
    }
    const auto code = ldpc_code::dvbs2("normal", "1/2");
    const auto got =
        check(code, fixed_point(20, true), form::folded, noisy(code, 1, 2.0), true);
    BOOST_TEST(got.ok[0] == 1);
    BOOST_TEST(got.iterations[0] < 20);
    auto p = fixed_point(2, false);
    p.whole_words = true;
    check(code, p, form::folded, in_steps(noisy(code, 1, 1.0)));
}

BOOST_AUTO_TEST_CASE(both_forms_visit_rows_in_pairs)
{
    const auto code = ldpc_code::dvbs2("normal", "1/4");
    check(code, fixed_point(3, true), form::pairs, noisy(code, 2, 1.0));
}

BOOST_AUTO_TEST_CASE(rows_of_a_pair_have_no_column_in_common)
{
    for (const char* rate : { "1/4", "1/2", "3/4" }) {
        const auto code = ldpc_code::dvbs2("normal", rate);
        const auto& blocks = code->circulants();
        std::vector<std::set<int>> columns(blocks.block_rows);
        for (const auto& one : blocks.all) {
            columns[one.row].insert(one.column);
        }
        const auto pairs = ldpc_row_pairs(*code);
        BOOST_TEST(pairs.size() == size_t(blocks.block_rows + 1) / 2);
        for (const auto& [a, b] : pairs) {
            for (const int column : columns[a]) {
                BOOST_TEST((b < 0 || columns[b].count(column) == 0));
            }
        }
        const auto order = ldpc_row_order(ldpc_row_pairs(*code), blocks.block_rows);
        BOOST_TEST(std::set<int>(order.begin(), order.end()).size() ==
                   size_t(blocks.block_rows));
        BOOST_TEST(order.size() == size_t(blocks.block_rows));
    }
    BOOST_TEST(ldpc_row_pairs(*ldpc_code::dvbs2("normal", "9/10")).empty());
    const auto code = ldpc_code::dvbs2("short", "1/2");
    BOOST_TEST(ldpc_row_pairs(*code).empty());
    const auto order = ldpc_row_order({}, code->circulants().block_rows);
    BOOST_TEST(order.size() == size_t(code->circulants().block_rows));
    BOOST_TEST(std::is_sorted(order.begin(), order.end()));
}

BOOST_AUTO_TEST_CASE(every_type_of_llr_and_form_of_output)
{
    const auto code = ldpc_code::dvbs2("short", "3/5");
    const auto llr = noisy(code, 2, 2.3);
    std::vector<float16> halves;
    for (const float value : llr) {
        halves.push_back({ to_float16(value) });
    }
    auto p = fixed_point(12, true);
    check(code, p, form::folded, llr);
    p.whole_words = true;
    check(code, p, form::folded, halves, true);
    p.packed = false;
    p.llr_positive = 1;
    check(code, p, form::folded, in_steps(llr));
    p.whole_words = false;
    check(code, p, form::folded, halves);
}

BOOST_AUTO_TEST_CASE(words_with_steps_of_their_own)
{
    const auto code = ldpc_code::nr5g(2, 64, 12);
    auto llr = noisy(code, 5, 2.5);
    for (size_t i = 0; i < llr.size(); ++i) {
        llr[i] *= std::array{ 1.0f, 30.0f, 1e-3f, 1e20f, 0.0f }[i / code->n()];
    }
    std::vector<float16> halves;
    for (const float value : llr) {
        halves.push_back({ to_float16(value) });
    }
    auto p = fixed_point(8, true);
    p.llr_steps = 0;
    for (const auto wanted : { form::pairs, form::folded }) {
        const auto got = check(code, p, wanted, llr);
        BOOST_TEST(std::count(got.ok.begin(), got.ok.end(), 1) == 4);
        check(code, p, wanted, halves, true);
    }
}

BOOST_AUTO_TEST_CASE(both_forms_of_codes_of_every_structure)
{
    for (const auto& code : { punctured_code(),
                              ldpc_code::wifi(648, "1/2"),
                              ldpc_code::wifi(1944, "5/6"),
                              ldpc_code::nr5g(2, 36, 14, 20),
                              ldpc_code::nr5g(2, 64, 12),
                              ldpc_code::nr5g(1, 64, 46),
                              ldpc_code::dvbs2("short", "8/9"),
                              ldpc_code::dvbs2("short", "1/4"),
                              ldpc_code::dvbs2x("short", "1/5 VL-SNR SF2") }) {
        const size_t words = code->n() > 5000 ? 1 : 5;
        for (const auto wanted : { form::pairs, form::folded }) {
            if (wanted == form::folded && code->circulants().lifting_size % 2 != 0) {
                continue;
            }
            if (wanted == form::folded && code->rate() < .21) {
                BOOST_CHECK_THROW( // it corrects no messages
                    check(code, fixed_point(3, true), wanted, noisy(code, 1, 1.0)),
                    std::invalid_argument);
                continue;
            }
            for (const double eb_n0 : { 1.0, 4.0 }) {
                check(code, fixed_point(8, true), wanted, noisy(code, words, eb_n0));
            }
            check(code, fixed_point(3, false), wanted, noisy(code, words, 2.0), true);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_crc_stops_in_place_of_the_parity_checks)
{
    const auto code = ldpc_code::dvbs2("short", "1/2");
    auto p = fixed_point(12, true);
    p.stop_crc = { 16, 0x1021 };
    const auto words = random_codewords(code, p.stop_crc, 2, generator());
    const auto llr = received_llrs(words, code->rate(), 2.5, generator());
    const auto got = check(code, p, form::folded, llr);
    BOOST_TEST(got.ok[0] == 1);
    check(code, p, form::pairs, llr);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_lies_in_device_memory)
{
    const auto code = ldpc_code::dvbs2("short", "3/5");
    const auto llr = in_steps(noisy(code, 3, 2.0));
    check(code, fixed_point(6, true), form::folded, llr, false, 40000);
    check(code, fixed_point(6, true), form::pairs, llr, true, 70000);
}

BOOST_AUTO_TEST_CASE(extreme_llrs)
{
    const auto code = ldpc_code::dvbs2("short", "4/5");
    std::vector<int8_t> steps(code->n());
    for (auto& value : steps) {
        value = static_cast<int8_t>(generator()());
    }
    check(code, fixed_point(5, true), form::folded, steps);
    check(code, fixed_point(5, true), form::folded, std::vector<int8_t>(code->n(), -128));
    check(code, fixed_point(5, true), form::folded, std::vector<float>(code->n(), 0.0f));
    check(code,
          fixed_point(5, true),
          form::folded,
          std::vector<float>(code->n(), -std::numeric_limits<float>::infinity()));
    check(code,
          fixed_point(5, true),
          form::folded,
          std::vector<float>(code->n(), std::numeric_limits<float>::quiet_NaN()));
}

BOOST_AUTO_TEST_CASE(several_codes_in_one_launch)
{
    const std::vector<ldpc_code::sptr> codes{ ldpc_code::wifi(648, "1/2"),
                                              ldpc_code::wifi(648, "5/6"),
                                              ldpc_code::wifi(648, "2/3"),
                                              ldpc_code::wifi(648, "3/4") };
    const std::vector<size_t> words{ 7, 0, 5, 1 };
    for (const bool early_stop : { true, false }) {
        auto p = fixed_point(6, early_stop);
        p.llr = number::int8;
        std::vector<ldpc_decoding> decodings;
        for (const auto& code : codes) {
            decodings.push_back({ code, p, ldpc_decoding::scales_of(*code, p) });
        }
        std::vector<ldpc_cuda_kernel::sptr> kernels;
        for (const auto& decoding : decodings) {
            kernels.push_back(std::make_shared<const ldpc_cuda_kernel>(decoding, hopper));
        }
        const ldpc_cuda_mixed_kernel kernel(kernels);
        std::vector<std::vector<int8_t>> llr;
        std::vector<outcome> got;
        std::vector<inputs> given;
        for (size_t c = 0; c < codes.size(); ++c) {
            llr.push_back(in_steps(noisy(codes[c], words[c], 3.0)));
            got.emplace_back(decodings[c], words[c]);
            given.emplace_back(decodings[c], *kernels[c]);
        }
        struct {
            ldpc_cuda_arguments of[4];
            uint32_t first_block[4];
        } arguments{};
        ptx_machine::launch how;
        how.blocks = 0;
        for (size_t c = 0; c < codes.size(); ++c) {
            arguments.of[c] = given[c].arguments(llr[c], got[c]);
            arguments.first_block[c] = how.blocks;
            how.blocks += given[c].blocks_for(words[c]);
        }
        how.threads = kernel.threads;
        how.shared_bytes = kernel.shared_bytes;
        how.arguments = &arguments;
        ptx_machine(kernel.source()).run(how);
        for (size_t c = 0; c < codes.size(); ++c) {
            const auto alone = on_machine(decodings[c], *kernels[c], llr[c], false);
            BOOST_TEST((got[c].bits == alone.bits));
            BOOST_TEST((got[c].iterations == alone.iterations));
            BOOST_TEST((got[c].ok == alone.ok));
            BOOST_TEST((got[c].soft == alone.soft));
        }
    }
}

BOOST_AUTO_TEST_CASE(which_codes_share_a_launch)
{
    const auto groups = [](const std::vector<ldpc_code::sptr>& codes) {
        std::vector<ldpc_cuda_kernel::sptr> kernels;
        for (const auto& code : codes) {
            const auto p = fixed_point(10, true);
            const ldpc_decoding decoding{ code, p, ldpc_decoding::scales_of(*code, p) };
            kernels.push_back(std::make_shared<const ldpc_cuda_kernel>(decoding, hopper));
        }
        return ldpc_cuda_mixed_kernel::groups(kernels);
    };
    using lists = std::vector<std::vector<int>>;
    // Several rates of one length share a kernel; other lengths do not.
    BOOST_TEST(
        (groups({ ldpc_code::wifi(1944, "1/2"),
                  ldpc_code::wifi(648, "1/2"),
                  ldpc_code::wifi(1944, "5/6"),
                  ldpc_code::wifi(648, "3/4"),
                  ldpc_code::wifi(1944, "2/3") }) == lists{ { 0, 2, 4 }, { 1, 3 } }));
    BOOST_TEST((groups({ ldpc_code::nr5g(1, 384, 46),
                         ldpc_code::nr5g(2, 384, 12),
                         ldpc_code::nr5g(1, 384, 4) }) == lists{ { 0, 1, 2 } }));
    BOOST_TEST((groups({ ldpc_code::dvbs2("short", "1/2"),
                         ldpc_code::dvbs2("short", "8/9") }) == lists{ { 0, 1 } }));
    // Codes whose programs are long.
    BOOST_TEST((groups({ ldpc_code::dvbs2("normal", "1/2"),
                         ldpc_code::dvbs2("normal", "3/4") }) == lists{}));
    // One codeword fills a block.
    BOOST_TEST((groups({ ldpc_code::dvbs2("normal", "1/4"),
                         ldpc_code::dvbs2("normal", "8/9") }) == lists{}));
    BOOST_TEST((groups({}) == lists{}));
    // No program exceeds its limit, and parameters fit into a launch.
    std::vector<ldpc_code::sptr> many(40, ldpc_code::wifi(648, "1/2"));
    size_t most = 0;
    for (const auto& group : groups(many)) {
        most = std::max(most, group.size());
    }
    BOOST_TEST(most > 1u);
    BOOST_TEST(most <= size_t(ldpc_cuda_source::most_codes));
}

BOOST_AUTO_TEST_CASE(codes_that_fit_no_block_are_refused)
{
    const auto code = ldpc_code::dvbs2("normal", "1/2");
    const auto p = fixed_point(5, true);
    const ldpc_decoding decoding{ code, p, ldpc_decoding::scales_of(*code, p) };
    BOOST_CHECK_THROW(ldpc_cuda_kernel(decoding, 48 * 1024, form::folded),
                      std::invalid_argument);
    BOOST_CHECK_THROW(ldpc_cuda_kernel(decoding, 48 * 1024), std::invalid_argument);
    BOOST_TEST(ldpc_cuda_kernel(decoding, hopper).is_folded());
}
