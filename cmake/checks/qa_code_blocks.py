#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of the code on pages finds blocks that nobody runs, and those that do not do what the page says."""

import shutil
import tempfile
import unittest
from pathlib import Path

import code_blocks

PAGE = Path("page.md")


def blocks(text):
    return code_blocks.blocks_of(PAGE, text)


class qa_code_blocks(unittest.TestCase):
    def test_blocks_are_taken_with_their_lines_and_marks(self):
        text = (
            "# A\n\n```python\nx = 1\n\ny = 2\n```\n\n<!-- not run: needs a radio -->\n"
        )
        text += "```sh\nfalse\n```\n- list\n\n  ```cpp\n  int a;\n  ```\n"
        first, second, third = blocks(text)
        self.assertEqual(first, (PAGE, 3, "python", "x = 1\n\ny = 2\n", False, ""))
        self.assertEqual((second.code, second.marked), ("false\n", True))
        self.assertEqual((third.code, third.language), ("int a;\n", "cpp"))

    def test_a_block_that_nobody_runs_is_found(self):
        good = "<!-- not run: why -->\n```cmake\na()\n```\n"
        good += "<!-- the same as a/b.h: -->\n```cpp\nint a;\n```\n```text\na\n```\n"
        self.assertEqual(list(code_blocks.problems(blocks(good))), [])
        for bad in (
            "```\nmake\n```\n",
            "```bash\nmake\n```\n",
            "```cmake\na()\n```\n",
            "<!-- not run: -->\n```cmake\na()\n```\n",
            "<!-- not run: x -->\n```text\na\n```\n",
        ):
            (line,) = code_blocks.problems(blocks(bad))
            self.assertIn("page.md:", line)

    def failures(self, runner, text, *more):
        with tempfile.TemporaryDirectory() as folder:
            work = code_blocks.workplace(folder)
            return [why for _, why in runner(blocks(text), *work, *more) if why]

    def test_python_that_fails_or_prints_something_else_is_found(self):
        run = code_blocks.run_python
        good = "```python\na = 1\n```\nand\n\n<!-- prints: 2 -->\n```python\nprint(a + 1)\n```\n"
        self.assertEqual(self.failures(run, good), [])
        (why,) = self.failures(run, good.replace("a = 1", "b = 1"))
        self.assertIn('page.py", line 8', why)
        (why,) = self.failures(run, good.replace("prints: 2", "prints: 3"))
        self.assertIn("does not print ['3']", why)

    def test_commands_that_fail_are_found(self):
        run = code_blocks.run_sh
        self.assertEqual(self.failures(run, "```sh\ntest -e README.md\n```\n"), [])
        for bad in ("false\ntrue", "false | cat", "echo $none", "no_such_program"):
            self.assertEqual(len(self.failures(run, f"```sh\n{bad}\n```\n")), 1)

    @unittest.skipUnless(shutil.which("c++"), "there is no compiler")
    def test_cpp_that_does_not_compile_is_found(self):
        code_blocks.library_folder = lambda: "/usr/lib"  # nothing is linked here
        for code, wrong in (("int a = 1;", 0), ("int a = b;", 1)):
            text = f"```cpp\n{code}\n```\n"
            found = self.failures(code_blocks.run_cpp, text, shutil.which("c++"))
            self.assertEqual(len(found), wrong)


if __name__ == "__main__":
    unittest.main()
