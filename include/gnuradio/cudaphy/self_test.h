/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/machine.h>
#include <string>
#include <vector>

namespace gr::cudaphy {

//! What a kernel did on this machine, beside what its hardware could do.
struct self_test_result {
    std::string name; //!< one of self_test_names()
    std::string unit; //!< what is counted: "matrices", "symbols", "bits" of information
    double rate;      //!< of these a second, data in the backend's own memory
    double
        bound; //!< the rate at which the hardware's limit is reached, from machine_rates
    bool memory_bound; //!< that limit is the memory's bandwidth, else arithmetic
    //! Of the outputs against the reference backend's, relative to the largest of each
    //! item's kind; of decoded words the part of wrong bits. NaN where a value is
    //! missing.
    double error;
    double tolerance;
    bool right; //!< error <= tolerance
};

//! The kernels that self_test() knows, in the order of a receiver.
CUDAPHY_API std::vector<std::string> self_test_names();

/*!
 * Times a kernel on a batch that does not fit into caches. Then compares its output with
 * that of the reference backend; of decoders, with the words that were sent. Takes about
 * half a second.
 *
 * \param damage  spoils one value of the output, which the comparison must find
 * \throws std::invalid_argument for an unknown name; backend_unavailable as resolve()
 * does; cuda_error
 */
CUDAPHY_API self_test_result self_test(const std::string& name,
                                       const machine_rates& machine,
                                       backend where = backend::automatic,
                                       int device = 0,
                                       bool damage = false);

} // namespace gr::cudaphy
