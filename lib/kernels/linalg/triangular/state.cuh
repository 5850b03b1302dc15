/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// While several launches work on a batch, status holds the smallest of these codes, as an
// unsigned number, so that blocks may report in any order. The last launch decodes it.

namespace gr::cudaphy::kernels {
namespace {
namespace triangular {

constexpr unsigned good_state = 0xffffffff; //!< memory filled with bytes 0xff
constexpr unsigned input_not_finite = 0;    //!< 1..N is the row of a zero
constexpr unsigned result_not_finite = 0x7fffffff;

__device__ inline unsigned encoded(int status)
{
    return status == 0 ? good_state : status < 0 ? input_not_finite : unsigned(status);
}
__device__ inline int decoded(unsigned state)
{
    return state == good_state                                       ? 0
           : state == input_not_finite || state == result_not_finite ? -1
                                                                     : int(state);
}

__global__ void decode(int* status, size_t batch)
{
    const size_t item = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (item < batch) {
        status[item] = decoded(unsigned(status[item]));
    }
}

} // namespace triangular
} // namespace
} // namespace gr::cudaphy::kernels
