/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "bindings/interruptible.h"
#include <gnuradio/cudaphy/kernels/bch_decoder.h>
#include <gnuradio/cudaphy/kernels/bch_encoder.h>
#include <pybind11/operators.h>

namespace gr::cudaphy::bindings {
namespace {

using kernels::bch_code;
using bch_code_ptr = std::shared_ptr<bch_code>;

py::ssize_t bytes_of(int bits, bool packed) { return packed ? (bits + 7) / 8 : bits; }

//! pybind11 holds no pointers to constants.
bch_code_ptr held(const bch_code::sptr& code)
{
    return std::const_pointer_cast<bch_code>(code);
}

numpy_array<uint8_t> encode(const bch_code_ptr& code,
                            const numpy_array<uint8_t>& info,
                            bool packed_input,
                            bool packed_output,
                            const std::string& where,
                            int device)
{
    const auto on = resolve(backend_from_name(where), device);
    const auto q = queue::make(on.where, on.device);
    const auto kernel = kernels::bch_encoder::make(
        code, { packed_input, packed_output }, on.where, on.device);
    input<uint8_t> from(*q, info);
    output<uint8_t> words(*q, { info.shape(0), bytes_of(code->n(), packed_output) });
    run_interruptibly(double(info.size()) * 10, [&] {
        kernel->run(from, words, *q);
        q->synchronize();
    });
    return words.result();
}

py::tuple decode(const bch_code_ptr& code,
                 const numpy_array<uint8_t>& words,
                 bool packed_input,
                 bool packed_output,
                 const std::string& where,
                 int device)
{
    const auto on = resolve(backend_from_name(where), device);
    const auto q = queue::make(on.where, on.device);
    const auto kernel = kernels::bch_decoder::make(
        code, { packed_input, packed_output }, on.where, on.device);
    const auto batch = words.shape(0);
    input<uint8_t> from(*q, words);
    output<uint8_t> info(*q, { batch, bytes_of(code->k(), packed_output) });
    output<int32_t> corrected(*q, { batch });
    array<uint8_t> workspace(*q, kernel->workspace_bytes(batch));
    run_interruptibly(double(words.size()) * 20, [&] {
        kernel->run(from, info, corrected, workspace, *q);
        q->synchronize();
    });
    return py::make_tuple(info.result(), corrected.result());
}

} // namespace

void bind_bch(py::module& m)
{
    py::class_<bch_code, bch_code_ptr>(
        m,
        "bch_code",
        R"(A binary narrow-sense BCH code: corrects t errors in n bits.

bch_code(m, t, shortened=0, polynomial=0): n = 2^m - 1 - shortened; m is 3 to 16, t 1 to 64;
polynomial: primitive, with its terms x^i in bit i; 0 takes a usual one.
bch_code.dvbs2(frame, rate), .dvbs2x(frame, rate), .dvbt2(frame, rate): the outer code of that LDPC
code (ETSI EN 302 307-1, tables 5 and 6; EN 302 307-2; EN 302 755).
Raises ValueError if a number is out of range or no information bit is left.)")
        .def(py::init([](int m, int t, int shortened, uint32_t polynomial) {
                 return held(bch_code::primitive(m, t, shortened, polynomial));
             }),
             py::arg("m"),
             py::arg("t"),
             py::arg("shortened") = 0,
             py::arg("polynomial") = 0)
        .def_static(
            "dvbs2",
            [](const std::string& frame, const std::string& rate) {
                return held(bch_code::dvbs2(frame, rate));
            },
            py::arg("frame"),
            py::arg("rate"),
            "The outer code of DVB-S2's LDPC code; frame \"normal\" or \"short\".")
        .def_static(
            "dvbs2x",
            [](const std::string& frame, const std::string& rate) {
                return held(bch_code::dvbs2x(frame, rate));
            },
            py::arg("frame"),
            py::arg("rate"),
            "The outer code of DVB-S2X's LDPC code; frame \"normal\", \"medium\" or "
            "\"short\".")
        .def_static(
            "dvbt2",
            [](const std::string& frame, const std::string& rate) {
                return held(bch_code::dvbt2(frame, rate));
            },
            py::arg("frame"),
            py::arg("rate"),
            "The outer code of DVB-T2's LDPC code; frame \"normal\" or \"short\".")
        .def_property_readonly("n", &bch_code::n, "Bits of a codeword.")
        .def_property_readonly("k", &bch_code::k, "Information bits.")
        .def_property_readonly("t", &bch_code::t, "Errors that are corrected.")
        .def_property_readonly("m", &bch_code::m, "The field is GF(2^m).")
        .def_property_readonly(
            "polynomial", &bch_code::polynomial, "Of the field, x^i in bit i.")
        .def_property_readonly(
            "generator",
            [](const bch_code& code) {
                const auto& g = code.generator();
                return py::array_t<uint8_t>(g.size(), g.data());
            },
            "The n - k + 1 coefficients of g(x), the highest power's first.")
        .def("__repr__", &bch_code::name)
        .def(
            "__eq__",
            [](const bch_code& a, const bch_code& b) {
                return a.n() == b.n() && a.t() == b.t() && a.m() == b.m() &&
                       a.polynomial() == b.polynomial();
            },
            py::is_operator())
        .def("__hash__",
             [](const bch_code& code) {
                 return py::hash(
                     py::make_tuple(code.n(), code.t(), code.m(), code.polynomial()));
             })
        .def(py::pickle(
            [](const bch_code& code) {
                return py::make_tuple(code.m(),
                                      code.t(),
                                      (1 << code.m()) - 1 - code.n(),
                                      code.polynomial());
            },
            [](const py::tuple& state) {
                return held(bch_code::primitive(state[0].cast<int>(),
                                                state[1].cast<int>(),
                                                state[2].cast<int>(),
                                                state[3].cast<uint32_t>()));
            }));
    m.def("_bch_encode", &encode);
    m.def("_bch_decode", &decode);
}

} // namespace gr::cudaphy::bindings
