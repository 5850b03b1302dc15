#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of what a build with GNU Radio alone has is what such a build has."""

import inspect
import unittest

from gnuradio import cudaphy, fec, gr
from gnuradio.cudaphy.block_names import BLOCK_NAMES
from qa_support import main

IN_PYTHON = ("gnuradio.cudaphy.blocks.", "gnuradio.cudaphy.sigmf.blocks")


def needs_gnuradio(thing):
    bases = (gr.gr_python.basic_block, fec.generic_decoder, fec.generic_encoder)
    if inspect.isclass(thing) and issubclass(thing, bases):
        return True
    return getattr(thing, "__module__", "").startswith(IN_PYTHON)


class qa_block_names(unittest.TestCase):
    def test_names_every_block_and_coder_and_no_function(self):
        found = {
            name for name in cudaphy.__all__ if needs_gnuradio(getattr(cudaphy, name))
        }
        self.assertEqual(found, BLOCK_NAMES)


if __name__ == "__main__":
    main()
