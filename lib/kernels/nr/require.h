/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdexcept>
#include <string>

namespace gr::cudaphy::kernels::nr {

//! \throws std::invalid_argument that tells the problem, if the condition does not hold
inline void require(bool holds, const std::string& problem)
{
    if (!holds) {
        throw std::invalid_argument("nr: " + problem);
    }
}

//! The same, which makes no string if the condition holds.
inline void require(bool holds, const char* problem)
{
    if (!holds) {
        require(false, std::string(problem));
    }
}

} // namespace gr::cudaphy::kernels::nr
