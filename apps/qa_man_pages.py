#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""man reads both manual pages without a warning. Exit status 77: there is no man."""

import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import man_pages

PAGES = sorted(Path(__file__).resolve().parent.glob("*.1"))


def warnings_of(page):
    """What man says of a page beside its text, and the text."""
    done = subprocess.run(
        ["man", "--warnings=w", "--local-file", page], capture_output=True, text=True
    )
    return done.stderr, done.stdout


class qa_man_pages(unittest.TestCase):
    def test_both_pages_are_read_without_a_warning(self):
        self.assertEqual([page.stem for page in PAGES], list(man_pages.PROGRAMS))
        for page in PAGES:
            warnings, text = warnings_of(page)
            self.assertEqual(warnings, "")
            self.assertIn("--version", text)
            self.assertIn("SEE ALSO", text)

    def test_troff_takes_no_text_for_a_command(self):
        self.assertEqual(man_pages.escaped(".TH\n-a\\b"), "\\&.TH\n\\-a\\eb")


if __name__ == "__main__":
    if not shutil.which("man"):
        print("skipped: there is no man")
        sys.exit(77)
    unittest.main()
