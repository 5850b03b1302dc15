/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "bindings/ldpc_arguments.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/bch_decoder.h>
#include <gnuradio/cudaphy/bch_encoder.h>

namespace gr::cudaphy::bindings {
namespace {

using bch_code_ptr = std::shared_ptr<kernels::bch_code>;

// What the docstrings of both blocks say of their arguments.
#define BCH_ARGUMENTS_TEXT                                                             \
    "\n\npacked_input, packed_output: eight bits a byte, the first one highest; each " \
    "word begins with a byte of its own.\ncodes: further codes, a dict name -> "       \
    "bch_code, or a list (each by its own name); a packet names its code by a tag "    \
    "code_tag_key on its first item: a symbol, or a number, 0 for `code`, 1 for the "  \
    "first of codes; without it, the packet is of `code`. Needs a length tag key. A "  \
    "packet of no such code, or of a wrong length, goes as a PDU with `reason` (and, " \
    "for a length, `received` and `expected`) to message port `fail`. A tag for the "  \
    "LDPC blocks also serves here if the codes have the same names or "                \
    "numbers." BATCH_ARGUMENTS_TEXT

void take_block(keywords& left, kernels::bch_packing& packing, bch_block_options& block)
{
    left.take("packed_input", packing.packed_input);
    left.take("packed_output", packing.packed_output);
    left.take_codes(block.codes);
    left.take("code_tag_key", block.code_tag_key);
}

} // namespace

void bind_bch_blocks(py::module& m)
{
    block_class<bch_encoder>(
        m,
        "bch_encoder",
        "BCH encoder.\n\nbch_encoder(code, length_tag_key=\"\", backend=\"auto\", "
        "device=0, max_batch=0, max_latency=0.0, *, packed_input=False, "
        "packed_output=False, codes=None, code_tag_key=\"bch_code\")\n\nIn: bytes, a bit "
        "each, k an information word; out: bytes, n a codeword." BCH_ARGUMENTS_TEXT)
        .def(py::init([](bch_code_ptr code,
                         const std::string& length_tag_key,
                         const std::string& backend,
                         int device,
                         int max_batch,
                         double max_latency,
                         const py::kwargs& more) {
                 bch_block_options block{
                     length_tag_key, backend, device, max_batch, max_latency
                 };
                 kernels::bch_packing packing;
                 keywords left(more);
                 take_block(left, packing, block);
                 left.finish();
                 return bch_encoder::make(code, packing, block);
             }),
             py::arg("code"),
             BATCH_ARGUMENTS)
        .def("backend", &bch_encoder::backend, "The backend in use.")
        .def("refused_packets",
             &bch_encoder::refused_packets,
             "Packets passed over, of no known code or of a wrong length.");

    block_class<bch_decoder>(
        m,
        "bch_decoder",
        "BCH decoder.\n\nbch_decoder(code, on_failure=\"mark\", length_tag_key=\"\", "
        "backend=\"auto\", device=0, max_batch=0, max_latency=0.0, *, "
        "packed_input=False, packed_output=False, word_tags=\"all\", codes=None, "
        "code_tag_key=\"bch_code\")\n\nIn: bytes, a bit each, n a received word, such as "
        "the information bits of an LDPC decoder of DVB-S2; out: bytes, k an information "
        "word. Tags on each word's first item: 'bch_corrected' (long: bits that were "
        "wrong, parity bits among them; -1 if the word is not decoded), 'bch_ok' (bool: "
        "it is).\n\non_failure: \"mark\" puts the information bits out as they came, "
        "\"drop\" nothing. word_tags: \"all\" words have these tags, or \"failed\" "
        "ones." BCH_ARGUMENTS_TEXT)
        .def(py::init([](bch_code_ptr code,
                         const std::string& on_failure,
                         const std::string& length_tag_key,
                         const std::string& backend,
                         int device,
                         int max_batch,
                         double max_latency,
                         const py::kwargs& more) {
                 bch_output_options put_out{ on_failure };
                 bch_block_options block{
                     length_tag_key, backend, device, max_batch, max_latency
                 };
                 kernels::bch_packing packing;
                 keywords left(more);
                 left.take("word_tags", put_out.word_tags);
                 take_block(left, packing, block);
                 left.finish();
                 return bch_decoder::make(code, packing, put_out, block);
             }),
             py::arg("code"),
             py::arg("on_failure") = "mark",
             BATCH_ARGUMENTS)
        .def("backend", &bch_decoder::backend, "The backend in use.")
        .def("frames", &bch_decoder::frames, "Words that came.")
        .def("frame_errors", &bch_decoder::frame_errors, "Of these, those not decoded.")
        .def("corrected_bits",
             &bch_decoder::corrected_bits,
             "Bits that were wrong in the decoded words.")
        .def("refused_packets",
             &bch_decoder::refused_packets,
             "Packets passed over, of no known code or of a wrong length.");
}

} // namespace gr::cudaphy::bindings
