/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/ldpc_arguments.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/ldpc_decoder.h>
#include <gnuradio/cudaphy/ldpc_encoder.h>

namespace gr::cudaphy::bindings {
namespace {

} // namespace

void bind_ldpc_blocks(py::module& m)
{
    block_class<ldpc_encoder>(m, "ldpc_encoder", R"(LDPC encoder.

ldpc_encoder(code, length_tag_key="", backend="auto", device=0, max_batch=0, max_latency=0.0, *, packed_input=False, packed_output=False, codes=None, code_tag_key="ldpc_code")

In: bytes, a bit each, k an information word; out: bytes, n a codeword.

packed_input, packed_output: eight bits a byte, the first one highest, ceil(k / 8) or ceil(n / 8) bytes a word.
length_tag_key: names the tag with a packet's length in items; empty: a plain stream.
codes: further codes, a dict name -> ldpc_code, or a list (each by its own name); a packet names its code by a tag code_tag_key on its first item: a symbol, or a number, 0 for `code`, 1 for the first of codes; without it, the packet is of `code`. Needs a length tag key. A packet of no such code, or of a wrong length, goes as a PDU with `reason` (and, for a length, `received` and `expected`) to message port `fail`.
backend: "auto", "cuda", "cpu" or "reference"; device: index of the GPU.
max_batch: codewords in one launch at most, 0: automatic; max_latency: seconds that a word may wait for a fuller batch.

Raises ValueError for a parameter out of range, TypeError, BackendUnavailable.)")
        .def(py::init([](code_ptr code,
                         const std::string& length_tag_key,
                         const std::string& backend,
                         int device,
                         int max_batch,
                         double max_latency,
                         const py::kwargs& more) {
                 ldpc_block_options block{
                     length_tag_key, backend, device, max_batch, max_latency
                 };
                 bool packed_input = false, packed_output = false;
                 keywords left(more);
                 left.take("packed_input", packed_input);
                 left.take("packed_output", packed_output);
                 left.take_codes(block.codes);
                 left.take("code_tag_key", block.code_tag_key);
                 left.finish();
                 return ldpc_encoder::make(code, packed_input, packed_output, block);
             }),
             py::arg("code"),
             BATCH_ARGUMENTS)
        .def("backend", &ldpc_encoder::backend, "The backend in use.")
        .def("refused_packets",
             &ldpc_encoder::refused_packets,
             "Packets passed over, of no known code or of a wrong length.");

    block_class<ldpc_decoder> decoder(m, "ldpc_decoder", R"(LDPC decoder.

ldpc_decoder(code, max_iterations=20, scale=0.0, early_stop=True, output="info", on_failure="mark", llr_positive=0, length_tag_key="", backend="auto", device=0, max_batch=0, max_latency=0.0, *, type="float", packed=False, soft_output=False, word_tags="all", algorithm="normalized_min_sum", offset=0.5, schedule="layered", arithmetic="auto", llr_steps=0.0, llr_scale=1.0, stop_crc="", codes=None, code_tag_key="ldpc_code")

In: n LLRs a codeword (docs/conventions.md), floats, or with type "float16" shorts (IEEE 754 binary16), with "int8" bytes. Out 0: bytes, a bit each: output "info": k, "codeword": n. Out 1, with soft_output: floats, the LLR of each of these bits after decoding. Tags on each word's first item: 'iterations' (long), 'ldpc_ok' (bool: every parity check holds, apart from those with a parity bit of their own, or stop_crc), 'nan_llrs' (long, where LLRs came as NaN).

max_iterations: 1 to 1000. scale: fixed factor of min-sum; 0: rises about the code's own, default_scale.
early_stop: stop each word as soon as it is decoded.
on_failure: "mark" puts out hard decisions, "drop" nothing. word_tags: "all" words have these tags, or "failed" ones, and those with NaN; tags limit the rate of short codes on a GPU. llr_positive: the bit that a positive LLR means.
type: "float", "float16" or "int8". packed: eight bits a byte, the first one highest, a word's last byte filled with zeros.
algorithm: "normalized_min_sum", "offset_min_sum" (with offset) or "sum_product"; schedule: "layered" or "flooding".
arithmetic: "auto", "float32" or "int8"; llr_steps: steps of int8 arithmetic in a unit of a float LLR, above 0 to 64; 0: each word's own, which fit LLRs in any unit. int8 arithmetic is layered normalised min-sum, and "auto" takes it there.
llr_scale: what the LLRs are multiplied by, above 0 to 1e6, where they are in other units than natural logarithms: 1/12 for int8 of 12 steps a unit. Sum-product and the offset need it; normalised min-sum does not care.
stop_crc: stop where the information bits pass this check of 3GPP TS 38.212: "24A", "24B", "24C", "16", "11" or "6"; ldpc_ok then says whether they do.
length_tag_key: names the tag with a packet's length in items; empty: a plain stream.
codes: further codes, a dict name -> ldpc_code, or a list (each by its own name); a packet names its code by a tag code_tag_key on its first item: a symbol, or a number, 0 for `code`, 1 for the first of codes; without it, the packet is of `code`. Needs a length tag key. A packet of no such code, or of a wrong length, goes as a PDU with `reason` (and, for a length, `received` and `expected`) to message port `fail`.
backend: "auto", "cuda", "cpu" or "reference"; device: index of the GPU.
max_batch: codewords in one launch at most, 0: automatic; max_latency: seconds that a word may wait for a fuller batch.

Raises ValueError for a parameter out of range, TypeError, BackendUnavailable.)");
    decoder
        .def(py::init([](code_ptr code,
                         int max_iterations,
                         float scale,
                         bool early_stop,
                         const std::string& output,
                         const std::string& on_failure,
                         int llr_positive,
                         const std::string& length_tag_key,
                         const std::string& backend,
                         int device,
                         int max_batch,
                         double max_latency,
                         const py::kwargs& more) {
                 ldpc_decoder_options decoding;
                 decoding.max_iterations = max_iterations;
                 decoding.scale = scale;
                 decoding.early_stop = early_stop;
                 decoding.output = output;
                 decoding.llr_positive = llr_positive;
                 ldpc_output_options put_out{ on_failure, false };
                 ldpc_block_options block{
                     length_tag_key, backend, device, max_batch, max_latency
                 };
                 keywords left(more);
                 left.take("type", decoding.type);
                 left.take_more_decoding(decoding);
                 left.take("soft_output", put_out.soft);
                 left.take("word_tags", put_out.word_tags);
                 left.take_codes(block.codes);
                 left.take("code_tag_key", block.code_tag_key);
                 left.finish();
                 return ldpc_decoder::make(code, decoding, put_out, block);
             }),
             py::arg("code"),
             py::arg("max_iterations") = 20,
             py::arg("scale") = 0.0f,
             py::arg("early_stop") = true,
             py::arg("output") = "info",
             py::arg("on_failure") = "mark",
             py::arg("llr_positive") = 0,
             BATCH_ARGUMENTS)
        .def("backend", &ldpc_decoder::backend, "The backend in use.")
        .def("nan_llrs", &ldpc_decoder::nan_llrs, "LLRs that were NaN, each an erasure.")
        .def("refused_packets",
             &ldpc_decoder::refused_packets,
             "Packets passed over, of no known code or of a wrong length.");
    bind_word_counters(decoder);
}

} // namespace gr::cudaphy::bindings
