/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <string>

namespace gr::cudaphy::kernels {

//! Of normalised min-sum, where none is given; see docs/conventions.md.
struct ldpc_default_factor {
    float factor; //!< the best fixed one
    bool closes;  //!< whether the decoder's comes closer to 1 every 15 iterations
};

//! That of a standard's code, such as "dvbs2 normal", "1/2", or null.
const ldpc_default_factor* find_default_factor(const std::string& family,
                                               const std::string& variant = "");
//! The same; \throws std::logic_error where the table has none.
ldpc_default_factor default_factor(const std::string& family,
                                   const std::string& variant = "");

} // namespace gr::cudaphy::kernels
