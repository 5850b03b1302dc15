#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks' counters, read over ControlPort.

Exit status 77: this GNU Radio has no ControlPort, or its Python client is missing."""

import os
import socket

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT = free.getsockname()[1]
# GNU Radio reads these when it is loaded.
os.environ["GR_CONF_CONTROLPORT_ON"] = "True"
os.environ["GR_CONF_THRIFT_PORT"] = str(PORT)

import sys  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402
from gnuradio import blocks, cudaphy, gr  # noqa: E402
from qa_support import BACKEND, FlowgraphCase, main  # noqa: E402

NAMES = ["batch size", "avg batch size", "queue depth", "failures"]
NAMES += ["compute time", "total compute time"]


class qa_control_port(FlowgraphCase):
    def test_figures_of_a_running_block(self):
        from gnuradio.ctrlport.GNURadioControlPortClient import GNURadioControlPortClient

        values = np.tile(np.eye(2, dtype="complex64").ravel(), 64)
        values[:4] = 0  # singular, once in 64
        source = blocks.vector_source_c(values.tolist(), True, 4)
        block = cudaphy.matrix_inverse(2, backend=BACKEND, max_batch=16)
        top = gr.top_block()
        top.connect(source, block, blocks.null_sink(32))
        top.start()
        try:
            client = GNURadioControlPortClient(
                "127.0.0.1", PORT, rpcmethod="thrift"
            ).client
            keys = [f"{block.alias()}::{name}" for name in NAMES]
            ends = time.monotonic() + 30
            while block.failures() < 2 and time.monotonic() < ends:
                time.sleep(0.01)
            knobs = client.getKnobs(keys)
            self.assertEqual(sorted(knobs), sorted(keys))
            size, average, depth, failures, last, total = (knobs[k].value for k in keys)
            self.assertTrue(0 < size <= 16 and 0 < average <= 16, (size, average))
            self.assertGreaterEqual(depth, 0)
            self.assertGreaterEqual(failures, 2)
            self.assertTrue(0 <= last <= total < 60, (last, total))
            units = client.properties(keys)
            self.assertEqual(units[keys[4]].units, "s")
        finally:
            top.stop()
            top.wait()


if __name__ == "__main__":
    try:
        import thrift  # noqa: F401
        from gnuradio.ctrlport import GNURadioControlPortClient  # noqa: F401
    except ImportError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    try:
        main()
    except SystemExit as end:
        # Leave without exit handlers. In these GNU Radio 3.10.5 destroys its Thrift
        # server while the server's threads still run, and now and then a thread crashes.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))
