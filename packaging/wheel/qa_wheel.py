#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is true of the package cudaphy alone, as a wheel has it."""

import re
import sys
import unittest
from pathlib import Path

import cudaphy
from cudaphy.block_names import BLOCK_NAMES


class qa_wheel(unittest.TestCase):
    def test_nothing_of_gnuradio_is_imported(self):
        roots = {name.partition(".")[0] for name in sys.modules}
        self.assertFalse(roots & {"gnuradio", "pmt"})

    def test_a_block_is_missing_and_the_error_says_why(self):
        self.assertFalse(BLOCK_NAMES & set(dir(cudaphy)))
        for name in BLOCK_NAMES:
            with self.assertRaisesRegex(AttributeError, f"{name} .*without GNU Radio"):
                getattr(cudaphy, name)
        with self.assertRaisesRegex(AttributeError, "no attribute 'invers'$"):
            cudaphy.invers  # noqa: B018

    def test_the_package_has_types(self):
        self.assertTrue(Path(cudaphy.__file__).with_name("py.typed").exists())

    def test_the_code_of_its_page_runs(self):
        text = Path(__file__).with_name("README.md").read_text()
        codes = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        self.assertTrue(codes)
        for code in codes:
            exec(code, {})


if __name__ == "__main__":
    unittest.main()
