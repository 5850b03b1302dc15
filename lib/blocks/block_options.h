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
    explicit device_scalar(queue& line) : d_there(line, 1) {}
    //! Sends the number along in order with the queue's work.
    view<const float> set(float value, queue& line)
    {
        if (value != d_value) {
            line.synchronize(); // what still reads the old number, and the copy of it
            d_value = value;
            line.copy_in(d_there.data(), &d_value, sizeof(value));
        }
        return { d_there.data(), 1 };
    }

private:
    array<float> d_there;
    float d_value = -1;
};

} // namespace gr::cudaphy
