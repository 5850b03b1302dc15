#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""No exception of a block in Python hangs a flowgraph or ends the process: each such block is guarded."""

import ast
import os
import sys
from pathlib import Path

import numpy as np
import pmt
from gnuradio import blocks, gr
from gnuradio.cudaphy.blocks.block_guard import guarded, whole_number
from qa_support import FlowgraphCase, Sink, captured_log

ROOT = Path(__file__).resolve().parents[4]
KINDS = ("sync_block", "basic_block", "decim_block", "interp_block")
UNCONVERTIBLE = pmt.init_s8vector(3, [1, 2, 3])  # raises in pmt.to_python()


@guarded
class passing(gr.basic_block):
    """Copies; the method `bad` raises, from its call number `first` on."""

    def __init__(self, bad="", first=0):
        gr.basic_block.__init__(self, "passing", [np.float32], [np.float32])
        self.bad, self.first, self.calls = bad, first, 0
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self.take)
        self.taken = 0

    def _may_raise(self, method):
        if self.bad == method:
            self.calls += 1
            if self.calls > self.first:
                raise KeyError("a fault")

    def start(self):
        self._may_raise("start")
        return super().start()

    def stop(self):
        self._may_raise("stop")
        return super().stop()

    def forecast(self, wanted, inputs):
        self._may_raise("forecast")
        return [1] * inputs

    def take(self, message):
        self._may_raise("take")
        self.taken += 1

    def general_work(self, input_items, output_items):
        self._may_raise("general_work")
        count = min(len(input_items[0]), len(output_items[0]), 1000)
        output_items[0][:count] = input_items[0][:count]
        self.consume(0, count)
        return count


class qa_block_guard(FlowgraphCase):
    def run_it(self, block, repeat=False, message=False):
        """(the output, the log)"""
        data = np.arange(5000, dtype="f4")
        source, sink = blocks.vector_source_f(data.tolist(), repeat), Sink("float32")
        top = gr.top_block()
        top.connect(source, block, sink.block)
        if message:
            block.to_basic_block()._post(pmt.intern("in"), UNCONVERTIBLE)
        with captured_log() as log:
            self.run_flowgraph(top, 20)
        return sink.data, log.text

    def test_an_exception_ends_the_flowgraph_and_is_logged(self):
        for bad, where in (
            ("start", "start"),
            ("forecast", "handle_forecast"),
            ("general_work", "handle_general_work"),
            ("take", "take"),
        ):
            for first in (0, 2) if bad in ("forecast", "general_work") else (0,):
                with self.subTest(bad=bad, first=first):
                    block = passing(bad, first)
                    # The source is endless, so that only the fault ends the flowgraph.
                    data, log = self.run_it(block, True, bad == "take")
                    text = f"KeyError in {where}: 'a fault'"
                    self.assertEqual(block.problem(), text)
                    self.assertEqual(
                        log.count(f"{text}: the flowgraph ends here"), 1, log
                    )
                    np.testing.assert_array_equal(data, np.arange(len(data)))

    def test_an_exception_in_stop_leaves_what_came_out(self):
        block = passing("stop")
        data, log = self.run_it(block)
        self.assertEqual(len(data), 5000)
        self.assertEqual(block.problem(), "KeyError in stop: 'a fault'")
        self.assertIn("KeyError in stop: 'a fault'", log)

    def test_a_block_is_used_again_after_its_fault(self):
        for bad in ("start", "forecast", "general_work", "take", "stop"):
            with self.subTest(bad=bad):
                block = passing(bad)
                self.run_it(block, message=bad == "take")
                self.assertNotEqual(block.problem(), "")
                block.bad = ""
                for _ in range(2):
                    data, _ = self.run_it(block, message=True)
                    self.assertEqual((block.problem(), len(data)), ("", 5000))
                self.assertEqual(block.taken, 2)

    def test_fail_ends_the_flowgraph_and_keeps_the_first_problem(self):
        @guarded
        class failing(gr.sync_block):
            def __init__(self):
                gr.sync_block.__init__(self, "failing", [np.float32], None)

            def work(self, input_items, output_items):
                self.fail("the first problem")
                return self.fail("the second problem")

        top, block = gr.top_block(), failing()
        top.connect(blocks.null_source(4), block)
        with captured_log() as log:
            self.run_flowgraph(top, 20)
        self.assertEqual(block.problem(), "the first problem")
        self.assertEqual(log.text.count("the first problem: the flowgraph ends here"), 1)
        self.assertNotIn("second", log.text)

    def test_only_longs_and_uint64s_are_whole_numbers(self):
        for value, number in (
            (pmt.from_long(-5), -5),
            (pmt.from_long(2**62), 2**62),
            (pmt.from_uint64(7), 7),
            (pmt.from_uint64(2**64 - 1), 2**64 - 1),
            (pmt.from_double(3.0), None),
            (pmt.PMT_T, None),
            (pmt.PMT_NIL, None),
            (pmt.intern("3"), None),
            (UNCONVERTIBLE, None),
            (pmt.from_complex(1 + 0j), None),
            (pmt.make_tuple(pmt.from_long(1)), None),
            (pmt.make_dict(), None),
        ):
            self.assertEqual(whole_number(value), number)

    def test_every_block_in_python_is_guarded(self):
        found = 0
        for folder in ("python/cudaphy", "examples", "apps"):
            for path in sorted((ROOT / folder).rglob("*.py")):
                if "qa_" in str(path.relative_to(ROOT)):
                    continue
                for node in ast.walk(ast.parse(path.read_text())):
                    if isinstance(node, ast.ClassDef) and any(
                        isinstance(base, ast.Attribute) and base.attr in KINDS
                        for base in node.bases
                    ):
                        found += 1
                        by = [ast.unparse(each) for each in node.decorator_list]
                        self.assertIn("guarded", by, f"{path}: {node.name}")
        self.assertGreater(found, 10)


if __name__ == "__main__":
    if os.environ.get("CUDAPHY_TEST_BACKEND") == "cuda":
        print("skipped: blocks in Python are the same on every backend")
        sys.exit(77)
    import unittest

    unittest.main()
