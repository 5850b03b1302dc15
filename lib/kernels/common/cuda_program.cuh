/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/background.h"
#include "kernels/common/cuda_check.cuh"
#include <functional>
#include <memory>
#include <string>

namespace gr::cudaphy {

/*!
 * \brief A kernel in PTX that is written at run time. The driver translates it.
 *
 * The driver takes seconds for a long program, or some milliseconds if it has the
 * translation on disk. So make() returns at once, and the program is written and
 * translated when prepare() or launch() is first called, or before, in the background.
 * Programs of the same text and device share one translation, which the process keeps
 * even if no program has that text for a while.
 *
 * Whoever lets the last pointer to a program go waits for its translation if that is
 * under way. Otherwise a process could end amid a translation, and the driver's
 * translator, which is loaded late, is destroyed early.
 */
class cuda_program : public prepared_later
{
public:
    //! For the current device.
    //! \param write  writes the PTX: once, in any thread, and again only after a failure
    static std::shared_ptr<cuda_program>
    make(std::function<std::string()> write, const char* kernel, int shared_bytes);

    //! Waits until the program is translated; translates it if nobody does yet.
    //! \throws cuda_error with the translator's message, again at every call
    void prepare() override = 0;
    //! Whether prepare() would return at once.
    virtual bool is_ready() const = 0;
    //! Lets the background prepare the program, after those that it already has. Does
    //! nothing if it has been asked before.
    virtual void prepare_in_background() = 0;

    //! \param arguments  the kernel's one parameter
    //! \throws cuda_error, that of prepare() included
    virtual void launch(unsigned blocks,
                        unsigned threads,
                        const void* arguments,
                        size_t argument_bytes,
                        cudaStream_t stream) = 0;

    //! Translations that this process has asked the driver for.
    static size_t translations();
};

} // namespace gr::cudaphy
