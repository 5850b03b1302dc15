#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""thread_storage.py on small libraries: qa_thread_storage.py COMPILER."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).with_name("thread_storage.py")


class test_thread_storage(unittest.TestCase):
    def check(self, *sources):
        """Exit status and output of the check on libraries of these sources."""
        with tempfile.TemporaryDirectory() as folder:
            made = []
            for number, source in enumerate(sources):
                made.append(f"{folder}/{number}.so")
                flags = ["-shared", "-fPIC", "-x", "c++", "-", "-o", made[-1]]
                subprocess.run([COMPILER, *flags], input=source, text=True, check=True)
            done = subprocess.run(
                [sys.executable, "-B", CHECK, *made], capture_output=True, text=True
            )
            return done.returncode, done.stdout

    def test_a_pointer_a_thread_is_allowed(self):
        status, out = self.check("thread_local void* p; void* f() { return p; }")
        self.assertEqual(status, 0, out)
        self.assertIn(": 8 of", out)

    def test_no_thread_local_storage_is_allowed(self):
        self.assertEqual(self.check("int f() { return 1; }")[0], 0)

    def test_a_large_array_is_found_in_any_of_the_libraries(self):
        large = "thread_local char a[65537]; char* f() { return a; }"
        status, out = self.check(large, "int f() { return 1; }")
        self.assertEqual(status, 1, out)
        self.assertIn(": 65537 of", out)


if __name__ == "__main__":
    COMPILER = sys.argv.pop()
    unittest.main()
