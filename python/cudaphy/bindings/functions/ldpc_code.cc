/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/interruptible.h"
#include "bindings/ldpc_arguments.h"
#include <numeric>

namespace gr::cudaphy::bindings {
namespace {

using kernels::ldpc_code;

code_ptr mutable_pointer(ldpc_code::sptr code)
{
    return std::const_pointer_cast<ldpc_code>(code);
}

constexpr const char* families =
    "\"nr5g\", \"wifi\", \"wimax\", \"dvbs2\", \"dvbs2x\", \"dvbt2\", \"ccsds\", "
    "\"10gbase-t\" or \"regular\"";

//! The keyword arguments of one family's code.
class code_arguments
{
public:
    code_arguments(std::string family, const py::kwargs& given)
        : d_family(std::move(family)), d_given(given)
    {
    }

    int integer(const char* name)
    {
        int value = 0;
        require(name);
        d_given.take(name, value);
        return value;
    }
    std::string text(const char* name)
    {
        std::string value;
        require(name);
        d_given.take(name, value);
        return value;
    }
    //! One that may be left out.
    template <typename T>
    T optional(const char* name, T otherwise)
    {
        d_given.take(name, otherwise);
        return otherwise;
    }
    void finish() const
    {
        if (!d_given.empty()) {
            throw std::invalid_argument("ldpc_code(\"" + d_family +
                                        "\", ...) does not take " + d_given.names());
        }
    }

private:
    void require(const char* name) const
    {
        if (!d_given.contains(name)) {
            throw std::invalid_argument("ldpc_code(\"" + d_family +
                                        "\", ...) needs the argument " + name);
        }
    }

