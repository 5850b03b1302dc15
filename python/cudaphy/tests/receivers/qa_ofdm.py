#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The OFDM transmitter, the receiver's front end, and the blocks of a simulated link."""

import math

import numpy as np
import pmt
from gnuradio import cudaphy, gr
from qa_support import KEY, FlowgraphCase, Sink, Source, gaussian, main, tag

FFT, PREFIX, SYMBOLS = 64, 16, 10
TONES = [t for t in range(-26, 27) if t]
SHAPE = dict(fft_size=FFT, cyclic_prefix=PREFIX, tone_numbers=TONES, symbols=SYMBOLS)
FRAME = (SYMBOLS + 1) * (FFT + PREFIX)


def qpsk(shape, seed=1):
    parts = np.random.default_rng(seed).integers(0, 2, tuple(shape) + (2,))
    return ((1 - 2 * parts) @ [1, 1j] / np.sqrt(2)).astype("complex64")


class OfdmCase(FlowgraphCase):
    def sent(self, tones, **options):
        """Samples (antennas, samples) of tones (frames, symbols, tones, antennas)."""
        antennas = tones.shape[-1]
        block = cudaphy.mimo_ofdm_transmitter(antennas, **{**SHAPE, **options})
        outputs = [("complex64", 0)] * antennas
        sinks = self.through(block, [tones.reshape(-1, antennas)], outputs)
        return np.array([sink.data for sink in sinks])

    def received(self, samples, tags=(), transmit_antennas=1, **options):
        """Tones (frames, symbols, tones, antennas), the sink, and the front end."""
        antennas = len(samples)
        block = cudaphy.mimo_ofdm_receiver_frontend(
            antennas, transmit_antennas=transmit_antennas, **{**SHAPE, **options}
        )
        samples = [np.asarray(row, "complex64") for row in samples]
        (sink,) = self.through(block, samples, [("complex64", antennas)], tags)
        shape = (-1, SYMBOLS, len(TONES), antennas)
        return sink.data.reshape(shape), sink, block


def over_the_air(samples, offset=0.0, taps=1, noise=0.0, receive=None, seed=1):
    """Through a Rayleigh channel of unit energy, a carrier offset and noise."""
    rng = np.random.default_rng(seed)
    receive = receive or len(samples)
    shape = (taps, receive, len(samples), 2)
    energy = np.exp(-np.arange(taps) / 2)
    gains = rng.standard_normal(shape) @ [1, 1j]
    gains *= np.sqrt(energy / energy.sum() / 2)[:, None, None]
    out = np.zeros((receive, samples.shape[1] + taps - 1), complex)
    for tap, gain in enumerate(gains):
        out[:, tap : tap + samples.shape[1]] += gain @ samples
    out *= np.exp(2j * np.pi * offset * np.arange(out.shape[1]) / FFT)
    parts = rng.standard_normal(out.shape + (2,)) @ [1, 1j]
    return out + np.sqrt(noise / 2) * parts, gains


