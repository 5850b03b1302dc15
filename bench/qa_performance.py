#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""bench/performance.py writes the page of its figures, and notices where they differ."""

import json
import tempfile
import unittest
from pathlib import Path

import performance

MACHINE = {"cpu": "Some CPU", "gpu": "NVIDIA H1, NVIDIA H1", "driver": "1", "cuda": ""}


def figure(**members):
    return {
        "kernel": "FDTD",
        "case": "cuda, small, crs",
        "ours": 2.0,
        "unit": "us a step",
        "peer": None,
        "peer_name": "",
        "peer_version": "",
        "bound": 1.0,
        "bound_of": "bytes",
        "machine": MACHINE,
        "date": "2026-01-02",
        "commit": "abc",
        "program": "bench_fdtd",
        **members,
    }


class qa_performance(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        (self.root / "docs/figures").mkdir(parents=True)
        self.file = self.root / "docs/figures/nvidia-h1.json"

    def tearDown(self):
        self.folder.cleanup()

    def add(self, *figures):
        performance.add(self.root, [json.dumps(each) for each in figures])
        content = json.loads(self.file.read_text())
        for each in content["figures"]:
            each.pop("page", None)
        performance.save(self.file, content)
        return content["figures"]

    def write(self):
        text = performance.page(performance.load(self.root))
        (self.root / performance.PAGE).write_text(text)
        return text

    def test_a_time_and_a_rate_are_compared_with_bound_and_peer(self):
        self.add(
            figure(peer=5.0, peer_name="cuSPARSE", peer_version="1"),
            figure(case="rate", unit="M/s", peer=0.5, peer_name="other", bound=4.0),
        )
        text = self.write()
        end = "NVIDIA H1, 2026-01-02 |\n"
        self.assertIn(f"crs | 2 us a step | 50 % | 5 (cuSPARSE, 1) | 2.5 | {end}", text)
        self.assertIn(f"rate | 2 M/s | 50 % | 0.5 (other) | 4 | {end}", text)

    def test_the_fastest_peer_that_stands_alone_goes_to_the_case(self):
        alone = dict(case="cuda, small", ours=None, bound=None)
        slow = figure(**alone, peer=9.0, peer_name="slow")
        fast = figure(**alone, peer=7.0, peer_name="fast")
        other = figure(case="cuda, smaller, crs")
        figures = self.add(figure(), slow, fast, other)
        self.assertEqual([each["peer_name"] for each in figures], ["fast", ""])

    def test_a_new_figure_replaces_the_old_one_and_keeps_its_place(self):
        self.add(figure(), figure(case="second"))
        figures = self.add(figure(ours=3.0))
        self.assertEqual([each["ours"] for each in figures], [3.0, 2.0])

    def test_a_new_case_is_not_on_the_page(self):
        performance.add(self.root, [json.dumps(figure())])
        self.assertNotIn("crs", self.write())

    def test_one_machine_that_is_told_in_two_ways_has_one_file(self):
        told = figure(case="second", machine={**MACHINE, "cuda": "CUDA 13"})
        self.assertEqual(len(self.add(figure(), told)), 2)

    def test_a_page_that_differs_is_noticed(self):
        self.add(figure())
        self.write()
        self.assertEqual(performance.problems(self.root), [])
        self.add(figure(ours=4.0))
        self.assertIn("--write", performance.problems(self.root)[0])

    def test_an_unknown_kernel_and_a_long_page_are_noticed(self):
        self.add(figure(kernel="unknown"))
        self.write()
        self.assertIn("unknown", performance.problems(self.root)[0])
        self.add(*(figure(case=str(i)) for i in range(performance.LONGEST)))
        self.write()
        self.assertIn("lines", performance.problems(self.root)[-1])


if __name__ == "__main__":
    unittest.main()
