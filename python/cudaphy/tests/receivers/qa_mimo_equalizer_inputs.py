#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block mimo_equalizer takes channel, noise and covariance from ports, tags and
messages, for every detector."""

import numpy as np
import pmt
from gnuradio import cudaphy, gr
from qa_support import (
    BACKEND,
    KEY,
    FlowgraphCase,
    captured_log,
    gaussian,
    main,
    packet_tags,
    tag,
)

NR, NT, SYMBOLS, TONES, SLOTS = 3, 2, 2, 4, 12
ITEMS = SYMBOLS * TONES


def detector(h, r, method="mmse"):
    """Weights and the noise of each layer, for H (..., Nr, Nt) and R (..., Nr, Nr), unbiased."""
    h, r = np.asarray(h, "complex128"), np.asarray(r, "complex128")
    hermitian = np.conj(np.swapaxes(h, -1, -2))
    if method == "mrc":
        w = hermitian
    else:
        white = hermitian @ np.linalg.inv(r)
        w = np.linalg.inv(white @ h + (method != "zf") * np.eye(h.shape[-1])) @ white
    gain = np.einsum("...la,...al->...l", w, h)
    w = w / gain[..., np.newaxis]
    through = w @ h - np.eye(h.shape[-1])
    noise = np.einsum("...la,...ab,...lb->...l", w, r, np.conj(w))
    interference = (np.abs(through) ** 2).sum(axis=-1)
    return w, noise.real + (method != "zf") * interference


def expected(y, h, r, method="mmse"):
    """x and noise for y (slots, symbols, tones, Nr), h (slots, tones, Nr, Nt), r (slots, Nr, Nr)."""
    w, noise = detector(h, np.asarray(r)[:, np.newaxis], method)
    x = np.einsum("stla,spta->sptl", w, y.astype("complex128"))
    noise = np.broadcast_to(noise[:, np.newaxis], x.shape)
    return x.reshape(-1, NT), noise.reshape(-1, NT)


def white(n0):
    return np.asarray(n0, "float64").reshape(-1, 1, 1) * np.eye(NR)


def vector(array):
    return pmt.init_c32vector(np.size(array), np.ravel(array).tolist())


def channel_tag(item, array):
    return gr.python_to_tag((item, pmt.intern("channel"), vector(array)))


class qa_mimo_equalizer_inputs(FlowgraphCase):
    def setUp(self):
        self.y = gaussian((SLOTS, SYMBOLS, TONES, NR), 2)
        self.h = gaussian((SLOTS, TONES, NR, NT)) + 2 * np.eye(NR, NT, dtype="complex64")

    def block(self, **options):
        options = {"symbols": SYMBOLS, "tones": TONES, "backend": BACKEND, **options}
        return cudaphy.mimo_equalizer(NR, NT, **options)

    def equalize(self, block, more=(), tags=()):
        inputs = [self.y.reshape(-1, NR), *more]
        return self.through(block, inputs, [("complex64", NT), ("float32", NT)], tags)

    def assert_close(self, sinks, wanted, keep=slice(None)):
        for sink, want in zip(sinks, wanted):
            got, want = sink.data[keep], want[keep]
            self.assertEqual(got.shape, want.shape)
            error = np.abs(got - want) / (np.abs(want).max(axis=-1, keepdims=True) + 1e-9)
            self.assertLess(error.max(initial=0), 2e-3)

    def assert_erased(self, sinks, items):
        self.assertFalse(sinks[0].data[items].any())
        self.assertTrue(np.isposinf(sinks[1].data[items]).all())

    def test_every_detector_and_route_agrees_with_the_textbook(self):
        channels = self.h.reshape(-1, NR * NT)
        for options in (
            {"method": "mrc"},
            {"method": "mmse_irc"},
            {"method": "mmse", "route": "inverse"},
            {"method": "zf", "route": "inverse"},
        ):
            with self.subTest(**options):
                block = self.block(noise_variance=0.1, **options)
                sinks = self.equalize(block, [channels])
                method = options["method"].replace("_irc", "")
                wanted = expected(self.y, self.h, white([0.1] * SLOTS), method)
                self.assert_close(sinks, wanted)
                self.assertEqual(block.failures(), 0)

    def test_irc_takes_a_covariance_a_slot_from_its_port(self):
        factor = gaussian((SLOTS, NR, NR), 3)
        r = factor @ np.conj(np.swapaxes(factor, 1, 2)) + 0.1 * np.eye(NR)
        r = r.astype("complex64")
        wanted = expected(self.y, self.h, r)
        for max_batch in (0, 1, 5):
            block = self.block(
                method="mmse_irc", covariance_from="port", max_batch=max_batch
            )
            inputs = [self.h.reshape(-1, NR * NT), r.reshape(-1, NR * NR)]
            self.assert_close(self.equalize(block, inputs), wanted)
        # Weights without the interference would miss by far more than the tolerance.
        off = expected(self.y, self.h, white([0.1] * SLOTS))
        self.assertGreater(np.abs(off[0] - wanted[0]).max(), 0.1)

    def test_a_covariance_that_cannot_be_used_erases_its_slot_alone(self):
        r = np.repeat(0.1 * np.eye(NR, dtype="complex64")[np.newaxis], SLOTS, axis=0)
        r[3, 1, 1] = -1
        r[7, 2, 0] = float("nan")  # the block reads this triangle
        block = self.block(method="mmse_irc", covariance_from="port")
        inputs = [self.h.reshape(-1, NR * NT), r.reshape(-1, NR * NR)]
        sinks = self.equalize(block, inputs)
        slots = np.repeat(np.arange(SLOTS), ITEMS)
        self.assert_erased(sinks, np.isin(slots, (3, 7)))
        wanted = expected(self.y, self.h, white([0.1] * SLOTS))
        self.assert_close(sinks, wanted, ~np.isin(slots, (3, 7)))
        self.assertEqual(block.failures(), 2 * TONES)

    def test_a_channel_tag_applies_from_the_first_slot_that_begins_at_it_or_later(self):
        one, each, last = self.h[0, 0], self.h[1], self.h[2]
        tags = [
            channel_tag(2 * ITEMS, one),  # for all tones
            channel_tag(4 * ITEMS + 1, each),  # within slot 4: from slot 5 on
            channel_tag(8 * ITEMS - 1, each),  # overtaken by the next
            channel_tag(8 * ITEMS, last),
            channel_tag(SLOTS * ITEMS - 1, one),  # for none any more
        ]
        h = np.empty_like(self.h)
        h[:2], h[2:5], h[5:8], h[8:] = 1, one, each, last
        wanted = expected(self.y, h, white([0.1] * SLOTS))
        slots = np.repeat(np.arange(SLOTS), ITEMS)
        for max_batch in (0, 1, 5):
            block = self.block(
                channel_from="tag", noise_variance=0.1, max_batch=max_batch
            )
            sinks = self.equalize(block, (), tags)
            self.assert_erased(sinks, slots < 2)
            self.assert_close(sinks, wanted, slots >= 2)
            self.assertEqual(block.failures(), 2 * TONES)
            self.assertEqual(len(sinks[0].tags("channel")), len(tags))

    def test_a_noise_tag_applies_like_a_channel_tag(self):
        tags = [tag(3 * ITEMS, "noise_var", 0.5), tag(6 * ITEMS + 1, "noise_var", 2.0)]
        n0 = [0.1] * 3 + [0.5] * 4 + [2.0] * (SLOTS - 7)
        wanted = expected(self.y, self.h, white(n0))
        for max_batch in (0, 1, 5):
            block = self.block(noise_variance=0.1, max_batch=max_batch)
            sinks = self.equalize(block, [self.h.reshape(-1, NR * NT)], tags)
            self.assert_close(sinks, wanted)
            self.assertAlmostEqual(block.noise_variance(), 2.0)

    def test_useless_tags_are_logged_and_change_nothing(self):
        tags = [
            channel_tag(0, self.h[0]),
            channel_tag(ITEMS, self.h[1, 0, :2]),
            tag(2 * ITEMS, "channel", "here"),
            tag(3 * ITEMS, "noise_var", -1.0),
            tag(4 * ITEMS, "noise_var", "loud"),
        ]
        h = np.broadcast_to(self.h[0], self.h.shape)
        for max_batch in (0, 1):
            with captured_log() as log:
                block = self.block(
                    channel_from="tag", noise_variance=0.1, max_batch=max_batch
                )
                sinks = self.equalize(block, (), tags)
            self.assert_close(sinks, expected(self.y, h, white([0.1] * SLOTS)))
            self.assertIn(f"item {ITEMS}", log.text)
            self.assertIn("4 values, not 6 or 24", log.text)

    def test_messages_apply_from_the_next_packet_on_and_over_a_restart(self):
        """Messages before the start apply from the first packet on."""
        h = np.broadcast_to(self.h[0], self.h.shape)
        pdu = pmt.cons(pmt.make_dict(), vector(self.h[0]))
        lengths = [ITEMS] * SLOTS
        for message in (vector(self.h[0]), pdu):
            for key in ("", KEY):
                block = self.block(channel_from="message", length_tag_key=key)
                post = block.to_basic_block()._post
                post(pmt.intern("channel"), message)
                post(pmt.intern("noise_var"), pmt.from_double(0.25))
                for _ in range(2):
                    sinks = self.equalize(block, (), packet_tags(lengths) if key else ())
                    wanted = expected(self.y, h, white([0.25] * SLOTS))
                    self.assert_close(sinks, wanted)
                self.assertAlmostEqual(block.noise_variance(), 0.25)

    def test_a_covariance_by_message_replaces_the_noise_variance(self):
        factor = gaussian((NR, NR), 3)
        r = factor @ np.conj(factor.T) + 0.1 * np.eye(NR)
        block = self.block(
            method="mmse_irc", covariance_from="message", noise_variance=0.3
        )
        channels = [self.h.reshape(-1, NR * NT)]
        sinks = self.equalize(block, channels)
        self.assert_close(sinks, expected(self.y, self.h, white([0.3] * SLOTS)))
        block.to_basic_block()._post(pmt.intern("covariance"), vector(r))
        sinks = self.equalize(block, channels)
        self.assert_close(sinks, expected(self.y, self.h, [r] * SLOTS))

    def test_without_a_message_all_is_erased_and_useless_messages_are_logged(self):
        for bad in (None, vector(self.h[0, 0, :2]), pmt.intern("here")):
            with captured_log() as log:
                block = self.block(channel_from="message")
                if bad is not None:
                    block.to_basic_block()._post(pmt.intern("channel"), bad)
                sinks = self.equalize(block)
            self.assert_erased(sinks, slice(None))
            self.assertEqual(len(sinks[0].data), SLOTS * ITEMS)
            self.assertEqual(block.failures(), SLOTS * TONES)
            if bad is not None:
                self.assertIn("message on channel", log.text)

    def test_sources_that_exclude_each_other_are_refused(self):
        with self.assert_refuses("channel_from", "air", "port", "tag", "message"):
            self.block(channel_from="air")
        with self.assert_refuses("covariance_from", "tag", "none", "port"):
            self.block(covariance_from="tag", method="mmse_irc")
        with self.assert_refuses("mmse_irc"):
            self.block(covariance_from="port")
        with self.assert_refuses("covariance", "noise variance"):
            self.block(method="mmse_irc", covariance_from="port", noise_input=True)
        with self.assert_refuses("best", "solve", "inverse"):
            self.block(route="best")
        with self.assert_refuses("inverse"):
            self.block(method="mrc", route="inverse")


if __name__ == "__main__":
    main()
