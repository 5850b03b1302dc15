/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include <gnuradio/cudaphy/kernels/nr5g_transport_block.h>

// What nr5g.py makes functions on numpy arrays of.

namespace gr::cudaphy::bindings {
namespace {

using namespace kernels::nr5g;
using kernels::ldpc_code;
using kernels::ldpc_decoder;

template <typename T>
view<const T> whole(const numpy_array<T>& a)
{
    return { a.data(), static_cast<size_t>(a.size()) };
}

template <typename T>
view<T> row(numpy_array<T>& a, py::ssize_t index, py::ssize_t width)
{
    return { a.mutable_data() + index * width, static_cast<size_t>(width) };
}

template <typename T>
view<const T> row(const numpy_array<T>& a, py::ssize_t index, py::ssize_t width)
{
    return { a.data() + index * width, static_cast<size_t>(width) };
}

numpy_array<uint32_t> remainders(const std::string& name,
                                 const numpy_array<uint8_t>& bits)
{
    const auto code = crc_from_name(name);
    numpy_array<uint32_t> out(bits.shape(0));
    for (py::ssize_t i = 0; i < bits.shape(0); ++i) {
        out.mutable_at(i) = remainder(code, row(bits, i, bits.shape(1)));
    }
    return out;
}

numpy_array<uint8_t> attached(const std::string& name, const numpy_array<uint8_t>& bits)
{
    const auto code = crc_from_name(name);
    const py::ssize_t width = bits.shape(1) + code.bits;
    numpy_array<uint8_t> out({ bits.shape(0), width });
    for (py::ssize_t i = 0; i < bits.shape(0); ++i) {
        attach(code, row(bits, i, bits.shape(1)), row(out, i, width));
    }
    return out;
}

numpy_array<uint8_t> segmented(const segmentation& how,
                               const numpy_array<uint8_t>& payload)
{
    numpy_array<uint8_t> blocks({ how.blocks, how.block_bits });
    segment(how, whole(payload), { blocks.mutable_data(), size_t(blocks.size()) });
    return blocks;
}

py::tuple desegmented(const segmentation& how, const numpy_array<uint8_t>& blocks)
{
    numpy_array<uint8_t> payload(how.payload);
    const bool ok =
        desegment(how, whole(blocks), row(payload, 0, py::ssize_t{ how.payload }));
    return py::make_tuple(payload, ok);
}

numpy_array<uint8_t>
matched(const rate_matcher& matcher, const numpy_array<uint8_t>& words, int coded)
{
    numpy_array<uint8_t> out({ words.shape(0), py::ssize_t{ std::max(0, coded) } });
    matcher.reach(coded); // throws for a negative length
    for (py::ssize_t i = 0; i < words.shape(0); ++i) {
        matcher.match(row(words, i, words.shape(1)), row(out, i, out.shape(1)));
    }
    return out;
}

//! Adds to `soft`, in place.
template <typename T>
void recovered(const rate_matcher& matcher,
               const numpy_array<T>& llr,
               py::array_t<T, py::array::c_style>& soft)
{
    for (py::ssize_t i = 0; i < llr.shape(0); ++i) {
        matcher.recover(
            row(llr, i, llr.shape(1)),
            { soft.mutable_data() + i * soft.shape(1), size_t(soft.shape(1)) });
    }
}

py::tuple result_of(const transport_block_decoder::outcome& out,
                    const numpy_array<uint8_t>& payload)
{
    return py::make_tuple(payload,
                          out.ok,
                          py::array_t<int>(out.iterations.size(), out.iterations.data()),
                          py::array_t<int>(out.block_ok.size(), out.block_ok.data()));
}

template <typename T>
py::tuple decoded(transport_block_decoder& decoder,
                  const numpy_array<T>& llr,
                  const transmission& how,
                  int payload_bits)
{
    numpy_array<uint8_t> payload(payload_bits);
    const auto to = row(payload, 0, py::ssize_t{ payload_bits });
    transport_block_decoder::outcome out;
    {
        py::gil_scoped_release others_may_run;
        out = decoder.decode(whole(llr), how, to);
    }
    return result_of(out, payload);
}

std::unique_ptr<transport_block_decoder> make_decoder(const segmentation& of,
                                                      int limited_buffer,
                                                      int max_iterations,
                                                      float scale,
                                                      int llr_positive,
                                                      bool int8,
                                                      const std::string& where,
                                                      int device)
{
    transport_block_decoder::parameters p;
    p.limited_buffer = limited_buffer;
    p.decoding.max_iterations = max_iterations;
    p.decoding.scale = scale;
    p.decoding.llr_positive = llr_positive;
    p.decoding.llr = int8 ? ldpc_decoder::number::int8 : ldpc_decoder::number::float32;
    return std::make_unique<transport_block_decoder>(
        of, p, backend_from_name(where), device);
}

} // namespace

void bind_nr5g(py::module& m)
{
    py::class_<segmentation>(
        m,
        "nr5g_segmentation",
        R"(How a transport block of 5G NR falls into code blocks (3GPP TS 38.212, 5.2.2).

cudaphy.nr5g.segmentation(payload, base_graph) makes it.)")
        .def_readonly("base_graph", &segmentation::base_graph, "1 or 2")
        .def_readonly("payload", &segmentation::payload, "A, bits of the transport block")
        .def_property_readonly(
            "transport_crc_bits",
            [](const segmentation& s) { return s.transport_crc.bits; },
            "24 (CRC 24A) for more than 3824 bits, else 16")
        .def_readonly("blocks", &segmentation::blocks, "C, code blocks")
        .def_readonly(
            "block_bits", &segmentation::block_bits, "K', a block's bits with its CRC")
        .def_readonly("lifting_size", &segmentation::lifting_size, "Z_c")
        .def_readonly("fillers", &segmentation::fillers, "K - K'")
        .def_property_readonly("coded_bits",
                               &segmentation::coded_bits,
                               "N, bits that the encoder gives, fillers included")
        .def(
            "code",
            [](const segmentation& s, int rows) {
                const int all = s.base_graph == 1 ? 46 : 42;
                return std::const_pointer_cast<ldpc_code>(s.code(rows ? rows : all));
            },
            py::arg("rows") = 0,
            "The blocks' ldpc_code with the first rows of its base graph; 0: all.");

    m.def("_nr5g_segmentation",
          [](int payload, int graph) { return segment(payload, graph); });
    m.def("_nr5g_base_graph", &base_graph);
    m.def("_nr5g_remainders", &remainders);
    m.def("_nr5g_attach", &attached);
    m.def("_nr5g_segment", &segmented);
    m.def("_nr5g_desegment", &desegmented);
    m.def("_nr5g_coded_lengths", [](int coded, int layers, int order, int blocks) {
        const auto lengths = coded_lengths(coded, layers, order, blocks);
        return py::array_t<int>(lengths.size(), lengths.data());
    });

    py::class_<rate_matcher>(m, "_nr5g_rate_matcher")
        .def(py::init(
            [](int graph, int z, int fillers, int order, int version, int limit) {
                return rate_matcher({ graph, z, fillers, order, version, limit });
            }))
        .def_property_readonly("soft_bits", &rate_matcher::soft_bits)
        .def("reach", &rate_matcher::reach)
        .def("rows", &rate_matcher::rows)
        .def("match", &matched)
        .def("recover", &recovered<float>)
        .def("recover_int8", &recovered<int8_t>);

    py::class_<transport_block_encoder>(m, "_nr5g_encoder")
        .def(py::init([](const segmentation& of,
                         int limited_buffer,
                         const std::string& where,
                         int device) {
            return std::make_unique<transport_block_encoder>(
                of, limited_buffer, backend_from_name(where), device);
        }))
        .def("encode",
             [](transport_block_encoder& encoder,
                const numpy_array<uint8_t>& payload,
                int coded,
                int layers,
                int order,
                int version) {
                 if (coded < 0) {
                     throw std::invalid_argument("nr5g: no " + std::to_string(coded) +
                                                 " bits can be sent");
                 }
                 numpy_array<uint8_t> out(coded);
                 const auto from = whole(payload);
                 const auto to = row(out, 0, py::ssize_t{ coded });
                 {
                     py::gil_scoped_release others_may_run;
                     encoder.encode(from, { layers, order, version }, to);
                 }
                 return out;
             });

    py::class_<transport_block_decoder>(m, "_nr5g_decoder")
        .def(py::init(&make_decoder))
        .def("decode",
             [](transport_block_decoder& decoder,
                const numpy_array<float>& llr,
                int layers,
                int order,
                int version,
                int payload) {
                 return decoded(decoder, llr, { layers, order, version }, payload);
             })
        .def("decode_int8",
             [](transport_block_decoder& decoder,
                const numpy_array<int8_t>& llr,
                int layers,
                int order,
                int version,
                int payload) {
                 return decoded(decoder, llr, { layers, order, version }, payload);
             })
        // A decode() that runs takes the interpreter's lock when it ends.
        .def("clear",
             &transport_block_decoder::clear,
             py::call_guard<py::gil_scoped_release>());
}

} // namespace gr::cudaphy::bindings
