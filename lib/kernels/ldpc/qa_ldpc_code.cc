/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_code
#include "kernels/common/testing.h"
#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <sstream>

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

BOOST_AUTO_TEST_CASE(hamming_code)
{
    const auto code = ldpc_code::from_rows(
        7, { { 0, 1, 2, 4 }, { 0, 1, 3, 5 }, { 0, 2, 3, 6 } }, "hamming");
    BOOST_TEST(code->k() == 4);
    BOOST_TEST(code->info_positions() == std::vector<int>({ 0, 1, 2, 3 }));
    BOOST_TEST(code->layers().size() == 3u);
}
