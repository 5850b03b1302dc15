/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// The keyword arguments that everything around codes shares.

#include "arrays.h"
#include <gnuradio/cudaphy/ldpc_options.h>

namespace gr::cudaphy::bindings {

//! pybind11 knows no pointers to const; the class has no member that could change it.
using code_ptr = std::shared_ptr<kernels::ldpc_code>;

//! What Python shows of a value, at most 100 bytes of it.
inline std::string shortened(const py::object& value)
{
    const auto text = py::str(value).cast<std::string>();
    if (text.size() <= 100) {
        return text;
    }
    size_t end = 97;
    while (end > 0 && (text[end] & 0xc0) == 0x80) { // within a letter of UTF-8
        --end;
    }
    return text.substr(0, end) + "...";
}

/*!
 * \brief Keyword arguments, taken one by one; what remains is an error.
 */
class keywords
{
public:
    explicit keywords(const py::kwargs& given) : d_left(py::dict(given)) {}

    bool contains(const char* name) const { return d_left.contains(name); }
    bool empty() const { return d_left.empty(); }
    std::string names() const { return shortened(py::list(d_left)); }

    //! Sets `to` if the argument is given; None leaves it as it is. \throws
    //! py::type_error, std::invalid_argument for a whole number out of range
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
            const auto given = std::string(name) + "=" + shortened(py::repr(value));
            if (std::is_integral<T>::value && PyLong_Check(value.ptr())) {
                throw std::invalid_argument(given + " is out of range");
            }
            throw py::type_error(
                given + " is of a type that this argument does not take" + wanted<T>());
        }
    }
    //! The argument codes: a dict from names, or a list, of which each code has its own
    //! name. \throws py::type_error
    template <typename Code>
    void take_codes(std::vector<std::pair<std::string, std::shared_ptr<const Code>>>& to)
    {
        py::object given = py::none();
        take("codes", given);
        if (given.is_none()) {
            return;
        }
        const py::type wanted = py::type::of<Code>();
        const auto name_of_type = py::str(wanted.attr("__name__")).cast<std::string>();
        const auto add = [&](const std::string& name, const py::handle& value) {
            if (!py::isinstance(value, wanted)) {
                throw py::type_error("codes: " + shortened(py::repr(value)) + " is no " +
                                     name_of_type);
            }
            const auto code = value.cast<std::shared_ptr<Code>>();
            to.emplace_back(name.empty() ? code->name() : name, code);
        };
        if (py::isinstance<py::dict>(given)) {
            for (const auto& [name, code] : given.cast<py::dict>()) {
                add(py::str(name).cast<std::string>(), code);
            }
            return;
        }
        if (!py::isinstance<py::iterable>(given)) {
            throw py::type_error("codes=" + shortened(py::repr(given)) +
                                 " is neither a dict nor a list of " + name_of_type);
        }
        for (const auto& code : given) {
            add("", code);
        }
    }
    void take_decoding(ldpc_decoder_options& to);
    //! What `take_decoding` has beside the arguments that the stream block had before.
    void take_more_decoding(ldpc_decoder_options& to);
    //! \throws TypeError if anything is left.
    void finish() const;

private:
    template <typename T>
    static std::string wanted()
    {
        return std::is_same<T, bool>::value          ? ": True or False"
               : std::is_same<T, std::string>::value ? ": a text"
               : std::is_integral<T>::value          ? ": a whole number"
               : std::is_floating_point<T>::value    ? ": a number"
                                                     : "";
    }

    py::dict d_left;
};

} // namespace gr::cudaphy::bindings
