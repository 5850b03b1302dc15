/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Quantiles, for the benchmarks of flowgraphs.

#include "bench/records.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace gr::cudaphy::benchmarks {

//! The value that a share `q` of the values does not exceed.
inline double quantile(std::vector<double> values, double q)
{
    const auto at = values.begin() + static_cast<long>(q * double(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

inline double median(const std::vector<double>& values) { return quantile(values, 0.5); }

//! The confidence interval (95 %) of the median of the distribution that the values come
//! from. It holds for any distribution, because the number of values on one side of the
//! median is binomial.
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

//! The end of a row under these heads, in us.
//! \param what  the name of the record
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
