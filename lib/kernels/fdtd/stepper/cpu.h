/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/stepper/lane.h"

namespace gr::cudaphy::kernels {

//! An update, for the CPU's vectors.
template <typename T>
struct fdtd_cpu_update {
    const fdtd_tables<T, fdtd_pointer>* tables;
    fdtd_phase phase;
    sparse_format format;
    T* state;
};

//! Updates the rows of tiles first ... last - 1, without sources and probes.
template <typename T>
void fdtd_cpu_tiles(const fdtd_cpu_update<T>& update, int32_t first, int32_t last);

//! Whether all values are finite.
template <typename T>
bool fdtd_cpu_finite(const T* values, size_t count);

} // namespace gr::cudaphy::kernels
