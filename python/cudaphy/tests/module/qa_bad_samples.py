#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples that are not finite, huge or denormal, at any time. No block hangs, and a
bounded number of frames later each block's output is as without them."""

from pathlib import Path

import numpy as np
from gnuradio import cudaphy, gr
from gnuradio.gr import gateway
from qa_support import BACKEND, FlowgraphCase, QuickSink, QuickSource, Source
from qa_support import captured_log, main
from qa_support.block_table import TABLE, entry

BAD = [np.nan, np.inf, -np.inf, 1e38, 3.4e38, -1e30, 1e15, 1e-40]
WORST = BAD[:2] + [3.4e38]
# Blocks whose rows in the table have other names than their GRC ids.
NAMES = {
    "triangular_matrix_inverse": "triangular_inverse",
    "symmetric_matrix_inverse": "symmetric_inverse",
}


def floats():
    """(name, entry) of the blocks that have samples."""
    for name in TABLE:
        row = entry(name)
        if any(array.dtype.kind in "fc" for array in row.inputs):
            yield name, row


class qa_bad_samples(FlowgraphCase):
    def make(self, row):
        return row.make(**({"backend": BACKEND} if "backend" in row.takes else {}))

    def outputs(self, row, block, inputs):
        top = gr.top_block()
        for port, array in enumerate(inputs):
            tags = row.tags if port == 0 else ()
            source = Source(array, tags) if tags else QuickSource(array)
            source.block.set_max_noutput_items(1000)
            top.connect(source.block, (block, port))
        sinks = [QuickSink(*output) for output in row.outputs]
        for port, sink in enumerate(sinks):
            top.connect((block, port), sink.block)
        self.run_flowgraph(top, 60)
        return [sink.data for sink in sinks]

    def spoilt(self, row, port, frame, bad):
        """The inputs with bad samples in a frame, and where the frame ends."""
        inputs = [array.copy() for array in row.inputs]
        x = inputs[port]
        if x.dtype.kind not in "fc":
            return None
        a_frame = len(x) / row.frames
        first, last = int(frame * a_frame), int((frame + 1) * a_frame)
        where = [first + head for head in row.heads if first + head < last]
        where += [(first + last) // 2, last - 1]
        flat = x.reshape(len(x), -1).view(np.float32)
        for number, item in enumerate(where):
            flat[item, number % flat.shape[1]] = bad
        return inputs

    def assert_end(self, row, wanted, got, frame):
        """The outputs are alike from a bounded number of frames after `frame` on."""
        left = row.frames - 1 - frame - row.remembers
        self.assertGreater(left, 0)
        for a, b in zip(wanted, got):
            n = len(a) * left // row.frames
            self.assertGreaterEqual(len(b), n)
            if n:
                np.testing.assert_allclose(b[-n:], a[-n:], rtol=1e-3, atol=2e-3)

    def test_after_bad_samples_every_block_comes_back(self):
        for name, row in floats():
            if row.refuses:
                continue
            wanted = self.outputs(row, self.make(row), row.inputs)
            middle = row.frames // 2 - 1
            for frame in sorted({0, 1, middle}):
                for bad in BAD if frame == middle else WORST:
                    for port in range(len(row.inputs)):
                        with self.subTest(name, bad=bad, frame=frame, port=port):
                            inputs = self.spoilt(row, port, frame, bad)
                            if inputs is None:
                                continue
                            with captured_log():
                                got = self.outputs(row, self.make(row), inputs)
                            self.assert_end(row, wanted, got, frame)

    def test_a_stream_of_bad_samples_alone_ends(self):
        for name, row in floats():
            for bad in (np.nan, np.inf, 3.4e38, 1e-40):
                with self.subTest(name, bad=bad), captured_log():
                    inputs = [
                        x if x.dtype.kind not in "fc" else np.full_like(x, bad)
                        for x in row.inputs
                    ]
                    block = self.make(row)
                    self.outputs(row, block, inputs)
                    if row.refuses:
                        block.reset()
                    # The block works in a second run too.
                    wanted = self.outputs(row, self.make(row), row.inputs)
                    got = self.outputs(row, block, row.inputs)
                    self.assert_end(row, wanted, got, -1 - row.remembers)

    def test_a_block_that_refuses_bad_samples_names_the_item(self):
        for name, row in floats():
            if not row.refuses:
                continue
            wanted = self.outputs(row, self.make(row), row.inputs)
            for bad in (np.nan, np.inf, -np.inf):
                for frame in (0, row.frames // 2):
                    with self.subTest(name, bad=bad, frame=frame):
                        block = self.make(row)
                        with captured_log() as log:
                            inputs = self.spoilt(row, 0, frame, bad)
                            got = self.outputs(row, block, inputs)
                        self.assertIn("the flowgraph ends here", log.text)
                        self.assertIn(f"time step {frame} ", log.text)
                        for a, b in zip(wanted, got):
                            np.testing.assert_array_equal(a[: len(b)], b)
                        block.reset()
                        got = self.outputs(row, block, row.inputs)
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
