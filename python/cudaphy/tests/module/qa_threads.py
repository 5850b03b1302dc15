#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that 16 threads share give what they give to one."""

import threading
import unittest

import numpy as np
import scipy.sparse
from gnuradio import cudaphy
from qa_support import BACKEND, main

THREADS = 16
WIFI = cudaphy.ldpc_code("wifi", n=648, rate="1/2")


class qa_threads(unittest.TestCase):
    def together(self, call, times=4):
        """The results of call(thread), a list for each thread. Raises a thread's
        error."""
        results, errors = [[] for _ in range(THREADS)], []
        begin = threading.Barrier(THREADS)

        def run(number):
            try:
                begin.wait()
                for _ in range(times):
                    results[number].append(call(number))
            except Exception as problem:
                errors.append(problem)

        threads = [threading.Thread(target=run, args=(n,)) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return [one for each in results for one in each]

    def test_a_simulation_of_fields(self):
        def made():
            sim = cudaphy.fdtd((40, 40), 0.01, "cpml", cpml_thickness=5, backend=BACKEND)
            sim.add_source((20, 20), "ez")
            sim.add_probe((12, 12), "ez")
            return sim

        steps, calls = 30, 3
        excitation = np.ones((steps, 1), "float32")
        alone = made()
        expected = [alone.step(excitation) for _ in range(THREADS * calls)]
        shared = made()
        got = self.together(lambda _: shared.step(excitation), calls)
        self.assertEqual(shared.steps_done, alone.steps_done)
        for component in ("ez", "hx", "hy"):
            np.testing.assert_array_equal(shared.field(component), alone.field(component))

        # Each call got one of the steps' pieces, and none got two.
        def key(piece):
            return piece.tobytes()

        self.assertEqual(sorted(map(key, got)), sorted(map(key, expected)))

    def test_fields_are_read_and_reset_beside_steps(self):
        sim = cudaphy.fdtd((40, 40), 0.01, backend=BACKEND)
        sim.add_source((20, 20), "ez")
        sim.add_probe((12, 12), "ez")
        excitation = np.ones((20, 1), "float32")
        states = [sim.field("ez").tobytes()]
        for _ in range(THREADS * 4):
            sim.step(excitation)
            states.append(sim.field("ez").tobytes())

        def call(number):
            if number == 0:
                sim.reset()
            elif number % 2:
                sim.step(excitation)
            return sim.field("ez").tobytes()

        sim.reset()
        for seen in self.together(call):
            self.assertIn(seen, states)

    def test_a_simulation_is_added_to(self):
        sim = cudaphy.fdtd((40, 40), 0.01, backend=BACKEND)
        sim.add_source((20, 20), "ez")
        numbers = self.together(lambda n: sim.add_probe((1 + n, 3), "ez"), 8)
        self.assertEqual(sorted(numbers), list(range(8 * THREADS)))
        self.assertEqual(sim.step(np.ones((3, 1), "float32")).shape, (3, 8 * THREADS))

    def test_a_transport_block_is_cleared_beside_decoding(self):
        payload = np.random.default_rng(1).integers(0, 2, 8000).astype("uint8")
        shared = cudaphy.nr5g.transport_block(8000, code_rate=0.5, backend=BACKEND)
        coded = shared.encode(payload, 16200)
        llr = (4 * (1 - 2.0 * coded)).astype("float32")

        def call(number):
            if number % 3 == 0:
                shared.clear()
            elif number % 3 == 1:
                np.testing.assert_array_equal(shared.encode(payload, 16200), coded)
            bits, ok, _, block_ok = shared.decode(llr)
            np.testing.assert_array_equal(bits, payload)
            return ok and block_ok.all()

        self.assertTrue(all(self.together(call)))

    def test_a_sparse_product(self):
        matrix = scipy.sparse.random(500, 400, 0.02, "csr", random_state=1)
        x = np.random.default_rng(2).standard_normal((THREADS, 5, 400))
        for format in ("crs", "ccs", "bcrs", "subdivided_crs", "dictionary"):
            product = cudaphy.sparse_product(matrix, format, "float32", backend=BACKEND)
            x = x.astype("float32")
            expected = [product(part) for part in x]

            def call(number):
                # A GPU may sum columns in another order.
                np.testing.assert_allclose(
                    product(x[number]), expected[number], 1e-4, 1e-4
                )

            self.together(call)

    def test_codes_constellations_and_pilots(self):
        info = np.random.default_rng(3).integers(0, 2, (8, WIFI.k)).astype("uint8")
        words = cudaphy.ldpc_encode(WIFI, info, backend=BACKEND)
        llr = (3 - 6.0 * words).astype("float32")
        points = cudaphy.constellation("qam16")
        pilots = cudaphy.comb_pilots(2, 2, 24)

        def call(number):
            coded = cudaphy.ldpc_encode(WIFI, info, backend=BACKEND)
            np.testing.assert_array_equal(coded, words)
            decoded = cudaphy.ldpc_decode(WIFI, llr, backend=BACKEND)[0]
            np.testing.assert_array_equal(decoded, info)
            self.assertEqual(len(points.points), 16)
            self.assertEqual(np.asarray(pilots.pilots).size, 2 * 24 * 2)

        self.together(call)

    def test_a_simulation_of_error_rates(self):
        shared = cudaphy.error_rate_simulation(
            "wifi n=648 rate=1/2", backend=BACKEND, batch=32, workers=1
        )
        want = shared.run([2.0], max_frames=64)[0]
        for point in self.together(lambda _: shared.run([2.0], max_frames=64)[0], 1):
            self.assertEqual(
                (point.frames, point.frame_errors, point.bit_errors, point.iterations),
                (want.frames, want.frame_errors, want.bit_errors, want.iterations),
            )


if __name__ == "__main__":
    main()
