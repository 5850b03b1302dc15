#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""DVB's codes against the words of GNU Radio's own DVB encoder, which shares nothing with this module."""

import pathlib
import tempfile
import unittest

import numpy as np
from gnuradio import blocks, dtv, gr

from gnuradio import cudaphy
from qa_support import main

S2, T2 = dtv.STANDARD_DVBS2, dtv.STANDARD_DVBT2
FRAMES = {
    "normal": dtv.FECFRAME_NORMAL,
    "medium": dtv.FECFRAME_MEDIUM,
    "short": dtv.FECFRAME_SHORT,
}
CODES = {
    ("dvbs2", "normal"): "1/4 1/3 2/5 1/2 3/5 2/3 3/4 4/5 5/6 8/9 9/10".split(),
    ("dvbs2", "short"): "1/4 1/3 2/5 1/2 3/5 2/3 3/4 4/5 5/6 8/9".split(),
    (
        "dvbs2x",
        "normal",
    ): "13/45 9/20 90/180 96/180 11/20 100/180 104/180 26/45 18/30 28/45 23/36 116/180 20/30 124/180 "
    "25/36 128/180 13/18 132/180 22/30 135/180 140/180 7/9 154/180".split()
    + ["2/9 VL-SNR"],
    ("dvbs2x", "medium"): ["1/5 VL-SNR", "11/45 VL-SNR", "1/3 VL-SNR"],
    ("dvbs2x", "short"): "11/45 4/15 14/45 7/15 8/15 26/45 32/45".split()
    + ["1/5 VL-SNR", "4/15 VL-SNR", "1/3 VL-SNR"]
    + ["1/5 VL-SNR SF2", "11/45 VL-SNR SF2"],
    ("dvbt2", "normal"): "1/2 3/5 2/3 3/4 4/5 5/6".split(),
    ("dvbt2", "short"): "1/4 1/3 2/5 1/2 3/5 2/3 3/4 4/5 5/6".split(),
}


def constant(frame, rate):
    """gr-dtv's name of a rate."""
    name, *vl_snr = rate.split(" ", 1)
    name = "C" + name.replace("/", "_")
    if frame == "medium":
        return name + "_MEDIUM"
    return name + ("_" + vl_snr[0].replace("-", "").replace(" ", "_") if vl_snr else "")


def encoded(family, frame, rate, info):
    block = dtv.dvb_ldpc_bb(
        T2 if family == "dvbt2" else S2,
        FRAMES[frame],
        getattr(dtv, constant(frame, rate)),
        dtv.MOD_OTHER,
    )
    source = blocks.vector_source_b(info.reshape(-1).tolist())
    sink = blocks.vector_sink_b()
    top = gr.top_block()
    top.connect(source, block, sink)
    top.run()
    return np.array(sink.data(), np.uint8)


