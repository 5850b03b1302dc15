#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Symbol Sync in flowgraphs, and sync_symbols on arrays."""

import time
import unittest

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
from qa_support import BACKEND, captured_log, main, tag
from shaped_symbols import error_in_db, noisy, qpsk, shape


def _integers(samples, dtype):
    """Pairs of int16 or int8 at half the full scale's level."""
    most = np.iinfo(dtype).max
    scaled = np.stack([samples.real, samples.imag], 1) / np.abs(samples).max() * most
    return np.rint(scaled).astype(dtype)


def _run(block, samples, tags=(), before=None):
    """Symbols, and the tags on them as (item, key, value)."""
    if samples.dtype.kind == "c":
        source = blocks.vector_source_c(samples.tolist(), False, 1, list(tags))
    else:
        make = {2: blocks.vector_source_s, 1: blocks.vector_source_b}[
            samples.dtype.itemsize
        ]
        if samples.dtype.itemsize == 1:
            samples = samples.view("u1")
        source = make(samples.ravel().tolist(), False, 2, list(tags))
    sink, top = blocks.vector_sink_c(), gr.top_block()
    top.connect(source, block, sink)
    if before:
        before()
    top.run()
    found = [(t.offset, pmt.symbol_to_string(t.key), t.value) for t in sink.tags()]
    return np.array(sink.data(), "c8"), found


def _block(*arguments, **options):
    return cudaphy.symbol_sync(*arguments, backend=BACKEND, **options)


def _sync(*arguments, **options):
    return cudaphy.sync_symbols(*arguments, backend=BACKEND, **options)


