# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulation of bit and frame error rates: random words -> LDPC encoder -> symbols -> white
Gaussian noise -> soft demapper -> LDPC decoder -> counts.

A point's words fall into slices. A slice's bits and noise depend on the seed, the
signal-to-noise ratio and the slice's number alone, and slices are counted in order. The
counts are therefore the same with any number of workers on any machines.
"""

import dataclasses
import inspect
import math
from pathlib import Path

import numpy as np

from .. import cudaphy_python as _native
from .link import FILES, code_from_text, constellation_of
from .link import link_description, run_slice, uncoded
from .schedule import executor, limits, schedule
from .theory import bit_error_interval, binomial_interval
from ..ldpc import ldpc_decode


@dataclasses.dataclass
class error_rate_point:
    """The counts at one signal-to-noise ratio.

    frames, bits: words and information bits simulated. frame_errors: words of which an information
    bit was wrong; bit_errors: those bits; undetected_errors: wrong words whose parity checks all hold.
    iterations: the sum over all words. seconds: the sum over all workers.
    """

    eb_n0_db: float
    es_n0_db: float
    frames: int = 0
    bits: int = 0
    frame_errors: int = 0
    bit_errors: int = 0
    bit_errors_squared: int = 0
    undetected_errors: int = 0
    iterations: int = 0
    seconds: float = 0.0
    slices: int = 0

    @property
    def frame_error_rate(self):
        return self.frame_errors / self.frames if self.frames else math.nan

    @property
    def bit_error_rate(self):
        return self.bit_errors / self.bits if self.bits else math.nan

    @property
    def mean_iterations(self):
        return self.iterations / self.frames if self.frames else math.nan

    @property
    def frame_error_interval(self):
        """95 % confidence: (lowest, highest) frame error rate, after Clopper and Pearson."""
        return binomial_interval(self.frame_errors, self.frames)

    @property
    def bit_error_interval(self):
        """95 % confidence: (lowest, highest) bit error rate. The spread is that of the
        frames' counts, because wrong bits come in bursts."""
        return bit_error_interval(
            self.bit_errors, self.bit_errors_squared, self.bits, self.frames
        )

    def add(self, counts):
        """Adds a slice's counts."""
        for name, value in counts.items():
            setattr(self, name, getattr(self, name) + value)


