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

} // namespace gr::cudaphy::benchmarks
