#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""nr_cell_listener.py prints what a cell broadcasts, and writes it as PCAP, from files and from SigMF."""

import contextlib
import io
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import nr_cell_listener as listener
import numpy as np
from gnuradio.cudaphy import sigmf
from qa_support import nr_cell_signal as signal

RATE, CENTRE = 15.36e6, 3499.68e6  # a place of the raster
# A SIB1 of PLMN 001-01, tracking area 1, cell 123456789 (TS 38.331).
SIB1 = bytes.fromhex("60011570104004020000022468acf130")


def packets_of(path):
    """The UDP payloads of a capture."""
    data = path.read_bytes()
    magic, major, minor, *_, link = struct.unpack("<IHHiIII", data[:24])
    assert (magic, major, minor, link) == (0xA1B2C3D4, 2, 4, 228)
    at, out = 24, []
    while at < len(data):
        size = struct.unpack("<I", data[at + 8 : at + 12])[0]
        packet = data[at + 16 : at + 16 + size]
        total = sum(struct.unpack(">10H", packet[:20]))
        assert (total & 0xFFFF) + (total >> 16) == 0xFFFF, "checksum of IPv4"
        out.append(packet[28:])
        at += 16 + size
    return out


class qa_nr_cell_listener(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cell = signal.Cell(cell=42, sib1=SIB1)
        samples = signal.broadcast(
            cell, int(0.019 * RATE), RATE, frame=8, reference=CENTRE, offset=700.0
        )
        cls.samples = signal.with_noise(samples, 20, 30000, RATE) * np.float32(0.01)
        cls.samples.tofile(cls.folder / "air.cf32")
        sigmf.write_samples(
            cls.folder / "air", cls.samples, RATE, captures=[sigmf.capture(0, CENTRE)]
        )

    def run_it(self, *arguments):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            found = listener.main([str(a) for a in arguments])
        return found, text.getvalue()

    def check(self, text):
        self.assertIn("001-01", text)
        self.assertIn("000001", text)
        self.assertIn("123456789", text)
        self.assertIn("3499.680", text)
        self.assertIn(f"SIB1 {SIB1.rstrip(bytes(1)).hex()}", text)

    def test_a_file_is_read(self):
        found, text = self.run_it(
            "--file", self.folder / "air.cf32", "--rate", RATE, "--frequency", CENTRE
        )
        self.assertTrue(found)
        self.check(text)

    def test_a_file_of_integers_is_read(self):
        parts = self.samples.view(np.float32)
        path = self.folder / "air.ci16"
        np.round(parts * 20000).clip(-32768, 32767).astype(np.int16).tofile(path)
        found, text = self.run_it(
            *("--file", path, "--type", "ci16", "--rate", RATE),
            *("--frequency", CENTRE, "--ssb", CENTRE, "--spacing", 30),
        )
        self.assertTrue(found)
        self.check(text)

    def test_a_recording_in_sigmf_becomes_a_pcap(self):
        path = self.folder / "out.pcap"
        found, text = self.run_it("--sigmf", self.folder / "air", "--pcap", path)
        self.assertTrue(found)
        self.check(text)
        mib, sib1 = packets_of(path)
        # Without RNTI, SFN 8, slot 0: block 0 of case C.
        self.assertEqual(mib[:-3], b"mac-nr\x02\x01\x00\x07\x00\x08\x00\x00\x01")
        head = b"mac-nr\x02\x01\x04\x02\xff\xff\x07\x00\x08\x00\x0a\x01"
        self.assertEqual(sib1[: len(head) + len(SIB1)], head + SIB1)

    def test_wireshark_reads_the_pcap(self):
        if not shutil.which("tshark"):
            self.skipTest("there is no tshark")
        path = self.folder / "shark.pcap"
        self.run_it("--sigmf", self.folder / "air", "--pcap", path)
        done = subprocess.run(
            ["tshark", "-r", path, "--enable-heuristic", "mac_nr_udp", "-V"]
            + ["-o", "mac-nr.attempt_rrc_decode:TRUE"],
            capture_output=True,
            text=True,
        )
        self.assertIn("systemInformationBlockType1", done.stdout)
        self.assertIn("subCarrierSpacingCommon", done.stdout)

    def test_silence_has_no_cell(self):
        path = self.folder / "silence.cf32"
        np.zeros(int(0.03 * RATE), np.complex64).tofile(path)
        found, text = self.run_it("--file", path, "--rate", RATE)
        self.assertFalse(found)
        self.assertIn("no cell", text)

    def test_what_is_missing_is_asked_for(self):
        path = self.folder / "air.cf32"
        for arguments, wanted in (
            (("--file", path), "--rate"),
            (("--soapy", "driver=none", "--rate", RATE), "--frequency"),
            (("--file", path, "--rate", RATE, "--repeat"), "--repeat"),
        ):
            with self.assertRaisesRegex(ValueError, wanted):
                self.run_it(*arguments)


if __name__ == "__main__":
    unittest.main()
