/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/kernel_entry.h"
#include <gnuradio/cudaphy/kernels/fdtd_stepper.h>

// Between fdtd_stepper.cc and the backends' files; not installed.

namespace gr::cudaphy::kernels {

// The makers on all backends take a valid fdtd_system<T> and parameters in their range.

//! Defines the makers of fdtd_stepper<T> on a backend of the host: fdtd_stepper_WHERE<T>.
#define CUDAPHY_FDTD_STEPPER_MAKER(WHERE, T)      \
    CUDAPHY_HOST_MAKER_2(WHERE,                   \
                         fdtd_stepper<T>,         \
                         fdtd_stepper_##WHERE<T>, \
                         fdtd_system<T>,          \
                         fdtd_stepper<T>::parameters)
#define CUDAPHY_FDTD_STEPPER_MAKERS(WHERE) \
    CUDAPHY_FDTD_STEPPER_MAKER(WHERE, float) CUDAPHY_FDTD_STEPPER_MAKER(WHERE, double)

//! The shape of the launch for systems beyond the caches, for tests: without it only
//! systems of tens of millions of rows reach the largest tiles.
struct fdtd_large_shape {
    int32_t tile_rows = 0; //!< 0: the fastest; else so many, even for a small system
    int blocks = 0;        //!< 0: as many as the device holds
    bool two_steps = true; //!< whether a grid goes two time steps a pass
};

//! Makes a stepper of that shape, for tests.
template <typename T>
std::unique_ptr<fdtd_stepper<T>>
make_fdtd_stepper_cuda(const fdtd_system<T>&,
                       const typename fdtd_stepper<T>::parameters&,
                       int device,
                       const fdtd_large_shape& forced);

//! The error text for a system whose `needed` bytes exceed the device's available ones.
std::string fdtd_stepper_memory_error(size_t needed, size_t available, size_t total);

//! \throws std::invalid_argument if the state has no such elements.
void fdtd_stepper_check_range(int64_t size, int64_t first, size_t count);

//! \throws std::invalid_argument if there are not as many values as elements.
void fdtd_stepper_check_gather(size_t elements, size_t values);

//! The number of time steps that the views stand for.
//! \throws std::invalid_argument if the sizes do not fit each other or the stepper, or
//! `queue` can't reach the memory of a stepper on `where`.
template <typename T>
size_t fdtd_stepper_check(const fdtd_stepper<T>& stepper,
                          size_t max_steps,
                          view<const T> excitation,
                          view<T> probes,
                          view<int64_t> status,
                          const queue& queue,
                          backend where);

// The status, alike on every backend. `done` counts the time steps since the last reset.
// - If a probe is not finite in the s-th time step of a call (from 0): the status is done
// + s, and the call's rows of probes from the s-th on are zeros.
// - Else, if the state is not finite at the end of a call: the status is done, and the
// call's probes stay.
// - From then on until the next reset: calls give zeros and the same status, and leave
// the state as it is. How far the failed call changed the state is undefined.

} // namespace gr::cudaphy::kernels
