#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions on numpy arrays take the same numbers in any layout and byte order, and leave
them alone. Values that are no numbers are refused with the argument's name."""

import unittest
import warnings

import numpy as np
import scipy.sparse
from gnuradio import cudaphy
from gnuradio.cudaphy import nr5g
from qa_support import BACKEND, gaussian, main, need_backend

need_backend()
B = {"backend": BACKEND}
RANDOM = np.random.default_rng(5)
CODE = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
BITS = RANDOM.integers(0, 2, (3, CODE.k), np.uint8)
LLR = RANDOM.standard_normal((3, CODE.n)).astype("f4") * 2
LLR += 4 * (1 - 2.0 * cudaphy.ldpc_encode(CODE, BITS, "reference"))
SEGMENTS = nr5g.segmentation(1000, 2)
LIFTED = SEGMENTS.lifting_size, SEGMENTS.fillers
PAYLOAD = RANDOM.integers(0, 2, 1000, np.uint8)
BLOCK = nr5g.transport_block(1000, code_rate=0.5, **B)
SOFT = nr5g.rate_recover(RANDOM.standard_normal((2, 600)).astype("f4"), 2, *LIFTED)
SPARSE = scipy.sparse.random(20, 30, 0.2, "csr", random_state=3).astype("f4")
TRIANGLE = np.tril(RANDOM.standard_normal((4, 6, 6))).astype("f4") + 3 * np.eye(
    6, dtype="f4"
)
POSITIVE = (lambda a: a @ a.T + np.eye(40))(RANDOM.standard_normal((40, 40))).astype("f4")


def floats(*shape):
    return RANDOM.standard_normal(shape).astype("f4")


def decoded_block(llr):
    BLOCK.clear()
    return BLOCK.decode(llr)


# (function of arrays, {argument: (array, kind)}); kind: "bits", "real" or "number".
FUNCTIONS = {
    "ldpc_encode": (
        lambda bits: cudaphy.ldpc_encode(CODE, bits, **B),
        {"bits": (BITS, "bits")},
    ),
    "ldpc_decode float32": (
        lambda llr: cudaphy.ldpc_decode(CODE, llr, soft=True, **B),
        {"llr": (LLR, "real")},
    ),
    "ldpc_decode float16": (
        lambda llr: cudaphy.ldpc_decode(CODE, llr, **B),
        {"llr": (LLR.astype("f2"), "real")},
    ),
    "ldpc_decode float64": (
        lambda llr: cudaphy.ldpc_decode(CODE, llr, **B),
        {"llr": (LLR.astype("f8"), "real")},
    ),
    "ldpc_decode int8": (
        lambda llr: cudaphy.ldpc_decode(CODE, llr, **B),
        {"llr": (np.clip(6 * LLR, -127, 127).astype("i1"), "real")},
    ),
    "nr5g.crc": (nr5g.crc, {"bits": (BITS, "bits")}),
    "nr5g.attach_crc": (nr5g.attach_crc, {"bits": (BITS, "bits")}),
    "nr5g.segment": (
        lambda bits: nr5g.segment(bits, SEGMENTS),
        {"bits": (PAYLOAD, "bits")},
    ),
    "nr5g.desegment": (
        lambda blocks: nr5g.desegment(blocks, SEGMENTS),
        {"blocks": (nr5g.segment(PAYLOAD, SEGMENTS), "bits")},
    ),
    "nr5g.rate_match": (
        lambda words: nr5g.rate_match(words, 600, 2, *LIFTED),
        {"words": (RANDOM.integers(0, 2, (2, 50 * LIFTED[0] - LIFTED[1]), "u1"), "bits")},
    ),
    "nr5g.rate_recover": (
        lambda llr, soft: nr5g.rate_recover(llr, 2, *LIFTED, soft=soft),
        {"llr": (floats(2, 600), "real"), "soft": (SOFT, "soft")},
    ),
    "transport_block.encode": (
        lambda bits: BLOCK.encode(bits, 2400),
        {"bits": (PAYLOAD, "bits")},
    ),
    "transport_block.decode": (
        decoded_block,
        {"llr": (4 - 8 * BLOCK.encode(PAYLOAD, 2400).astype("f4"), "real")},
    ),
    "demap": (
        lambda x, n: cudaphy.demap(x, n, "qam16", **B),
        {"x": (gaussian((50,)), "number"), "n": (np.full(50, 0.2, "f4"), "real")},
    ),
    "demap int8": (
        lambda x, n: cudaphy.demap(x, n, "qam16", dtype="int8", **B),
        {"x": (gaussian((50,)), "number"), "n": (np.full(50, 0.2, "f4"), "real")},
    ),
    "estimate_channel": (
        lambda received, pilots: cudaphy.estimate_channel(received, pilots, **B),
        {
            "received": (gaussian((3, 4, 12, 2)), "number"),
            "pilots": (cudaphy.orthogonal_pilots(4, 2), "number"),
        },
    ),
    "equalize": (
        lambda y, h, noise_var: cudaphy.equalize(y, h, noise_var, **B),
        {
            "y": (gaussian((6, 4)), "number"),
            "h": (gaussian((6, 4, 2), 2), "number"),
            "noise_var": (np.full(6, 0.1, "f4"), "real"),
        },
    ),
    "invert": (
        lambda a: cudaphy.invert(a, **B),
        {"a": (gaussian((5, 4, 4)), "number")},
    ),
    "invert_triangular": (
        lambda a: cudaphy.invert_triangular(a, **B),
        {"a": (TRIANGLE, "number")},
    ),
    "solve_triangular": (
        lambda l, b: cudaphy.solve_triangular(l, b, **B),
        {"l": (TRIANGLE, "number"), "b": (floats(4, 6, 3), "number")},
    ),
    "invert_symmetric": (
        lambda a: cudaphy.invert_symmetric(a, **B),
        {"a": (POSITIVE, "number")},
    ),
    "update_inverse": (
        lambda x, v, d: cudaphy.update_inverse(x, v, d, **B),
        {
            "x": (POSITIVE[:10, :10], "number"),
            "v": (floats(10, 2), "number"),
            "d": (np.ones(2, "f4"), "real"),
        },
    ),
    "multiply_sparse": (
        lambda x, y: cudaphy.multiply_sparse(SPARSE, x, y, **B),
        {"x": (floats(4, 30), "other"), "y": (floats(4, 20), "other")},
    ),
}


