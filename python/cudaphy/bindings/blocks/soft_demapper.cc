/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "bindings/ldpc_arguments.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/soft_demapper.h>

namespace gr::cudaphy::bindings {
namespace {

using kernels::constellation;

//! A constellation, or the name of one.
constellation constellation_of(const py::handle& given)
{
    if (py::isinstance<constellation>(given)) {
        return given.cast<constellation>();
    }
    if (!py::isinstance<py::str>(given)) {
        throw py::type_error("a constellation is a name of constellation_names(), or "
                             "made by constellation(); this one is " +
                             shortened(py::repr(given)));
    }
    return constellation::make(given.cast<std::string>());
}

//! A list of them, or a dict name -> constellation.
std::vector<constellation> constellations_of(const py::object& given)
{
    std::vector<constellation> all;
    if (given.is_none()) {
        return all;
    }
    if (py::isinstance<py::dict>(given)) {
        for (const auto& [name, one] : given.cast<py::dict>()) {
            all.push_back(constellation_of(one));
            all.back().name = name.cast<std::string>();
        }
        return all;
    }
    for (const auto& one : given) {
        all.push_back(constellation_of(one));
    }
    return all;
}

} // namespace

void bind_soft_demapper(py::module& m)
{
    block_class<soft_demapper>(m, "soft_demapper", R"(Symbols to LLRs.

soft_demapper(constellation, vlen=1, max_log=True, llr_positive=0, noise_input=False, noise_variance=0.01, length_tag_key="", backend="auto", device=0, max_batch=0, max_latency=0.0, type="float", llr_steps=12.0, *, points=None, labels=None, bit_interleaver="", frame_symbols=0, frame_bits=0, constellation_tag_key="", constellations=None)

In 0: vectors of vlen complex; in 1 (noise_input): noise variances, vectors of vlen floats. Out: LLRs, vlen * bits an item, first-sent bit first; positive means the bit llr_positive (docs/conventions.md).

constellation: a name of constellation_names(), or a constellation. points, labels: your own points in its place, as constellation(points, labels) takes them.
max_log: only the nearest points count. type: "float"; "float16", shorts (IEEE 754 binary16); or "int8", bytes in steps of 1 / llr_steps, saturated at 127 steps.
bit_interleaver: undone, such as "012": the order in which a symbol's bits are read from the columns of DVB-S2's block interleaver, whose rows are a frame's frame_symbols symbols. Items are then whole frames of symbols; frame_bits LLRs a frame are put out, 0: all; those behind are padding.
constellation_tag_key: names the tag on a packet's first item with the name of its constellation, a symbol; tags bit_interleaver (a symbol; the packet is then a frame of DVB-S2 or S2X) and noise_variance (a number, from this packet on) are heeded, too. Empty: no such tag is. Needs a length tag key. A packet of none of them leaves as a PDU with `reason` by message port fail.
constellations: what packets may name beside the first, a list or a dict name -> constellation; None: all of DVB-S2 and S2X.

length_tag_key: names the tag with a packet's length in items of input 0; empty: a plain stream.
backend: "auto", "cuda", "cpu" or "reference"; device: index of the GPU.
max_batch: items, or frames, in one launch at most, 0: automatic; max_latency: seconds that an item may wait for a fuller batch.

Raises ValueError for a parameter out of range, TypeError, BackendUnavailable.)")
        .def(py::init([](const py::object& which,
                         int vlen,
                         bool max_log,
                         int llr_positive,
                         bool noise_input,
                         float noise_variance,
                         const std::string& length_tag_key,
                         const std::string& backend,
                         int device,
                         int max_batch,
                         double max_latency,
                         const std::string& type,
                         float llr_steps,
                         const py::kwargs& more) {
                 keywords left(more);
                 py::object points = py::none(), labels = py::list(),
                            further = py::none();
                 kernels::bit_interleaver interleaver;
                 std::string tag_key;
                 left.take("points", points);
                 left.take("labels", labels);
                 left.take("bit_interleaver", interleaver.columns);
                 left.take("frame_symbols", interleaver.symbols);
                 left.take("frame_bits", interleaver.bits);
                 left.take("constellation_tag_key", tag_key);
                 left.take("constellations", further);
                 left.finish();
                 return soft_demapper::make(
                     { points.is_none() ? constellation_of(which)
                                        : py::type::of<constellation>()(points, labels)
                                              .cast<constellation>(),
                       vlen,
                       max_log,
                       llr_positive,
                       noise_input,
                       noise_variance,
                       type,
                       llr_steps,
                       interleaver,
                       tag_key,
                       constellations_of(further),
                       length_tag_key,
                       backend,
                       device,
                       max_batch,
                       max_latency });
             }),
             py::arg("constellation") = "qpsk",
             py::arg("vlen") = 1,
             py::arg("max_log") = true,
             py::arg("llr_positive") = 0,
             py::arg("noise_input") = false,
             py::arg("noise_variance") = 0.01f,
             BATCH_ARGUMENTS,
             py::arg("type") = "float",
             py::arg("llr_steps") = 12.0f)
        .def("set_noise_variance",
             &soft_demapper::set_noise_variance,
             py::arg("noise_variance"),
             "E|n|^2, linear; from the next batch on, or the next packet if tags are "
             "heeded.")
        .def("noise_variance", &soft_demapper::noise_variance, "As last set.")
        .def("backend", &soft_demapper::backend, "The backend in use.")
        .def("refused_packets",
             &soft_demapper::refused_packets,
             "Packets passed over: of no known constellation, or of a wrong length.");
}

} // namespace gr::cudaphy::bindings
