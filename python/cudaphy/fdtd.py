# SPDX-License-Identifier: GPL-3.0-or-later
"""Maxwell's equations on a Yee grid, stepped by sparse products."""

import collections

import numpy as np

from . import cudaphy_python as _native
from .fdtd_simulation import fdtd_simulation, in_turn

port = collections.namedtuple("port", "source probe")
port.__doc__ = """A port of a simulation: the numbers of its source (None if it is not driven) and of its probe."""

_AXES = "xyz"


def grid_arguments(cells, spacing, boundary):
    """Cells, spacing and boundary as fdtd() takes them, each a list with an entry for each axis: the cells, an array of
    their sizes, and (low, high)."""
    cells = tuple(int(n) for n in np.atleast_1d(cells))
    axes = len(cells)
    if np.isscalar(spacing):
        spacing = [spacing] * axes
    elif axes == 1 and len(spacing) > 1:
        spacing = [spacing]
    if isinstance(boundary, str):
        boundary = [boundary] * axes
    elif axes == 1 and len(boundary) == 2:
        boundary = [boundary]
    return (
        cells,
        [np.atleast_1d(np.asarray(d, np.float64)) for d in spacing],
        [(b, b) if isinstance(b, str) else tuple(b) for b in boundary],
    )


class fdtd(fdtd_simulation):
    """Full-wave fields in one, two or three dimensions, one excitation in and one probe out a time step.

    A time step is [e] += [RH] [h]; [h] += [RE] [e], with the curl operators as sparse matrices; absorbing layers and
    dispersive materials add two more products.

    cells: (nx,), (nx, ny) or (nx, ny, nz), or nx. spacing: metres; one number, or one for each axis, each a number
      or an array with one for each of its cells.
    boundary: "pec" (conductor), "pmc" (plane of symmetry), "cpml" (absorbing layers, inside the grid) or "periodic";
      one name, or one for each axis, each a name or a pair (low, high).
    courant: part of the largest stable time step, above 0, at most 1 (use 0.99 if no axis ends at a conductor);
      or time_step: seconds.
    mode: in two dimensions "tm" (ez, hx, hy) or "te" (ex, ey, hz). One dimension has ez and hy. A missing
      dimension is 1 m long.
    dtype: "float32" or "float64". format: of the matrices, "dictionary", "subdivided_crs", "crs" or "diagonal".
    cpml_thickness (cells), cpml_order, cpml_sigma (1: the usual optimum in vacuum; 1 / sqrt(eps_r) of the
      material in the layers), cpml_kappa, cpml_alpha (S/m; None: by the cells): the grading of absorbing layers.

    Cells and corners are given by their numbers, as tuples of the grid's dimensions. Component ex, ey or ez of a
    cell is along its edge from its low corner, hx, hy, hz across its low face. Probes are read after each time
    step.

    Raises ValueError for a parameter out of range, a time step beyond the stable limit or too many cells; RuntimeError
    (at the first step) if the matrices do not fit the memory, with the number of cells that do.
    Threads may share one object: their calls run one after another, in any order.
    Source: "Implementation of Matrix-Type FDTD Algorithm on a Graphics Accelerator".
    """

    def __init__(
        self,
        cells,
        spacing,
        boundary="pec",
        courant=1.0,
        dtype="float32",
        format="dictionary",
        mode="tm",
        time_step=None,
        cpml_thickness=10,
        cpml_order=3.0,
        cpml_sigma=1.0,
        cpml_kappa=1.0,
        cpml_alpha=None,
        backend="auto",
        device=0,
    ):
        super().__init__(dtype, format, backend, device)
        self._cells_of, spacing, boundary = grid_arguments(cells, spacing, boundary)
        self._grid = _native._fdtd_grid(
            self._cells_of,
            spacing,
            boundary,
            mode,
            courant,
            time_step or 0.0,
            (
                cpml_thickness,
                cpml_order,
                cpml_sigma,
                cpml_kappa,
                -1.0 if cpml_alpha is None else cpml_alpha,
            ),
        )

    @classmethod
    def from_matrices(
        cls,
        re,
        rh,
        time_step=0.0,
        dtype="float32",
        format="dictionary",
        backend="auto",
        device=0,
    ):
        """A simulation of [e] += [RH] [h]; [h] += [RE] [e] with matrices of any mesh.

        re (elements of h, elements of e), rh (elements of e, elements of h): scipy.sparse, or anything with
          shape, indptr, indices and data as scipy's CSR matrices have. time_step: seconds, if known.
        Returns an fdtd_matrices.
        Raises ValueError if the fields would grow without bound: the eigenvalues of -RH RE must be real and within
        0 ... 4; the text gives the largest stable factor or names the eigenvalue.
        """
        return fdtd_matrices(re, rh, time_step, dtype, format, backend, device)

    cells = property(lambda self: self._cells_of, doc="Cells along each axis.")
    time_step = property(lambda self: self._grid.time_step, doc="Seconds.")
    largest_time_step = property(
        lambda self: self._grid.largest_time_step, doc="The stable limit, seconds."
    )
    components = property(
        lambda self: tuple(self._grid.components), doc="Names of the fields kept."
    )

    @in_turn
    def add_box(
        self,
        low,
        high,
        eps_r=1.0,
        mu_r=1.0,
        sigma=0.0,
        debye=(),
        conductor=False,
        replace=False,
    ):
        """Fills the cells between two corners, low <= cell < high.

        eps_r: relative permittivity, well above the poles; mu_r: relative permeability; both at least 1. sigma: S/m.
        debye: pairs (delta_eps, relaxation time in seconds). conductor: perfect. replace: whether cells that
        have another material already may get this one; otherwise such cells raise ValueError.
        """
        self._check_open()
        self._grid.add_box(
            self._place(low),
            self._place(high),
            (eps_r, mu_r, sigma, [tuple(pole) for pole in debye], conductor),
            replace,
        )

    @in_turn
    def add_cells(
        self,
        mask=None,
        eps_r=1.0,
        mu_r=1.0,
        sigma=0.0,
        debye=(),
        conductor=False,
        replace=False,
    ):
        """Fills the cells where mask, bool of the grid's cells, is true; None: all cells.

        eps_r, mu_r, sigma: numbers, or arrays of the grid's cells. The other arguments and the errors are those of add_box().
        """
        self._check_open()
        shape = self._cells_of
        mask = np.broadcast_to(True if mask is None else np.asarray(mask, bool), shape)
        if all(np.ndim(part) == 0 for part in (eps_r, mu_r, sigma)):
            which, kinds = np.where(mask, 0, -1), [(eps_r, mu_r, sigma)]
        else:
            parts = [
                np.broadcast_to(np.asarray(part, np.float64), shape)[mask]
                for part in (eps_r, mu_r, sigma)
            ]
            kinds, number = np.unique(
                np.stack(parts, axis=-1), axis=0, return_inverse=True
            )
            which = np.full(shape, -1)
            which[mask] = number.ravel()
        poles = [tuple(pole) for pole in debye]
        self._grid.add_cells(
            which.astype(np.int32).ravel(),
            [(*map(float, kind), poles, conductor) for kind in kinds],
            replace,
        )

    @in_turn
    def add_conductor(self, low, high):
        """A perfect conductor without volume along all edges between two corners, low <= corner <= high: a sheet, or
        a wire, whose radius is about a fifth of a cell."""
        self._check_open()
        self._grid.add_conductor(self._place(low), self._place(high))

    @in_turn
    def add_source(self, cell, component, kind="soft"):
        """A source at a field.

        kind: "soft" adds the excitation to the field at each time step, "hard" sets the field to it, "current" is a
        current in amperes along a cell's edge (component ex, ey or ez): a short dipole.
        Returns its number. Raises ValueError outside the grid.
        """
        self._check_open()
        self._sources = self._grid.add_source(component, self._place(cell), kind) + 1
        return self._sources - 1

    @in_turn
    def add_probe(self, cell, component):
        """Reads a field, V/m or A/m, after each time step. Returns the probe's number."""
        self._check_open()
        self._probes = self._grid.add_probe(component, self._place(cell)) + 1
        return self._probes - 1

    @in_turn
    def add_current_probe(self, cell, component):
        """Reads the current in amperes through the loop of H around an edge (component ex, ey or ez), that of a wire
        along it; half a time step later than E. Returns the probe's number."""
        self._check_open()
        self._probes = self._grid.add_current_probe(component, self._place(cell)) + 1
        return self._probes - 1

    @in_turn
    def add_port(self, cell, component, resistance=50.0, driven=True):
        """A generator with internal resistance (ohms) in an edge; its source is in volts, its probe the voltage
        at the edge, both counted along the axis. driven=False: a resistor only. Returns a port (source, probe).
        The current delivered is (generator - port) / resistance."""
        self._check_open()
        return self._port(
            self._grid.add_port(component, self._place(cell), resistance, driven)
        )

    @in_turn
    def add_dipole(self, cell, component="ez", length=1, resistance=50.0, driven=True):
        """A thin wire along the component, length cells (odd), with a port in the middle one. Returns the port."""
        self._check_open()
        position = self._place(cell)
        return self._port(
            self._grid.add_dipole(component, position, length, resistance, driven)
        )

    def _port(self, numbers):
        source, probe = numbers
        self._sources += source is not None
        self._probes += 1
        return port(source, probe)

    def element(self, cell, component):
        """The number of a field in the state, as system counts."""
        return self._grid.element(component, self._place(cell))

    def plane_elements(self, component, axis="z", position=0):
        """The fields of a component in a plane across an axis, by their numbers in the state: int32, of the plane's
        shape."""
        axis = _AXES.index(axis) if isinstance(axis, str) else axis
        elements = self._grid.plane(component, axis, position)
        shape = [n for a, n in enumerate(self._grid.shape) if a != axis]
        return elements.reshape(shape)

    @in_turn
    def plane(self, component, axis="z", position=0):
        """A component's present values in a plane across an axis: (other axes). In two dimensions the plane
        across z is the whole grid."""
        return self._ready().gather(self.plane_elements(component, axis, position))

    @in_turn
    def field(self, component):
        """All present values of a component, of the grid's shape (a high face of "pmc" adds one)."""
        first, shape = self._run_of(component)
        return self._ready().get(first, int(np.prod(shape))).reshape(shape)

    @in_turn
    def set_field(self, component, values):
        """Sets all values of a component; values: as field() returns them."""
        first, shape = self._run_of(component)
        values = np.asarray(values, self._dtype)
        if values.shape != shape:
            raise ValueError(f"values have shape {values.shape}, expected {shape}")
        self._ready().set(first, values.ravel())

    def _run_of(self, component):
        shape = tuple(self._grid.shape[: len(self._cells_of)])
        return self._grid.element(component, (0, 0, 0)), shape

    def _place(self, position):
        position = tuple(int(n) for n in np.atleast_1d(position))
        if len(position) != len(self._cells_of):
            raise ValueError(
                f"{position} has {len(position)} numbers, the grid {len(self._cells_of)} axes"
            )
        return position + (0,) * (3 - len(position))

    def _make_system(self):
        return getattr(self._grid, "system_" + self._dtype.name)()

    def _cells(self):
        return int(np.prod(self._cells_of))


