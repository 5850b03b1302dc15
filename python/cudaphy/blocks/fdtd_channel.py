# SPDX-License-Identifier: GPL-3.0-or-later
"""The block that fdtd_channel makes."""

import numpy as np

from .. import cudaphy_python as _native
from ..fdtd import fdtd


def fdtd_channel(
    simulation,
    plane=None,
    plane_every=1,
    format=None,
    backend="auto",
    device=0,
    max_batch=0,
):
    """A block: a channel that obeys Maxwell's equations, one item a time step.

    simulation: what fdtd(), fdtd.from_matrices() or fdtd_scene() gave, with at least one source, or its `system`. The
      block has fields of its own, all zero at first; nothing can be added to the simulation any more.
    In: a stream of float for each source, in their order (volts of a port, amperes of a current, V/m or A/m). Out: a
      stream of float for each probe; item n is read after the time step that item n of the inputs drove.
    plane: (component, axis, position), as fdtd.plane() takes them, or the numbers of elements of the state. One more
      output comes last: vectors of these fields, one every plane_every time steps (1 to 2^30), vector k after item
      (k + 1) plane_every - 1. A vector wider than 16 KiB had better be a whole number of 4 KiB: GNU Radio's buffers
      are a common multiple of both.
    format: of the matrices; None: the simulation's. backend: "auto", "cuda", "cpu" or "reference"; device: index of
      the GPU. max_batch: time steps in a call at most, 1 to 65536; 0: 4096, and where they are slow as many as fill a
      tenth of a second.

    Fields stay as they are from one start of the flowgraph to the next; reset(), or any message to the port "reset",
    clears them before the next time step. A tag of any input goes to the item of the same time step of every output,
    of the plane to the first vector from that time step on; equal ones on several inputs go once. Fields that grow
    beyond all numbers, and an excitation that is not finite, end the flowgraph with a message that names the time
    step.

    The block has steps() (since it was made, or since reset()), time_step() (seconds; 0 if not known),
    matrix_bytes(), backend() and stats(), in which a frame is a time step.
    Raises ValueError for a parameter out of range, TypeError for what is no simulation, BackendUnavailable if the
    backend can't be had, RuntimeError if the memory can't.
    Source: "Implementation of Matrix-Type FDTD Algorithm on a Graphics Accelerator".
    """
    system = getattr(simulation, "system", simulation)
    kinds = (_native.fdtd_system_float32, _native.fdtd_system_float64)
    if not isinstance(system, kinds):
        raise TypeError(f"{type(simulation).__name__} is no FDTD simulation")
    if plane is None:
        elements = []
    elif len(plane) and isinstance(plane[0], str):
        if not isinstance(simulation, fdtd):
            raise ValueError(
                "a plane by its component needs a grid; give the numbers of its elements"
            )
        elements = simulation.plane_elements(*plane)
    else:
        elements = plane
    make = {
        kinds[0]: _native._fdtd_channel_float32,
        kinds[1]: _native._fdtd_channel_float64,
    }[type(system)]
    return make(
        system,
        np.asarray(elements, np.int32).ravel().tolist(),
        plane_every,
        format or getattr(simulation, "_format", "dictionary"),
        backend,
        device,
        max_batch,
    )