class qa_mimo_ofdm_transmitter(OfdmCase):
    def test_samples_are_the_fourier_transform_of_tones(self):
        tones = qpsk((3, SYMBOLS, len(TONES), 2))
        samples = self.sent(tones)
        self.assertEqual(samples.shape, (2, 3 * FRAME))
        symbols = samples.reshape(2, 3, SYMBOLS + 1, FFT + PREFIX)
        np.testing.assert_array_equal(symbols[..., :PREFIX], symbols[..., -PREFIX:])
        spectrum = np.fft.fft(symbols[..., PREFIX:]) * np.sqrt(len(TONES)) / FFT
        got = spectrum[:, :, 1:, np.array(TONES) % FFT]
        np.testing.assert_allclose(got, tones.transpose(3, 0, 1, 2), atol=1e-5)
        preamble = symbols[:, :, 0, PREFIX:]
        np.testing.assert_allclose(
            preamble[..., : FFT // 2], preamble[..., FFT // 2 :], atol=1e-5
        )
        self.assertAlmostEqual(np.mean(np.abs(samples) ** 2), 1, delta=0.02)

    def test_silence_follows_each_frame_on_request(self):
        tones = qpsk((2, SYMBOLS, len(TONES), 1))
        samples = self.sent(tones, gap=33)[0].reshape(2, FRAME + 33)
        np.testing.assert_array_equal(samples[:, :FRAME].ravel(), self.sent(tones)[0])
        self.assertFalse(samples[:, FRAME:].any())

    def test_refuses_what_is_out_of_range(self):
        for wrong in (
            {"fft_size": 15},
            {"fft_size": 65},
            {"cyclic_prefix": 0},
            {"cyclic_prefix": 32},
            {"symbols": 1},
            {"tone_numbers": []},
            {"tone_numbers": [1, 3]},
            {"tone_numbers": [4, 2]},
            {"tone_numbers": [0, 32]},
            {"gap": -1},
            {"length_tag_key": ""},
        ):
            with self.assertRaises(ValueError, msg=wrong):
                cudaphy.mimo_ofdm_transmitter(2, **{**SHAPE, **wrong})
        with self.assertRaises(ValueError):
            cudaphy.mimo_ofdm_transmitter(0, **SHAPE)


class qa_mimo_ofdm_receiver_frontend(OfdmCase):
    def test_tones_come_back_exactly_at_their_place_and_with_their_tags(self):
        for antennas in (1, 2, 4):
            tones = qpsk((2, SYMBOLS, len(TONES), antennas))
            samples = self.sent(tones)
            ahead, between = 777, 130
            air = np.zeros((antennas, ahead + 2 * FRAME + between + 100), complex)
            starts = [ahead, ahead + FRAME + between]
            for frame, start in enumerate(starts):
                air[:, start : start + FRAME] = samples[
                    :, frame * FRAME : (frame + 1) * FRAME
                ]
            tags = [
                tag(0, "rx_time", (10, 0.75)),
                tag(0, "rx_rate", 1000.0),
                tag(starts[1] + 3 * (FFT + PREFIX) + 5, "mark", 7),
            ]
            got, sink, block = self.received(
                air, tags, transmit_antennas=antennas, advance=0
            )
            self.assertEqual(got.shape, tones.shape)
            np.testing.assert_allclose(got, tones, atol=2e-4)
            items = SYMBOLS * len(TONES)
            self.assertEqual(sink.tags(KEY), [(0, items), (items, items)])
            self.assertEqual(sink.tags("frame_start"), list(zip((0, items), starts)))
            times = [value[0] + value[1] for _, value in sink.tags("rx_time")]
            np.testing.assert_allclose(times, 10.75 + np.array(starts) / 1000, atol=1e-9)
            (mark,) = sink.tags("mark")
            self.assertEqual(mark, (items + 2 * len(TONES), 7))
            self.assertEqual((block.frames(), block.false_alarms()), (2, 0))

    def test_finds_frames_in_noise_and_their_offset_within_bounds(self):
        """Detection rate and residual offset for (antennas, SNR dB). Frames are back to
        back, each over its own channel of six paths, with offsets up to a tone
        spacing."""
        for antennas, snr_db, least, most_rms in (
            (2, 20, 1.0, 2.5e-3),
            (4, 20, 1.0, 2e-3),
            (2, 5, 0.97, 1e-2),
            (4, 5, 0.99, 8e-3),
        ):
            frames = 40
            tones = qpsk((1, SYMBOLS, len(TONES), antennas))
            samples = self.sent(tones)
            noise = antennas * 10 ** (-snr_db / 10) * FFT / len(TONES)
            rng = np.random.default_rng(antennas)
            offset = rng.uniform(-0.95, 0.95)
            pieces, starts, at = [], [], 0
            for frame in range(frames):
                gap = int(rng.integers(0, 200))
                padded = np.pad(samples, ((0, 0), (gap, 0)))
                air, _ = over_the_air(padded, 0, 6, noise, seed=frame)
                pieces.append(air)
                starts.append(at + gap)
                at += air.shape[1]
            air = np.concatenate(pieces, axis=1)
            air *= np.exp(2j * np.pi * offset * np.arange(at) / FFT)
            _, sink, block = self.received(air, transmit_antennas=antennas)
            found = [start for _, start in sink.tags("frame_start")]
            near = np.abs(np.subtract.outer(found, starts)).min(axis=1)
            self.assertLess(near.max(), PREFIX // 2 + 3)  # no false alarm
            self.assertGreaterEqual(len(found), least * frames)
            errors = np.array([v for _, v in sink.tags("carrier_offset")]) - offset
            self.assertLess(np.sqrt(np.mean(errors**2)), most_rms)
            self.assertLess(np.abs(errors).max(), 5 * most_rms)

    def test_a_frame_that_the_radio_tears_is_dropped_and_counted_and_the_next_one_found(
        self,
    ):
        frames, rate, ahead = 6, 1e6, 300
        tones = qpsk((frames, SYMBOLS, len(TONES), 2))
        sent = np.pad(self.sent(tones), ((0, 0), (ahead, 100)))
        for name, first, count, torn, seen in (
            ("within a frame", 2.5, 50, {2}, 1),
            ("over several", 2.5, 2 * FRAME, {2, 3, 4}, 1),
            ("a whole frame", 2, FRAME, {2}, 0),
            ("up to a frame's first sample", 2.9, FRAME // 10, {2}, 1),
            ("nothing", 2.5, 0, set(), 0),
        ):
            begin = ahead + round(first * FRAME)
            air = np.delete(sent, np.s_[begin : begin + count], axis=1)
            for with_rate in (True, False):
                with self.subTest(name, with_rate=with_rate):
                    if count == 0 and not with_rate:
                        continue  # without a rate no gap is visible
                    tags = [
                        tag(0, "rx_time", (5, 0.5)),
                        tag(begin, "rx_time", (5, 0.5 + (begin + count) / rate)),
                    ]
                    if with_rate:
                        tags.append(tag(0, "rx_rate", rate))
                    for nonsense in (math.nan, math.inf, 0.0, -1.0, "fast", 1j):
                        tags.append(tag(100, "rx_rate", nonsense))
                    got, sink, block = self.received(
                        air, tags, transmit_antennas=2, advance=0
                    )
                    good = [n for n in range(frames) if n not in torn]
                    self.assertEqual(len(got), len(good))
                    np.testing.assert_allclose(got, tones[good], atol=2e-4)
                    self.assertEqual(
                        (block.frames(), block.torn_frames()), (len(good), seen)
                    )
                    counted = block.synchronizer.stats()
                    self.assertEqual(
                        (counted["frames"], counted["failures"]), (len(good), seen)
                    )
                    starts = [ahead + n * FRAME - (count if n > 2 else 0) for n in good]
                    self.assertEqual([v for _, v in sink.tags("frame_start")], starts)
                    if with_rate:
                        times = [v[0] + v[1] for _, v in sink.tags("rx_time")]
                        wanted = 5.5 + (ahead + np.array(good) * FRAME) / rate
                        np.testing.assert_allclose(times, wanted, rtol=0, atol=1e-8)

    def test_offsets_of_many_tones_are_found_on_request(self):
        tones = qpsk((1, SYMBOLS, len(TONES), 2))
        samples = np.pad(self.sent(tones), ((0, 0), (300, 200)))
        for offset in (-6.3, 0.5, 1.5, 7.9):
            air, _ = over_the_air(samples, offset, 4, 0.01)
            _, sink, _ = self.received(air, transmit_antennas=2, most_offset=8)
            ((_, got),) = sink.tags("carrier_offset")
            self.assertAlmostEqual(got, offset, delta=0.01)

    def test_noise_a_carrier_silence_and_nan_raise_no_frame(self):
        count = 100000
        n = np.arange(count)
        bad = gaussian((2, count), 3).copy()
        bad[0, ::7] = np.nan
        for name, air in (
            ("noise", gaussian((2, count))),
            ("carrier", np.exp(0.3j * n) * np.ones((2, 1)) + 0.1 * gaussian((2, count))),
            ("silence", np.zeros((2, count))),
            ("nan", bad),
        ):
            got, _, block = self.received(air)
            self.assertEqual(len(got), 0, name)
            self.assertEqual(block.frames(), 0, name)

    def test_a_nan_before_a_frame_leaves_it_alone_and_a_frame_cut_off_is_not_put_out(
        self,
    ):
        tones = qpsk((2, SYMBOLS, len(TONES), 2))
        samples = np.pad(self.sent(tones), ((0, 0), (500, 0)))
        samples[:, 100] = np.nan
        got, _, _ = self.received(samples[:, :-60], transmit_antennas=2, advance=0)
        self.assertEqual(len(got), 1)
        np.testing.assert_allclose(got[0], tones[0], atol=2e-4)

    def test_the_front_end_runs_again(self):
        tones = qpsk((2, SYMBOLS, len(TONES), 1))
        source = Source(np.pad(self.sent(tones)[0], (50, 50)))
        block = cudaphy.mimo_ofdm_receiver_frontend(1, advance=0, **SHAPE)
        sink = Sink("complex64", 1)
        top = gr.top_block()
        top.connect(source.block, block, sink.block)
        for _ in range(3):
            self.run_flowgraph(top)
            np.testing.assert_allclose(sink.data.ravel(), tones.ravel(), atol=2e-4)
            source.block.rewind()
            sink.block.reset()

    def test_refuses_what_is_out_of_range(self):
        for wrong in (
            {"advance": PREFIX},
            {"advance": -2},
            {"threshold": 1.0},
            {"threshold": float("nan")},
            {"most_offset": -1},
            {"most_offset": 33},
            {"sample_rate": -1.0},
            {"transmit_antennas": 0},
            {"length_tag_key": ""},
        ):
            with self.assertRaises(ValueError, msg=wrong):
                cudaphy.mimo_ofdm_receiver_frontend(2, **{**SHAPE, **wrong})


class qa_simulated_air(OfdmCase):
    def test_a_multipath_channel_changes_by_blocks_and_not_with_the_calls(self):
        x = gaussian((2, 5000))

        def run():
            block = cudaphy.mimo_multipath_channel(2, 3, 1000, 4, 1.5, seed=5)
            sinks = self.through(block, list(x), [("complex64", 0)] * 3)
            return np.array([sink.data for sink in sinks])

        y = run()
        np.testing.assert_allclose(y, run(), atol=1e-5)
        # The gains of a block, found by least squares, explain all samples.
        for first in (0, 1000, 4000):
            delayed = np.pad(x, ((0, 0), (3, 0)))
            rows = [
                delayed[t, 3 - tap + first : 3 - tap + first + 1000]
                for tap in range(4)
                for t in (0, 1)
            ]
            a = np.array(rows).T
            for r in range(3):
                want = y[r, first : first + 1000]
                left = want - a @ np.linalg.lstsq(a, want, rcond=None)[0]
                self.assertLess(np.abs(left).max(), 1e-4)
        block = cudaphy.mimo_multipath_channel(1, 1, 1, 6, 2.0)
        (sink,) = self.through(block, [np.ones(50000, "complex64")], [("complex64", 0)])
        self.assertAlmostEqual(np.mean(np.abs(sink.data) ** 2), 1, delta=0.05)
        for wrong in ((0, 1, 1), (1, 17, 1), (1, 1, 0), (1, 1, 1, 0), (1, 1, 1, 1, 0)):
            with self.assertRaises(ValueError):
                cudaphy.mimo_multipath_channel(*wrong)

    def test_a_frame_filler_puts_zeros_where_frames_are_missing(self):
        data = gaussian((4 * 30, 2))
        starts = [103, 210, 205, 790]  # frames 1, 2, again 2, and 8 of period 100
        tags = [
            gr.python_to_tag((30 * i, pmt.intern("frame_start"), pmt.from_uint64(start)))
            for i, start in enumerate(starts)
        ]
        # A tag that is no number marks no frame.
        data = np.insert(data, 30, 1, 0)
        tags[1:] = [tag(30, "frame_start", "soon")] + [
            tag(t.offset + 1, "frame_start", pmt.to_python(t.value)) for t in tags[1:]
        ]
        block = cudaphy.frame_filler(2, 30, 100)
        (sink,) = self.through(block, [data], [("complex64", 2)], tags)
        data = np.delete(data, 30, 0)
        got = sink.data.reshape(9, 30, 2)
        for frame, item in ((1, 0), (2, 1), (8, 3)):
            np.testing.assert_array_equal(got[frame], data[30 * item : 30 * item + 30])
        self.assertFalse(got[[0, 3, 4, 5, 6, 7]].any())
        self.assertEqual(block.filled(), 6)


if __name__ == "__main__":
    main()
