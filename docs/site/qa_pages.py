#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages and pictures of blocks say what blocks and conventions say."""

import unittest
from xml.etree import ElementTree

import block_picture
import companion
import grc_pages
import yaml

PLATFORM = companion.load_platform()
CONVENTIONS = (grc_pages.ROOT / "docs/conventions.md").read_text()
FILES = sorted(companion.GRC.glob("*.block.yml"))


def described(kind):
    return yaml.safe_load((companion.GRC / f"{kind}.block.yml").read_text())


class qa_pages(unittest.TestCase):
    def test_pictures_have_the_ports_and_parameters_that_companion_shows(self):
        self.assertGreater(len(FILES), 30)
        for path in FILES:
            kind = path.name.removesuffix(".block.yml")
            block = companion.example_block(PLATFORM, kind)
            faults = [
                text
                for _, text in block.iter_error_messages()
                if text != "Port is not connected."
            ]
            self.assertEqual(faults, [], kind)
            drawn = ElementTree.fromstring(block_picture.draw(block))
            texts = ["".join(one.itertext()) for one in drawn.iter() if "text" in one.tag]
            self.assertIn(block.label, texts)
            for port in block.active_ports():
                self.assertIn(port.name, texts, kind)
            for label, value in block_picture.rows_of(block):
                self.assertIn(f"{label}: {value}", texts, kind)
            for box in drawn.iter("{http://www.w3.org/2000/svg}rect"):
                if box.get("x"):
                    right = float(box.get("x")) + float(box.get("width"))
                    self.assertLessEqual(right, float(drawn.get("width")), kind)

    def test_tags_are_those_that_name_the_block(self):
        def directions(label):
            rows = grc_pages.tags(label, CONVENTIONS)
            return {row[1].split("``")[1]: row[0] for row in rows}

        decoder = directions("LDPC Decoder")
        self.assertEqual(decoder["iterations"], "out")
        self.assertEqual(decoder["ldpc_code"], "in")
        self.assertEqual(directions("LDPC Decoder (PDU)"), {})
        self.assertEqual(directions("LDPC Encoder"), {"ldpc_code": "in"})
        self.assertEqual(directions("DVB-S2 Frame Sync")["rx_time"], "in")
        self.assertEqual(directions("DVB-S2 Frame Sync")["pls"], "out")
        self.assertEqual(directions("DVB-S2 Receiver"), {"discontinuity": "out"})
        self.assertEqual(directions("Packet Loss Counter"), {"packet_number": "in"})
        self.assertEqual(directions("MVDR Weights"), {"singular": "out"})

    def test_every_tag_of_the_conventions_is_on_the_page_of_a_block(self):
        labels = [
            described(path.name.removesuffix(".block.yml"))["label"] for path in FILES
        ]
        shown = {row[1] for label in labels for row in grc_pages.tags(label, CONVENTIONS)}
        table = CONVENTIONS.partition("\n## Tags")[2].partition("\n## ")[0]
        rows = [row for row in table.splitlines() if row.startswith("| `")]
        self.assertGreater(len(rows), 20)
        known = {grc_pages.plain(row.split(" | ")[0].removeprefix("| ")) for row in rows}
        self.assertEqual(shown, known)

    def test_a_page_has_every_part(self):
        known = grc_pages.flowgraphs()
        page = grc_pages.page(described("cudaphy_mimo_equalizer"), CONVENTIONS, known)
        for part in (
            ".. image:: cudaphy_mimo_equalizer.svg",
            "classgr_1_1cudaphy_1_1mimo__equalizer.html",
            ":doc:`how it works </design/estimator_and_equalizer>`",
            "``receive_antennas``\n     - whole number\n     - ``2``",
            "number, also while it runs",
            "``receive_antennas * layers``",
            "Message ports\n",
            "``noise_var``",
            ":download:`examples/mimo_ldpc_link.grc",
            "In Python\n",
        ):
            self.assertIn(part, page)

    def test_a_block_that_no_example_has_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "no flowgraph in examples"):
            grc_pages.example_lines("cudaphy_none", grc_pages.flowgraphs())

    def test_each_design_page_is_there(self):
        for kind, name in grc_pages.DESIGN.items():
            self.assertTrue((companion.GRC / f"{kind}.block.yml").exists(), kind)
            self.assertTrue((grc_pages.ROOT / f"docs/design/{name}.md").exists(), name)


if __name__ == "__main__":
    unittest.main()
