#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions on arrays that lie on a GPU: of every library that is here, with numpy's results to the bit."""

import importlib
import unittest

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, main, need_backend

need_backend()
ON_GPU = BACKEND == "cuda"
RANDOM = np.random.default_rng(11)
CODE = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
LONG = cudaphy.ldpc_code("nr5g", base_graph=2, lifting_size=36, rows=20)


def to_torch(torch, array):
    return torch.from_numpy(np.array(array)).cuda()


def from_jax(array):
    return np.array(array)


# name: (module, numpy -> library, library -> numpy)
LIBRARIES = {
    "gpu_buffer": (
        cudaphy,
        lambda m, a: cudaphy.gpu_buffer(np.asarray(a)),
        lambda a: a.to_host(),
    ),
    "cupy": (None, lambda m, a: m.asarray(a), lambda a: a.get()),
    "torch": (None, to_torch, lambda a: a.cpu().numpy()),
    "jax": (None, lambda m, a: m.device_put(a), from_jax),
}


def library(name):
    """The functions of a library; None if it is not here, or has no GPU."""
    module, there, back = LIBRARIES[name]
    try:
        module = module or importlib.import_module(name)
        if name == "jax":
            module.config.update("jax_enable_x64", True)
        there(module, np.zeros(1, np.float32))
    except Exception:
        return None
    return module, lambda array: there(module, array), back


PRESENT = (
    {name: found for name in LIBRARIES if (found := library(name))} if ON_GPU else {}
)


def llrs(code, count, scale=1.0):
    bits = RANDOM.integers(0, 2, (count, code.k), np.uint8)
    words = cudaphy.ldpc_encode(code, bits, backend="cpu")
    noise = RANDOM.standard_normal(words.shape)
    return (scale * (4 * (1 - 2.0 * words) + 2.5 * noise)).astype(np.float32)


def matrices(kind, *shape):
    a = RANDOM.standard_normal(shape)
    if np.dtype(kind).kind == "c":
        a = a + 1j * RANDOM.standard_normal(shape)
    return a.astype(kind)


Y, H = matrices("c8", 5, 6, 7, 4), matrices("c8", 7, 4, 2)
NOISE = RANDOM.uniform(0.01, 1, (5, 6, 7)).astype("f4")
COVARIANCE = np.einsum(
    "tij,tkj->tik", *(lambda a: (a, a.conj()))(matrices("c8", 7, 4, 8))
)
SYMBOLS = matrices("c8", 3, 50)
PILOTS = cudaphy.orthogonal_pilots(2, 2)
SLOTS = matrices("c8", 2, 14, 24, 4)


def flat(results):
    """Results of a function in a list; of a dictionary those of its sorted names."""
    if isinstance(results, dict):
        return [each for name in sorted(results) for each in flat(results[name])]
    if isinstance(results, tuple):
        return [each for one in results for each in flat(one)]
    return [results]


