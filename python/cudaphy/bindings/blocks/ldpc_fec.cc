/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/ldpc_arguments.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/ldpc_decoder_def.h>
#include <gnuradio/cudaphy/ldpc_encoder_def.h>

namespace gr::cudaphy::bindings {
namespace {

ldpc_decoder_def::sptr make_decoder(code_ptr code,
                                    int batch,
                                    const std::string& backend,
                                    int device,
                                    const py::kwargs& options)
{
    ldpc_decoder_options decoding;
    keywords left(options);
    left.take("max_iterations", decoding.max_iterations);
    left.take("scale", decoding.scale);
    left.take("early_stop", decoding.early_stop);
    left.take("algorithm", decoding.algorithm);
    left.take("offset", decoding.offset);
    left.take("schedule", decoding.schedule);
    left.take("arithmetic", decoding.arithmetic);
    left.take("llr_steps", decoding.llr_steps);
    left.take("llr_scale", decoding.llr_scale);
    left.take("stop_crc", decoding.stop_crc);
    std::string info_bits = "code";
    left.take("info_bits", info_bits);
    left.finish();
    return ldpc_decoder_def::make(code, decoding, batch, backend, device, info_bits);
}

} // namespace

void bind_ldpc_fec(py::module& m)
{
    py::class_<ldpc_decoder_def,
               gr::fec::generic_decoder,
               std::shared_ptr<ldpc_decoder_def>>
        decoder(m, "ldpc_decoder_def", R"(LDPC decoder object for GNU Radio's FEC blocks.

For fec.extended_decoder, fec.decoder, fec.tagged_decoder and fec.async_decoder: n floats a codeword in, positive for bit 1 as everywhere in gr-fec; k bits out. One call decodes `batch` codewords (1 to 65536), or as many as the frame size holds that tagged and async decoder set.

ldpc_decoder_def.make(code, batch=1, backend="auto", device=0, *, max_iterations=20, scale=0.0, early_stop=True, algorithm="normalized_min_sum", offset=0.5, schedule="layered", arithmetic="auto", llr_steps=0.0, llr_scale=1.0, stop_crc="", info_bits="code")

max_iterations to stop_crc: as of ldpc_decoder. info_bits: "code", the information bits stand where the code has them, or "last", where GNU Radio's own LDPC encoder puts them for the same alist file, the last columns if the others are independent.

Raises ValueError for a parameter out of range, TypeError, BackendUnavailable.)");
    decoder
        .def_static("make",
                    &make_decoder,
                    py::arg("code"),
                    py::arg("batch") = 1,
                    py::arg("backend") = "auto",
                    py::arg("device") = 0,
                    "Makes a decoder object.")
        .def("backend", &ldpc_decoder_def::backend, "The backend in use.")
        .def("nan_llrs",
             &ldpc_decoder_def::nan_llrs,
             "LLRs that were NaN, each an erasure.");
    bind_word_counters(decoder);

    py::class_<ldpc_encoder_def,
               gr::fec::generic_encoder,
               std::shared_ptr<ldpc_encoder_def>>(
        m, "ldpc_encoder_def", R"(LDPC encoder object for GNU Radio's FEC blocks.

For fec.extended_encoder, fec.encoder, fec.tagged_encoder and fec.async_encoder: k bits a word in, n out. One call encodes `batch` words (1 to 65536), or as many as the frame size holds.

ldpc_encoder_def.make(code, batch=1, backend="auto", device=0, info_bits="code")

info_bits: "code", the information bits stand where the code has them, or "last", where GNU Radio's own LDPC encoder and decoder have them for the same alist file.

Raises ValueError for a parameter out of range, BackendUnavailable.)")
        .def_static(
            "make",
            [](code_ptr code,
               int batch,
               const std::string& backend,
               int device,
               const std::string& info_bits) {
                return ldpc_encoder_def::make(code, batch, backend, device, info_bits);
            },
            py::arg("code"),
            py::arg("batch") = 1,
            py::arg("backend") = "auto",
            py::arg("device") = 0,
            py::arg("info_bits") = "code",
            "Makes an encoder object.")
        .def("backend", &ldpc_encoder_def::backend, "The backend in use.");
}

} // namespace gr::cudaphy::bindings
