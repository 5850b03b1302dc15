/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include <gnuradio/cudaphy/kernels/fdtd_grid.h>
#include <gnuradio/cudaphy/kernels/fdtd_stability.h>
#include <gnuradio/cudaphy/kernels/fdtd_stepper.h>
#include <limits>

namespace gr::cudaphy::bindings {
namespace {

using namespace kernels;

fdtd_source_kind kind_of(const std::string& name)
{
    if (name == "soft" || name == "hard" || name == "current") {
        return name == "soft"   ? fdtd_source_kind::soft
               : name == "hard" ? fdtd_source_kind::hard
                                : fdtd_source_kind::current;
    }
    throw std::invalid_argument("a source of kind \"" + name +
                                "\", must be soft, hard or current");
}

py::tuple numbers_of(const fdtd_grid::port& port)
{
    return py::make_tuple(port.source == size_t(-1) ? py::object(py::none())
                                                    : py::object(py::int_(port.source)),
                          port.probe);
}

//! A queue and the stepper on it, from Python.
template <typename T>
class stepper_on_queue
{
public:
    stepper_on_queue(const fdtd_system<T>& system,
                     const std::string& format,
                     size_t max_steps,
                     const std::string& where,
                     int device)
        : d_queue(queue::make(backend_from_name(where), device)),
          d_stepper(fdtd_stepper<T>::make(system,
                                          { sparse_format_from_name(format), max_steps },
                                          d_queue->where(),
                                          d_queue->device()))
    {
    }

    //! excitation (steps, sources); returns (steps, probes) and the status.
    py::tuple run(const numpy_array<T>& excitation, py::ssize_t steps)
    {
        input<T> from(*d_queue, excitation);
        output<T> to(*d_queue, { steps, py::ssize_t(d_stepper->probes()) });
        output<int64_t> status(*d_queue, { 1 });
        {
            py::gil_scoped_release others_may_run;
            d_stepper->run(from, to, status, *d_queue);
            d_queue->synchronize();
        }
        return py::make_tuple(to.result(), status.result().attr("item")(0));
    }

