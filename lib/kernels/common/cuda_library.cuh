/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <string>

namespace gr::cudaphy {

/*!
 * \brief A library of the CUDA toolkit that is looked for when it is first needed, so
 * that a build with CUDA loads on machines that have none.
 */
class cuda_library
{
public:
    //! Looks for libNAME.so.VERSION, VERSION one of those given, newest first, where the
    //! loader looks and then beside the toolkit.
    //! \throws backend_unavailable with what to install.
    cuda_library(const std::string& name, const int (&versions)[2]);

    //! \throws backend_unavailable if the library has no such function.
    template <typename Function>
    void find(Function*& function, const char* symbol) const
    {
        function = reinterpret_cast<Function*>(address(symbol));
    }

private:
    void* address(const char* symbol) const;

    std::string d_name;
    void* d_library = nullptr; //!< stays loaded
};

} // namespace gr::cudaphy
