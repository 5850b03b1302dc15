/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/batch_call.h"
#include "bindings/estimator_arguments.h"
#include "bindings/interruptible.h"
#include "bindings/ldpc_arguments.h"
#include <gnuradio/cudaphy/kernels/equalizer.h>
#include <gnuradio/cudaphy/kernels/soft_demapper.h>

namespace gr::cudaphy::bindings {
namespace {

py::tuple estimate_channel(const array_argument<complex64>& received,
                           int layers,
                           const estimator_arguments& pilots,
                           const std::string& where,
                           int device)
{
    const placement q(where, device, received);
    const auto batch = received.shape(0), tones = received.shape(2),
               antennas = received.shape(3);
    const auto times = static_cast<py::ssize_t>(std::max<size_t>(1, pilots.times.size()));
    auto kernel = kernels::channel_estimator::make(
        estimator_parameters(
            static_cast<int>(antennas), layers, static_cast<int>(tones), pilots),
        q->where(),
        q->device());
    input<complex64> from(*q, received);
    output<complex64> h(q, { batch, times, tones, antennas, layers });
    output<float> n0(q, { batch, times });
    output<int> status(q, { batch });
    run_interruptibly(double(received.size()) * layers * tones, [&] {
        kernel->run(from, h, n0, status, *q);
        q.finish();
    });
    return py::make_tuple(h.result(), n0.result(), status.result());
}

//! `variance` is real, or complex for a covariance.
template <typename Variance>
py::tuple equalize(const array_argument<complex64>& y,
                   const array_argument<complex64>& h,
                   const array_argument<Variance>& variance,
                   const std::string& method,
                   bool unbiased,
                   const std::string& route,
                   const std::string& where,
                   int device)
{
    const placement q(where, device, y, h, variance);
    const auto groups = h.shape(0), tones = h.shape(1), antennas = h.shape(2),
               layers = h.shape(3), symbols = y.shape(1);
    auto kernel = kernels::equalizer::make({ static_cast<int>(antennas),
                                             static_cast<int>(layers),
                                             kernels::detector_from_name(method),
                                             unbiased,
                                             static_cast<int>(symbols),
                                             static_cast<int>(tones),
                                             kernels::equalizer_route_from_name(route) },
                                           q->where(),
                                           q->device());
    batch_call call(q, groups);
    const auto received = call.input(y), channel = call.input(h);
    const bool one_for_all = variance.shape(0) == 1 && groups != 1;
    const auto each = one_for_all ? call.shared_input(variance) : call.input(variance);
    const auto x = call.output<complex64>({ groups, symbols, tones, layers });
    const auto noise = call.output<float>({ groups, symbols, tones, layers });
    const auto status = call.output<int>({ groups, tones });
    call.run(double(h.size()) * antennas * layers + double(y.size()) * layers,
             groups,
             [&](size_t first, size_t count) {
                 kernel->run(call.part(received, first, count),
                             call.part(channel, first, count),
                             one_for_all ? each : call.part(each, first, count),
                             call.part(x, first, count),
                             call.part(noise, first, count),
                             call.part(status, first, count),
                             *q);
             });
    return py::make_tuple(call.array_of(x), call.array_of(noise), call.array_of(status));
}

//! Number: float, float16 or int8_t, which numpy calls `kind`; Element: of its size.
template <typename Number, typename Element>
py::object demap_as(const kernels::soft_demapper::parameters& parameters,
                    const array_argument<complex64>& x,
                    const array_argument<float>& noise,
                    const py::dtype& kind,
                    const placement& q)
{
    auto kernel = kernels::soft_demapper::make(parameters, q->where(), q->device());
    const auto& frames = parameters.interleaver;
    const py::ssize_t rows = std::max(1, frames.symbols), batch = x.size() / rows;
    const bool one_noise = noise.size() == 1;
    batch_call call(q, batch);
    const auto symbols = call.input(x);
    const auto each = one_noise ? call.shared_input(noise) : call.input(noise);
    const auto llr = call.output<Element>(
        { batch, frames.bits ? frames.bits : rows * parameters.points.bits }, kind);
    call.run(double(x.size()) * parameters.points.points.size(),
             batch,
             [&](size_t first, size_t count) {
                 const auto out = call.part(llr, first, count);
                 kernel->run(
                     call.part(symbols, first, count),
                     one_noise ? each : call.part(each, first, count),
                     view<Number>{ reinterpret_cast<Number*>(out.data()), out.size() },
                     *q);
             });
    return call.array_of(llr);
}

py::object demap(const array_argument<complex64>& x,
                 const array_argument<float>& noise,
                 const kernels::constellation& points,
                 bool max_log,
                 int llr_positive,
                 const std::string& type,
                 float llr_steps,
                 const std::string& bit_interleaver,
                 int frame_symbols,
                 int frame_bits,
                 const std::string& where,
                 int device)
{
    const placement q(where, device, x, noise);
    const kernels::soft_demapper::parameters p{
        points,
        max_log,
        llr_positive,
        llr_steps,
        { bit_interleaver, frame_symbols, frame_bits }
    };
    const py::dtype kind(type == "float16" ? "e" : type == "int8" ? "b" : "f");
    if (type == "float32") {
        return demap_as<float, float>(p, x, noise, kind, q);
    }
    if (type == "float16") {
        return demap_as<float16, uint16_t>(p, x, noise, kind, q);
    }
    if (type == "int8") {
        return demap_as<int8_t, int8_t>(p, x, noise, kind, q);
    }
    throw std::invalid_argument("dtype \"" + type +
                                "\" is none of \"float32\", \"float16\", \"int8\"");
}

} // namespace

void bind_mimo(py::module& m)
{
    py::class_<kernels::constellation>(
        m,
        "constellation",
        "Points of a signal constellation and the bits each stands for.")
        .def(py::init(
                 py::overload_cast<const std::string&>(&kernels::constellation::make)),
             py::arg("name"),
             "By name, one of constellation_names(). Raises ValueError for another.")
        .def(py::init([](const numpy_array<complex64>& points,
                         const std::vector<int>& labels,
                         const std::string& name) {
                 if (points.ndim() != 1) {
                     throw std::invalid_argument("points are " +
                                                 std::to_string(points.ndim()) +
                                                 "-dimensional; they are a list");
                 }
                 const auto* const first = points.data();
                 auto own = kernels::constellation::make(
                     std::vector<complex64>(first, first + points.size()), labels);
                 own.name = name;
                 return own;
             }),
             py::arg("points"),
             py::arg("labels") = std::vector<int>{},
             py::arg("name") = "own",
             "One of your own points, which are not scaled: 2, 4, 8 ... 256 different "
             "ones. labels: of each point, each of 0 to points - 1 once, its most "
             "significant bit is sent first; empty: 0, 1, 2 ... Raises ValueError that "
             "says which point or label does not fit.")
        .def_readonly("name", &kernels::constellation::name)
        .def_readonly("bits", &kernels::constellation::bits, "per symbol")
        .def_property_readonly(
            "points",
            [](const kernels::constellation& c) {
                return py::array_t<complex64>(c.points.size(), c.points.data());
            },
            "complex64, (2**bits,): the point of each label, whose most significant bit "
            "is sent first; those with a name of constellation_names() have unit mean "
            "energy")
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
          [](const array_argument<complex64>& received,
             int layers,
             const py::object& pilots,
             const std::string& where,
             int device,
             const py::kwargs& options) {
              keywords left(options);
              estimator_arguments estimator{ pilots };
              left.take("method", estimator.method);
              left.take("pilot_times", estimator.pilot_times);
              estimator.take(left);
              left.finish();
              return estimate_channel(received, layers, estimator, where, device);
          });
    // An array of another type is taken for the first that it can become.
    m.def("_equalize",
          [](const array_argument<complex64>& y,
             const array_argument<complex64>& h,
             const py::object& variance,
             const std::string& method,
             bool unbiased,
             const std::string& route,
             const std::string& where,
             int device) {
              const auto by = [&](const auto& own) {
                  return equalize(y, h, own, method, unbiased, route, where, device);
              };
              return py::len(variance.attr("shape")) == 3
                         ? by(variance.cast<array_argument<complex64>>())
                         : by(variance.cast<array_argument<float>>());
          });
    m.def("_demap", &demap);
}

} // namespace gr::cudaphy::bindings