def default_batch(code, backend):
    """Words of a slice that keep a backend ("cuda", "cpu" or "reference") busy."""
    if backend == "cuda":
        # Some thousand words fill a GPU, and their LLRs and noise stay below 1 GB.
        return max(1, min(max(2112, (1 << 23) // code.n), (1 << 26) // code.n))
    if backend == "cpu":
        # As many words as vector lanes, and data that stay in the caches.
        return -(-max(1 << 18, 64 * code.n) // code.n // 64) * 64
    return max(1, (1 << 14) // code.n)


# Options that the simulation sets itself, or that random words do not need.
_OURS = ("code", "llr", "output", "llr_positive", "backend", "device")
_OURS += ("packed", "soft", "stop_crc")


def _auto_arithmetic(code, settings, backend):
    """What arithmetic "auto" means for LLRs in float32."""
    nothing = np.zeros((0, code.n), np.float32)
    try:
        ldpc_decode(code, nothing, backend=backend, **{**settings, "arithmetic": "int8"})
    except ValueError:  # of another algorithm, or too long for a block of the GPU
        return "float32"
    return "int8"


def decoder_settings(code, given, backend):
    """The settings of ldpc_decode that matter, given or default, as text."""
    settings = {
        name: given.get(name, parameter.default)
        for name, parameter in inspect.signature(ldpc_decode).parameters.items()
        if name not in _OURS
    }
    if settings["arithmetic"] == "auto":
        settings["arithmetic"] = _auto_arithmetic(code, settings, backend)
    if settings["algorithm"] != "normalized_min_sum":
        settings.pop("scale", None)
    if settings["algorithm"] != "offset_min_sum":
        settings.pop("offset", None)
    if settings["arithmetic"] != "int8":
        settings.pop("llr_steps")
    elif not settings["llr_steps"]:  # points of different steps do not mix
        settings["llr_steps"] = {"cuda": "own12", "auto": "own"}.get(backend, "own6")
    return " ".join(f"{name}={value}" for name, value in settings.items())


class error_rate_simulation:
    """A link whose error rates are simulated; simulate_error_rate() is the short way.

    The constructor's parameters are those of simulate_error_rate() that describe the link and where
    simulates it; run() takes the others. Attributes: code, bits_per_symbol, seed,
    backend, and batch, the words of a slice. Threads may share one, and run() side by side.
    """

    def __init__(
        self,
        code,
        constellation="bpsk",
        data="random",
        max_log=False,
        seed=1,
        batch=None,
        workers=None,
        backend="auto",
        device=0,
        scheduler=None,
        **decoder,
    ):
        if data not in ("random", "zeros"):
            raise ValueError(f'data "{data}" is neither "random" nor "zeros"')
        if not isinstance(seed, int) or seed < 0:
            raise ValueError(f"seed {seed} is not a whole number of at least 0")
        for name, value in (("batch", batch), ("workers", workers)):
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ValueError(f"{name} {value} is not a whole number of at least 1")
        for name in sorted(set(_OURS) & set(decoder)):
            raise ValueError(
                f"the simulation sets the decoder's {name} itself: leave it out"
            )
        if not isinstance(code, str) and scheduler is not None:
            raise ValueError(
                "give the code as text, because a scheduler cannot send an object"
            )
        self.code = code_from_text(code) if isinstance(code, str) else code
        content = None
        if isinstance(code, str) and code.partition(":")[0] in FILES:
            # The text was read as a code, so that its length has a limit.
            content = Path(code.partition(":")[2]).read_bytes()
        self.bits_per_symbol = constellation_of(constellation).bits
        # A cluster's machines choose for themselves.
        here = _native.resolve_backend("auto" if scheduler else backend, device)[0]
        self.backend = backend if scheduler else here
        self.batch = batch or default_batch(self.code, here)
        self.seed, self._workers, self._scheduler = seed, workers, scheduler
        self._link = link_description(
            code,
            constellation,
            data,
            bool(max_log),
            tuple(sorted(decoder.items())),
            self.backend,
            device,
            content,
        )
        if not isinstance(self.code, uncoded):
            # A decoder made here refuses wrong parameters before anything begins.
            nothing = np.zeros((0, self.code.n), np.float32)
            try:
                ldpc_decode(self.code, nothing, backend=here, device=device, **decoder)
            except TypeError as problem:
                raise ValueError(f"wrong decoder settings: {problem}") from None

    def identity(self):
        """The link as text: code, constellation, demapper, decoder's settings, data."""
        link = self._link
        name = (
            " ".join(link.code.split()) if isinstance(link.code, str) else link.code.name
        )
        return (
            name,
            link.constellation,
            "max_log" if link.max_log else "exact",
            ""
            if isinstance(self.code, uncoded)
            else decoder_settings(self.code, dict(link.decoder), link.backend),
            link.data,
        )

    def es_n0_db(self, eb_n0_db):
        """Es/N0 = Eb/N0 + 10 log10(bits a symbol * code rate), in dB."""
        return eb_n0_db + 10 * math.log10(self.bits_per_symbol * self.code.rate)

    def run(
        self,
        eb_n0_db=None,
        es_n0_db=None,
        max_frame_errors=100,
        max_frames=1_000_000,
        max_seconds=None,
        known=(),
        on_point=None,
        on_progress=None,
    ):
        """Simulates the points; see simulate_error_rate()."""
        if (eb_n0_db is None) == (es_n0_db is None):
            raise ValueError("one of eb_n0_db and es_n0_db is needed, and not both")
        ends = {"max_frame_errors": max_frame_errors, "max_frames": max_frames}
        ends["max_seconds"] = max_seconds
        for name, value in ends.items():
            if value is not None and not value > 0:
                raise ValueError(f"{name} {value} is not above 0")
        if all(value is None for value in ends.values()):
            raise ValueError("give a limit that ends a point")
        points = self._points(eb_n0_db, es_n0_db, known)
        where = limits(*(value or math.inf for value in ends.values()))
        course = schedule(points, self.batch, where, on_point, on_progress)
        with executor(self._workers, self._scheduler) as workers:
            return course.carry_out(
                workers.workers,
                lambda point, index: workers.submit(
                    run_slice,
                    self._link,
                    point.es_n0_db,
                    self.batch,
                    self._seeds(point, index),
                ),
            )

    def _points(self, eb_n0_db, es_n0_db, known):
        shift = self.es_n0_db(0)
        given = eb_n0_db if es_n0_db is None else es_n0_db
        points = []
        for value in np.atleast_1d(np.asarray(given, float)):
            if not -100 <= value <= 100:
                raise ValueError(f"{value} dB is not between -100 and 100")
            eb, es = (
                (value, value + shift) if es_n0_db is None else (value - shift, value)
            )
            same = [point for point in known if abs(point.es_n0_db - es) < 1e-6]
            point = error_rate_point(float(eb), float(es))
            points.append(dataclasses.replace(same[-1]) if same else point)
        return points

    def _seeds(self, point, index):
        return self.seed, round((point.es_n0_db + 1000) * 1e6), index


def simulate_error_rate(
    code,
    eb_n0_db=None,
    es_n0_db=None,
    constellation="bpsk",
    max_frame_errors=100,
    max_frames=1_000_000,
    max_seconds=None,
    data="random",
    max_log=False,
    seed=1,
    batch=None,
    workers=None,
    backend="auto",
    device=0,
    scheduler=None,
    known=(),
    on_point=None,
    on_progress=None,
    **decoder,
):
    """Bit and frame error rates of a code over white Gaussian noise.

    code: text as code_from_text() takes it, or an ldpc_code. eb_n0_db or es_n0_db: a number or several;
    energy of an information bit or of a symbol over the noise's density, dB.
    constellation: a name of constellation_names(); a word's bits go to symbols in order. A point ends at
    the first of max_frame_errors wrong frames, max_frames frames (both counted in whole slices), and
    max_seconds of computing on all workers; None: no such limit.
    data: "random" words, encoded, or "zeros", the word of zeros alone. max_log: demap by the nearest points
    alone. seed: of words and noise. batch: words of a slice, by default as many as suit the backend; with
    the same seed and batch the same words and noise come, on every backend and with any number of workers.
    workers: threads that simulate, by default one a core; with scheduler, the address of a Dask scheduler,
    the cluster's, whose machines need this module. decoder: further arguments of ldpc_decode, as
    max_iterations, algorithm, scale, early_stop.
    known: points of an earlier run with the same parameters, to be continued where they ended too early.
    on_point(point, new) is called when a point ends; `new` is false if nothing was added
    to a known point. It is called for points under way too if an exception, such as
    KeyboardInterrupt, breaks the run off. on_progress(state) is called as slices come,
    with an error_rate_schedule.progress.
    Returns an error_rate_point for each signal-to-noise ratio, in the order given.
    Raises ValueError for a parameter out of range, BackendUnavailable, OSError.
    """
    link = error_rate_simulation(
        code,
        constellation,
        data,
        max_log,
        seed,
        batch,
        workers,
        backend,
        device,
        scheduler,
        **decoder,
    )
    return link.run(
        eb_n0_db,
        es_n0_db,
        max_frame_errors,
        max_frames,
        max_seconds,
        known,
        on_point,
        on_progress,
    )
