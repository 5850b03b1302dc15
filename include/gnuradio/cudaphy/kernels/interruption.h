/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <atomic>
#include <exception>
#include <gnuradio/cudaphy/api.h>

namespace gr::cudaphy {

//! Thrown by a kernel's run that was asked to end.
class CUDAPHY_API interrupted : public std::exception
{
public:
    const char* what() const noexcept override { return "interrupted"; }
};

/*!
 * \brief Ends kernels' runs on the CPU early, from another thread.
 *
 * A run on a thread that has a scope looks whether it is asked to end, at least every few
 * tens of milliseconds, and throws `interrupted`. Its outputs and, where it has one, the
 * kernel's state are then worth nothing.
 */
class CUDAPHY_API interruption
{
public:
    void ask() { d_asked = true; }

    //! \throws interrupted if asked
    void check() const
    {
        if (d_asked.load(std::memory_order_relaxed)) {
            throw interrupted();
        }
    }

    //! The one that the calling thread works under, or null.
    static const interruption* current();
    static void check_current()
    {
        if (const auto* const under = current()) {
            under->check();
        }
    }

    //! The calling thread works under an interruption (null: under none) while this
    //! lives.
    class CUDAPHY_API scope
    {
    public:
        explicit scope(const interruption* under);
        ~scope();
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;

    private:
        const interruption* const d_before;
    };

private:
    std::atomic<bool> d_asked{ false };
};

} // namespace gr::cudaphy
