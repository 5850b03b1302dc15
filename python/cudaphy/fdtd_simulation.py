# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of finite-difference time-domain simulations: time steps and progress."""

import functools
import sys
import threading
import time

import numpy as np

from . import cudaphy_python as _native
from .fdtd_response import frequency_response, impulse_response


def in_turn(method):
    """A method during which other threads' calls on the same simulation wait."""

    @functools.wraps(method)
    def alone(self, *values, **options):
        with self._turn:
            return method(self, *values, **options)

    return alone


class fdtd_simulation:
    """Fields that are stepped through time; made by fdtd() and fdtd.from_matrices().

    Threads may share one: their calls follow each other, in any order.
    """

    _CALL_SECONDS = 0.2  # seconds of work handed to the stepper at a time
    _CALL_STEPS = 4096

    def __init__(self, dtype, format, backend, device):
        self._dtype = np.dtype(dtype).newbyteorder("=")
        if self._dtype.name not in ("float32", "float64"):
            raise ValueError(f"dtype is {dtype}, must be float32 or float64")
        self._format, self._backend, self._device = format, backend, device
        self._stepper = self._made = None
        self._sources = self._probes = self._steps_done = 0
        self._call = 64
        self._turn = threading.RLock()

    @property
    def dtype(self):
        return self._dtype

    @property
    def time_step(self):
        """Seconds."""
        raise NotImplementedError

    @property
    def sources(self):
        """The number of sources: columns of the excitation, in the order they were added."""
        return self._sources

    @property
    def probes(self):
        """The number of probes: columns of what step() returns, in the order they were added."""
        return self._probes

    @property
    def steps_done(self):
        """Time steps since the beginning or reset()."""
        return self._steps_done

    @property
    @in_turn
    def system(self):
        """The scheme as matrices, an fdtd_system_float32 or _float64: what the block fdtd_channel takes.

        After this, and so after the first step, nothing can be added any more.
        """
        if self._made is None:
            self._made = self._make_system()
            if not self._made.sources and not self._made.probes:
                self._made._add_probe(0, 1)  # a stepper counts its steps by one of them
        return self._made

    @in_turn
    def matrices(self):
        """The scheme as scipy.sparse has it, for multiply_sparse(), other solvers or a file.

        Returns the updates of a time step in their order, (first, A) each: state[first : first + m] += A @ state,
        with A (m, elements of the state), in compressed rows. The state has all of E, then all of H, then what
        absorbing layers and dispersive materials remember; element() numbers it. After this nothing can be added.
        """
        import scipy.sparse

        return [
            (
                first,
                scipy.sparse.csr_matrix((values, columns, start), shape),
            )
            for first, (shape, start, columns, values) in self.system.updates
        ]

    @property
    def matrix_bytes(self):
        """Bytes that the matrices take in their format."""
        return self._ready().matrix_bytes

    @property
    def backend(self):
        """The backend in use: "cuda", "cpu" or "reference"."""
        return self._ready().backend

    @in_turn
    def step(self, excitation=None, steps=None, progress=False):
        """Goes on by some time steps.

        excitation: (steps, sources), or (steps,) where there is one source; None: nothing, for `steps` steps.
          Row n drives time step n: volts of a port, amperes of a current, V/m or A/m.
        progress: a line on stderr with the time left.
        Returns the probes after each time step, (steps, probes), float32 or float64.
        Raises ValueError for a wrong shape; FloatingPointError once the fields have grown beyond all numbers;
        RuntimeError if the device's memory can't hold the matrices.
        """
        stepper = self._ready()
        sources = self.sources
        if excitation is None:
            if steps is None:
                raise ValueError("either an excitation or the number of steps is needed")
            excitation = np.zeros((steps, sources), self._dtype)
        excitation = np.asarray(excitation, self._dtype)
        if excitation.ndim == 1 and sources == 1:
            excitation = excitation[:, None]
        if excitation.ndim != 2 or excitation.shape[1] != sources:
            raise ValueError(
                f"the excitation has shape {excitation.shape}; expected (steps, {sources})"
            )
        if steps not in (None, len(excitation)):
            raise ValueError(f"{steps} steps, but an excitation of {len(excitation)}")
        out = np.empty((len(excitation), self._probes), self._dtype)
        bar = _bar(len(excitation), self._cells()) if progress else None
        done = 0
        while done < len(excitation):
            count = min(self._call, len(excitation) - done)
            began = time.monotonic()
            seen, status = stepper.run(excitation[done : done + count], count)
            took = time.monotonic() - began
            out[done : done + count] = seen[:, : self._probes]
            self._steps_done += count
            if status >= 0:
                raise FloatingPointError(
                    f"the fields grew beyond all numbers after {status} time steps"
                )
            done += count
            if took < self._CALL_SECONDS / 2:
                self._call = min(self._call * 2, self._CALL_STEPS)
            elif took > self._CALL_SECONDS * 2:
                self._call = max(self._call // 2, 1)
            if bar:
                bar.show(done)
        if bar:
            bar.end()
        return out

    @in_turn
    def reset(self):
        """Sets all fields and the time to zero."""
        self._ready().reset()
        self._steps_done = 0

    frequency_response = in_turn(frequency_response)
    impulse_response = in_turn(impulse_response)

    @in_turn
    def _ready(self):
        if self._stepper is None:
            make = getattr(_native, "_fdtd_stepper_" + self._dtype.name)
            self._stepper = make(
                self.system, self._format, self._CALL_STEPS, self._backend, self._device
            )
        return self._stepper

    def _check_open(self):
        if self._made is not None:
            raise RuntimeError(
                "nothing can be added after the first step: make the simulation anew"
            )


class _bar:
    """A line on stderr: progress, rate, and time left."""

    def __init__(self, steps, cells):
        self._steps, self._cells = steps, cells
        self._began = self._shown = time.monotonic()

    def show(self, done):
        now = time.monotonic()
        if now - self._shown < 0.2 and done < self._steps:
            return
        self._shown = now
        spent = max(now - self._began, 1e-9)
        left = int(spent / done * (self._steps - done) + 0.5)
        rate = done * self._cells / spent / 1e6
        filled = 30 * done // self._steps
        print(
            f"\r[{'#' * filled}{'.' * (30 - filled)}] {100 * done // self._steps:3d} %  "
            f"{rate:.1f} Mcells/s  {left // 60}:{left % 60:02d} left ",
            end="",
            file=sys.stderr,
            flush=True,
        )

    def end(self):
        print(file=sys.stderr)
