#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""nr_ofdm_modulator and nr_ofdm_demodulator: slots of 5G NR in streams."""

import numpy as np
import pmt
from gnuradio import cudaphy, gr
from qa_support import (
    KEY,
    FlowgraphCase,
    Sink,
    Source,
    captured_log,
    gaussian,
    main,
    packet_tags,
    tag,
)
from qa_support.radio_time import time_tag

C = ("complex64", 0)


def parts(sink):
    """The packets of a sink, by its length tags."""
    data, cut = sink.data, []
    for item, length in sink.tags(KEY):
        assert item == sum(map(len, cut))
        cut.append(data[item : item + length])
    assert sum(map(len, cut)) == len(data)
    return cut


def values(sink, key):
    return [value for _, value in sink.tags(key)]


class qa_nr_ofdm_blocks(FlowgraphCase):
    def modulated(self, grids, tags=(), **options):
        """(block, sinks) of grids (slots, ports, symbols, subcarriers)."""
        _, ports, symbols, subcarriers = grids.shape
        block = cudaphy.nr_ofdm_modulator(subcarriers, ports=ports, **options)
        lengths = packet_tags([symbols * subcarriers] * len(grids))
        inputs = [grids[:, port].ravel() for port in range(ports)]
        sinks = self.through(block, inputs, [C] * ports, [*lengths, *tags])
        return block, sinks

    def demodulated(self, samples, tags=(), subcarriers=24, **options):
        samples = np.atleast_2d(samples)
        block = cudaphy.nr_ofdm_demodulator(subcarriers, antennas=len(samples), **options)
        return block, self.through(block, list(samples), [C] * len(samples), tags)

    def test_blocks_do_as_the_functions_do_in_every_numerology(self):
        for numerology, extended in [(0, 0), (1, 0), (2, 0), (2, 1), (3, 0), (4, 0)]:
            with self.subTest(numerology=numerology, extended=extended):
                common = dict(
                    numerology=numerology,
                    extended_prefix=bool(extended),
                    carrier_frequency=3.5e9,
                    middle=-3,
                )
                symbols, slots = 12 if extended else 14, 11
                first = 10 * 2**numerology - 3  # a frame ends within
                grids = gaussian((slots, 2, symbols, 24))
                block, sinks = self.modulated(grids, slot=first, window=3, **common)
                self.assertEqual(block.slots(), slots)
                numbers = [(first + i) % (10 * 2**numerology) for i in range(slots)]
                for port, sink in enumerate(sinks):
                    self.assertEqual(values(sink, "slot"), numbers)
                    self.assertEqual(values(sink, "frame"), [0] * 3 + [1] * (slots - 3))
                    for got, number, grid in zip(parts(sink), numbers, grids[:, port]):
                        wanted = cudaphy.nr_ofdm_modulate(
                            grid, slot=number, window=3, **common
                        )
                        np.testing.assert_array_equal(got, wanted)
                samples = [sink.data for sink in sinks]
                demodulator, back = self.demodulated(
                    samples, slot=first, advance=4, **common
                )
                self.assertEqual(demodulator.slots(), slots)
                self.assertEqual(demodulator.sample_rate(), 15e3 * 2**numerology * 128)
                for port, sink in enumerate(back):
                    self.assertEqual(values(sink, "slot"), numbers)
                    got = np.reshape(parts(sink), (slots, symbols, 24))
                    np.testing.assert_allclose(got, grids[:, port], atol=1e-4)

    def test_largest_slots_pass_buffers_of_any_size(self):
        grids = gaussian((3, 1, 14, 3276))
        block = cudaphy.nr_ofdm_modulator(3276)
        back = cudaphy.nr_ofdm_demodulator(3276)
        source = Source(grids.ravel(), packet_tags([14 * 3276] * 3))
        block.set_max_output_buffer(512)
        sink = Sink(*C)
        top = gr.top_block()
        top.connect(source.block, block, back, sink.block)
        self.run_flowgraph(top)
        np.testing.assert_allclose(sink.data, grids.ravel(), atol=1e-4)

    def test_a_second_run_is_as_the_first(self):
        samples = gaussian((2500,))
        block = cudaphy.nr_ofdm_demodulator(24, slot=5)
        runs = [self.through(block, [samples], [C])[0] for _ in range(2)]
        self.assertEqual(len(runs[0].data), 14 * 24)
        np.testing.assert_array_equal(runs[0].data, runs[1].data)
        self.assertEqual(values(runs[1], "slot"), [5])

    def test_slots_are_numbered_by_tags_and_go_on_from_there(self):
        grids = gaussian((4, 1, 14, 24))
        size = 14 * 24
        tags = [tag(size, "slot", 7), tag(3 * size, "slot", 3), tag(0, "frame", 9)]
        tags += [tag(0, "slot", pmt.from_uint64(2)), tag(size + 5, "mine", 42)]
        block, (sink,) = self.modulated(grids, tags)
        self.assertEqual(values(sink, "slot"), [2, 7, 8, 3])
        self.assertEqual(values(sink, "frame"), [9, 9, 9, 10])
        starts = [item for item, _ in sink.tags(KEY)]
        self.assertEqual(sink.tags("mine"), [(starts[1], 42)])
        _, (back,) = self.demodulated(
            sink.data,
            [tag(item, "slot", n) for item, n in sink.tags("slot")],
        )
        np.testing.assert_allclose(
            np.reshape(parts(back), (4, 14, 24)), grids[:, 0], atol=1e-4
        )
        self.assertEqual(values(back, "slot"), [2, 7, 8, 3])

    def test_slots_begin_at_the_tag(self):
        grid = gaussian((2, 14, 24))
        samples = cudaphy.nr_ofdm_modulate(grid.reshape(28, 24), slot=4)
        early = gaussian((777,), 2)
        block, (sink,) = self.demodulated(
            np.concatenate((early, samples)), [tag(777, "slot", 4)], start="tag"
        )
        np.testing.assert_allclose(sink.data, grid.ravel(), atol=1e-4)
        self.assertEqual((block.slots(), block.dropped_samples()), (2, 777))
        # Without such a start they begin at once, and the tag cuts one short.
        block, (sink,) = self.demodulated(
            np.concatenate((early, samples)), [tag(777, "slot", 4)]
        )
        np.testing.assert_allclose(sink.data, grid.ravel(), atol=1e-4)
        self.assertEqual((block.slots(), block.lost_slots()), (2, 1))

    def test_without_the_tag_the_log_says_why_nothing_comes(self):
        samples = np.zeros(15000 * 128 + 5000, "c8")
        with captured_log() as log:
            block, (sink,) = self.demodulated(samples, numerology=0, start="tag")
        self.assertEqual(len(sink.data), 0)
        self.assertIn("no tag slot within", log.text)

    def test_slots_keep_their_places_over_gaps_of_any_length(self):
        rate = 15e3 * 2 * 128
        grids = gaussian((60, 14, 24))
        samples = cudaphy.nr_ofdm_modulate(grids.reshape(-1, 24))
        slot = len(samples) // 60
        begun = 10**6
        for kept, lost in [
            (430, 3),
            (1920, 1920),
            (2000, 1920),
            (500, 38400 + 7),
            (5, 4),
        ]:
            with self.subTest(kept=kept, lost=lost):
                torn = np.concatenate((samples[:kept], samples[kept + lost :]))
                tags = [
                    time_tag(0, begun, rate),
                    time_tag(kept, begun + kept + lost, rate),
                ]
                with captured_log() as log:
                    block, (sink,) = self.demodulated(torn, tags)
                whole = [
                    n
                    for n in range(60)
                    if n * slot >= kept + lost or (n + 1) * slot <= kept
                ]
                self.assertEqual(values(sink, "slot"), [n % 20 for n in whole])
                self.assertEqual(values(sink, "frame"), [n // 20 for n in whole])
                np.testing.assert_allclose(
                    np.reshape(parts(sink), (-1, 14, 24)), grids[whole], atol=1e-4
                )
                for n, (seconds, fraction) in zip(whole, values(sink, "rx_time")):
                    expected = 0.25 + (begun + n * slot) / rate
                    self.assertAlmostEqual(
                        seconds - 1_700_000_000 + fraction, expected, 6
                    )
                self.assertEqual(block.gaps(), 1)
                self.assertEqual(block.lost_slots(), 60 - len(whole))
                self.assertIn(f"{lost} samples lost", log.text)

    def test_a_time_that_fits_is_no_gap(self):
        rate = 15e3 * 2 * 128
        samples = gaussian((4 * 1920,))
        tags = [time_tag(0, 0, rate), time_tag(1000, 1002, rate)]
        block, (sink,) = self.demodulated(samples, tags)
        self.assertEqual((block.gaps(), block.slots()), (0, 4))

    def test_a_time_that_goes_back_begins_anew(self):
        rate = 15e3 * 2 * 128
        samples = gaussian((4 * 1920,))
        tags = [time_tag(0, 10**7, rate), time_tag(2500, 0, rate)]
        with captured_log() as log:
            block, (sink,) = self.demodulated(samples, tags, slot=3)
        self.assertEqual(values(sink, "slot"), [3, 3, 4])
        self.assertEqual((block.gaps(), block.lost_slots()), (1, 1))
        self.assertIn("the time goes back", log.text)

    def test_tags_stay_with_their_slot_and_antenna(self):
        samples = gaussian((2, 3 * 1920))
        tags = [
            tag(2000, "mine", 1),
            tag(2001, "rx_freq", 1e9),
            tag(9, "rx_rate", 3.84e6),
        ]
        _, sinks = self.demodulated(samples, tags)
        self.assertEqual(sinks[0].tags("mine"), [(336, 1)])
        self.assertEqual(sinks[0].tags("rx_freq"), [(336, 1e9)])
        self.assertEqual(sinks[1].tags("mine"), [])
        self.assertEqual(sinks[0].tags("rx_rate"), [])

    def test_a_wrong_rate_and_slot_are_said(self):
        with captured_log() as log:
            self.demodulated(
                gaussian((4000,)), [tag(0, "rx_rate", 5e6), tag(3, "slot", 20)]
            )
        self.assertIn("numerology need 3840000", log.text)
        self.assertIn("a frame has slots 0 to 19", log.text)

    def test_packets_of_other_lengths_are_passed_over(self):
        good = gaussian((2, 14 * 24))
        items = np.concatenate((good[0], gaussian((100,)), gaussian((50,)), good[1]))
        tags = packet_tags([336, 100])
        tags += [tag(436, KEY, 336), tag(486, KEY, 336)]  # torn by the next one
        block = cudaphy.nr_ofdm_modulator(24)
        (sink,) = self.through(block, [items], [C], tags)
        self.assertEqual((block.slots(), block.refused_packets()), (2, 2))
        wanted = [
            cudaphy.nr_ofdm_modulate(one.reshape(14, 24), slot=n)
            for n, one in enumerate(good)
        ]
        np.testing.assert_array_equal(sink.data, np.concatenate(wanted))

    def test_a_missing_length_tag_ends_the_flowgraph_with_a_message(self):
        block = cudaphy.nr_ofdm_modulator(24)
        with captured_log() as log:
            self.through(block, [gaussian((400,))], [C])
        self.assertIn("there is no tag packet_len", log.text)

    def test_wrong_parameters_name_the_clause(self):
        for wrong, texts in [
            (dict(numerology=5), ["numerology", "4.2"]),
            (dict(extended_prefix=True), ["numerology 2", "4.2"]),
            (dict(fft_size=200), ["128", "5.3.1"]),
            (dict(slot=20), ["0 to 19", "4.3.2"]),
            (dict(slot=-1), ["0 to 19"]),
            (dict(length_tag_key=""), ["length_tag_key"]),
            (dict(carrier_frequency=np.nan), ["finite"]),
        ]:
            for make in (cudaphy.nr_ofdm_modulator, cudaphy.nr_ofdm_demodulator):
                with self.subTest(make=make, **wrong), self.assert_refuses(*texts):
                    make(24, **wrong)
        for wrong in (dict(antennas=0), dict(advance=10), dict(advance=-2)):
            with self.subTest(**wrong), self.assertRaises(ValueError):
                cudaphy.nr_ofdm_demodulator(24, **wrong)
        for wrong in (dict(start="now"), dict(tolerance=-1), dict(tolerance=1 << 21)):
            with self.subTest(**wrong), self.assertRaises(ValueError):
                cudaphy.nr_ofdm_demodulator(24, **wrong)
        for wrong in (dict(ports=65), dict(window=10)):
            with self.subTest(**wrong), self.assertRaises(ValueError):
                cudaphy.nr_ofdm_modulator(24, **wrong)


if __name__ == "__main__":
    main()
