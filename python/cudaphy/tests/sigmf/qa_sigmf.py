#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings in SigMF: writing, reading, and damaged files."""

import json
import math
import tempfile
from pathlib import Path

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
from gnuradio.cudaphy import sigmf
from qa_support import KEY, FlowgraphCase, Sink, Source, captured_log, gaussian, main, tag

RATE = 2e6
TIMES = {100: (1_700_000_000, 0.25), 700: (1_700_000_005, 0.123456789)}


def time_tag(item, time):
    made = gr.tag_t()
    made.offset, made.key = item, pmt.intern("rx_time")
    made.value = pmt.make_tuple(pmt.from_uint64(time[0]), pmt.from_double(time[1]))
    return made


class SigmfCase(FlowgraphCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.meta = self.folder / "take.sigmf-meta"
        self.data = self.folder / "take.sigmf-data"

    def write(self, samples, tags=(), **options):
        block = cudaphy.sigmf_sink(self.folder / "take", **options)
        top = gr.top_block()
        top.connect(Source(samples, tags).block, block)
        self.run_flowgraph(top)
        return block

    def read(self, **options):
        sink, top = Sink("complex64"), gr.top_block()
        source = cudaphy.sigmf_source(self.meta, **options)
        top.connect(source, sink.block)
        self.run_flowgraph(top)
        return sink

    def play(self, samples, repeat=True):
        """As read(), but at most `samples` samples."""
        sink, top = Sink("complex64"), gr.top_block()
        source = cudaphy.sigmf_source(self.meta, repeat)
        top.connect(source, blocks.head(8, samples), sink.block)
        self.run_flowgraph(top)
        return sink

    def metadata(self):
        return json.loads(self.meta.read_text())

    def change(self, change):
        found = self.metadata()
        change(found)
        self.meta.write_text(json.dumps(found))


class qa_sigmf(SigmfCase):
    def test_samples_tags_and_packets_come_back(self):
        x = 0.2 * gaussian((30_000,))
        tags = [
            tag(0, "rx_rate", RATE),
            tag(0, "rx_freq", 1e9),
            tag(700, "rx_freq", 2.4e9),
        ]
        tags += [time_tag(item, time) for item, time in TIMES.items()]
        packets = [(100, 500), (700, 20_000), (29_990, 10)]
        tags += [tag(start, KEY, count) for start, count in packets]
        tags += [tag(3, "mine", 1)]
        for datatype, step in (
            ("cf32_le", 0),
            ("ci16_le", 2**-16),
            ("ci8", 2**-8),
            ("cu8", 2**-8),
        ):
            with self.subTest(datatype=datatype):
                block = self.write(x, tags, datatype=datatype, description="noise")
                self.assertEqual((block.samples(), block.clipped() < 10), (30_000, True))
                sink = self.read()
                inside = (np.abs(x.real) < 0.99) & (np.abs(x.imag) < 0.99)
                error = (sink.data - x)[inside]
                self.assertLessEqual(np.abs(error.view("float32")).max(), step * 1.001)
                self.assertEqual(sink.tags("rx_rate"), [(0, RATE)])
                # A capture's values hold from its first sample on.
                self.assertEqual(
                    sink.tags("rx_freq"), [(0, 1e9), (100, 1e9), (700, 2.4e9)]
                )
                self.assertEqual(
                    [(i, (w, round(p, 9))) for i, (w, p) in sink.tags("rx_time")],
                    list(TIMES.items()),
                )
                self.assertEqual(sink.tags(KEY), packets)
                about = self.metadata()["global"]
                self.assertEqual(about["core:datatype"], datatype)
                self.assertEqual(about["core:description"], "noise")

    def test_several_channels_come_back_side_by_side(self):
        x = 0.2 * gaussian((3, 20_000))
        tags = [tag(0, "rx_rate", RATE), tag(50, "rx_freq", 1e9), tag(100, KEY, 500)]
        tags += [time_tag(item, time) for item, time in TIMES.items()]
        other = [tag(7, "rx_freq", 3e9)]  # the first channel's count
        for datatype, step in (("cf32_le", 0), ("ci16_le", 2**-16)):
            block = cudaphy.sigmf_sink(self.meta, datatype=datatype, channels=3)
            top = gr.top_block()
            for channel, tagged in enumerate((tags, other, ())):
                top.connect(Source(x[channel], tagged).block, (block, channel))
            self.run_flowgraph(top)
            self.assertEqual(block.samples(), 20_000)
            self.assertEqual(self.metadata()["global"]["core:num_channels"], 3)
            source = cudaphy.sigmf_source(self.meta, repeat=True, channels=3)
            top, sinks = gr.top_block(), [Sink("complex64") for _ in x]
            for channel, sink in enumerate(sinks):
                top.connect((source, channel), blocks.head(8, 20_500), sink.block)
            self.run_flowgraph(top)
            samples, found = sigmf.read_samples(self.data)
            self.assertEqual((samples.shape, found.channels), (x.shape, 3))
            for sink, one, wanted in zip(sinks, samples, x):
                error = np.abs((one - wanted).view("float32")).max()
                self.assertLessEqual(error, step * 1.001)
                np.testing.assert_array_equal(sink.data, np.tile(one, 2)[:20_500])
                self.assertEqual(sink.tags(KEY), [(100, 500), (20_100, 500)])
                freqs = [i for i, f in sink.tags("rx_freq") if f == 1e9]
                self.assertEqual(freqs, [50, 100, 700, 20_050, 20_100])
                self.assertEqual([i for i, _ in sink.tags("rx_time")][:2], list(TIMES))
            sigmf.write_samples(self.meta, samples, RATE)
            again, found = sigmf.read_samples(self.meta)
            np.testing.assert_array_equal(again, samples)
        for channels in (0, 65):
            for make in (cudaphy.sigmf_source, cudaphy.sigmf_sink):
                with self.assert_refuses(str(channels), "1 to 64"):
                    make(self.meta, channels=channels)

    def test_without_tags_there_is_one_capture(self):
        self.write(gaussian((100,)), sample_rate=RATE)
        found = self.metadata()
        self.assertEqual(found["captures"], [{"core:sample_start": 0}])
        self.assertEqual(found["annotations"], [])
        self.assertEqual(self.read().tags("rx_time"), [])

    def test_an_empty_recording(self):
        self.write(np.zeros(0, "complex64"))
        self.assertEqual(len(self.read(repeat=True).data), 0)

    def test_samples_beyond_full_scale_are_clipped_and_counted(self):
        block = self.write(
            np.array([2 - 3j, np.nan + 0.5j, 0.25], "complex64"), datatype="ci8"
        )
        self.assertEqual(block.clipped(), 3)
        got = self.read().data
        self.assertEqual(got[0], 127 / 128 - 1j)
        self.assertEqual(got[1:].tolist(), [0.5j, 0.25])

    def test_a_packet_that_the_end_cuts_is_none(self):
        self.write(gaussian((100,)), [tag(0, KEY, 60), tag(60, KEY, 60)])
        self.assertEqual(len(self.metadata()["annotations"]), 1)

    def test_repeats_with_its_tags(self):
        x = gaussian((1000,))
        self.write(x, [tag(10, KEY, 50)], sample_rate=RATE)
        sink = self.play(2500)
        self.assertTrue((sink.data == np.tile(x, 3)[:2500]).all())
        self.assertEqual(sink.tags(KEY), [(10, 50), (1010, 50), (2010, 50)])
        self.assertEqual([i for i, _ in sink.tags("rx_rate")], [0, 1000, 2000])

    def test_the_metadata_describe_the_data_while_it_is_being_written(self):
        block = cudaphy.sigmf_sink(self.meta, sample_rate=RATE)
        block.start()
        self.assertEqual(sigmf.read_metadata(self.data).sample_rate, RATE)
        block.stop()

    def test_numpy_functions(self):
        x = 0.1 * gaussian((5000,))
        clipped = sigmf.write_samples(
            self.data,
            x,
            RATE,
            "ci16_le",
            [sigmf.capture(0, 1e9, (1, 0.5))],
            [(10, 20), (30, 40)],
            author="me",
        )
        self.assertEqual(clipped, 0)
        got, found = sigmf.read_samples(self.folder / "take")
        self.assertLess(np.abs(got - x).max(), 1e-4)
        self.assertEqual(found.packets, [(10, 20), (30, 40)])
        self.assertEqual(found.captures, [sigmf.capture(0, 1e9, (1, 0.5))])
        self.assertEqual(found.about["core:author"], "me")

    def test_times_are_kept_to_the_nanosecond(self):
        for time in ((0, 0.0), (1_700_000_000, 0.999999999), (5, 0.9999999999)):
            text = sigmf.text_of(time)
            whole, part = sigmf.time_of(text)
            self.assertAlmostEqual(whole + part, sum(time), 8, text)
        self.assertEqual(sigmf.time_of("1970-01-02T00:00:00Z"), (86400, 0.0))
        for wrong in ("now", "2026-01-31", "2026-13-31T12:00:00Z", 5, "1.2.3Z"):
            with self.assertRaises(ValueError, msg=wrong):
                sigmf.time_of(wrong)

    def test_a_sink_passes_over_tags_that_say_nothing(self):
        odd = [math.nan, math.inf, -1e300, "fast", 1 + 2j, None, [1.0], 2**62]
        tags = [
            tag(i, name, v) for i, v in enumerate(odd) for name in ("rx_freq", "rx_rate")
        ]
        times = [*odd, (1,), (1, 2, 3), ("1", "x"), (-1, 0.5), (5, 1.0), (5, math.nan)]
        times += [(math.inf, 0.5), (2**40, 0.5), (2**62, 0.0), (1, 1j)]
        tags += [tag(50 + i, "rx_time", v) for i, v in enumerate(times)]
        tags += [tag(90, "rx_rate", RATE), tag(90, "rx_freq", 10**9)]
        tags += [time_tag(91, (5, 0.9999999999))]
        with captured_log() as log:
            self.write(gaussian((100,)), tags)
        for name in ("time", "frequency", "rate"):
            self.assertIn(f"at item {50 if name == 'time' else 0} is no {name}", log.text)
        found = sigmf.read_metadata(self.meta)  # reading would refuse wrong values
        self.assertEqual(found.sample_rate, RATE)
        captures = [
            (c.start, c.frequency, c.time) for c in found.captures if c.start >= 90
        ]
        self.assertEqual(captures, [(90, 1e9, None), (91, 1e9, (5, 0.999999999))])
        self.assertEqual({c.time for c in found.captures if c.start < 90}, {None})


class qa_damaged_sigmf(SigmfCase):
    def setUp(self):
        super().setUp()
        sigmf.write_samples(
            self.data, gaussian((1000,)), RATE, packets=[(0, 100), (100, 200)]
        )

    def refused(self, text):
        with self.assertRaisesRegex(ValueError, text) as caught:
            cudaphy.sigmf_source(self.meta)
        self.assertIn(str(self.folder), str(caught.exception))

    def test_files_that_are_missing(self):
        self.data.unlink()
        self.refused("take.sigmf-data: No such file")
        self.meta.unlink()
        self.refused("take.sigmf-meta: No such file")

    def test_data_cut_within_a_sample(self):
        with open(self.data, "r+b") as file:
            file.truncate(7999)
        self.refused("7999 bytes are no whole number of samples of 8 bytes .cf32_le.")

    def test_data_cut_before_the_end_of_a_packet(self):
        with open(self.data, "r+b") as file:
            file.truncate(8 * 250)
        self.refused(
            "annotation 1 ends at sample 300, but take.sigmf-data ends after 250"
        )

    def test_no_json(self):
        for text in ("", "{", "[1, 2]", '{"global": 3}', "\x00", "[" * 100_000):
            self.meta.write_text(text)
            self.refused("JSON|global")

    def test_metadata_that_lie(self):
        def glob(**values):
            named = {"core:" + key: value for key, value in values.items()}
            return lambda found: found["global"].update(named)

        def capture(**values):
            named = {"core:" + key: value for key, value in values.items()}
            return lambda found: found.update(captures=[named])

        def note(start, count, label="packet"):
            one = {
                "core:sample_start": start,
                "core:sample_count": count,
                "core:label": label,
            }
            return lambda found: found["annotations"].append(one)

        original = self.meta.read_text()
        for change, text in (
            (glob(datatype="rf16_be"), "'rf16_be' is none of cf32_le, ci16_le, ci8, cu8"),
            (glob(datatype=None), "is none of"),
            (glob(datatype=["ci8"]), "is none of"),
            (glob(num_channels=2), "has 2 channels, not 1"),
            (glob(num_channels=3), "of 24 bytes .cf32_le of 3 channels."),
            (glob(num_channels=0), "num_channels 0 is not in 1 to 64"),
            (glob(num_channels=1000), "num_channels 1000 is not in 1 to 64"),
            (glob(num_channels="two"), "num_channels of global is 'two'"),
            (glob(sample_rate="fast"), "sample_rate is 'fast'"),
            (glob(sample_rate=0), "not above 0"),
            (glob(sample_rate=float("nan")), "sample_rate"),
            (glob(sample_rate=10**400), "sample_rate"),
            (glob(dataset="../../etc/passwd"), "no name of a file in the same folder"),
            (glob(dataset="other.bin"), "other.bin: No such file"),
            (capture(sample_start=1000), "capture 0 begins at sample 1000"),
            (capture(sample_start=-1), "sample_start of capture 0 is -1"),
            (capture(sample_start=1.5), "not a whole number"),
            (capture(sample_start="x"), "sample_start of capture 0 is 'x'"),
            (capture(sample_start=0, datetime="noon"), "core:datetime of capture 0"),
            (capture(sample_start=0, frequency=True), "core:frequency is True"),
            (capture(sample_start=0, header_bytes=-4), "header_bytes of capture 0 is -4"),
            (capture(sample_start=0, header_bytes=4), "7996 bytes are no whole number"),
            (
                capture(sample_start=0, header_bytes=8001),
                "8000 bytes, but core:header_byt",
            ),
            (glob(trailing_bytes=8001), "core:trailing_bytes are 8001 together"),
            (
                glob(trailing_bytes=8 * 800),
                "annotation 1 ends at sample 300, .* after 200",
            ),
            (glob(offset=-1), "core:offset of global is -1"),
            (glob(offset=2**63), "core:offset 9223372036854775808 is not below"),
            (lambda found: found.update(captures={}), "no list of objects"),
            (lambda found: found.update(annotations=[3]), "no list of objects"),
            (
                lambda found: found.update(captures=2 * [{"core:sample_start": 5}]),
                "capture 1 begins at sample 5, not after",
            ),
            (note(950, 51), "annotation 2 ends at sample 1001"),
            (note(0, -1), "sample_count of annotation 2 is -1"),
            (note(10**30, 1), "annotation 2 ends at sample"),
            (note(299, 5), "begins within the one at 100"),
        ):
            self.meta.write_text(original)
            self.change(change)
            with self.subTest(text=text):
                self.refused(text)

    def test_annotations_of_other_labels_may_lie_over_each_other(self):
        self.change(
            lambda found: found["annotations"].append(
                {"core:sample_start": 0, "core:sample_count": 900, "core:label": "signal"}
            )
        )
        self.assertEqual(self.read().tags(KEY), [(0, 100), (100, 200)])

    def test_a_file_that_becomes_shorter_ends_the_flowgraph(self):
        source = cudaphy.sigmf_source(self.meta)
        with open(self.data, "r+b") as file:
            file.truncate(80)
        sink, top = Sink("complex64"), gr.top_block()
        top.connect(source, sink.block)
        self.run_flowgraph(top)
        self.assertLessEqual(len(sink.data), 10)

    def test_a_sink_that_cannot_write_names_the_file(self):
        with self.assertRaises(OSError):
            cudaphy.sigmf_sink(self.folder / "none" / "take")
        with self.assertRaisesRegex(ValueError, "ci12"):
            cudaphy.sigmf_sink(self.meta, datatype="ci12")
        with self.assertRaises(ValueError):
            cudaphy.sigmf_sink(self.meta, sample_rate=-1)


if __name__ == "__main__":
    main()
