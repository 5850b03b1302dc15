#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A name that the module lacks is missing as in any module."""

import re
import unittest

from gnuradio import cudaphy
from qa_support import main

OF_RELEASE_0_1 = ["inverse", "triangular_inverse", "symmetric_inverse", "spmv"]
OF_RELEASE_0_1 += ["triangular_inverse_block", "symmetric_inverse_block"]


class qa_names(unittest.TestCase):
    def test_names_that_are_missing(self):
        for name in ("invers", *OF_RELEASE_0_1):
            with self.subTest(name), self.assertRaisesRegex(
                AttributeError, re.escape(f"no attribute '{name}'")
            ):
                getattr(cudaphy, name)
            self.assertFalse(hasattr(cudaphy, name))
            self.assertNotIn(name, dir(cudaphy))


if __name__ == "__main__":
    main()
