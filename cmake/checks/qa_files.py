#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of the files passes good ones and finds each kind of fault."""

import tempfile
import unittest
from pathlib import Path

import files

BLOCK = """id: cudaphy_equalizer
label: Equalizer
category: '[CUDA PHY]/MIMO'
documentation: one two three four five six seven eight nine ten
file_format: 1
"""


def problems_with(name, text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return files.problems(folder)


class qa_files(unittest.TestCase):
    def passes(self, name, text):
        self.assertEqual(problems_with(name, text), ([], 1))

    def finds(self, name, text):
        found, read = problems_with(name, text)
        self.assertEqual((len(found), read), (1, 1), found)

    def test_a_licence_stands_first(self):
        self.passes("lib/x.cc", f"/* {files.LICENCE} */\n")
        self.passes("apps/x.py", f"#!/usr/bin/env python3\n# {files.LICENCE}\n")
        self.finds("lib/x.cc", "")
        self.finds("lib/x.cu", f"#pragma once\n/* {files.LICENCE} */\n")
        self.finds("lib/CMakeLists.txt", "add_subdirectory(kernels)\n")
        self.finds("run", "#!/bin/sh\n")

    def test_only_a_table_may_be_long(self):
        text = f"/* {files.LICENCE} */\n" + "x" * files.LARGEST
        self.finds("lib/x.cc", text)
        self.finds("lib/tabular.cc", text)
        self.passes("lib/x_table.h", text)
        self.passes("lib/tables_wifi.cc", text)

    def test_a_block_is_documented_and_has_its_place(self):
        name = "grc/cudaphy_equalizer.block.yml"
        self.passes(name, BLOCK)
        self.finds(name, BLOCK.replace("one two three", "one"))
        self.finds(name, BLOCK.replace("[CUDA PHY]", "[Core]"))
        self.finds(name, BLOCK.replace("file_format: 1", ""))
        self.finds(name, BLOCK + "  bad: [")
        self.finds("grc/cudaphy_other.block.yml", BLOCK)


if __name__ == "__main__":
    unittest.main()
