/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include <memory>
#include <string>

namespace gr::cudaphy {

/*!
 * \brief A kernel in PTX that was written at run time. The driver translates it.
 *
 * Programs of the same text and device share one translation while any of them lives. The
 * driver also keeps the translation on disk, so that its seconds are spent at most once.
 */
class cuda_program
{
public:
    //! For the current device, which must be current again when the program is destroyed.
    //! \throws cuda_error with the translator's message
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
