/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// What the bindings of blocks and decoders share.

#include <gnuradio/block.h>
#include <pybind11/pybind11.h>

namespace gr::cudaphy::bindings {

template <typename Block>
using block_class =
    pybind11::class_<Block, gr::block, gr::basic_block, std::shared_ptr<Block>>;

// The last arguments of every block that gathers batches.
#define BATCH_ARGUMENTS                                                                 \
    py::arg("length_tag_key") = "", py::arg("backend") = "auto", py::arg("device") = 0, \
    py::arg("max_batch") = 0, py::arg("max_latency") = 0.0

// The same for docstrings.
#define BATCH_ARGUMENTS_TEXT                                                             \
    "\n\nlength_tag_key: names the tag with a packet's length in items of input 0; "     \
    "empty: a plain stream.\nbackend: \"auto\", \"cuda\", \"cpu\" or \"reference\"; "    \
    "device: index of the GPU.\nmax_batch: frames in one launch at most, 0: automatic; " \
    "max_latency: seconds that a frame may wait for a fuller batch.\nRaises ValueError " \
    "for a parameter out of range, BackendUnavailable if the backend can't be had."

//! What an LDPC decoder, or the decoder at a receiver's end, has counted.
template <typename Class, typename... More>
pybind11::class_<Class, More...>&
bind_word_counters(pybind11::class_<Class, More...>& bound)
{
    return bound.def("frames", &Class::frames, "Codewords decoded.")
        .def("frame_errors",
             &Class::frame_errors,
             "Of these, those that did not become codewords.")
        .def("average_iterations",
             &Class::average_iterations,
             "Iterations of a codeword, in the mean.");
}

void bind_bch_blocks(pybind11::module& m);
void bind_dvb_blocks(pybind11::module& m);
void bind_fdtd_blocks(pybind11::module& m);
void bind_ldpc_blocks(pybind11::module& m);
void bind_ldpc_fec(pybind11::module& m);
void bind_ldpc_pdu(pybind11::module& m);
void bind_linalg_blocks(pybind11::module& m);
void bind_mimo_blocks(pybind11::module& m);
void bind_nr_blocks(pybind11::module& m);
void bind_nr_ofdm_blocks(pybind11::module& m);
void bind_ofdm(pybind11::module& m);
void bind_packets(pybind11::module& m);
void bind_receiver_blocks(pybind11::module& m);
void bind_soft_demapper(pybind11::module& m);
void bind_sparse_blocks(pybind11::module& m);
void bind_symbols_blocks(pybind11::module& m);

} // namespace gr::cudaphy::bindings
