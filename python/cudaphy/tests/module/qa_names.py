#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each old name is the object of the new name, with a DeprecationWarning."""

import re
import unittest
import warnings

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, main

RENAMED = {
    "inverse": "invert",
    "triangular_inverse": "invert_triangular",
    "symmetric_inverse": "invert_symmetric",
    "spmv": "multiply_sparse",
    "triangular_inverse_block": "triangular_matrix_inverse",
    "symmetric_inverse_block": "symmetric_matrix_inverse",
}


class qa_names(unittest.TestCase):
    def test_an_old_name_is_the_new_one_with_a_warning_where_it_is_used(self):
        for old, new in RENAMED.items():
            with self.subTest(old), self.assertWarnsRegex(
                DeprecationWarning, rf"cudaphy\.{old} is called cudaphy\.{new} now"
            ) as warning:
                self.assertIs(getattr(cudaphy, old), getattr(cudaphy, new))
            self.assertEqual(warning.filename, __file__)
            self.assertNotIn(old, dir(cudaphy))

    def test_old_names_can_be_imported_and_called(self):
        with self.assertWarns(DeprecationWarning):
            from gnuradio.cudaphy import inverse, triangular_inverse_block
        x, info = inverse(2 * np.eye(3), backend=BACKEND)
        np.testing.assert_array_equal(x, np.eye(3) / 2)
        self.assertEqual(info, 0)
        self.assertEqual(triangular_inverse_block(4, backend=BACKEND).backend(), BACKEND)

    def test_new_names_warn_of_nothing(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for new in RENAMED.values():
                getattr(cudaphy, new)

    def test_other_names_are_missing_as_in_any_module(self):
        with self.assertRaisesRegex(AttributeError, re.escape("no attribute 'invers'")):
            cudaphy.invers  # noqa: B018


if __name__ == "__main__":
    main()
