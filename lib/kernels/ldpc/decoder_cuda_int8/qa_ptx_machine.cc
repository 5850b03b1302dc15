/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/ptx_machine_testing.h"
#include <boost/test/unit_test.hpp>
#include <string>

using namespace gr::cudaphy::testing;

BOOST_AUTO_TEST_CASE(the_machine_finds_races)
{
    const std::string head = ".version 7.2\n";
    const auto run = [&](const std::string& text, unsigned threads = 32) {
        ptx_machine::launch how;
        how.blocks = 1;
        how.threads = threads;
        how.shared_bytes = 256;
        how.arguments = "";
        ptx_machine(head + text).run(how);
    };
    const std::string begin = "mov.u32 %r0, %tid.x;\nmov.u32 %r1, memory;\n"
                              "mad.lo.u32 %r2, %r0, 4, %r1;\n";
    const std::string write = "st.shared.b32 [%r2], %r0;\n";
    const std::string read = "ld.shared.b32 %r3, [%r2+4];\n";
    BOOST_CHECK_NO_THROW(run(begin + write + "bar.sync 0;\n" + read + "ret;\n"));
    BOOST_CHECK_THROW(run(begin + write + read + "ret;\n"), std::logic_error);
    BOOST_CHECK_THROW(run(begin + read + write + "ret;\n"), std::logic_error);
    BOOST_CHECK_THROW(run(begin + "st.shared.b32 [%r1], %r0;\nret;\n"), std::logic_error);
    BOOST_CHECK_THROW(run(begin + "st.shared.b32 [%r1], 7;\nret;\n"), std::logic_error);
    const std::string add = "red.shared.or.b32 [%r1], 1;\n";
    const std::string look = "ld.shared.b32 %r3, [%r1];\n";
    BOOST_CHECK_NO_THROW(run(begin + add + add + "bar.sync 0;\n" + look + "ret;\n"));
    BOOST_CHECK_THROW(run(begin + add + look + "ret;\n"), std::logic_error);
    BOOST_CHECK_THROW(run(begin + look + add + "ret;\n"), std::logic_error);
    // A vote is no barrier, and its mask names the lanes that exist.
    const std::string vote = "redux.sync.or.b32 %r4, %r0, 0xffffffff;\n";
    BOOST_CHECK_NO_THROW(run(begin + vote + "ret;\n"));
    BOOST_CHECK_THROW(run(begin + write + vote + read + "ret;\n"), std::logic_error);
    BOOST_CHECK_THROW(run(begin + vote + "ret;\n", 31), std::logic_error);
    const std::string leave = "setp.ge.u32 %p0, %r0, 8;\n@%p0 exit;\n";
    BOOST_CHECK_THROW(run(begin + leave + vote + "ret;\n"), std::logic_error);
    BOOST_CHECK_NO_THROW(run(begin + leave + write + "bar.sync 0;\n" + read + "ret;\n"));
    BOOST_CHECK_THROW(run(begin + "ld.shared.b32 %r3, [%r2+252];\nret;\n"),
                      std::logic_error);
    BOOST_CHECK_THROW(run(begin + "sin.approx.f32 %f0, %f0;\nret;\n"), std::logic_error);
}
