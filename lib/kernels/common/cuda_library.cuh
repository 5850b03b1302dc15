/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <string>

namespace gr::cudaphy {

/*!
 * \brief A library of the CUDA toolkit that is loaded when it is first needed, so that a
 * build with CUDA also loads on machines without the toolkit.
 */
class cuda_library
{
public:
    //! Loads libNAME.so.VERSION from the loader's path or from the toolkit's folders.
    //! \param versions  in the order in which they are tried, newest first
    //! \throws backend_unavailable that says what to install
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
    void* d_library = nullptr; //!< never unloaded
};

} // namespace gr::cudaphy
