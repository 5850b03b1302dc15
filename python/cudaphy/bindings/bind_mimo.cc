/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "arrays.h"
#include "estimator_arguments.h"
#include <gnuradio/cudaphy/kernels/equalizer.h>
#include <gnuradio/cudaphy/kernels/soft_demapper.h>

namespace gr::cudaphy::bindings {
namespace {

py::tuple estimate_channel(const numpy_array<complex64>& received,
                           int layers,
                           const estimator_arguments& pilots,
                           const std::string& where,
                           int device)
{
    auto q = queue::make(backend_from_name(where), device);
    const auto batch = received.shape(0), tones = received.shape(2),
               antennas = received.shape(3);
    const auto times = static_cast<py::ssize_t>(std::max<size_t>(1, pilots.times.size()));
    auto kernel = kernels::channel_estimator::make(
        estimator_parameters(
            static_cast<int>(antennas), layers, static_cast<int>(tones), pilots),
        q->where(),
        q->device());
    input<complex64> from(*q, received);
    output<complex64> h(*q, { batch, times, tones, antennas, layers });
    output<float> n0(*q, { batch, times });
    output<int> status(*q, { batch });
    {
        py::gil_scoped_release others_may_run;
        kernel->run(from, h, n0, status, *q);
        q->synchronize();
    }
    return py::make_tuple(h.result(), n0.result(), status.result());
}

py::tuple equalize(const numpy_array<complex64>& y,
                   const numpy_array<complex64>& h,
                   const numpy_array<float>& n0,
                   const std::string& method,
                   bool unbiased,
                   const std::string& where,
                   int device)
{
    auto q = queue::make(backend_from_name(where), device);
    const auto batch = h.shape(0), antennas = h.shape(1), layers = h.shape(2),
               symbols = y.shape(1);
    kernels::equalizer::parameters parameters{ static_cast<int>(antennas),
                                               static_cast<int>(layers) };
    parameters.method = kernels::detector_from_name(method);
    parameters.unbiased = unbiased;
    parameters.symbols = static_cast<int>(symbols);
    auto kernel = kernels::equalizer::make(parameters, q->where(), q->device());
    input<complex64> received(*q, y), channel(*q, h);
    input<float> noise_variance(*q, n0);
    output<complex64> x(*q, { batch, symbols, layers });
    output<float> noise(*q, { batch, symbols, layers });
    output<int> status(*q, { batch });
    {
        py::gil_scoped_release others_may_run;
        kernel->run(received, channel, noise_variance, x, noise, status, *q);
        q->synchronize();
    }
    return py::make_tuple(x.result(), noise.result(), status.result());
}

numpy_array<float> demap(const numpy_array<complex64>& x,
                         const numpy_array<float>& noise,
                         const kernels::constellation& points,
                         bool max_log,
                         int llr_positive,
                         const std::string& where,
                         int device)
{
    auto q = queue::make(backend_from_name(where), device);
    auto kernel = kernels::soft_demapper::make(
        { points, max_log, llr_positive }, q->where(), q->device());
    input<complex64> symbols(*q, x);
    input<float> variances(*q, noise);
    output<float> llr(*q, { x.size(), points.bits });
    {
        py::gil_scoped_release others_may_run;
        kernel->run(symbols, variances, llr, *q);
        q->synchronize();
    }
    return llr.result();
}

} // namespace

void bind_mimo(py::module& m)
{
    py::class_<kernels::constellation>(
        m,
        "constellation",
        "Points of a signal constellation and the bits each stands for.")
        .def(py::init(&kernels::constellation::make),
             py::arg("name"),
             "By name, one of constellation_names(). Raises ValueError for another.")
        .def_readonly("name", &kernels::constellation::name)
        .def_readonly("bits", &kernels::constellation::bits, "per symbol")
        .def_property_readonly(
            "points",
            [](const kernels::constellation& c) {
                return py::array_t<complex64>(c.points.size(), c.points.data());
            },
            "complex64, (2**bits,): the point of each label, whose most significant bit "
            "is sent first; "
            "unit mean energy")
        .def("__repr__", [](const kernels::constellation& c) {
            return "<constellation " + c.name + ">";
        });
    m.def("constellation_names",
          &kernels::constellation_names,
          "The names that constellation() knows.");
    m.def(
        "orthogonal_pilots",
        [](int pilot_symbols, int layers) {
            const auto pilots = kernels::orthogonal_pilots(pilot_symbols, layers);
            return py::array_t<complex64>({ pilot_symbols, layers }, pilots.data());
        },
        py::arg("pilot_symbols"),
        py::arg("layers"),
        "Pilots (pilot_symbols, layers), complex64, with orthogonal columns of unit "
        "modulus: the first columns "
        "of a DFT matrix. Raises ValueError unless 1 <= layers <= pilot_symbols.");
    bind_pilots(m);
    m.def("_estimate_channel",
          [](const numpy_array<complex64>& received,
             int layers,
             const py::object& pilots,
             const std::string& method,
             double delay_spread,
             double first_delay,
             double snr_db,
             int window,
             const std::vector<double>& pilot_times,
             const std::vector<double>& times,
             double doppler,
             const std::vector<int>& tone_numbers,
             int group_symbols,
             const std::string& where,
             int device) {
              return estimate_channel(received,
                                      layers,
                                      { pilots,
                                        method,
                                        delay_spread,
                                        first_delay,
                                        snr_db,
                                        window,
                                        pilot_times,
                                        times,
                                        doppler,
                                        tone_numbers,
                                        group_symbols },
                                      where,
                                      device);
          });
    m.def("_equalize", &equalize);
    m.def("_demap", &demap);
}

} // namespace gr::cudaphy::bindings