    std::string d_family;
    keywords d_given;
};

ldpc_code::sptr of_family(const std::string& family, code_arguments& given)
{
    // Arguments are taken in the order of those that a code has, so that the first one
    // missing is named.
    if (family == "nr5g") {
        const int graph = given.integer("base_graph");
        const int z = given.integer("lifting_size");
        const int rows = given.integer("rows");
        return ldpc_code::nr5g(graph, z, rows, given.optional("fillers", 0));
    }
    if (family == "wifi" || family == "wimax") {
        const int n = given.integer("n");
        const auto rate = given.text("rate");
        return family == "wifi" ? ldpc_code::wifi(n, rate) : ldpc_code::wimax(n, rate);
    }
    if (family == "dvbs2" || family == "dvbs2x" || family == "dvbt2") {
        const auto frame = given.text("frame");
        const auto rate = given.text("rate");
        return family == "dvbs2"    ? ldpc_code::dvbs2(frame, rate)
               : family == "dvbs2x" ? ldpc_code::dvbs2x(frame, rate)
                                    : ldpc_code::dvbt2(frame, rate);
    }
    if (family == "ccsds") {
        const auto kind = given.text("family");
        const int k = given.integer("k");
        return ldpc_code::ccsds(kind, k, given.optional("rate", std::string()));
    }
    if (family == "10gbase-t" || family == "ten_gbase_t") {
        return ldpc_code::ten_gbase_t();
    }
    if (family == "regular") {
        const int n = given.optional("n", 1024);
        const int columns = given.optional("column_weight", 3);
        return ldpc_code::regular(n, columns, given.optional("row_weight", 6));
    }
    throw std::invalid_argument("code family \"" + shortened(py::str(family)) +
                                "\" is none of " + families);
}

code_ptr make_code(const py::object& standard, const py::kwargs& arguments)
{
    if (!py::isinstance<py::str>(standard)) {
        throw py::type_error(
            (standard.is_none()
                 ? std::string("ldpc_code(...) needs the name of a family first: ")
                 : "ldpc_code: the family " + shortened(py::repr(standard)) +
                       " is no text such as ") +
            families);
    }
    const auto family = standard.cast<std::string>();
    code_arguments given(family, arguments);
    const auto code = of_family(family, given);
    given.finish();
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

//! A code that may take seconds to eliminate, which Ctrl-C ends.
template <typename Make>
code_ptr read(const Make& make)
{
    constexpr double many_operations = 1e9;
    ldpc_code::sptr code;
    run_interruptibly(many_operations, [&] { code = make(); });
    return mutable_pointer(code);
}

code_ptr from_parity_check(const py::object& matrix, const std::string& name)
{
    const auto scipy = py::module::import("scipy.sparse");
    // csr_matrix shares the arrays of a matrix that is in compressed rows already.
    py::object rows = scipy.attr("csr_matrix")(matrix, py::arg("copy") = true);
    rows.attr("sum_duplicates")();
    const auto numpy = py::module::import("numpy");
    const auto floor = numpy.attr("floor")(rows.attr("data"));
    if (!numpy.attr("array_equal")(floor, rows.attr("data")).cast<bool>()) {
        throw std::invalid_argument(name + ": H has entries that are no whole numbers");
    }
    rows.attr("data") = rows.attr("data").attr("__mod__")(2); // over GF(2)
    rows.attr("eliminate_zeros")();
    const auto start = rows.attr("indptr").cast<std::vector<int>>();
    const auto columns = rows.attr("indices").cast<std::vector<int>>();
    std::vector<std::vector<int>> ones;
    for (size_t r = 0; r + 1 < start.size(); ++r) {
        ones.emplace_back(columns.begin() + start[r], columns.begin() + start[r + 1]);
    }
    const int variables = rows.attr("shape").cast<std::pair<int, int>>().second;
    return read([&] { return ldpc_code::from_rows(variables, ones, name); });
}

template <typename T>
py::array_t<T> copied(const std::vector<T>& items)
{
    return py::array_t<T>(items.size(), items.data());
}

std::vector<int> numbers(const py::handle& array)
{
    const auto items = array.cast<numpy_array<int>>();
    return { items.data(), items.data() + items.size() };
}

//! Where each part of several begins, and all of them in a row.
py::tuple packed(const std::vector<std::vector<int>>& parts)
{
    std::vector<int> start{ 0 }, all;
    for (const auto& part : parts) {
        all.insert(all.end(), part.begin(), part.end());
        start.push_back(static_cast<int>(all.size()));
    }
    return py::make_tuple(copied(start), copied(all));
}

std::vector<std::vector<int>> unpacked(const py::tuple& from)
{
    const auto start = numbers(from[0]), all = numbers(from[1]);
    std::vector<std::vector<int>> parts;
    for (size_t i = 0; i + 1 < start.size(); ++i) {
        if (start[i] < 0 || start[i] > start[i + 1] ||
            start[i + 1] > static_cast<int>(all.size())) {
            throw std::invalid_argument("this is no pickled ldpc_code");
        }
        parts.emplace_back(all.begin() + start[i], all.begin() + start[i + 1]);
    }
    return parts;
}

//! What pickle keeps; its first item is the number of this layout.
constexpr int layout_of_state = 1;

py::tuple state_of(const ldpc_code& code)
{
    const auto& blocks = code.circulants();
    std::vector<int> circulants;
    for (const auto& c : blocks.all) {
        circulants.insert(circulants.end(), { c.row, c.column, c.shift, c.missing });
    }
    return py::make_tuple(layout_of_state,
                          code.name(),
                          code.variables(),
                          copied(code.row_start()),
                          copied(code.columns()),
                          copied(code.punctured()),
                          copied(code.shortened()),
                          packed(code.layers()),
                          py::make_tuple(blocks.lifting_size,
                                         blocks.block_rows,
                                         blocks.block_columns,
                                         copied(circulants),
                                         copied(blocks.checks),
                                         copied(blocks.bits)),
                          code.default_scale(),
                          code.default_scale_closes(),
                          code.default_damps());
}

code_ptr code_of(const py::tuple& state)
{
    if (state.size() != 12 || state[0].cast<int>() != layout_of_state) {
        throw std::invalid_argument(
            "this ldpc_code was pickled by another version of the module");
    }
    ldpc_code::parts parts;
    parts.name = state[1].cast<std::string>();
    parts.variables = state[2].cast<int>();
    parts.row_start = numbers(state[3]);
    parts.columns = numbers(state[4]);
    parts.punctured = numbers(state[5]);
    parts.shortened = numbers(state[6]);
    parts.layers = unpacked(state[7]);
    const auto blocks = state[8].cast<py::tuple>();
    auto& to = parts.circulants;
    to.lifting_size = blocks[0].cast<int>();
    to.block_rows = blocks[1].cast<int>();
    to.block_columns = blocks[2].cast<int>();
    const auto circulants = numbers(blocks[3]);
    for (size_t i = 0; i + 4 <= circulants.size(); i += 4) {
        to.all.push_back(
            { circulants[i], circulants[i + 1], circulants[i + 2], circulants[i + 3] });
    }
    to.checks = numbers(blocks[4]);
    to.bits = numbers(blocks[5]);
    parts.default_scale = state[9].cast<float>();
    parts.default_scale_closes = state[10].cast<bool>();
    parts.default_damps = state[11].cast<bool>();
    return mutable_pointer(ldpc_code::restore(std::move(parts)));
}

} // namespace

void bind_ldpc(py::module& m)
{
    py::register_exception<kernels::code_file_error>(m, "CodeFileError", PyExc_ValueError)
        .doc() =
        "A file of a code cannot be read or written; the message names its line.";

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

Codes are equal (==) where H, the bits sent, the information bits and their decoding are; names do not matter. They
can be dictionaries' keys, pickled and copied.

A codeword has n bits: H's columns but the punctured ones, of which a receiver knows nothing, and the shortened ones,
which are 0; bit i is column transmitted[i].

Raises ValueError with the allowed values, TypeError that names the argument; CodeFileError with the line of a malformed file.)")
        .def(py::init(&make_code), py::arg("standard") = py::none(), py::pos_only())
        .def_static(
            "from_alist",
            [](const std::string& path) {
                return read([&] { return ldpc_code::from_alist(path); });
            },
            py::arg("path"),
            R"(Reads MacKay's alist format; '#' starts a comment. Lines behind the matrix may name columns that are not sent,
counted from 0: 'punctured 0-767 800', 'shortened 8440-8447'. Raises CodeFileError with the file's name and line.)")
        .def_static(
            "from_qc",
            [](const std::string& path) {
                return read([&] { return ldpc_code::from_qc(path); });
            },
            py::arg("path"),
            R"(Reads a quasi-cyclic matrix: a line 'columns rows lifting_size', counted in blocks, then a line a block row with
the shift of each block: -1 for a zero block, 3/5 for the sum of two identities shifted right by 3 and by 5:

    # 4 x 2 blocks of 8 x 8, the last 8 columns never sent
    4 2 8
    0 3/5 1 -1
    6 2   0  0
    punctured 24-31

Behind the matrix may stand a line of ones and zeros, as AFF3CT has it, one a block column (or another number that
divides the columns): zeros for punctured ones. Punctured and shortened columns may follow as in from_alist, and block rows, counted from 0, in the order of layered
decoding: 'visited 1 0'. Raises CodeFileError with the file's name and line.)")
        .def_static("from_parity_check",
                    &from_parity_check,
                    py::arg("matrix"),
                    py::arg("name") = "parity-check matrix",
                    "From H, anything that scipy.sparse.csr_matrix takes; entries of one "
                    "place add up, and count modulo 2. H stays as it is.")
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
        .def_property_readonly("default_scale",
                               &ldpc_code::default_scale,
                               "the best fixed factor of scaled min-sum, about which "
                               "decoders' rises where none "
                               "is given (docs/conventions.md)")
        .def_property_readonly(
            "default_scale_closes",
            &ldpc_code::default_scale_closes,
            "whether the decoders' factor then comes closer to 1 in steps")
        .def_property_readonly("default_damps",
                               &ldpc_code::default_damps,
                               "whether int8 arithmetic with that factor damps a "
                               "message whose sign has changed")
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
        .def("__eq__",
             [](const ldpc_code& a, const py::object& b) -> py::object {
                 if (!py::isinstance<ldpc_code>(b)) {
                     return py::reinterpret_borrow<py::object>(Py_NotImplemented);
                 }
                 return py::bool_(a == b.cast<const ldpc_code&>());
             })
        .def("__hash__", &ldpc_code::hash)
        .def("__copy__", [](code_ptr c) { return c; }) // it never changes
        .def("__deepcopy__", [](code_ptr c, const py::dict&) { return c; })
        .def(py::pickle(&state_of, &code_of))
        .def("__repr__", [](const ldpc_code& c) {
            return "<ldpc_code " + c.name() + ": n " + std::to_string(c.n()) + ", k " +
                   std::to_string(c.k()) + ">";
        });
}

} // namespace gr::cudaphy::bindings
