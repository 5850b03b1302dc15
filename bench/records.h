/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Figures for programs to read, beside the table that a person reads.

#include <limits>
#include <string>

namespace gr::cudaphy::benchmarks {

//! A value beside a figure, in the figure's unit: a bound or a peer. NaN: there is none.
struct compared {
    double value = std::numeric_limits<double>::quiet_NaN();
    std::string name = {};    //!< what bounds, or the peer's routine
    std::string version = {}; //!< the peer's
};

//! One measured line.
struct figure {
    std::string kernel; //!< a heading of docs/performance.md
    std::string what;   //!< backend, type and size: what tells this line from the others
    double ours;        //!< NaN where the line is the peer's alone
    std::string unit;   //!< begins with ns, us, ms or s if it is a time, else a rate
    compared bound = {};
    compared peer = {};
};

/*!
 * Appends `measured` as a line of JSON to the file that the environment variable
 * CUDAPHY_BENCH_JSON names; without that variable nothing happens. The line also says the
 * program, the date, the machine, and the commit that CUDAPHY_BENCH_COMMIT names.
 * `bench/performance.py --add` takes such files.
 * \throws std::runtime_error if the file cannot be written.
 */
void record(const figure& measured);

//! The version of CUDA's libraries, as a peer's: "CUDA 13.0". Empty without CUDA.
std::string cuda_version();

} // namespace gr::cudaphy::benchmarks