    numpy_array<T> gather(const numpy_array<int32_t>& elements) const
    {
        const auto* wanted = elements.data();
        for (py::ssize_t i = 0; i < elements.size(); ++i) {
            if (wanted[i] < 0 || wanted[i] >= d_stepper->size()) {
                throw py::index_error("element " + std::to_string(wanted[i]) +
                                      " of a state of " +
                                      std::to_string(d_stepper->size()));
            }
        }
        input<int32_t> from(*d_queue, elements);
        output<T> to(*d_queue, { elements.shape(), elements.shape() + elements.ndim() });
        d_stepper->gather(from, to, *d_queue);
        return to.result();
    }
    numpy_array<T> get(int64_t first, int64_t count) const
    {
        if (first < 0 || count < 0 || first > d_stepper->size() - count) {
            throw py::index_error("elements beyond a state of " +
                                  std::to_string(d_stepper->size()));
        }
        output<T> to(*d_queue, { count });
        d_stepper->get(first, to, *d_queue);
        return to.result();
    }
    void set(int64_t first, const numpy_array<T>& values)
    {
        input<T> from(*d_queue, values);
        d_stepper->set(first, from, *d_queue);
        d_queue->synchronize();
    }
    void reset()
    {
        d_stepper->reset(*d_queue);
        d_queue->synchronize();
    }
    size_t matrix_bytes() const { return d_stepper->matrix_bytes(); }
    std::string where() const { return name_of(d_queue->where()); }

private:
    std::unique_ptr<queue> d_queue;
    std::unique_ptr<fdtd_stepper<T>> d_stepper;
};

//! A matrix' compressed rows: (rows, columns), row_start, column, value.
template <typename T>
py::tuple rows_of(const sparse_matrix<T>& a)
{
    return py::make_tuple(
        py::make_tuple(a.rows, a.columns),
        py::array_t<int64_t>(py::ssize_t(a.row_start.size()), a.row_start.data()),
        py::array_t<int32_t>(py::ssize_t(a.column.size()), a.column.data()),
        py::array_t<T>(py::ssize_t(a.value.size()), a.value.data()));
}

template <typename T>
sparse_matrix<T> matrix_of(const py::tuple& rows)
{
    const auto shape = rows[0].cast<std::pair<int64_t, int64_t>>();
    const auto start = rows[1].cast<numpy_array<int64_t>>(),
               column = rows[2].cast<numpy_array<int64_t>>();
    const auto value = rows[3].cast<numpy_array<T>>();
    return sparse_matrix<T>::from_crs(shape.first,
                                      shape.second,
                                      { start.data(), size_t(start.size()) },
                                      { column.data(), size_t(column.size()) },
                                      { value.data(), size_t(value.size()) });
}

template <typename T>
void bind_numbers(py::module& m, const std::string& dtype)
{
    using system = fdtd_system<T>;
    py::class_<system, std::shared_ptr<system>>(
        m,
        ("fdtd_system_" + dtype).c_str(),
        "A finite-difference time-domain scheme as sparse matrices: what fdtd.system() "
        "gives and the block fdtd_channel takes.")
        .def_readonly("size", &system::size, "Elements of the state.")
        .def_readonly("time_step", &system::time_step, "Seconds.")
        .def_property_readonly("sources",
                               [](const system& s) { return s.sources.size(); })
        .def_property_readonly("probes", [](const system& s) { return s.probes.size(); })
        .def_property_readonly(
            "updates",
            [](const system& s) {
                py::list updates;
                for (const auto& update : s.updates) {
                    updates.append(py::make_tuple(update.first, rows_of(update.matrix)));
                }
                return updates;
            },
            "The updates of a time step, in order: (first, ((rows, columns), row_start, "
            "column, value)); the elements from `first` on gain the product of the "
            "matrix "
            "in compressed rows and the whole state.")
        .def("_add_source",
             [](system& s, int64_t element, size_t after, T coefficient, bool hard) {
                 s.sources.push_back({ element, after, coefficient, hard });
                 s.validate();
             })
        .def("_add_probe", [](system& s, int64_t element, T coefficient) {
            s.probes.push_back({ element, coefficient });
            s.validate();
        });

    using stepper = stepper_on_queue<T>;
    py::class_<stepper>(m, ("_fdtd_stepper_" + dtype).c_str())
        .def(py::init<const system&,
                      const std::string&,
                      size_t,
                      const std::string&,
                      int>(),
             py::call_guard<py::gil_scoped_release>())
        .def("run", &stepper::run)
        .def("gather", &stepper::gather)
        .def("get", &stepper::get)
        .def("set", &stepper::set)
        .def("reset", &stepper::reset)
        .def_property_readonly("matrix_bytes", &stepper::matrix_bytes)
        .def_property_readonly("backend", &stepper::where);

    m.def(("_fdtd_from_matrices_" + dtype).c_str(),
          [](const py::tuple& rh, const py::tuple& re, double time_step) {
              const auto first = matrix_of<T>(rh), second = matrix_of<T>(re);
              py::gil_scoped_release others_may_run;
              return std::make_shared<system>(
                  fdtd_from_matrices<T>(first, second, time_step));
          });
}

fdtd_grid grid_of(const std::vector<int64_t>& cells,
                  const std::vector<std::vector<double>>& spacing,
                  const std::vector<std::array<std::string, 2>>& boundary,
                  const std::string& mode,
                  double courant,
                  double time_step,
                  const std::tuple<int64_t, double, double, double, double>& layers)
{
    fdtd_grid::parameters p;
    p.cells = cells;
    p.spacing = spacing;
    for (const auto& [low, high] : boundary) {
        p.boundary.push_back(
            { fdtd_boundary_from_name(low), fdtd_boundary_from_name(high) });
    }
    p.mode = mode;
    p.courant = courant;
    p.time_step = time_step;
    auto& a = p.absorber;
    std::tie(a.thickness, a.order, a.sigma, a.kappa, a.alpha) = layers;
    return fdtd_grid(p);
}

//! (eps_r, mu_r, sigma, ((delta_eps, relaxation_time), ...), conductor)
using material_tuple =
    std::tuple<double, double, double, std::vector<std::pair<double, double>>, bool>;

fdtd_material material_of(const material_tuple& from)
{
    fdtd_material material;
    material.eps_r = std::get<0>(from);
    material.mu_r = std::get<1>(from);
    material.sigma = std::get<2>(from);
    for (const auto& [delta_eps, relaxation_time] : std::get<3>(from)) {
        material.poles.push_back({ delta_eps, relaxation_time });
    }
    material.conductor = std::get<4>(from);
    return material;
}

} // namespace

void bind_fdtd(py::module& m)
{
    bind_numbers<float>(m, "float32");
    bind_numbers<double>(m, "float64");
    using index = fdtd_grid::index;
    py::class_<fdtd_grid>(m, "_fdtd_grid")
        .def(py::init(&grid_of))
        .def_property_readonly("time_step", &fdtd_grid::time_step)
        .def_property_readonly("largest_time_step", &fdtd_grid::largest_time_step)
        .def_property_readonly("components", &fdtd_grid::components)
        .def_property_readonly("shape", &fdtd_grid::shape)
        .def_property_readonly("size", &fdtd_grid::size)
        .def("add_box",
             [](fdtd_grid& g,
                index from,
                index to,
                const material_tuple& material,
                bool replace) { g.add_box(from, to, material_of(material), replace); })
        .def("add_cells",
             [](fdtd_grid& g,
                const numpy_array<int32_t>& which,
                const std::vector<material_tuple>& tuples,
                bool replace) {
                 std::vector<fdtd_material> materials;
                 for (const auto& material : tuples) {
                     materials.push_back(material_of(material));
                 }
                 g.add_cells({ which.data(), size_t(which.size()) }, materials, replace);
             })
        .def("add_conductor", &fdtd_grid::add_conductor)
        .def("add_source",
             [](fdtd_grid& g,
                const std::string& component,
                index cell,
                const std::string& kind) {
                 return g.add_source(component, cell, kind_of(kind));
             })
        .def("add_probe", &fdtd_grid::add_probe)
        .def("add_current_probe", &fdtd_grid::add_current_probe)
        .def("add_port",
             [](fdtd_grid& g,
                const std::string& component,
                index cell,
                double resistance,
                bool driven) {
                 return numbers_of(g.add_port(component, cell, resistance, driven));
             })
        .def("add_dipole",
             [](fdtd_grid& g,
                const std::string& component,
                index cell,
                int64_t length,
                double resistance,
                bool driven) {
                 return numbers_of(
                     g.add_dipole(component, cell, length, resistance, driven));
             })
        .def("element", &fdtd_grid::element)
        .def("plane",
             [](const fdtd_grid& g,
                const std::string& component,
                int axis,
                int64_t position) {
                 const auto elements = g.plane(component, axis, position);
                 return py::array_t<int32_t>(py::ssize_t(elements.size()),
                                             elements.data());
             })
        .def("system_float32",
             [](const fdtd_grid& g) {
                 py::gil_scoped_release others_may_run;
                 return std::make_shared<fdtd_system<float>>(g.system<float>());
             })
        .def("system_float64", [](const fdtd_grid& g) {
            py::gil_scoped_release others_may_run;
            return std::make_shared<fdtd_system<double>>(g.system<double>());
        });
}

} // namespace gr::cudaphy::bindings
