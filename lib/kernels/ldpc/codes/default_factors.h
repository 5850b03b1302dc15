/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <string>

namespace gr::cudaphy::kernels {

//! The default of normalised min-sum; see docs/conventions.md.
struct ldpc_default_factor {
    float factor; //!< the best fixed factor
    bool closes;  //!< whether the factor comes closer to 1 in steps
    //! Whether int8 arithmetic damps a message whose sign has just changed.
    bool damps = false;
};

//! The default of a standard's code, such as "dvbs2 normal", "1/2"; null if there is
//! none.
const ldpc_default_factor* find_default_factor(const std::string& family,
                                               const std::string& variant = "");
//! The same. \throws std::logic_error if the table has none.
ldpc_default_factor default_factor(const std::string& family,
                                   const std::string& variant = "");

} // namespace gr::cudaphy::kernels
