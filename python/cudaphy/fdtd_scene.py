# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulations in one expression, as GNU Radio Companion writes them."""

from .fdtd import fdtd


def fdtd_scene(
    cells,
    spacing,
    boundary="pec",
    boxes=(),
    conductors=(),
    ports=(),
    sources=(),
    probes=(),
    **options,
):
    """A simulation with all that stands in it; the variable FDTD Scene in GNU Radio Companion.

    cells, spacing, boundary and options (courant, mode, dtype, ...): as fdtd() takes them.
    boxes: (low, high, material) each, with material a dictionary of what fdtd.add_box() takes: eps_r, mu_r, sigma,
      debye, conductor, replace. conductors: (low, high) each, as fdtd.add_conductor().
    ports: (cell, component), (cell, component, resistance) or with driven besides, as fdtd.add_port().
    sources: (cell, component) or (cell, component, kind), as fdtd.add_source(). probes: (cell, component).
    Ports have the first numbers of the sources and of the probes. Returns an fdtd. Raises what fdtd's methods do.
    """
    made = fdtd(cells, spacing, boundary, **options)
    for low, high, material in boxes:
        made.add_box(low, high, **material)
    for low, high in conductors:
        made.add_conductor(low, high)
    for one in ports:
        made.add_port(*one)
    for one in sources:
        made.add_source(*one)
    for one in probes:
        made.add_probe(*one)
    return made