class qa_symbol_sync(unittest.TestCase):
    def assert_symbols(self, got, sent, most=-40):
        self.assertLessEqual(len(sent), len(got))
        self.assertLessEqual(len(got), len(sent) + 1)
        self.assertLess(error_in_db(got[: len(sent)], sent), most)

    def test_every_symbol_that_was_sent_comes_out(self):
        for rate, roll_off, clock_error in (
            (1.5, 0.35, 200e-6),
            (2, 0.2, -200e-6),
            (3.7, 0.25, 50e-6),
            (8, 0.35, 0),
        ):
            with self.subTest(rate=rate):
                sent = qpsk(15000)
                samples = shape(sent, rate, roll_off, clock_error).astype("c8")
                block = _block(rate, roll_off)
                got, _ = _run(block, samples)
                self.assert_symbols(got, sent)
                self.assertAlmostEqual(np.mean(np.abs(got) ** 2), 1, delta=0.01)
                self.assertTrue(block.locked())
                self.assertAlmostEqual(block.clock_error(), -1e6 * clock_error, delta=10)
                self.assertAlmostEqual(
                    block.samples_per_symbol(), rate * (1 + clock_error), delta=1e-4
                )
                self.assertEqual(block.symbols(), len(got))
                self.assertEqual(block.gaps(), 0)
                self.assertEqual(block.backend(), BACKEND)

    def test_the_function_gives_what_the_block_gives(self):
        samples = noisy(shape(qpsk(9000), 2.3, 0.3, 1e-5), 6, 2.3).astype("c8")
        got, _ = _run(_block(2.3, 0.3), samples)
        symbols, timing = _sync(samples, 2.3, 0.3, info=True)
        np.testing.assert_array_equal(got, symbols)
        np.testing.assert_array_equal(symbols, _sync(samples, 2.3, 0.3))
        truth = (np.arange(9000) + 0.3) * 2.3 * (1 + 1e-5)
        self.assertLess(np.abs(timing.instants[:9000] - truth).max(), 0.1)
        self.assertTrue(timing.locked)
        self.assertAlmostEqual(timing.clock_error, -10, delta=15)
        self.assertEqual(timing.gain.shape, symbols.shape)
        self.assertGreater(timing.line, 0.3)

    def test_integers_are_samples_too(self):
        sent = qpsk(9000)
        samples = shape(sent, 2, 0.35)
        for dtype, name, most in (("i2", "sc16", -40), ("i1", "sc8", -38)):
            with self.subTest(name):
                pairs = _integers(samples, dtype)
                got, _ = _run(_block(2, 0.35, name), pairs)
                self.assert_symbols(got, sent, most)
                np.testing.assert_array_equal(got, _sync(pairs, 2, 0.35))

    def test_a_low_es_n0_costs_little(self):
        sent = qpsk(60000)
        for roll_off in (0.35, 0.05):
            with self.subTest(roll_off=roll_off):
                samples = shape(sent, 2, roll_off, 1e-4)
                got = _sync(noisy(samples, -2.35, 2).astype("c8"), 2, roll_off)
                # 0.05 dB are five times the uncertainty of the noise's own energy.
                self.assertLess(error_in_db(got[:60000], sent), 2.35 + 0.1)

    def test_a_carrier_offset_is_removed_and_told(self):
        sent = qpsk(40000)
        samples = shape(sent, 2, 0.2, 50e-6)
        samples *= np.exp(2j * np.pi * 0.2 / 2 * np.arange(len(samples)))
        block = _block(2, 0.2)
        got, found = _run(block, samples.astype("c8"))
        (item, key, value), (turned, turns_key, turns) = found
        removed = block.carrier_offset()
        self.assertEqual((item, key), (0, "carrier_offset"))
        self.assertEqual(pmt.to_double(value), removed)
        self.assertEqual((turned, turns_key), (0, "carrier_turns"))
        self.assertAlmostEqual(removed, 0.2, delta=0.01)
        left = (0.2 - removed) * (1 + 50e-6)
        got *= np.exp(-2j * np.pi * left * np.arange(len(got)))
        self.assert_symbols(got, sent)
        symbols, timing = _sync(samples, 2, 0.2, info=True)
        self.assertEqual(timing.carrier_offset, removed)
        told = (0, removed, pmt.to_double(turns))
        np.testing.assert_allclose(timing.carrier_changes, [told], atol=1e-12)
        self.assertEqual(len(symbols), len(got))
        block = _block(2, 0.2, most_offset=0)
        self.assertEqual(_run(block, samples.astype("c8"))[1], [])
        self.assertEqual(block.carrier_offset(), 0)

    def test_where_another_offset_is_removed_the_change_can_be_put_back(self):
        sent, jump, step = qpsk(350_000), 50_000, 0.09
        samples = shape(sent, 2, 0.2, 50e-6)
        turns = step / 2 * np.maximum(np.arange(len(samples)) - jump, 0)
        samples = (samples * np.exp(2j * np.pi * turns)).astype("c8")
        got, timing = _sync(samples, 2, 0.2, info=True)
        of_block, found = _run(_block(2, 0.2), samples)
        (item, key, offset), (turned, turns_key, more) = found
        self.assertEqual((key, turns_key), ("carrier_offset", "carrier_turns"))
        self.assertEqual(item, turned)
        told = (item, pmt.to_double(offset), pmt.to_double(more))
        carrier = step / 2 * np.maximum(timing.instants - jump, 0)
        # Calls of other sizes notice the jump elsewhere.
        for symbols, changes in ((got, timing.carrier_changes), (of_block, [told])):
            ((symbol, offset, more),) = changes
            self.assertAlmostEqual(offset, step, delta=0.2 / 8)
            back = -carrier
            # Offsets are in nominal symbol rates.
            offset *= 1 + 50e-6
            back[symbol:] += more + offset * np.arange(len(back) - symbol)
            straight = symbols * np.exp(2j * np.pi * back)
            straight = straight[symbol - 5000 : symbol + 5000]
            straight *= sent[symbol - 5000 : symbol + 5000].conj()
            phases = np.angle(straight.reshape(-1, 500).mean(axis=1))
            self.assertLess(np.abs(phases - phases[9]).max(), 0.05)

    def test_tags_go_to_the_nearest_symbols(self):
        sent = qpsk(12000)
        samples = shape(sent, 3.3, 0.35, 0, 0.4).astype("c8")
        places = [0, 1, 5, 700, 701, 20000, len(samples) - 1]
        tags = [tag(place, "place", place) for place in places]
        got, found = _run(_block(3.3, 0.35), samples, tags)
        self.assertEqual([pmt.to_python(value) for _, _, value in found], places)
        for item, _, value in found:
            sample = pmt.to_python(value)
            nearest = np.clip(np.rint(sample / 3.3 - 0.4), 0, len(got) - 1)
            self.assertLessEqual(abs(item - nearest), 1)
            self.assertLess(abs((item + 0.4) * 3.3 - sample), 3.3 / 2 + 0.5)

    def test_rx_rate_becomes_the_symbol_rate(self):
        samples = shape(qpsk(12000), 2, 0.35, 100e-6).astype("c8")
        tags = [tag(0, "rx_rate", 1e6)]
        _, found = _run(_block(2, 0.35), samples, tags)
        ((item, key, value),) = found
        self.assertEqual((item, key), (0, "rx_rate"))
        self.assertAlmostEqual(pmt.to_double(value), 5e5 / (1 + 100e-6), delta=10)

    def test_a_gap_costs_no_symbol_before_it_or_behind(self):
        first, second = qpsk(9000, 3), qpsk(8000, 4)
        before = shape(first, 2, 0.35, 0, 0.1).astype("c8")
        behind = shape(second, 2, 0.35, 0, 0.4).astype("c8")
        whole = np.concatenate([before, behind])

        def stamp(item, seconds):
            return tag(
                item,
                "rx_time",
                pmt.make_tuple(pmt.from_uint64(seconds), pmt.from_double(0)),
            )

        tags = [stamp(0, 1), tag(0, "rx_rate", 1e6), stamp(len(before), 9)]
        block = _block(2, 0.35)
        got, found = _run(block, whole, tags)
        self.assertEqual(block.gaps(), 1)
        (start,) = [t[0] for t in found if t[1] == "rx_time" and t[0]]
        self.assert_symbols(got[:start], first)
        self.assert_symbols(got[start:], second)
        # A time that is as expected shows no gap.
        seconds = len(before) / 1e6
        time_tag = pmt.make_tuple(pmt.from_uint64(1), pmt.from_double(seconds))
        tags[2] = tag(len(before), "rx_time", time_tag)
        block = _block(2, 0.35, sample_rate=1e6)
        _run(block, whole, tags)
        self.assertEqual(block.gaps(), 0)

    def test_a_message_sets_the_rate(self):
        sent = qpsk(9000)
        samples = shape(sent, 2.5, 0.35).astype("c8")
        for message in (
            pmt.from_double(2.5),
            pmt.cons(pmt.intern("samples_per_symbol"), pmt.from_double(2.5)),
        ):
            block = _block(2, 0.35)

            def post():
                for bad in (
                    pmt.intern("fast"),
                    pmt.from_double(99),
                    pmt.PMT_NIL,
                    pmt.make_dict(),
                ):
                    block.to_basic_block()._post(pmt.intern("samples_per_symbol"), bad)
                block.to_basic_block()._post(pmt.intern("samples_per_symbol"), message)

            got, _ = _run(block, samples, before=post)
            self.assert_symbols(got, sent)
        block = _block(2, 0.35)
        block.set_samples_per_symbol(2.5)
        self.assert_symbols(_run(block, samples)[0], sent)
        with self.assertRaisesRegex(ValueError, "samples_per_symbol is 1.0"):
            block.set_samples_per_symbol(1)

    def test_status_comes_once_a_second(self):
        samples = shape(qpsk(20000), 2, 0.35).astype("c8")
        source = blocks.vector_source_c(samples.tolist(), True)
        throttle = blocks.throttle(8, 1e5)
        block, sink, log = _block(2, 0.35), blocks.null_sink(8), blocks.message_debug()
        top = gr.top_block()
        top.connect(source, throttle, block, sink)
        top.msg_connect(block, "status", log, "store")
        top.start()
        end = time.monotonic() + 20
        while log.num_messages() < 2 and time.monotonic() < end:
            time.sleep(0.05)
        top.stop()
        top.wait()
        status = pmt.to_python(log.get_message(1))
        self.assertEqual(
            set(status),
            set(
                "samples_per_symbol clock_error_ppm line locked level carrier_offset symbols".split()
            ),
        )
        self.assertAlmostEqual(status["level"], 1, delta=0.05)
        self.assertGreater(status["symbols"], 0)

    def test_a_wrong_rate_is_told_after_five_seconds(self):
        for rate, told in (
            (2.4, r"2\.(39|40)\d* \(or of 1\.71\d*\)"),
            (None, "no other"),
        ):
            samples = noisy(
                shape(qpsk(60000), rate or 2, 0.35) * bool(rate), 10, 2
            ).astype("c8")
            source = blocks.vector_source_c(samples.tolist(), True)
            throttle = blocks.throttle(8, 1e6)
            block, sink, top = _block(2, 0.35), blocks.null_sink(8), gr.top_block()
            top.connect(source, throttle, block, sink)
            with captured_log() as log:
                top.start()
                time.sleep(6)
                top.stop()
                top.wait()
            self.assertFalse(block.locked())
            self.assertRegex(
                log.text,
                r"no signal of 2 samples per symbol, roll-off 0.35, for five seconds; .*"
                + told,
            )

    def test_a_flowgraph_that_starts_again_begins_anew(self):
        sent = qpsk(9000)
        samples = shape(sent, 2, 0.35).astype("c8")
        block = _block(2, 0.35)
        first, _ = _run(block, samples)
        again, _ = _run(block, samples)
        np.testing.assert_array_equal(first, again)

    def test_short_arrays_give_short_results(self):
        for count in (0, 1, 3, 100):
            got = _sync(np.ones(count), 2, 0.35)
            self.assertLessEqual(abs(len(got) - count / 2), 1)
            self.assertEqual(
                len(_run(_block(2, 0.35), np.ones(count, "c8"))[0]), len(got)
            )

    def test_bad_samples_give_finite_symbols(self):
        samples = shape(qpsk(6000), 2, 0.35).astype("c8")
        samples[1000:1100] = [np.nan, np.inf, 1e30, 1j * np.nan] * 25
        got, _ = _run(_block(2, 0.35), samples)
        self.assertTrue(np.isfinite(got).all())
        np.testing.assert_array_equal(got, _sync(samples, 2, 0.35))

    def test_what_is_out_of_range_is_refused(self):
        with self.assertRaisesRegex(ValueError, "samples_per_symbol is 1.0"):
            _block(1)
        with self.assertRaisesRegex(
            ValueError, "roll_off is 0.6.*does not|roll_off is 0.6"
        ):
            _block(1.5, 0.6)
        with self.assertRaisesRegex(ValueError, "'complex', 'sc16', 'sc8'"):
            _block(2, 0.2, "float")
        with self.assertRaisesRegex(ValueError, "sample_rate"):
            _block(2, 0.2, sample_rate=-1)
        with self.assertRaisesRegex(ValueError, r"shape \(2, 2\)"):
            _sync(np.ones((2, 2)), 2)
        with self.assertRaisesRegex(ValueError, r"\(n, 2\)"):
            _sync(np.ones(4, "i2"), 2)
        with self.assertRaisesRegex(TypeError, "complex numbers"):
            _sync(["a"], 2)


if __name__ == "__main__":
    main()