class qa_ldpc_standards(unittest.TestCase):
    def test_words_of_gnuradios_dvb_encoder(self):
        random = np.random.default_rng()
        for (family, frame), rates in CODES.items():
            for rate in rates:
                with self.subTest(family=family, frame=frame, rate=rate):
                    code = cudaphy.ldpc_code(family, frame=frame, rate=rate)
                    info = random.integers(0, 2, (2, code.k), np.uint8)
                    words = encoded(family, frame, rate, info)
                    self.assertEqual(len(words), 2 * code.n)
                    words = words.reshape(2, code.n)
                    np.testing.assert_array_equal(words, cudaphy.ldpc_encode(code, info))
                    if len(code.punctured) == 0:
                        columns = np.zeros((code.variables, 2), np.uint8)
                        columns[code.transmitted] = words.T
                        self.assertFalse((code.parity_check() @ columns % 2).any())

    def test_every_family(self):
        for standard, arguments, n, k in (
            ("nr5g", {"base_graph": 2, "lifting_size": 8, "rows": 12}, 160, 80),
            (
                "nr5g",
                {"base_graph": 1, "lifting_size": 8, "rows": 4, "fillers": 6},
                186,
                170,
            ),
            ("wimax", {"n": 576, "rate": "2/3A"}, 576, 384),
            ("ccsds", {"family": "ar4ja", "k": 1024, "rate": "4/5"}, 1280, 1024),
            ("ccsds", {"family": "tc", "k": 64}, 128, 64),
            ("ccsds", {"family": "c2", "k": 7136, "rate": "7/8"}, 8158, 7138),
            ("10gbase-t", {}, 2048, 1723),
            ("regular", {}, 1024, 512),
        ):
            with self.subTest(standard=standard, **arguments):
                code = cudaphy.ldpc_code(standard, **arguments)
                self.assertEqual((code.n, code.k), (n, k))
                matrix = code.parity_check()
                self.assertEqual(matrix.shape, (code.checks, code.variables))
                absent = np.concatenate([code.punctured, code.shortened])
                present = np.concatenate([code.transmitted, absent])
                np.testing.assert_array_equal(np.sort(present), np.arange(code.variables))
                info = np.random.default_rng().integers(0, 2, (3, k), np.uint8)
                words = cudaphy.ldpc_encode(code, info)
                bits, _, ok = cudaphy.ldpc_decode(code, 8.0 - 16.0 * words)
                np.testing.assert_array_equal(bits, info)
                self.assertTrue(ok.all())

    def test_codes_come_back_from_the_files_that_they_write(self):
        code = cudaphy.ldpc_code
        with tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder) / "code")
            for one, quasi_cyclic in (
                (code("nr5g", base_graph=2, lifting_size=8, rows=12, fillers=5), True),
                (code("ccsds", family="c2", k=7136), True),
                (code("ccsds", family="ar4ja", k=1024, rate="2/3"), True),
                (code("dvbs2x", frame="short", rate="1/5 VL-SNR"), False),
                (code("10gbase-t"), False),
            ):
                info = np.random.default_rng().integers(0, 2, (2, one.k), np.uint8)
                words = cudaphy.ldpc_encode(one, info)
                for write, read, possible in (
                    (one.to_alist, code.from_alist, True),
                    (one.to_qc, code.from_qc, quasi_cyclic),
                ):
                    with self.subTest(code=one.name, write=write):
                        if not possible:
                            with self.assertRaisesRegex(ValueError, "alist"):
                                write(path)
                            continue
                        write(path)
                        again = read(path)
                        self.assertEqual(again.name, path)
                        np.testing.assert_array_equal(again.punctured, one.punctured)
                        np.testing.assert_array_equal(again.shortened, one.shortened)
                        self.assertEqual(
                            (again.parity_check() != one.parity_check()).nnz, 0
                        )
                        np.testing.assert_array_equal(
                            cudaphy.ldpc_encode(again, info), words
                        )
                with self.assertRaisesRegex(cudaphy.CodeFileError, "no/such"):
                    one.to_alist(str(pathlib.Path(folder) / "no/such/file"))

    def test_the_example_of_a_quasi_cyclic_file(self):
        parts = cudaphy.ldpc_code.from_qc.__doc__.split("\n\n")
        (example,) = [part for part in parts if "punctured 24-31" in part]
        with tempfile.NamedTemporaryFile("w", suffix=".qc") as file:
            file.write(example)
            file.flush()
            code = cudaphy.ldpc_code.from_qc(file.name)
        self.assertEqual((code.variables, code.checks, code.n, code.k), (32, 16, 24, 16))
        np.testing.assert_array_equal(code.punctured, np.arange(24, 32))
        first_row = code.parity_check()[0].indices
        np.testing.assert_array_equal(first_row, [0, 8 + 3, 8 + 5, 16 + 1])

    def test_arguments_that_do_not_fit_are_named(self):
        for family, arguments, text in (
            ("turbo", {}, '"nr5g"'),
            ("ccsds", {"k": 1024}, "family"),
            ("wimax", {"n": 577, "rate": "1/2"}, "576"),
            ("regular", {"k": 1}, "k"),
            ("nr5g", {"base_graph": 3, "lifting_size": 8, "rows": 12}, "1 or 2"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                cudaphy.ldpc_code(family, **arguments)


if __name__ == "__main__":
    main()
