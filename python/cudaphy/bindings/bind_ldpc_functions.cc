/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldpc_arguments.h"
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>

namespace gr::cudaphy::bindings {
namespace {

py::ssize_t bytes_of(int bits, bool packed) { return packed ? (bits + 7) / 8 : bits; }

numpy_array<uint8_t> encode(code_ptr code,
                            const numpy_array<uint8_t>& info,
                            bool packed_input,
                            bool packed_output,
                            const std::string& where,
                            int device)
{
    auto q = queue::make(backend_from_name(where), device);
    auto kernel = kernels::ldpc_encoder::make(
        code, { packed_input, packed_output }, q->where(), q->device());
    input<uint8_t> from(*q, info);
    output<uint8_t> words(*q, { info.shape(0), bytes_of(code->n(), packed_output) });
    {
        py::gil_scoped_release others_may_run;
        kernel->run(from, words, *q);
        q->synchronize();
    }
    return words.result();
}

//! The LLRs' bytes, (batch, n · bytes of one), of the type that `options` name.
py::tuple decode(code_ptr code,
                 const numpy_array<uint8_t>& llr,
                 bool with_soft,
                 const std::string& where,
                 int device,
                 const py::kwargs& options)
{
    ldpc_decoder_options decoding;
    keywords left(options);
    left.take("type", decoding.type);
    left.take_decoding(decoding);
    left.finish();
    const auto p = decoding.parameters();
    auto q = queue::make(backend_from_name(where), device);
    auto kernel = kernels::ldpc_decoder::make(code, p, q->where(), q->device());
    const auto batch = llr.shape(0);
    const int length = p.whole_words ? code->n() : code->k();
    input<uint8_t> from(*q, llr);
    output<uint8_t> bits(*q, { batch, bytes_of(length, p.packed) });
    output<int> iterations(*q, { batch }), ok(*q, { batch });
    output<float> soft(*q, { with_soft ? batch : 0, length });
    {
        py::gil_scoped_release others_may_run;
        kernel->run({ view<const uint8_t>(from).data(),
                      static_cast<size_t>(batch) * code->n(),
                      p.llr },
                    { bits, iterations, ok, soft },
                    *q);
        q->synchronize();
    }
    return py::make_tuple(bits.result(), iterations.result(), ok.result(), soft.result());
}

} // namespace

void bind_ldpc_functions(py::module& m)
{
    m.def("_ldpc_encode", &encode);
    m.def("_ldpc_decode", &decode);
}

} // namespace gr::cudaphy::bindings
