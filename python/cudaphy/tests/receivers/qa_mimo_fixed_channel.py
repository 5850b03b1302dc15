#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block mimo_fixed_channel, the channel of given impulse responses."""

import os
import tempfile

import numpy as np
from gnuradio.cudaphy.blocks.mimo_fixed_channel import mimo_fixed_channel
from qa_support import FlowgraphCase, gaussian, main


class qa_mimo_fixed_channel(FlowgraphCase):
    def received(self, h, sent, **options):
        channel = mimo_fixed_channel(h, **options)
        outputs = [("complex64", 0)] * channel.output_signature().max_streams()
        return np.stack([s.data for s in self.through(channel, list(sent), outputs)])

    def expected(self, h, sent):
        return np.array(
            [
                sum(np.convolve(x, taps)[: len(x)] for x, taps in zip(sent, row))
                for row in h
            ]
        )

    def test_each_output_is_the_sum_of_filtered_inputs(self):
        for shape in ((1, 1, 1), (1, 3, 4), (2, 1, 7), (4, 4, 33), (16, 16, 2)):
            for samples in (1, 1000):
                with self.subTest(shape=shape, samples=samples):
                    h, sent = gaussian(shape, 2), gaussian((shape[1], samples), 3)
                    got = self.received(h, sent)
                    np.testing.assert_allclose(got, self.expected(h, sent), atol=1e-4)

    def test_reads_a_file(self):
        h, sent = gaussian((2, 3, 5), 2), gaussian((3, 200), 3)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "taps.npy")
            np.save(path, h)
            got = self.received(path, sent, receive_antennas=2, transmit_antennas=3)
            np.testing.assert_allclose(got, self.expected(h, sent), atol=1e-4)
            with self.assertRaises(OSError):
                mimo_fixed_channel(path + "x")
            with open(path, "wb") as file:
                file.write(b"no array")
            with self.assertRaises(ValueError):
                mimo_fixed_channel(path)

    def test_another_response_can_be_set(self):
        sent = gaussian((2, 300), 3)
        channel, h = mimo_fixed_channel(gaussian((2, 2, 9), 2)), gaussian((2, 2, 3), 4)
        channel.set_impulse_response(h)
        sinks = self.through(channel, list(sent), [("complex64", 0)] * 2)
        got = np.stack([s.data for s in sinks])
        np.testing.assert_allclose(got, self.expected(h, sent), atol=1e-4)
        for wrong in (h[:, :1], np.ones((2, 2, 10))):
            with self.assertRaisesRegex(ValueError, r"must have \(2, 2, 9\) or fewer"):
                channel.set_impulse_response(wrong)

    def test_refuses_what_can_not_be(self):
        h = np.ones((2, 2, 4))
        spoilt = h.copy()
        spoilt[1, 0, 2] = np.nan
        for wrong, text in (
            (h[0], "shape"),
            (h[:, :, :0], "shape"),
            (np.ones((17, 1, 1)), "shape"),
            (spoilt, "not finite"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                mimo_fixed_channel(wrong)
        with self.assertRaisesRegex(ValueError, "2 receive antennas, not of 3"):
            mimo_fixed_channel(h, receive_antennas=3)
        with self.assertRaisesRegex(ValueError, "2 transmit antennas, not of 1"):
            mimo_fixed_channel(h, transmit_antennas=1)


if __name__ == "__main__":
    main()
