/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// The keyword arguments that everything around the LDPC codes shares.

#include "arrays.h"
#include <gnuradio/cudaphy/ldpc_options.h>

namespace gr::cudaphy::bindings {

//! pybind11 knows no pointers to const; the class has no member that could change it.
using code_ptr = std::shared_ptr<kernels::ldpc_code>;

/*!
 * \brief Keyword arguments, taken one by one; what remains is an error.
 */
class keywords
{
public:
    explicit keywords(const py::kwargs& given) : d_left(py::dict(given)) {}

    //! Sets `to` if the argument is given; None leaves it as it is.
    template <typename T>
    void take(const char* name, T& to)
    {
        if (!d_left.contains(name)) {
            return;
        }
        const py::object value = d_left.attr("pop")(name);
        if (value.is_none()) {
            return;
        }
        try {
            to = value.cast<T>();
        } catch (const py::cast_error&) {
            throw py::type_error(std::string(name) + "=" +
                                 py::repr(value).cast<std::string>() +
                                 " is of a type that this argument does not take");
        }
    }
    void take_codes(ldpc_codes& to);
    void take_decoding(ldpc_decoder_options& to);
    //! What `take_decoding` has beside the arguments that the stream block had before.
    void take_more_decoding(ldpc_decoder_options& to);
    //! \throws TypeError if anything is left.
    void finish() const;

private:
    py::dict d_left;
};

} // namespace gr::cudaphy::bindings
