/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// What the benchmarks of latency share.

#include <algorithm>
#include <cstdio>
#include <vector>

namespace gr::cudaphy::benchmarks {

//! The value that a share `q` of them does not exceed.
inline double quantile(std::vector<double> values, double q)
{
    const auto at = values.begin() + static_cast<long>(q * double(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

inline double median(const std::vector<double>& values) { return quantile(values, 0.5); }

inline void print_quantile_heads()
{
    std::printf(" %9s %9s %9s %9s\n", "median", "90 %", "99 %", "most");
}

//! The end of a row under these heads.
inline void print_quantiles(const std::vector<double>& values)
{
    for (const double q : { 0.5, 0.9, 0.99, 1.0 }) {
        std::printf(" %9.1f", quantile(values, q));
    }
    std::printf("\n");
}

} // namespace gr::cudaphy::benchmarks
