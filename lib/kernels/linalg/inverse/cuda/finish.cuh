/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/steps.cuh"

// The end of the kernels in which some lanes of a warp share a matrix.

namespace gr::cudaphy::kernels {
namespace {

//! Completes the state, and sets X to 0 if there is no inverse. The L lanes of the matrix
//! have written X, of `elements` elements, to shared memory. `a_watched` and `x_watched`
//! are what nan_unless_finite() made of A and X.
template <int L, typename T>
__device__ __forceinline__ void finish(elimination<T>& so_far,
                                       real_of<T> a_watched,
                                       real_of<T> x_watched,
                                       T* x,
                                       int elements,
                                       int lane)
{
    const bool finite = largest_of_lanes<L>(!(x_watched == 0)) == 0;
    const bool a_was_finite = largest_of_lanes<L>(!(a_watched == 0)) == 0;
    if (!finite && !(so_far.zero && a_was_finite)) {
        so_far.state = -1;
    }
    so_far.zero = so_far.zero || so_far.state == -1;
    __syncwarp();
    if (so_far.zero) {
        for (int e = lane; e < elements; e += L) {
            x[e] = make_element<T>(0);
        }
    }
    __syncwarp();
}

} // namespace
} // namespace gr::cudaphy::kernels
