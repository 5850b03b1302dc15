# SPDX-License-Identifier: GPL-3.0-or-later
"""Shares out slices of points to workers, and decides when a point ends."""

import collections
import dataclasses
import math
import os
import time
from concurrent import futures

CONNECT_SECONDS = 10  # seconds to wait for a scheduler


class executor:
    """A context with workers: threads of this machine, whose kernels release the
    interpreter's lock; or, with the address of a scheduler, the workers of its Dask
    cluster."""

    def __init__(self, workers=None, scheduler=None):
        self._client = None
        if scheduler is None:
            self.workers = workers or min(len(os.sched_getaffinity(0)), 16)
            self._pool = futures.ThreadPoolExecutor(self.workers)
            return
        try:
            from distributed import Client
        except ImportError:
            raise ValueError(
                "a scheduler needs Dask's distributed (Debian's python3-distributed)"
            ) from None
        self._client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        threads = sum(self._client.nthreads().values())
        if not threads:
            self._client.close()
            raise ValueError(f"the scheduler at {scheduler} has no workers")
        self.workers = workers or threads

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._client:
            self._client.close()
        else:
            self._pool.shutdown(wait=True)

    def submit(self, *call):
        if not self._client:
            return self._pool.submit(*call)
        # Not Client.get_executor(): if a call ends while it is cancelled, the executor's
        # callback fails and logs a traceback.
        here = futures.Future()
        there = self._client.submit(*call, pure=False)

        def pass_on(there):
            if not here.set_running_or_notify_cancel():
                return
            try:
                here.set_result(there.result())
            except BaseException as problem:  # a CancelledError is no Exception
                here.set_exception(problem)

        there.add_done_callback(pass_on)
        here.add_done_callback(lambda here: here.cancelled() and there.cancel())
        return here


@dataclasses.dataclass
class progress:
    """How far a simulation has come.

    point: the earliest that has not ended. share: points done, with fractions; points: all of them.
    bits_per_second: information bits simulated in a second. seconds_left: None if
    unknown.
    """

    point: object
    share: float
    points: int
    bits_per_second: float
    seconds_left: float = None


class _course:
    """A point under way. Its slices are counted in order. Slices after its end are not
    counted, so that the number of workers changes nothing."""

    def __init__(self, point, batch, limits):
        self.point, self.batch, self.limits = point, batch, limits
        self.queue = collections.deque()
        self.next_slice = point.slices
        self.bits = self.frames = 0  # counted in this run
        self.seconds = 0.0
        self.reported = False

    def shares(self):
        """How far each limit is reached."""
        yield self.point.frame_errors / self.limits.frame_errors
        yield self.point.frames / self.limits.frames
        yield self.seconds / self.limits.seconds

    def share(self):
        return min(1.0, max(self.shares()))

    def ended(self):
        return self.share() >= 1

    def slices_left(self):
        """How many more slices are likely to be needed, at least 1."""
        point = self.point
        if not self.frames and not point.frame_errors:
            return 1
        frames = point.frames / max(point.frame_errors, 1)
        slices = min(
            (self.limits.frame_errors - point.frame_errors) * frames / self.batch,
            (self.limits.frames - point.frames) / self.batch,
        )
        if self.seconds:
            each = self.seconds * self.batch / self.frames
            slices = min(slices, (self.limits.seconds - self.seconds) / each)
        return max(1, slices)

    def collect(self, workers):
        """Counts the slices that have come."""
        while self.queue and self.queue[0].done() and not self.ended():
            counts = self.queue.popleft().result()
            self.point.add(counts)
            self.bits += counts["bits"]
            self.frames += counts["frames"]
            self.seconds += counts["seconds"] / workers
        if self.ended():
            self.cancel()

    def cancel(self):
        for future in self.queue:
            future.cancel()
        self.queue.clear()


@dataclasses.dataclass
class limits:
    """Limits that end a point: wrong frames, frames, or seconds of this run. An infinite
    limit never ends it."""

    frame_errors: float
    frames: float
    seconds: float


class schedule:
    """Keeps all workers busy, the earliest points first."""

    def __init__(self, points, batch, limits, on_point=None, on_progress=None):
        self._courses = [_course(point, batch, limits) for point in points]
        self._on_point = on_point or (lambda point, new: None)
        self._on_progress = on_progress or (lambda state: None)

    def carry_out(self, workers, submit):
        """Simulates until every point has ended. submit(point, slice) returns a future of
        counts.

        Calls on_point(point, whether anything was added) when a point ends or an
        exception breaks it off. Calls on_progress(progress) as slices come.
        """
        if not self._courses:
            return []
        began = time.monotonic()
        try:
            while True:
                for course in self._courses:
                    course.collect(workers)
                    if course.ended():
                        self._tell(course)
                self._fill(2 * workers, submit)
                self._on_progress(self._progress(time.monotonic() - began))
                heads = [course.queue[0] for course in self._courses if course.queue]
                if not heads:
                    break
                futures.wait(heads, return_when=futures.FIRST_COMPLETED)
        except BaseException:
            for course in self._courses:
                course.cancel()
                if course.frames:
                    self._tell(course)
            raise
        return [course.point for course in self._courses]

    def _tell(self, course):
        if not course.reported:
            course.reported = True
            self._on_point(course.point, course.frames > 0)

    def _fill(self, most, submit):
        free = most - sum(len(course.queue) for course in self._courses)
        for course in self._courses:
            while free > 0 and not course.ended():
                if len(course.queue) >= course.slices_left():
                    break
                course.queue.append(submit(course.point, course.next_slice))
                course.next_slice += 1
                free -= 1

    def _progress(self, seconds):
        first = next((c for c in self._courses if not c.ended()), self._courses[-1])
        bits = sum(course.bits for course in self._courses)
        share = sum(course.share() for course in self._courses)
        rate = bits / seconds if seconds > 0 else 0.0
        left = None
        open_courses = [course for course in self._courses if not course.ended()]
        if bits and all(course.frames for course in open_courses):
            each = bits / sum(course.frames for course in self._courses)
            frames = sum(c.slices_left() * c.batch for c in open_courses)
            left = frames * each / rate
            if not math.isfinite(left):
                left = None
        return progress(first.point, share, len(self._courses), rate, left)
