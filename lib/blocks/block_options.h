/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_block.h"
#include <cmath>

namespace gr::cudaphy {

//! A noise variance as a setter takes it. \throws std::invalid_argument if it is not
//! positive and finite.
inline float checked_noise_variance(float value)
{
    if (!(value > 0) || !std::isfinite(value)) {
        throw std::invalid_argument("noise variance " + std::to_string(value) +
                                    " is not positive and finite");
    }
    return value;
}

//! One number in a queue's memory, for kernels that take a single noise variance for all
//! items.
class device_scalar
{
public:
    explicit device_scalar(queue& work_queue) : d_there(work_queue, 1) {}
    //! Sends the number along in order with the queue's work.
    view<const float> set(float value, queue& work_queue)
    {
        if (value != d_value) {
            work_queue.synchronize(); // kernels and a copy may still read the old number
            d_value = value;
            work_queue.copy_in(d_there.data(), &d_value, sizeof(value));
        }
        return { d_there.data(), 1 };
    }

private:
    array<float> d_there;
    float d_value = -1;
};

} // namespace gr::cudaphy
