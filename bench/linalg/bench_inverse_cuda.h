/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <functional>
#include <gnuradio/cudaphy/kernels/inverse.h>

namespace gr::cudaphy::benchmarks {

//! Seconds on the GPU between events before and after a single call, with nothing else
//! queued: the median of many. An empty kernel takes some 6 us of that, too.
double seconds_of_one_launch(queue& q, const std::function<void()>& run);

//! Seconds a call in a CUDA graph of 200 calls, by events around the best of some
//! launches of the graph; NaN if a graph can't capture the calls.
double seconds_within_graph(queue& q, const std::function<void()>& run);

void launch_empty_kernel(queue& q);

} // namespace gr::cudaphy::benchmarks