# name: (arrays, function of them and further options)
CASES = {
    **{
        f"invert {kind} {n} {options}": (
            [matrices(kind, 3, 50, n, n)],
            lambda a, options=options, **more: cudaphy.invert(a, **options, **more),
        )
        for kind in ("f4", "f8", "c8", "c16")
        for n, options in (
            (4, {}),
            (33, {"pivoting": "partial"}),
            (20, {"determinant": True, "rcond": True}),
        )
    },
    "invert interleaved": (
        [matrices("c8", 4, 4, 100)],
        lambda a, **more: cudaphy.invert(a, layout="interleaved", **more),
    ),
    "invert_triangular": ([matrices("f4", 9, 40, 40)], cudaphy.invert_triangular),
    **{
        f"ldpc_decode {kind} {options}": (
            [llrs(CODE, 40, 5 if kind == "i1" else 1).astype(kind)],
            lambda llr, options=options, **more: cudaphy.ldpc_decode(
                CODE, llr, **options, **more
            ),
        )
        for kind, options in (
            ("f4", {}),
            ("f4", {"soft": True, "arithmetic": "float32"}),
            ("f2", {"packed": True}),
            ("i1", {"output": "codeword"}),
            ("f8", {}),
        )
    },
    "ldpc_decode nr5g": (
        [llrs(LONG, 7).reshape(7, 1, LONG.n)],
        lambda llr, **more: cudaphy.ldpc_decode(LONG, llr, **more),
    ),
    "ldpc_encode": (
        [RANDOM.integers(0, 2, (5, CODE.k), np.uint8)],
        lambda bits, **more: cudaphy.ldpc_encode(CODE, bits, **more),
    ),
    "equalize": (
        [Y, H, np.float32(0.1)],
        cudaphy.equalize,
    ),
    "equalize, a matrix each": (
        [
            Y.reshape(30, 7, 4)[:, :1],
            matrices("c8", 30, 1, 4, 2),
            NOISE.reshape(30, 7)[:, :1],
        ],
        cudaphy.equalize,
    ),
    "equalize by covariance": (
        [Y, H, COVARIANCE],
        lambda y, h, c, **more: cudaphy.equalize(
            y, h, None, "mmse_irc", covariance=c, **more
        ),
    ),
    **{
        f"demap {kind}": (
            [SYMBOLS, np.full(SYMBOLS.shape, 0.1, "f4")],
            lambda x, n, kind=kind, **more: cudaphy.demap(x, n, dtype=kind, **more),
        )
        for kind in ("float32", "float16", "int8")
    },
    "demap a frame": (
        [SYMBOLS, np.float32(0.1)],
        lambda x, n, **more: cudaphy.demap(
            x, n, "dvbs2_8psk", bit_interleaver="210", frame_bits=144, **more
        ),
    ),
    "estimate_channel": (
        [SLOTS[:, :2]],
        lambda received, **more: cudaphy.estimate_channel(received, PILOTS, **more),
    ),
    **{
        f"receive_slots {options}": (
            [SLOTS],
            lambda slots, options=options, **more: cudaphy.receive_slots(
                slots, PILOTS, [2, 11], CODE, details=True, **options, **more
            ),
        )
        for options in ({}, {"llr_type": "float16", "times": [0.0, 7.0]})
    },
}


# What needs arithmetic or a copy, which a gpu_buffer has not.
BEYOND_BUFFERS = {
    "ldpc_decode f8 {}",
    "equalize, a matrix each",
    "equalize by covariance",
    next(name for name in CASES if "times" in name),
}


