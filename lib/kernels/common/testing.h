/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Shared by the tests of kernels. A test program that defines BOOST_TEST_MODULE includes
// it once.

#include "kernels/common/highway_targets.h"
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gnuradio/cudaphy/kernels/queue.h>
#include <hwy/targets.h>
#include <random>

namespace gr::cudaphy::testing {

//! The backend that ctest chose for this run by CUDAPHY_TEST_BACKEND; "cpu" if unset. If
//! the backend is unavailable, the program ends with status 77: ctest reports "skipped".
inline backend tested_backend()
{
    static const backend tested = [] {
        const char* name = std::getenv("CUDAPHY_TEST_BACKEND");
        try {
            return resolve(backend_from_name(name ? name : "cpu")).where;
        } catch (const backend_unavailable& problem) {
            std::printf("skipped: %s\n", problem.what());
            std::exit(77);
        }
    }();
    return tested;
}

//! CUDAPHY_TEST_VECTORS=AVX2 or SSE4 disables newer instruction sets. Their bits in
//! Highway's masks are lower. A build for one of those alone then has no backend, so that
//! the program is skipped.
inline void limit_vectors()
{
    const char* const given = std::getenv("CUDAPHY_TEST_VECTORS");
    const std::string name = given ? given : "";
    if (name == "AVX2") {
        hwy::DisableTargets(HWY_AVX2 - 1);
    } else if (name == "SSE4") {
        hwy::DisableTargets(HWY_SSE4 - 1);
    } else if (!name.empty()) {
        std::printf("CUDAPHY_TEST_VECTORS is neither AVX2 nor SSE4: %s\n", given);
        std::exit(1);
    }
}

//! Ends the program before the first test case if the backend is missing, so that no test
//! case counts as passed.
struct needs_backend {
    needs_backend()
    {
        limit_vectors();
        tested_backend();
    }
};

//! Random numbers that differ from run to run. The test prints the seed, and
//! CUDAPHY_TEST_SEED sets it.
inline std::mt19937& generator()
{
    static std::mt19937 engine = [] {
        const char* given = std::getenv("CUDAPHY_TEST_SEED");
        const unsigned seed =
            given ? std::strtoul(given, nullptr, 10) : std::random_device()();
        std::printf("CUDAPHY_TEST_SEED=%u\n", seed);
        return std::mt19937(seed);
    }();
    return engine;
}

//! n samples of unit mean energy, circular Gaussian (real Gaussian for float).
template <typename T>
std::vector<T> gaussian(size_t n)
{
    std::normal_distribution<float> normal(0.0f, 1.0f);
    std::vector<T> out(n);
    for (auto& value : out) {
        if constexpr (std::is_same_v<T, complex64>) {
            value = complex64(normal(generator()), normal(generator())) * 0.70710678f;
        } else {
            value = normal(generator());
        }
    }
    return out;
}

inline std::vector<uint8_t> random_bits(size_t n)
{
    std::vector<uint8_t> out(n);
    for (auto& bit : out) {
        bit = generator()() >> 31;
    }
    return out;
}

//! An array on the queue that is filled with a byte that no right answer has. It shows
//! what a kernel did not write.
template <typename T>
array<T> poisoned(queue& q, size_t n)
{
    std::vector<T> host(n);
    if (n) {
        std::memset(static_cast<void*>(host.data()), 0xBD, n * sizeof(T));
    }
    return array<T>(q, view<const T>(host));
}

} // namespace gr::cudaphy::testing

using needs_backend = gr::cudaphy::testing::needs_backend;
BOOST_TEST_GLOBAL_FIXTURE(needs_backend);