class fdtd_matrices(fdtd_simulation):
    """A simulation of a user's own matrices; see fdtd.from_matrices()."""

    def __init__(self, re, rh, time_step, dtype, format, backend, device):
        super().__init__(dtype, format, backend, device)
        make = getattr(_native, "_fdtd_from_matrices_" + self._dtype.name)
        self._system = make(_rows_of(rh), _rows_of(re), time_step)
        self._elements = {"e": _rows_of(rh)[0][0], "h": _rows_of(re)[0][0]}

    time_step = property(
        lambda self: self._system.time_step, doc="Seconds; 0 if not known."
    )

    @in_turn
    def add_source(self, element, field="e", kind="soft", coefficient=1.0):
        """Excites an element of "e" or "h": adds coefficient times the excitation ("soft"), or sets the element
        to it ("hard"). Returns the source's number."""
        self._check_open()
        if kind not in ("soft", "hard"):
            raise ValueError(f'kind is "{kind}", must be "soft" or "hard"')
        where = self._element(element, field)
        self._system._add_source(where, "eh".index(field), coefficient, kind == "hard")
        self._sources += 1
        return self._sources - 1

    @in_turn
    def add_probe(self, element, field="e", coefficient=1.0):
        """Reads coefficient times an element of "e" or "h" after each time step. Returns the probe's number."""
        self._check_open()
        self._system._add_probe(self._element(element, field), coefficient)
        self._probes += 1
        return self._probes - 1

    @in_turn
    def field(self, field):
        """All present values of "e" or "h"."""
        first = self._elements["e"] if self._known(field) == "h" else 0
        return self._ready().get(first, self._elements[field])

    @in_turn
    def set_field(self, field, values):
        """Sets all of "e" or "h"."""
        first = self._elements["e"] if self._known(field) == "h" else 0
        values = np.asarray(values, self._dtype)
        if values.shape != (self._elements[field],):
            raise ValueError(
                f"values have shape {values.shape}, expected ({self._elements[field]},)"
            )
        self._ready().set(first, values)

    def _known(self, field):
        if field not in self._elements:
            raise ValueError(f'field is "{field}", must be "e" or "h"')
        return field

    def _element(self, element, field):
        count = self._elements[self._known(field)]
        if not 0 <= element < count:
            raise ValueError(f"element {element} of {field}, which has {count}")
        return element + (self._elements["e"] if field == "h" else 0)

    def _make_system(self):
        return self._system

    def _cells(self):
        return sum(self._elements.values()) / 6


def _rows_of(matrix):
    """A matrix' shape and compressed rows."""
    rows = matrix.tocsr() if hasattr(matrix, "tocsr") else matrix
    return (
        tuple(int(n) for n in rows.shape),
        np.asarray(rows.indptr),
        np.asarray(rows.indices),
        np.asarray(rows.data),
    )
