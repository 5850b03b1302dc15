#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of the layers passes a good tree and finds each kind of fault in a bad one."""

import tempfile
import unittest
from pathlib import Path

import layers

GOOD = {
    "include/gnuradio/cudaphy/api.h": "#pragma once\n",
    "include/gnuradio/cudaphy/kernels/queue.h": "#include <gnuradio/cudaphy/api.h>\n",
    "include/gnuradio/cudaphy/kernels/inverse.h": (
        "#include <gnuradio/cudaphy/kernels/queue.h>\n#include <vector>\n"
    ),
    "include/gnuradio/cudaphy/kernels/equalizer.h": "",
    "include/gnuradio/cudaphy/equalizer.h": (
        "#include <gnuradio/cudaphy/api.h>\n#include <gnuradio/block.h>\n"
    ),
    "lib/kernels/common/queue.cc": "#include <gnuradio/cudaphy/kernels/queue.h>\n",
    "lib/kernels/common/queue_cuda.h": "#include <cuda_runtime.h>\n",
    "lib/kernels/common/check.cuh": "#include <cuda_runtime.h>\n",
    "lib/kernels/linalg/inverse.cc": '#include "inverse_makers.h"\n',
    "lib/kernels/linalg/inverse_makers.h": "",
    "lib/kernels/linalg/inverse_cuda.cu": (
        '#include "kernels/common/check.cuh"\n#include <cuda_runtime.h>\n'
    ),
    "lib/kernels/mimo/equalizer.cc": (
        "#include <gnuradio/cudaphy/kernels/inverse.h>\n"
        '#include "../linalg/inverse_makers.h"\n'
    ),
    "lib/kernels/mimo/wiener.h": "",
    "lib/runtime/ring.cc": (
        "#include <cuda_runtime.h>\n#include <gnuradio/block.h>\n"
        "#include <gnuradio/cudaphy/kernels/queue.h>\n"
    ),
    "lib/runtime/qa_ring.cc": "#include <gnuradio/buffer_reader.h>\n",
    "lib/runtime/scheduler_port.cc": (
        "#include <gnuradio/block_detail.h>\n#include <gnuradio/buffer.h>\n"
    ),
    "lib/runtime/ring.h": "",
    "lib/blocks/mimo/equalizer_impl.cc": (
        '#include "runtime/ring.h"\n#include <gnuradio/cudaphy/equalizer.h>\n'
    ),
    "lib/blocks/mimo/equalizer_impl.h": "",
    "python/cudaphy/__init__.py": "import numpy\nfrom .arrays import inverse\n",
    "python/cudaphy/arrays.py": "from . import cudaphy_python\n",
    "examples/link.py": "from gnuradio import cudaphy\nimport channel\n",
    "examples/channel.py": "import numpy\n",
    "examples/cpp/stream.cc": "#include <cuda_runtime_api.h>\n",
}


def problems_with(changes):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**GOOD, **changes}.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return layers.problems(folder)[0]


class qa_layers(unittest.TestCase):
    def finds(self, name, text):
        found = problems_with({name: text})
        self.assertEqual(len(found), 1, f"{text!r} in {name}: {found}")
        self.assertTrue(found[0].startswith(name), found)

    def test_a_good_tree_passes(self):
        self.assertEqual(problems_with({}), [])

    def test_this_tree_has_every_layer(self):
        repository = layers.Tree(layers.tree.ROOT)
        found = {repository.room(path)[0] for path in repository.files}
        self.assertEqual(set(layers.RANKS), found)

    def test_an_include_that_runs_back(self):
        kernel = "lib/kernels/linalg/inverse.cc"
        self.finds("lib/kernels/common/queue.cc", '#include "kernels/mimo/wiener.h"\n')
        self.finds(
            "include/gnuradio/cudaphy/kernels/queue.h",
            "#include <gnuradio/cudaphy/kernels/inverse.h>\n",
        )
        self.finds(kernel, '#include "runtime/ring.h"\n')
        self.finds(kernel, "#  include <gnuradio/cudaphy/equalizer.h>\n")
        self.finds("lib/runtime/ring.cc", '#include "blocks/mimo/equalizer_impl.h"\n')
        self.finds("lib/runtime/ring.cc", '#include "../blocks/mimo/equalizer_impl.h"\n')

    def test_kernel_folders_that_use_each_other_in_a_circle(self):
        found = problems_with(
            {
                "lib/kernels/linalg/inverse.cc": '#include "kernels/mimo/wiener.h"\n',
            }
        )
        self.assertEqual(len(found), 2, found)

    def test_gnu_radio_in_a_kernel(self):
        for header in ("gnuradio/logger.h", "pmt/pmt.h"):
            for name in (
                "lib/kernels/common/queue.cc",
                "lib/kernels/linalg/inverse_cuda.cu",
                "include/gnuradio/cudaphy/kernels/queue.h",
            ):
                self.finds(name, f"#include <{header}>\n")

    def test_the_scheduler_outside_its_port(self):
        for header in ("block_detail", "tpb_detail", "buffer", "buffer_reader"):
            for name in ("lib/runtime/ring.cc", "lib/blocks/mimo/equalizer_impl.h"):
                self.finds(name, f"#include <gnuradio/{header}.h>\n")

    def test_cuda_outside_its_files(self):
        for header in (
            "cuda_runtime.h",
            "cublas_v2.h",
            "cuda/std/complex",
            "cub/cub.cuh",
        ):
            for name in (
                "lib/kernels/linalg/inverse.cc",
                "lib/kernels/common/queue.cc",
                "lib/blocks/mimo/equalizer_impl.cc",
                "include/gnuradio/cudaphy/kernels/inverse.h",
                "include/gnuradio/cudaphy/equalizer.h",
            ):
                self.finds(name, f"#include <{header}>\n")
        self.finds(
            "lib/blocks/mimo/equalizer_impl.cc", '#include "kernels/common/check.cuh"\n'
        )

    def test_python_that_imports_an_example(self):
        for line in ("import link", "from link import run", "from examples import link"):
            self.finds("python/cudaphy/arrays.py", f"{line}\n")

    def test_a_header_that_does_not_exist(self):
        for header in ("gnuradio/cudaphy/nothing.h", "kernels/common/nothing.h"):
            self.finds("lib/blocks/mimo/equalizer_impl.cc", f"#include <{header}>\n")


if __name__ == "__main__":
    unittest.main()
