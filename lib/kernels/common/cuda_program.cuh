/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include <memory>
#include <string>

namespace gr::cudaphy {

/*!
 * \brief A kernel that was written at run time, in PTX, and translated by the driver.
 *
 * Programs of the same text and device share one translation while any of them lives; the
 * driver keeps it on disk, too, so that it takes seconds at most once.
 */
class cuda_program
{
public:
    //! For the device that is current, which must be so again when the program dies.
    //! \throws cuda_error with the translator's own words.
    static std::shared_ptr<cuda_program>
    make(const std::string& ptx, const char* kernel, int shared_bytes);
    virtual ~cuda_program() = default;

    //! `arguments`: the kernel's one parameter.
    virtual void launch(unsigned blocks,
                        unsigned threads,
                        const void* arguments,
                        size_t argument_bytes,
                        cudaStream_t stream) const = 0;
};

} // namespace gr::cudaphy
