/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "bindings/numpy_copy.h"
#include <gnuradio/cudaphy/kernels/nr/receiver.h>

// What nr_receive.py makes functions on numpy arrays of.

namespace gr::cudaphy::bindings {
namespace {

using namespace kernels::nr;

noise_model noise_from_name(const std::string& name)
{
    if (name == "auto" || name == "white" || name == "irc") {
        return name == "auto"    ? noise_model::automatic
               : name == "white" ? noise_model::white
                                 : noise_model::colored;
    }
    throw std::invalid_argument("nr: interference is \"auto\", \"white\" or \"irc\", not "
                                "\"" +
                                name + "\"");
}

py::dict dict_of(const reception& got)
{
    py::list payload, ok, block_ok, iterations, sinr;
    for (const auto& one : got.codewords) {
        payload.append(array_of(one.payload));
        ok.append(one.ok);
        block_ok.append(array_of(one.block_ok).attr("astype")("bool"));
        iterations.append(array_of(one.iterations));
        sinr.append(one.sinr_db);
    }
    py::dict out;
    out["payload"] = py::tuple(payload);
    out["ok"] = py::tuple(ok);
    out["block_ok"] = py::tuple(block_ok);
    out["iterations"] = py::tuple(iterations);
    out["sinr_db"] = py::tuple(sinr);
    out["reason"] = got.reason;
    out["timing_offset"] = got.timing_offset;
    out["frequency_offset"] = got.frequency_offset;
    out["noise_variance"] = got.noise_variance;
    out["delay_spread"] = got.delay_spread;
    out["doppler"] = got.doppler;
    out["dmrs_snr_db"] = got.dmrs_snr_db;
    out["irc"] = got.colored_noise;
    return out;
}

//! Of each channel: redundancy versions, harq or None, process, new data.
using order_tuple = std::tuple<std::vector<int>, harq*, int, bool>;

py::list received(receiver& with,
                  const numpy_array<complex64>& grid,
                  int slot,
                  const std::vector<order_tuple>& given)
{
    std::vector<reception_order> orders;
    for (const auto& [versions, combining, process, new_data] : given) {
        orders.push_back({ versions, combining, process, new_data });
    }
    const view<const complex64> from(grid.data(), grid.size());
    std::vector<reception> got;
    {
        py::gil_scoped_release others_may_run;
        got = with.run(from, slot, orders);
    }
    py::list out;
    for (const auto& one : got) {
        out.append(dict_of(one));
    }
    return out;
}

} // namespace

void bind_nr_receiver(py::module& m)
{
    py::class_<harq>(m, "_nr_harq")
        .def(py::init<int, size_t>())
        .def("processes", &harq::processes)
        .def("max_bytes", &harq::max_bytes)
        .def("bytes", &harq::bytes, py::call_guard<py::gil_scoped_release>())
        .def("holds", &harq::holds, py::call_guard<py::gil_scoped_release>())
        .def("release", &harq::release, py::call_guard<py::gil_scoped_release>());
    py::class_<receiver>(m, "_nr_receiver")
        .def(py::init([](const std::vector<std::shared_ptr<shared_channel>>& channels,
                         int antennas,
                         const std::string& estimator,
                         const std::string& interference,
                         double delay_spread,
                         double doppler,
                         bool track_frequency,
                         int max_iterations,
                         const std::string& where,
                         int device) {
            receiver_parameters p;
            p.estimator = kernels::pilot_method_from_name(estimator);
            p.noise = noise_from_name(interference);
            p.delay_spread = delay_spread;
            p.doppler = doppler;
            p.track_frequency = track_frequency;
            p.max_iterations = max_iterations;
            return std::make_unique<receiver>(
                std::vector<shared_channel::sptr>(channels.begin(), channels.end()),
                antennas,
                p,
                backend_from_name(where),
                device);
        }))
        .def("run", &received);
}

} // namespace gr::cudaphy::bindings
