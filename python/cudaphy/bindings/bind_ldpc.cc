/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldpc_arguments.h"
#include <numeric>

namespace gr::cudaphy::bindings {
namespace {

using kernels::ldpc_code;

code_ptr mutable_pointer(ldpc_code::sptr code)
{
    return std::const_pointer_cast<ldpc_code>(code);
}

//! One keyword argument, taken out of `given`; `otherwise` where it may be left out.
template <typename T>
T take(py::dict& given, const char* name, T otherwise)
{
    if (!given.contains(name)) {
        return otherwise;
    }
    const auto value = given[name].cast<T>();
    given.attr("pop")(name);
    return value;
}

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
    const auto integer = [&](const char* key) { return take<int>(given, family, key); };
    const auto text = [&](const char* key) {
        return take<std::string>(given, family, key);
    };
    if (family == "nr5g") {
        const int graph = integer("base_graph");
        const int z = integer("lifting_size");
        const int rows = integer("rows");
        code = ldpc_code::nr5g(graph, z, rows, take(given, "fillers", 0));
    } else if (family == "wifi") {
        const int n = integer("n");
        code = ldpc_code::wifi(n, text("rate"));
    } else if (family == "wimax") {
        const int n = integer("n");
        code = ldpc_code::wimax(n, text("rate"));
    } else if (family == "dvbs2") {
        const auto frame = text("frame");
        code = ldpc_code::dvbs2(frame, text("rate"));
    } else if (family == "dvbs2x") {
        const auto frame = text("frame");
        code = ldpc_code::dvbs2x(frame, text("rate"));
    } else if (family == "dvbt2") {
        const auto frame = text("frame");
        code = ldpc_code::dvbt2(frame, text("rate"));
    } else if (family == "ccsds") {
        const auto kind = text("family");
        const int k = integer("k");
        code = ldpc_code::ccsds(kind, k, take(given, "rate", std::string()));
    } else if (family == "10gbase-t" || family == "ten_gbase_t") {
        code = ldpc_code::ten_gbase_t();
    } else if (family == "regular") {
        const int n = take(given, "n", 1024);
        const int columns = take(given, "column_weight", 3);
        code = ldpc_code::regular(n, columns, take(given, "row_weight", 6));
    } else {
        throw std::invalid_argument(
            "code family \"" + family +
            "\" is none of \"nr5g\", \"wifi\", \"wimax\", \"dvbs2\", \"dvbs2x\", "
            "\"dvbt2\", \"ccsds\", \"10gbase-t\", \"regular\"");
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
        py::arg("shape") = py::make_tuple(code.checks(), code.variables()));
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
ldpc_code("dvbs2x", frame="short", rate="7/15"): ETSI EN 302 307-2; frame "normal", "medium" or "short". VL-SNR frames
    as they are sent: rates "2/9 VL-SNR", "1/5 VL-SNR SF2" and so on.
ldpc_code("dvbt2", frame="normal", rate="2/3"): ETSI EN 302 755; frame "normal" or "short", all their rates.
ldpc_code("nr5g", base_graph=1, lifting_size=384, rows=46, fillers=0): 3GPP TS 38.212; the first 2 lifting_size columns
    are punctured, fillers shortened.
ldpc_code("ccsds", family="ar4ja", k=1024, rate="1/2"): CCSDS 131.0-B; k 1024, 4096, 16384; rate 1/2, 2/3, 4/5.
    family="tc", k=64 or 256: (128, 64), (512, 256). family="c2", k=7154 or 7136: the near-earth code, whose k is 2 more
    (the last 2 information bits are parity bits of the standard; send 0), the shorter one without its 2 fill bits.
ldpc_code("wimax", n=576, rate="2/3A"): IEEE 802.16e; n 576 to 2304 in steps of 96; rate 1/2, 2/3A, 2/3B, 3/4A, 3/4B, 5/6.
ldpc_code("10gbase-t"): IEEE 802.3an, (2048, 1723); bits in the order of the construction.
ldpc_code("regular", n=1024, column_weight=3, row_weight=6): a quasi-cyclic code free of short cycles.
ldpc_code.from_alist(path), from_qc(path), from_parity_check(matrix): any other.

A codeword has n bits: H's columns but the punctured ones, of which a receiver knows nothing, and the shortened ones,
which are 0; bit i is column transmitted[i].

Raises ValueError with the allowed values; CodeFileError with the line of a malformed file.)")
        .def(py::init(&make_code), py::arg("standard"), py::pos_only())
        .def_static(
            "from_alist",
            [](const std::string& path) {
                return mutable_pointer(ldpc_code::from_alist(path));
            },
            py::arg("path"),
            R"(Reads MacKay's alist format; '#' starts a comment. Lines behind the matrix may name columns that are not sent,
counted from 0: 'punctured 0-767 800', 'shortened 8440-8447'. Raises CodeFileError with the file's name and line.)")
        .def_static(
            "from_qc",
            [](const std::string& path) {
                return mutable_pointer(ldpc_code::from_qc(path));
            },
            py::arg("path"),
            R"(Reads a quasi-cyclic matrix: a line 'columns rows lifting_size', counted in blocks, then a line a block row with
the shift of each block: -1 for a zero block, 3/5 for the sum of two identities shifted right by 3 and by 5:

    # 4 x 2 blocks of 8 x 8, the last 8 columns never sent
    4 2 8
    0 3/5 1 -1
    6 2   0  0
    punctured 24-31

Punctured and shortened columns may follow as in from_alist, and block rows, counted from 0, in the order of layered
decoding: 'visited 1 0'. Raises CodeFileError with the file's name and line.)")
        .def_static("from_parity_check",
                    &from_parity_check,
                    py::arg("matrix"),
                    py::arg("name") = "parity-check matrix",
                    "From H, anything that scipy.sparse.csr_matrix takes; entries count "
                    "modulo 2.")
        .def("to_alist",
             py::overload_cast<const std::string&>(&ldpc_code::to_alist, py::const_),
             py::arg("path"),
             "Writes H as from_alist reads it. Raises CodeFileError where the file can't "
             "be written.")
        .def("to_qc",
             py::overload_cast<const std::string&>(&ldpc_code::to_qc, py::const_),
             py::arg("path"),
             "Writes H as from_qc reads it. Raises ValueError for a code that is not "
             "quasi-cyclic in its own order of rows and columns (DVB's, 10GBASE-T's, any "
             "from alist), CodeFileError where the file can't be written.")
        .def("parity_check",
             &parity_check,
             "H, a scipy.sparse.csr_matrix of uint8, (checks, variables).")
        .def_property_readonly("name", &ldpc_code::name)
        .def_property_readonly("n", &ldpc_code::n, "bits of a codeword")
        .def_property_readonly("k",
                               &ldpc_code::k,
                               "information bits: columns that are not shortened - the "
                               "rank of H within them")
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
            "the columns of H that carry information, int32 (k,)")
        .def_property_readonly(
            "variables", &ldpc_code::variables, "columns of H, n or more")
        .def_property_readonly(
            "punctured",
            [](const ldpc_code& c) { return copied(c.punctured()); },
            "columns of H that are not sent and unknown to the receiver, int32")
        .def_property_readonly(
            "shortened",
            [](const ldpc_code& c) { return copied(c.shortened()); },
            "columns of H that are not sent because they are 0, int32")
        .def_property_readonly(
            "transmitted",
            [](const ldpc_code& c) {
                auto columns = c.transmitted();
                if (columns.empty()) {
                    columns.resize(c.n());
                    std::iota(columns.begin(), columns.end(), 0);
                }
                return copied(columns);
            },
            "the column of H that each bit of a codeword is, int32 (n,)")
        .def("__repr__", [](const ldpc_code& c) {
            return "<ldpc_code " + c.name() + ": n " + std::to_string(c.n()) + ", k " +
                   std::to_string(c.k()) + ">";
        });
}

} // namespace gr::cudaphy::bindings
