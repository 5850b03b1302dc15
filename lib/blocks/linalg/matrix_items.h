/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdexcept>
#include <string>

namespace gr::cudaphy {

//! Whether a block's elements are of type "complex", not "float".
//! \throws std::invalid_argument for any other type.
inline bool is_complex(const std::string& type)
{
    if (type != "complex" && type != "float") {
        throw std::invalid_argument("type \"" + type +
                                    "\" is neither \"complex\" nor \"float\"");
    }
    return type == "complex";
}

//! Bytes of an item that is a square matrix. The check of the order must come before GNU
//! Radio makes ports, because their width would be negative.
//! \throws std::invalid_argument for an order beyond 1 to most
inline size_t matrix_bytes(int order, int most, const std::string& type)
{
    if (order < 1 || order > most) {
        throw std::invalid_argument("order " + std::to_string(order) +
                                    " is not in 1 to " + std::to_string(most));
    }
    return sizeof(float) * order * order * (is_complex(type) ? 2 : 1);
}

} // namespace gr::cudaphy
