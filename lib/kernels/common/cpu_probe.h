/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <string>

namespace gr::cudaphy {

//! Why this machine's CPU can't run the library: it was built for the instruction set of
//! another one alone (CUDAPHY_CPU_TARGETS=native). Empty if it can.
std::string problem_of_cpu();

} // namespace gr::cudaphy
