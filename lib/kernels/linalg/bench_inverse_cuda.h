/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <functional>
#include <gnuradio/cudaphy/kernels/inverse.h>

namespace gr::cudaphy::benchmarks {

//! Seconds on the GPU between an event before and one after a single call, with nothing
//! else queued: the median of many. Some 6 us of it are there around an empty kernel too.
double seconds_of_one_launch(queue& q, const std::function<void()>& run);

//! Seconds a call where a CUDA graph holds 200 of them, by events around the best of
//! some launches of the graph; NaN where the calls can't be captured.
double seconds_within_graph(queue& q, const std::function<void()>& run);

void launch_empty_kernel(queue& q);

//! Seconds a call of the kernel that deals out a matrix's columns to lanes and of the one
//! that deals out its rows, which has orders 14 and 16 of complex64, 7 and 8 of
//! complex128.
struct dealt_seconds {
    double columns;
    double rows;
};
dealt_seconds seconds_by_deal(queue& q,
                              int order,
                              kernels::pivoting pivot,
                              view<const complex64> a,
                              view<complex64> x,
                              view<int> status);
dealt_seconds seconds_by_deal(queue& q,
                              int order,
                              kernels::pivoting pivot,
                              view<const std::complex<double>> a,
                              view<std::complex<double>> x,
                              view<int> status);

} // namespace gr::cudaphy::benchmarks
