/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <gnuradio/cudaphy/api.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace gr::cudaphy {

//! Where a kernel runs.
enum class backend {
    automatic, //!< CUDA where a device is usable, else the CPU
    cuda,      //!< an NVIDIA GPU
    cpu,       //!< this machine's vector units, all cores
    reference  //!< plain, serial, in double precision: the oracle of the tests
};

//! \throws std::invalid_argument if `name` is none of "auto", "cuda", "cpu", "reference".
CUDAPHY_API backend backend_from_name(const std::string& name);
CUDAPHY_API std::string name_of(backend);

//! A backend that was asked for by name can't be had here; what() says why and what to
//! do.
class CUDAPHY_API backend_unavailable : public std::runtime_error
{
public:
    using std::runtime_error::runtime_error;
};

//! CUDA reported an error; what() names the call or kernel, the device and CUDA's
//! message.
class CUDAPHY_API cuda_error : public std::runtime_error
{
public:
    using std::runtime_error::runtime_error;
};

//! One GPU as the CUDA runtime sees it.
struct device_info {
    int index;
    std::string name;
    int compute_capability; //!< 90 for 9.0
    size_t memory;          //!< bytes
};

//! The GPUs that the CUDA backend can use here and now; empty where there are none, and
//! after a kernel's error, which takes them all from this process.
CUDAPHY_API std::vector<device_info> devices();

//! The backends that can be used here, best first.
CUDAPHY_API std::vector<backend> backends();

//! What `automatic` or a backend asked for by name comes to on this machine.
struct resolved_backend {
    backend where;      //!< never `automatic`
    int device;         //!< index of the GPU; 0 where there is none
    std::string reason; //!< one phrase for the log: "NVIDIA H200", "no CUDA driver found"
};

/*!
 * \throws backend_unavailable if CUDA was asked for by name and can't be had: built
 * without CUDA, no driver, driver too old, no such device, one that is lost. And
 * whatever is wanted, if the library was built for another CPU's instructions alone.
 */
CUDAPHY_API resolved_backend resolve(backend wanted, int device = 0);

} // namespace gr::cudaphy
