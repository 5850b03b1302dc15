/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/ldpc_arguments.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/ldpc_decoder_pdu.h>
#include <gnuradio/cudaphy/ldpc_encoder_pdu.h>

namespace gr::cudaphy::bindings {
namespace {

void take_where(keywords& left, ldpc_block_options& block)
{
    left.take("backend", block.backend);
    left.take("device", block.device);
    left.take("max_batch", block.max_batch);
    left.take_codes(block.codes);
    left.take("code_tag_key", block.code_tag_key);
}

} // namespace

void bind_ldpc_pdu(py::module& m)
{
    block_class<ldpc_encoder_pdu>(m, "ldpc_encoder_pdu", R"(LDPC encoder of PDUs.

ldpc_encoder_pdu(code, *, packed_input=False, packed_output=False, backend="auto", device=0, max_batch=0, codes=None, code_tag_key="ldpc_code")

Message port pdus in: u8 vectors of k bits a word, one a byte, or packed_input eight, the first one highest; pdus out: u8 vectors of n bits a codeword, or packed_output; the metadata as it came. Port fail: a PDU that can't be encoded, as it came, with `reason` in its metadata, one of a few symbols, and, where the length is wrong, `received` and `expected` (longs: its items, and those of a word).

backend: "auto", "cuda", "cpu" or "reference"; device: index of the GPU; max_batch: codewords in one launch at most, 0: automatic. codes: further codes, a dict name -> ldpc_code, or a list; the metadata names the PDU's code under code_tag_key: a symbol, or a number, 0 for `code`, 1 for the first of codes.

Raises ValueError for a parameter out of range, TypeError, BackendUnavailable.)")
        .def(py::init([](code_ptr code, const py::kwargs& options) {
                 ldpc_block_options block;
                 bool packed_input = false, packed_output = false;
                 keywords left(options);
                 left.take("packed_input", packed_input);
                 left.take("packed_output", packed_output);
                 take_where(left, block);
                 left.finish();
                 return ldpc_encoder_pdu::make(code, packed_input, packed_output, block);
             }),
             py::arg("code"))
        .def("backend", &ldpc_encoder_pdu::backend, "The backend in use.")
        .def("refused_packets",
             &ldpc_encoder_pdu::refused_packets,
             "PDUs that could not be encoded.");

    block_class<ldpc_decoder_pdu> decoder(m, "ldpc_decoder_pdu", R"(LDPC decoder of PDUs.

ldpc_decoder_pdu(code, *, max_iterations=20, scale=0.0, early_stop=True, output="info", llr_positive=0, algorithm="normalized_min_sum", offset=0.5, schedule="layered", arithmetic="auto", llr_steps=0.0, llr_scale=1.0, packed=False, stop_crc="", soft_output=False, backend="auto", device=0, max_batch=0, codes=None, code_tag_key="ldpc_code")

Message port pdus in: vectors of n LLRs a codeword (docs/conventions.md), f32, or s8, or u8 whose bytes are int8 LLRs. Port ok: u8 vectors of bits, with `iterations` (long: the most that a word took), `ldpc_ok` (bool) and, where it held NaN, `nan_llrs` (long: how many) added to the metadata; port fail: the same where a codeword failed, with `frame_errors` (long) and `reason`; and PDUs that can't be decoded, as they came, with `reason`, one of a few symbols, and, where the length is wrong, `received` and `expected` (longs: its items, and those of a codeword). With soft_output, port soft: f32 vectors, the LLR of each bit after decoding.

max_iterations to stop_crc: as of ldpc_decoder. backend: "auto", "cuda", "cpu" or "reference"; device: index of the GPU; max_batch: codewords in one launch at most, 0: automatic. codes: further codes, a dict name -> ldpc_code, or a list; the metadata names the PDU's code under code_tag_key: a symbol, or a number, 0 for `code`, 1 for the first of codes.

Raises ValueError for a parameter out of range, TypeError, BackendUnavailable.)");
    decoder
        .def(py::init([](code_ptr code, const py::kwargs& options) {
                 ldpc_decoder_options decoding;
                 ldpc_block_options block;
                 bool soft = false;
                 keywords left(options);
                 left.take_decoding(decoding);
                 left.take("soft_output", soft);
                 take_where(left, block);
                 left.finish();
                 return ldpc_decoder_pdu::make(code, decoding, soft, block);
             }),
             py::arg("code"))
        .def("backend", &ldpc_decoder_pdu::backend, "The backend in use.")
        .def("nan_llrs",
             &ldpc_decoder_pdu::nan_llrs,
             "LLRs that were NaN, each an erasure.")
        .def("refused_packets",
             &ldpc_decoder_pdu::refused_packets,
             "PDUs that could not be decoded.");
    bind_word_counters(decoder);
}

} // namespace gr::cudaphy::bindings
