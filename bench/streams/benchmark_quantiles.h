/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// What the benchmarks of latency share.

#include "bench/records.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
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

//! Between which values the median of what they are drawn from lies, with 95 % certainty,
//! whatever its distribution is: by how many of them may come to lie on one side of it.
inline std::pair<double, double> median_between(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    const double n = double(values.size());
    const auto rank =
        static_cast<size_t>(std::max(0.0, (n - 1.96 * std::sqrt(n)) / 2 - 1));
    return { values[rank], values[values.size() - 1 - rank] };
}

inline void print_quantile_heads()
{
    std::printf(" %9s %9s %9s %9s\n", "median", "90 %", "99 %", "most");
}

//! The end of a row under these heads, of what `what` names, in us.
inline void print_quantiles(const std::string& what, const std::vector<double>& values)
{
    record({ "Flowgraphs", what + ", median", quantile(values, 0.5), "us" });
    record({ "Flowgraphs", what + ", 99 %", quantile(values, 0.99), "us" });
    for (const double q : { 0.5, 0.9, 0.99, 1.0 }) {
        std::printf(" %9.1f", quantile(values, q));
    }
    std::printf("\n");
}

} // namespace gr::cudaphy::benchmarks
