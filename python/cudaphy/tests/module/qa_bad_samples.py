#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples that are not finite, huge or denormal, at any time: no block hangs, and a bounded number of frames later
each puts out what it does without them."""

from pathlib import Path

import numpy as np
from gnuradio import cudaphy, gr
from gnuradio.gr import gateway
from qa_support import BACKEND, FlowgraphCase, Sink, Source, captured_log, main
from qa_support.block_table import TABLE, entry

BAD = [np.nan, np.inf, -np.inf, 1e38, 3.4e38, -1e30, 1e15, 1e-40]
# Blocks whose GRC ids and rows in the table have another name.
NAMES = {
    "triangular_matrix_inverse": "triangular_inverse",
    "symmetric_matrix_inverse": "symmetric_inverse",
}


def floats():
    """(name, entry) of the blocks that have samples."""
    for name in TABLE:
        its = entry(name)
        if any(array.dtype.kind in "fc" for array in its.inputs):
            yield name, its


class qa_bad_samples(FlowgraphCase):
    def make(self, its):
        return its.make(**({"backend": BACKEND} if "backend" in its.takes else {}))

    def outputs(self, its, block, inputs):
        top = gr.top_block()
        for port, array in enumerate(inputs):
            source = Source(array, its.tags if port == 0 else ())
            source.block.set_max_noutput_items(1000)
            top.connect(source.block, (block, port))
        sinks = [Sink(*output) for output in its.outputs]
        for port, sink in enumerate(sinks):
            top.connect((block, port), sink.block)
        self.run_flowgraph(top, 60)
        return [sink.data for sink in sinks]

    def spoilt(self, its, port, frame, bad):
        """The inputs with bad samples in a frame, and where the frame ends."""
        inputs = [array.copy() for array in its.inputs]
        x = inputs[port]
        if x.dtype.kind not in "fc":
            return None
        a_frame = len(x) / its.frames
        first, last = int(frame * a_frame), int((frame + 1) * a_frame)
        where = [first + head for head in its.heads if first + head < last]
        where += [(first + last) // 2, last - 1]
        flat = x.reshape(len(x), -1).view(np.float32)
        for number, item in enumerate(where):
            flat[item, number % flat.shape[1]] = bad
        return inputs

    def assert_end(self, its, wanted, got, frame):
        """From a bounded number of frames after this one on the outputs are alike, to their end."""
        left = its.frames - 1 - frame - its.remembers
        self.assertGreater(left, 0)
        for a, b in zip(wanted, got):
            n = len(a) * left // its.frames
            self.assertGreaterEqual(len(b), n)
            if n:
                np.testing.assert_allclose(b[-n:], a[-n:], rtol=1e-3, atol=2e-3)

    def test_after_bad_samples_every_block_comes_back(self):
        for name, its in floats():
            if its.refuses:
                continue
            wanted = self.outputs(its, self.make(its), its.inputs)
            for bad in BAD:
                for frame in (0, 1, its.frames // 2 - 1):
                    for port in range(len(its.inputs)):
                        with self.subTest(name, bad=bad, frame=frame, port=port):
                            inputs = self.spoilt(its, port, frame, bad)
                            if inputs is None:
                                continue
                            with captured_log():
                                got = self.outputs(its, self.make(its), inputs)
                            self.assert_end(its, wanted, got, frame)

    def test_a_stream_of_nothing_else_ends(self):
        for name, its in floats():
            for bad in (np.nan, np.inf, 3.4e38, 1e-40):
                with self.subTest(name, bad=bad), captured_log():
                    inputs = [
                        x if x.dtype.kind not in "fc" else np.full_like(x, bad)
                        for x in its.inputs
                    ]
                    block = self.make(its)
                    self.outputs(its, block, inputs)
                    if its.refuses:
                        block.reset()
                    # And the block works once more.
                    wanted = self.outputs(its, self.make(its), its.inputs)
                    got = self.outputs(its, block, its.inputs)
                    self.assert_end(its, wanted, got, -1 - its.remembers)

    def test_a_block_that_refuses_them_says_where(self):
        for name, its in floats():
            if not its.refuses:
                continue
            wanted = self.outputs(its, self.make(its), its.inputs)
            for bad in (np.nan, np.inf, -np.inf):
                for frame in (0, its.frames // 2):
                    with self.subTest(name, bad=bad, frame=frame):
                        block = self.make(its)
                        with captured_log() as log:
                            inputs = self.spoilt(its, 0, frame, bad)
                            got = self.outputs(its, block, inputs)
                        self.assertIn("the flowgraph ends here", log.text)
                        self.assertIn(f"time step {frame} ", log.text)
                        for a, b in zip(wanted, got):
                            np.testing.assert_array_equal(a[: len(b)], b)
                        block.reset()
                        got = self.outputs(its, block, its.inputs)
                        for a, b in zip(wanted, got):
                            np.testing.assert_array_equal(a, b)

    def test_every_block_of_the_module_is_in_the_table(self):
        blocks = (gr.gr_python.basic_block, gateway.gateway_block, gr.hier_block2)
        exported = {
            NAMES.get(name, name)
            for name in dir(cudaphy)
            if isinstance(getattr(cudaphy, name), type)
            and issubclass(getattr(cudaphy, name), blocks)
            and not name.startswith("_")
        }
        self.assertGreater(len(exported), 20)
        self.assertEqual(exported - set(TABLE), set())
        grc = Path(__file__).resolve().parents[4] / "grc"
        ids = {path.name.split(".")[0] for path in grc.glob("*.block.yml")}
        ids = {one.removeprefix("cudaphy_") for one in ids if "variable" not in one}
        self.assertGreater(len(ids), 25)
        self.assertEqual(ids - set(TABLE), set())


if __name__ == "__main__":
    main()
