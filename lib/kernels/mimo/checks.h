/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdexcept>
#include <string>

namespace gr::cudaphy::kernels {

//! Checks of a kernel's arguments, each of which throws std::invalid_argument with the
//! kernel's name first.
struct argument_checks {
    const char* kernel;

    [[noreturn]] void refuse(const std::string& why) const
    {
        throw std::invalid_argument(std::string(kernel) + ": " + why);
    }

    //! Number: int or double. NaN is refused.
    template <typename Number>
    void range(const char* what, Number value, Number least, Number most) const
    {
        if (!(value >= least && value <= most)) {
            refuse(std::string(what) + " is " + std::to_string(value) + ", allowed are " +
                   std::to_string(least) + " to " + std::to_string(most));
        }
    }

    //! \param given  what the size follows from
    void
    size(const char* what, size_t size, size_t wanted, const std::string& given) const
    {
        if (size != wanted) {
            refuse(std::string(what) + " has " + std::to_string(size) + " items, " +
                   std::to_string(wanted) + " fit " + given);
        }
    }
};

} // namespace gr::cudaphy::kernels
