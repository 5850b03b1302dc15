#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The live receivers: every one compiles by grcc and differs from the one that plays a recording in the
radio's block alone; those that play one decode what make_recording.py makes.

Exit status 77: grcc is missing."""

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml
from gnuradio import gr

HERE = Path(__file__).resolve().parent
RADIOS = {"soapy": "soapy_custom_source", "uhd": "uhd_usrp_source"}
FRAMES = 60
# What names a flowgraph, and not what it does.
NAMES = ("id", "title", "description")

# GNU Radio's own blocks and these, not an installed copy of these, which would shadow them.
os.environ["GR_CONF_GRC_GLOBAL_BLOCKS_PATH"] = os.pathsep.join(
    [
        str(Path(gr.prefix()) / "share/gnuradio/grc/blocks"),
        str(HERE.parents[1] / "grc"),
    ]
)


def module_of(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def twins():
    """(offline flowgraph, live one, its radio) for all of them."""
    return [
        (path, HERE / f"{path.stem}_{name}.grc", block)
        for path in sorted(HERE.glob("*.grc"))
        for name, block in RADIOS.items()
        if not path.stem.endswith(tuple("_" + radio for radio in RADIOS))
    ]


class qa_live(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def compiled(self, path):
        done = subprocess.run(
            ["grcc", "-o", self.folder, path], capture_output=True, text=True
        )
        name = yaml.safe_load(path.read_text())["options"]["parameters"]["id"]
        made = self.folder / f"{name}.py"
        text = f"{path.name}\n{done.stdout}{done.stderr}"
        self.assertTrue(done.returncode == 0 and made.exists(), text)
        return made

    def test_the_radio_is_the_only_difference(self):
        self.assertEqual(len(twins()), 4)
        for offline, live, radio in twins():
            with self.subTest(live=live.name):
                one, other = (yaml.safe_load(p.read_text()) for p in (offline, live))
                for graph in (one, other):
                    for name in NAMES:
                        graph["options"]["parameters"].pop(name)
                kinds = [b["id"] for b in other["blocks"] if b["name"] == "radio"]
                self.assertEqual(kinds, [radio])
                kinds = [b["id"] for b in one["blocks"] if b["name"] == "radio"]
                self.assertEqual(kinds, ["cudaphy_sigmf_source"])
                for graph in (one, other):
                    graph["blocks"] = [b for b in graph["blocks"] if b["name"] != "radio"]
                self.assertEqual(one, other)

    def test_every_live_flowgraph_compiles(self):
        for _, live, radio in twins():
            with self.subTest(live=live.name):
                source = self.compiled(live).read_text()
                self.assertIn(
                    "soapy.source" if "soapy" in radio else "uhd.usrp_source", source
                )
                compile(source, live.name, "exec")

    def test_a_recording_is_received(self):
        made = self.compiled(HERE / "dvbs2_receiver.grc")
        maker = module_of(HERE / "make_recording.py")
        stream = maker.dvbs2_to_ts.numbered_packets(300)
        for modcod, snr_db in (("qpsk-1/2-short", 6), ("8psk-3/5-normal", 9)):
            with self.subTest(modcod=modcod), inside(self.folder):
                maker.make(maker.NAME, stream, modcod, snr_db)
                top = getattr(module_of(made), made.stem)()
                top.run()
                got = Path("received.ts").read_bytes()
                # Null packets follow.
                self.assertTrue(got[: len(stream)] == stream)
                self.assertEqual(len(got) % maker.dvbs2_to_ts.PACKET, 0)
                status = top.receiver.status()
                self.assertEqual(status["frame_errors"], 0)
                self.assertAlmostEqual(status["frequency"], 0.01, 4)
                self.assertAlmostEqual(status["esn0"], snr_db, delta=1)

    def test_a_recording_of_two_antennas_is_received(self):
        made = self.compiled(HERE / "mimo_ofdm_receiver.grc")
        maker = module_of(HERE / "make_recording.py")
        with inside(self.folder):
            maker.make_mimo(maker.MIMO_NAME, frames=FRAMES)
            top = getattr(module_of(made), made.stem)()
            top.run()
        self.assertEqual((top.frontend.frames(), top.frontend.torn_frames()), (FRAMES, 0))
        self.assertAlmostEqual(top.frontend.carrier_offset(), 0.35, 2)
        self.assertEqual(top.decoder.frames(), 4 * FRAMES)
        self.assertEqual(top.decoder.frame_errors(), 0)


@contextlib.contextmanager
def inside(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    if not shutil.which("grcc"):
        print("skipped: there is no grcc")
        sys.exit(77)
    unittest.main()
