/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Shared by the tests of NR's receivers.

#include "kernels/common/testing.h"
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/receiver.h>
#include <random>

namespace gr::cudaphy::testing {

//! Circular Gaussian numbers of unit variance, the same ones every time.
struct repeatable_gaussian {
    std::mt19937 engine{ 1 };
    std::normal_distribution<float> normal{ 0, std::sqrt(0.5f) };
    complex64 operator()() { return { normal(engine), normal(engine) }; }
};

//! The same bits, decisions and estimates.
inline void require_equal(const kernels::nr::reception& a,
                          const kernels::nr::reception& b)
{
    const auto &x = a.codewords.front(), &y = b.codewords.front();
    BOOST_REQUIRE(x.payload == y.payload && x.ok == y.ok && x.block_ok == y.block_ok &&
                  x.iterations == y.iterations);
    BOOST_REQUIRE_EQUAL(x.sinr_db, y.sinr_db);
    BOOST_REQUIRE_EQUAL(a.timing_offset, b.timing_offset);
    BOOST_REQUIRE_EQUAL(a.frequency_offset, b.frequency_offset);
    BOOST_REQUIRE_EQUAL(a.noise_variance, b.noise_variance);
    BOOST_REQUIRE_EQUAL(a.colored_noise, b.colored_noise);
    BOOST_REQUIRE_EQUAL(a.reason, b.reason);
}

} // namespace gr::cudaphy::testing
