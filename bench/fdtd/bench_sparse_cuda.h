/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <functional>
#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::benchmarks {

//! Seconds of a run in a CUDA graph of many runs, one behind another; NaN if the run
//! can't be captured.
double seconds_in_graph(queue& q, const std::function<void()>& run);

} // namespace gr::cudaphy::benchmarks
