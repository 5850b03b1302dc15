# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by blocks in Python: no exception leaves a block, and any tag can be read."""

import functools
import traceback

import pmt
from gnuradio import gr

_DONE = -1  # what work() returns when a block has ended


def whole_number(value):
    """The whole number that a PMT of any of GNU Radio's types holds; None if it holds none.

    A tag's value may be of any type: pmt.to_python() raises for some, and takes True for a number.
    """
    if pmt.is_uint64(value):
        return pmt.to_uint64(value)
    return pmt.to_long(value) if pmt.is_integer(value) else None


def guarded(block):
    """Class decorator for blocks in Python. An exception in start(), stop(), forecast(), work() or a
    message handler would end the block's thread and leave all others waiting, or end the process.
    Instead the block logs an error, keeps it for problem(), and ends the flowgraph.

    problem(): why the block ended the flowgraph; empty if it did not. fail(text): logs `text`, ends
    the flowgraph with the next call of work(). Returns the value for work() to return."""

    def fail(self, text):
        if not self._guard_problem:
            self._guard_problem = text
            gr.logger(self.alias()).error(f"{text}: the flowgraph ends here")
        return _DONE

    def guard(name, otherwise, again=False):
        """Replaces the method. The new method returns otherwise(self, *arguments) after
        an exception, or, unless `again`, if the block has failed before."""
        method = getattr(block, name)

        @functools.wraps(method)
        def call(self, *arguments):
            if self._guard_problem and not again:
                return otherwise(self, *arguments)
            try:
                return method(self, *arguments)
            except Exception as problem:
                gr.logger(self.alias()).debug(traceback.format_exc())
                self.fail(f"{type(problem).__name__} in {name}: {problem}")
                return otherwise(self, *arguments)

        setattr(block, name, call)

    def handler(self, port, method):
        @functools.wraps(method)
        def call(message):
            try:
                method(message)
            except Exception as problem:
                self.fail(f"{type(problem).__name__} in {method.__name__}: {problem}")

        # GNU Radio calls a handler by its name.
        setattr(self, method.__name__, call)
        set_msg_handler(self, port, call)

    set_msg_handler = block.set_msg_handler
    begin = block.start

    def start(self):
        self._guard_problem = ""
        return begin(self)

    block._guard_problem = ""
    block.fail = fail
    block.problem = lambda self: self._guard_problem
    block.problem.__doc__ = "Why the block ended the flowgraph; empty if it did not."
    block.start = functools.wraps(begin)(start)
    block.set_msg_handler = handler
    guard("start", lambda self: True, again=True)
    guard("stop", lambda self: True, again=True)
    guard("handle_forecast", lambda self, wanted, inputs: [1] * inputs)
    guard("handle_general_work", lambda self, *arguments: _DONE)
    return block
