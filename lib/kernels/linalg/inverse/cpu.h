/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/inverse.h>

// Between cpu.cc and the files cpu_<type>.cc, one for each element type; not installed.

namespace gr::cudaphy::kernels {

//! Matrices first .. last - 1 of a batch.
template <typename T>
struct inverse_part {
    const T* a;
    const typename inverse<T>::results* out;
    size_t batch;
    size_t first;
    size_t last;
    const typename inverse<T>::parameters* parameters;
};

//! Inverts the part with the widest vectors that the processor has.
template <typename T>
void invert_part(const inverse_part<T>&);

} // namespace gr::cudaphy::kernels
