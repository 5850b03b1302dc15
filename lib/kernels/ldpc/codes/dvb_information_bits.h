/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <string>

namespace gr::cudaphy::kernels {

//! k of ldpc_code::dvbs2(), dvbs2x() and dvbt2(), without the code, which takes
//! milliseconds. \throws std::invalid_argument as they do.
int dvbs2_information_bits(const std::string& frame, const std::string& rate);
int dvbs2x_information_bits(const std::string& frame, const std::string& rate);
int dvbt2_information_bits(const std::string& frame, const std::string& rate);

} // namespace gr::cudaphy::kernels