@unittest.skipUnless(PRESENT, "needs a GPU")
class qa_gpu_arrays(unittest.TestCase):
    def check(self, name, wanted, got, back, of):
        wanted, got = flat(wanted), flat(got)
        self.assertEqual(len(wanted), len(got), name)
        for expected, one in zip(wanted, got):
            self.assertIsInstance(one, of, name)
            one = back(one)
            self.assertEqual(one.shape, expected.shape, name)
            if of is not cudaphy.gpu_buffer:
                self.assertEqual(one.dtype, expected.dtype, name)
            np.testing.assert_array_equal(one, expected, name)

    def test_results_are_numpys_to_the_bit(self):
        for library_name, (_, there, back) in PRESENT.items():
            of = type(there(np.zeros(2, "f4")))
            for name, (arrays, function) in CASES.items():
                with self.subTest(library_name, case=name):
                    if library_name == "gpu_buffer" and name in BEYOND_BUFFERS:
                        continue
                    wanted = function(*arrays, backend="cuda")
                    got = function(*map(there, arrays))
                    self.check(name, wanted, got, back, of)

    def test_arrays_of_numpy_may_stand_beside(self):
        wanted = cudaphy.equalize(Y, H, 0.1, backend="cuda")
        for name, (_, there, back) in PRESENT.items():
            with self.subTest(name):
                for got in (
                    cudaphy.equalize(there(Y), H, 0.1),
                    cudaphy.equalize(Y, there(H), 0.1, backend="cuda"),
                ):
                    for expected, one in zip(wanted, got):
                        np.testing.assert_array_equal(back(one), expected)
                noise = RANDOM.uniform(0.1, 1, SYMBOLS.shape).astype("f4")
                np.testing.assert_array_equal(
                    back(cudaphy.demap(there(SYMBOLS), noise)),
                    cudaphy.demap(SYMBOLS, noise, backend="cuda"),
                )

    def test_empty_arrays(self):
        for name, (_, there, back) in PRESENT.items():
            with self.subTest(name):
                x, info = cudaphy.invert(there(np.zeros((0, 4, 4), "c8")))
                self.assertEqual((back(x).shape, back(info).shape), ((0, 4, 4), (0,)))

    def test_other_backends_are_refused(self):
        for name, (_, there, _back) in PRESENT.items():
            with self.subTest(name), self.assertRaisesRegex(ValueError, "lies on a GPU"):
                cudaphy.invert(there(matrices("c8", 3, 4, 4)), backend="cpu")

    def test_wrong_shapes_are_refused(self):
        for name, (_, there, _back) in PRESENT.items():
            with self.subTest(name):
                with self.assertRaisesRegex(ValueError, r"\(3, 4, 5\)"):
                    cudaphy.invert(there(matrices("c8", 3, 4, 5)))
                with self.assertRaisesRegex(ValueError, "expected"):
                    cudaphy.ldpc_decode(CODE, there(np.zeros((2, 5), "f4")))

    def test_a_gpu_buffer_says_what_it_can_not_do(self):
        buffer = cudaphy.gpu_buffer(np.zeros((2, 648)))
        with self.assertRaisesRegex(TypeError, "float64; expected float32"):
            cudaphy.ldpc_decode(CODE, buffer)
        with self.assertRaisesRegex(ValueError, "can't have the shape"):
            buffer.reshape((5, 5))
        with self.assertRaisesRegex(TypeError, "numbers"):
            cudaphy.gpu_buffer(np.array(["a"]))

    def test_work_follows_on_the_callers_stream(self):
        if "torch" not in PRESENT:
            self.skipTest("needs PyTorch")
        torch = PRESENT["torch"][0]
        a = matrices("c8", 20000, 8, 8)
        wanted = cudaphy.invert(2 * a, backend="cuda")[0]
        side = torch.cuda.Stream()
        source = torch.from_numpy(a).cuda()
        busy = torch.ones(4000, 4000, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            for _ in range(20):  # the inverse must wait for these
                busy = busy @ busy * 1e-4
            doubled = source * 2
            x, _ = cudaphy.invert(doubled)
            x = x + 0
        side.synchronize()
        np.testing.assert_array_equal(x.cpu().numpy(), wanted)

    def test_views_and_gradients_of_torch(self):
        if "torch" not in PRESENT:
            self.skipTest("needs PyTorch")
        torch = PRESENT["torch"][0]
        a = matrices("c8", 6, 5, 5)
        source = torch.from_numpy(a).cuda()
        for given, plain in (
            (source.transpose(1, 2), a.transpose(0, 2, 1)),
            (source.conj(), a.conj()),
            (source[::2], a[::2]),
            (source.clone().requires_grad_(), a),
        ):
            wanted = cudaphy.invert(plain, backend="cuda")[0]
            np.testing.assert_array_equal(cudaphy.invert(given)[0].cpu().numpy(), wanted)


class qa_no_gpu(unittest.TestCase):
    @unittest.skipIf(ON_GPU, "there is a GPU")
    def test_an_array_on_a_gpu_is_refused(self):
        class Elsewhere:
            dtype, shape = np.dtype("c8"), (3, 4, 4)

            def __dlpack_device__(self):
                return (2, 0)

        with self.assertRaises((ValueError, TypeError, cudaphy.BackendUnavailable)):
            cudaphy.invert(Elsewhere())


if __name__ == "__main__":
    main()
