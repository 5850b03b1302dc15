#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/tutorial.md, followed word by word by GNU Radio Companion's own code: every block is found
where the page says, every parameter by its label, and the result is first_link.grc.

With --write, first_link.grc becomes that result; blocks keep their places."""

import re
import sys
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "python/cudaphy/tests/grc"))

from qa_grc import PLATFORM, c_safe_load  # noqa: E402

PAGE = FOLDER.parent / "tutorial.md"
COMMITTED = FOLDER / "first_link.grc"
NUMBERS = {"first": 0, "second": 1}
OPTIONS = re.compile(r"set Id to `([^`]*)` and Title to `([^`]*)`")
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+ / [^|]+) \|(.*)\|$", re.MULTILINE)
SETTING = re.compile(r"([^;`]+): `([^`]*)`")
CONNECTION = re.compile(
    r"^- ([^→\n]+) → ([^,\n]+)(?:, (first|second) input)?$", re.MULTILINE
)


def block_class(label, category):
    """The one block that has this label and stands there in the tree."""
    found = [
        one
        for one in PLATFORM.blocks.values()
        if one.label == label and " / ".join(one.category) == category
    ]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} blocks {label} under {category}")
    return found[0]


def set_parameter(block, label, value):
    """As in the window of properties: visible, and by an option's label if it has options. Versions
    of GRC show either the label or the key of Minoutbuf. View, Show All Block IDs shows ids.
    """
    found = [
        one
        for one in block.params.values()
        if label.casefold() in (one.name.casefold(), one.key)
        and (one.hide != "all" or one.key == "id")
    ]
    if len(found) != 1:
        raise AssertionError(f"{block.name}: {len(found)} parameters {label}")
    if found[0].is_enum():
        labels = [one.casefold() for one in found[0].options.values()]
        value = list(found[0].options)[labels.index(value.casefold())]
    found[0].set_value(value)
    block.rewrite()


def followed(text):
    """The flowgraph that the page describes."""
    flowgraph = PLATFORM.make_flow_graph()
    flowgraph.import_data(PLATFORM.parse_flow_graph(""))
    name, title = OPTIONS.search(text).groups()
    flowgraph.options_block.params["id"].set_value(name)
    flowgraph.options_block.params["title"].set_value(title)
    made = {}
    for label, category, settings in ROW.findall(text):
        cls = block_class(label, category)
        block = flowgraph.new_block(cls.key)
        block.params["id"].set_value(f"{cls.key}_0")
        for name, value in SETTING.findall(settings):
            set_parameter(block, name.strip(), value)
        made[label] = block
    flowgraph.rewrite()
    for source, sink, which in CONNECTION.findall(text):
        start, end = made[source].active_sources, made[sink].active_sinks
        streams = [port for port in end if port.domain == "stream"]
        flowgraph.connect(start[0], streams[NUMBERS[which or "first"]])
    flowgraph.rewrite()
    flowgraph.validate()
    return flowgraph


def content(data):
    """What a flowgraph's file says apart from where blocks stand on the screen."""
    blocks = {one["name"]: (one["id"], one["parameters"]) for one in data["blocks"]}
    return data["options"]["parameters"], blocks, sorted(map(list, data["connections"]))


class qa_tutorial(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.flowgraph = followed(PAGE.read_text())

    def test_the_page_leads_to_a_valid_flowgraph(self):
        errors = [
            f"{where}: {what}" for where, what in self.flowgraph.iter_error_messages()
        ]
        self.assertEqual(errors, [])
        self.assertGreater(len(self.flowgraph.blocks), 15)
        self.assertEqual(len(self.flowgraph.connections), 11)

    @unittest.skipIf(
        "blocks_throttle2" in PLATFORM.blocks, "this GNU Radio has another Throttle"
    )
    def test_it_is_the_committed_one(self):
        committed = PLATFORM.make_flow_graph(str(COMMITTED))
        committed.rewrite()
        self.assertEqual(
            content(self.flowgraph.export_data()), content(committed.export_data())
        )

    def test_a_wrong_word_is_found(self):
        text = PAGE.read_text()
        for right, wrong in (
            ("CUDA PHY / Modulation", "CUDA PHY / MIMO"),
            ("Poll Rate (Hz)", "Rate (Hz)"),
            ("Type: `Byte`", "Type: `Bits`"),
            ("Soft Demapper → LDPC", "Hard Demapper → LDPC"),
        ):
            self.assertIn(right, text)
            with self.assertRaises((AssertionError, ValueError, KeyError)):
                followed(text.replace(right, wrong))


def write():
    flowgraph = followed(PAGE.read_text())
    committed = c_safe_load(COMMITTED.read_text())["blocks"] if COMMITTED.exists() else []
    places = {one["name"]: one["states"]["coordinate"] for one in committed}
    for block in flowgraph.blocks:
        block.states["coordinate"] = places.get(block.name, [8, 8])
    PLATFORM.save_flow_graph(str(COMMITTED), flowgraph)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