def strided(a):
    larger = np.zeros(tuple(2 * n for n in a.shape), a.dtype)
    view = larger[tuple(slice(None, None, 2) for _ in a.shape)]
    view[...] = a
    return view


def unaligned(a):
    raw = np.zeros(a.nbytes + 1, "u1")[1:]
    view = raw.view(a.dtype).reshape(a.shape) if a.dtype.itemsize > 1 else a.copy()
    view[...] = a
    return view


def backwards(a):
    turned = tuple(slice(None, None, -1) for _ in a.shape)
    return a[turned].copy()[turned]


def read_only(a):
    out = a.copy()
    out.flags.writeable = False
    return out


LAYOUTS = {
    "big endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "Fortran": np.asfortranarray,
    "strided": strided,
    "unaligned": unaligned,
    "backwards": backwards,
    "read only": read_only,
    "masked": np.ma.array,
    "big endian, strided": lambda a: strided(a.astype(a.dtype.newbyteorder(">"))),
}


def parts(result):
    if isinstance(result, (tuple, list)):
        return [part for each in result for part in parts(each)]
    return [np.asarray(result)]


class qa_numpy_arguments(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("error")  # as one about what a conversion loses

    def test_any_layout_and_byte_order_gives_the_same_and_stays_as_it_is(self):
        for name, (function, arguments) in FUNCTIONS.items():
            arrays = [array for array, _ in arguments.values()]
            expected = parts(function(*arrays))
            for layout, arrange in LAYOUTS.items():
                given = [arrange(array) for array in arrays]
                before = [array.tobytes() for array in given]
                with self.subTest(function=name, layout=layout):
                    got = parts(function(*given))
                    self.assertEqual(len(got), len(expected))
                    for one, other in zip(got, expected):
                        self.assertEqual(one.dtype, other.dtype)
                        np.testing.assert_array_equal(one, other)
                    self.assertEqual([array.tobytes() for array in given], before)
                    for one in got:
                        self.assertFalse(any(np.shares_memory(one, a) for a in given))

    def test_values_that_are_no_numbers_are_refused_with_the_argument(self):
        for name, (function, arguments) in FUNCTIONS.items():
            for which, (array, kind) in arguments.items():
                if kind in ("other", "soft"):
                    continue
                wrong = [array.astype(object), array.astype(str).astype("U5")]
                wrong.append(array.real.astype("i8").astype("M8[s]"))
                if kind != "number":
                    wrong.append(array.astype("c8"))
                for each in wrong:
                    given = {w: a for w, (a, _) in arguments.items()}
                    given[which] = each
                    with self.subTest(function=name, which=which, dtype=each.dtype):
                        with self.assertRaisesRegex(TypeError, rf"^{which} has items"):
                            function(*given.values())

    def test_bits_are_zeros_and_ones_of_any_type(self):
        for name, (function, arguments) in FUNCTIONS.items():
            ((which, (bits, kind)),) = list(arguments.items())[:1]
            if kind != "bits":
                continue
            expected = parts(function(bits))
            for dtype in ("bool", "i1", "i8", "u2", "f4", "f8", ">i4"):
                for one, other in zip(parts(function(bits.astype(dtype))), expected):
                    np.testing.assert_array_equal(one, other)
            for dtype, value in (
                ("u1", 2),
                ("u1", 3),
                ("u1", 255),
                ("i8", 256),
                ("i8", -1),
                ("f4", 0.5),
                ("f8", np.nan),
            ):
                wrong = bits.astype(dtype)
                wrong.flat[-1] = value
                with self.subTest(function=name, dtype=dtype, value=value):
                    with self.assertRaisesRegex(ValueError, f"^{which}.* 0 and 1"):
                        function(wrong)
        packed = np.packbits(BITS, -1)
        with self.assertRaisesRegex(ValueError, "bits.*bytes"):
            cudaphy.ldpc_encode(CODE, packed.astype(int) + 256, packed_input=True, **B)

    def test_rows_of_different_lengths_are_refused_with_the_name_of_the_argument(self):
        for call in (
            lambda: cudaphy.ldpc_encode(CODE, [[0, 1], [1]], **B),
            lambda: nr5g.crc([[0, 1], [1]]),
        ):
            with self.assertRaisesRegex(ValueError, "bits is no array"):
                call()

    def test_llrs_come_in_the_requested_type(self):
        x, n = gaussian((40,)), np.float32(0.2)
        for kind in ("f4", "f2", "i1"):
            native = cudaphy.demap(x, n, dtype=kind, **B)
            self.assertEqual(native.dtype, np.dtype(kind))
            for order in "<>":
                got = cudaphy.demap(x, n, dtype=np.dtype(kind).newbyteorder(order), **B)
                self.assertEqual(got.dtype, np.dtype(kind).newbyteorder(order))
                np.testing.assert_array_equal(got, native)

    def test_a_product_of_another_byte_order_is_the_same(self):
        x = floats(3, 30)
        product = cudaphy.sparse_product(SPARSE, dtype=">f4", **B)
        np.testing.assert_array_equal(product(x), cudaphy.multiply_sparse(SPARSE, x, **B))

    def test_a_simulation_of_another_byte_order_is_the_same(self):
        seen = []
        for dtype in ("f8", ">f8"):
            grid = cudaphy.fdtd((12, 12, 12), 1e-3, dtype=dtype, **B)
            source = grid.add_source((5, 5, 5), "ez")
            grid.add_probe((7, 6, 5), "ez")
            self.assertEqual(source, 0)
            pulse = np.exp(-((np.arange(40) - 12.0) ** 2) / 20).astype(dtype)
            seen.append(grid.step(pulse))
            seen.append(grid.field("ez"))
            self.assertTrue(seen[-1].any())
        for one, other in zip(seen[:2], seen[2:]):
            np.testing.assert_array_equal(one, other)


if __name__ == "__main__":
    main()
