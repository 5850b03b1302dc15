/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldpc_arguments.h"

namespace gr::cudaphy::bindings {
namespace {

using kernels::ldpc_code;

code_ptr mutable_pointer(ldpc_code::sptr code)
{
    return std::const_pointer_cast<ldpc_code>(code);
}

//! One keyword argument, taken out of `given`.
template <typename T>
T take(py::dict& given, const std::string& family, const char* name)
{
    if (!given.contains(name)) {
        throw std::invalid_argument("ldpc_code(\"" + family +
                                    "\", ...) needs the argument " + name);
    }
    const auto value = given[name].cast<T>();
    given.attr("pop")(name);
    return value;
}

code_ptr make_code(const std::string& family, const py::kwargs& arguments)
{
    py::dict given(arguments);
    ldpc_code::sptr code;
    if (family == "wifi") {
        const auto n = take<int>(given, family, "n");
        code = ldpc_code::wifi(n, take<std::string>(given, family, "rate"));
    } else if (family == "dvbs2") {
        const auto frame = take<std::string>(given, family, "frame");
        code = ldpc_code::dvbs2(frame, take<std::string>(given, family, "rate"));
    } else {
        throw std::invalid_argument("code family \"" + family +
                                    "\" is none of \"wifi\", \"dvbs2\"");
    }
    if (!given.empty()) {
        throw std::invalid_argument("ldpc_code(\"" + family + "\", ...) does not take " +
                                    py::str(given).cast<std::string>());
    }
    return mutable_pointer(code);
}

//! H as scipy knows it.
py::object parity_check(const ldpc_code& code)
{
    const auto scipy = py::module::import("scipy.sparse");
    const py::array_t<uint8_t> ones =
        py::module::import("numpy").attr("ones")(code.edges(), "uint8");
    return scipy.attr("csr_matrix")(
        py::make_tuple(
            ones,
            py::array_t<int>(code.columns().size(), code.columns().data()),
            py::array_t<int>(code.row_start().size(), code.row_start().data())),
        py::arg("shape") = py::make_tuple(code.checks(), code.n()));
}

code_ptr from_parity_check(const py::object& matrix, const std::string& name)
{
    const auto scipy = py::module::import("scipy.sparse");
    py::object rows = scipy.attr("csr_matrix")(matrix);
    rows.attr("data") = rows.attr("data").attr("__mod__")(2); // over GF(2)
    rows.attr("eliminate_zeros")();
    const auto start = rows.attr("indptr").cast<std::vector<int>>();
    const auto columns = rows.attr("indices").cast<std::vector<int>>();
    std::vector<std::vector<int>> ones;
    for (size_t r = 0; r + 1 < start.size(); ++r) {
        ones.emplace_back(columns.begin() + start[r], columns.begin() + start[r + 1]);
    }
    return mutable_pointer(ldpc_code::from_rows(
        rows.attr("shape").cast<std::pair<int, int>>().second, ones, name));
}

template <typename T>
py::array_t<T> copied(const std::vector<T>& items)
{
    return py::array_t<T>(items.size(), items.data());
}

} // namespace

void bind_ldpc(py::module& m)
{
    py::register_exception<kernels::code_file_error>(
        m, "CodeFileError", PyExc_ValueError);

    py::class_<ldpc_code, code_ptr>(
        m, "ldpc_code", R"(A binary low-density parity-check code.

ldpc_code("wifi", n=1944, rate="1/2"): IEEE 802.11n/ac/ax; n 648, 1296, 1944; rate 1/2, 2/3, 3/4, 5/6.
ldpc_code("dvbs2", frame="normal", rate="1/2"): ETSI EN 302 307-1; frame "normal" or "short", all their rates.
ldpc_code.from_alist(path), from_qc(path), from_parity_check(matrix): any other.

Raises ValueError with the allowed values; CodeFileError with the line of a malformed file.)")
        .def(py::init(&make_code), py::arg("family"))
        .def_static(
            "from_alist",
            [](const std::string& path) {
                return mutable_pointer(ldpc_code::from_alist(path));
            },
            py::arg("path"),
            "Reads MacKay's alist format. Raises CodeFileError with the file's name and "
            "line.")
        .def_static(
            "from_qc",
            [](const std::string& path) {
                return mutable_pointer(ldpc_code::from_qc(path));
            },
            py::arg("path"),
            "Reads a quasi-cyclic matrix: a line 'columns rows lifting_size', then a "
            "line of shifts a block row, -1 "
            "for a zero block. Raises CodeFileError with the file's name and line.")
        .def_static("from_parity_check",
                    &from_parity_check,
                    py::arg("matrix"),
                    py::arg("name") = "parity-check matrix",
                    "From H, anything that scipy.sparse.csr_matrix takes; entries count "
                    "modulo 2.")
        .def("parity_check",
             &parity_check,
             "H, a scipy.sparse.csr_matrix of uint8, (checks, n).")
        .def_property_readonly("name", &ldpc_code::name)
        .def_property_readonly("n", &ldpc_code::n, "bits of a codeword")
        .def_property_readonly("k", &ldpc_code::k, "information bits, n - rank(H)")
        .def_property_readonly("checks", &ldpc_code::checks, "rows of H")
        .def_property_readonly("edges", &ldpc_code::edges, "ones of H")
        .def_property_readonly("rate", &ldpc_code::rate, "k / n")
        .def_property_readonly(
            "default_scale",
            &ldpc_code::default_scale,
            "factor of scaled min-sum with which decoding begins (docs/conventions.md)")
        .def_property_readonly(
            "info_positions",
            [](const ldpc_code& c) { return copied(c.info_positions()); },
            "the codeword's bits that carry information, int32 (k,)")
        .def_property_readonly(
            "punctured",
            [](const ldpc_code&) { return py::array_t<int>(0); },
            "bits that are never sent, int32; none in these families")
        .def("__repr__", [](const ldpc_code& c) {
            return "<ldpc_code " + c.name() + ": n " + std::to_string(c.n()) + ", k " +
                   std::to_string(c.k()) + ">";
        });
}

} // namespace gr::cudaphy::bindings
