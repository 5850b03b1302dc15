/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

namespace gr::cudaphy::kernels {

constexpr double pi = 3.14159265358979323846; // C++20 has one

} // namespace gr::cudaphy::kernels
