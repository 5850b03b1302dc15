/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE cuda_program
#include "kernels/common/cuda_program.cuh"
#include "kernels/common/testing.h"
#include <future>

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

//! A program of one thread that stores `number` where its argument points to. The driver
//! has no program with this comment on disk, so that it translates.
std::string storing(unsigned number)
{
    static const auto new_each_time = std::to_string(generator()());
    return ".version 7.2\n.target sm_86\n.address_size 64\n// " + new_each_time +
           "\n.visible .entry store(.param .align 8 .b8 arguments[8])\n"
           "{\n.reg .b64 %to;\n.reg .b32 %number;\n"
           "ld.param.u64 %to, [arguments];\nmov.b32 %number, " +
           std::to_string(number) + ";\nst.global.u32 [%to], %number;\nret;\n}\n";
}

std::shared_ptr<cuda_program> program_of(const std::string& ptx)
{
    return cuda_program::make([ptx] { return ptx; }, "store", 0);
}

unsigned stored_by(cuda_program& program)
{
    const auto q = queue::make(backend::cuda);
    const auto to = poisoned<unsigned>(*q, 1);
    const void* const argument = to.data();
    program.launch(1, 1, &argument, sizeof argument, stream_of(*q));
    q->synchronize();
    return to.to_host()[0];
}

} // namespace

BOOST_AUTO_TEST_CASE(a_program_runs_prepared_or_not)
{
    const auto at_once = program_of(storing(1));
    BOOST_TEST(!at_once->is_ready());
    BOOST_TEST(stored_by(*at_once) == 1u);
    BOOST_TEST(at_once->is_ready());
    const auto prepared = program_of(storing(2));
    prepared->prepare();
    BOOST_TEST(prepared->is_ready());
    BOOST_TEST(stored_by(*prepared) == 2u);
}

BOOST_AUTO_TEST_CASE(the_background_prepares_programs)
{
    const auto before = cuda_program::translations();
    std::vector<std::shared_ptr<cuda_program>> all;
    for (unsigned i = 0; i < 20; ++i) {
        all.push_back(program_of(storing(100 + i)));
        all.back()->prepare_in_background();
    }
    // One that is wanted before its turn.
    BOOST_TEST(stored_by(*all[19]) == 119u);
    for (unsigned i = 0; i < 20; ++i) {
        while (!all[i]->is_ready()) {
            std::this_thread::yield();
        }
        BOOST_TEST(stored_by(*all[i]) == 100 + i);
    }
    BOOST_TEST(cuda_program::translations() == before + 20);
}

BOOST_AUTO_TEST_CASE(programs_of_one_text_share_a_translation)
{
    const auto before = cuda_program::translations();
    const auto first = program_of(storing(3)), second = program_of(storing(3));
    BOOST_TEST(stored_by(*first) == 3u);
    BOOST_TEST(stored_by(*second) == 3u);
    BOOST_TEST(cuda_program::translations() == before + 1);
    program_of(storing(4))->prepare();
    program_of(storing(4))->prepare(); // the first one is gone
    BOOST_TEST(cuda_program::translations() == before + 2);
}

BOOST_AUTO_TEST_CASE(threads_that_ask_at_the_same_time_get_one_translation)
{
    const auto before = cuda_program::translations();
    std::vector<std::future<unsigned>> all;
    const auto shared = program_of(storing(5));
    for (int i = 0; i < 8; ++i) {
        const auto program = i % 2 ? shared : program_of(storing(5));
        all.push_back(
            std::async(std::launch::async, [program] { return stored_by(*program); }));
    }
    for (auto& one : all) {
        BOOST_TEST(one.get() == 5u);
    }
    BOOST_TEST(cuda_program::translations() == before + 1);
}

BOOST_AUTO_TEST_CASE(a_program_that_is_wrong_says_so_each_time)
{
    const auto wrong = program_of(storing(6) + "no instruction\n");
    for (int i = 0; i < 3; ++i) {
        BOOST_CHECK_EXCEPTION(stored_by(*wrong), cuda_error, [](const auto& problem) {
            return std::string(problem.what()).find("translation of the kernel store") ==
                   0;
        });
        BOOST_TEST(!wrong->is_ready());
    }
    BOOST_CHECK_THROW(wrong->prepare(), cuda_error);
    wrong->prepare_in_background(); // and nobody is harmed
    BOOST_TEST(stored_by(*program_of(storing(7))) == 7u);
}

BOOST_AUTO_TEST_CASE(programs_may_be_dropped_while_the_background_has_them)
{
    for (unsigned i = 0; i < 50; ++i) {
        program_of(storing(1000 + i))->prepare_in_background();
    }
    BOOST_TEST(stored_by(*program_of(storing(8))) == 8u);
}
