#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF of other programs: every datatype, offset, header and form of time."""

import json
import warnings

import numpy as np
from gnuradio import cudaphy
from gnuradio.cudaphy import sigmf
from qa_sigmf import SigmfCase
from qa_support import KEY, captured_log, gaussian, main

KINDS = {"f": 0, "i": 0, "u": 1}


class qa_sigmf_formats(SigmfCase):
    def put(self, data, captures=(), annotations=(), datatype="cf32_le", **about):
        """A recording as another program may write it."""
        named = {"core:" + key: value for key, value in about.items()}
        found = {
            "global": {"core:datatype": datatype, "core:version": "1.0.0", **named},
            "captures": [self.named(one) for one in captures],
            "annotations": [self.named(one) for one in annotations],
        }
        self.meta.write_text(json.dumps(found))
        path = self.folder / about.get("dataset", self.data.name)
        path.write_bytes(data if isinstance(data, bytes) else data.tobytes())

    @staticmethod
    def named(values):
        return {"core:" + key: value for key, value in values.items()}

    def test_every_datatype_of_the_standard_is_read_at_full_scale_1(self):
        x = np.array([0.5 - 0.25j, -1 + 0.75j, 0, -0.125 + 0.5j], "complex64")
        numbers = x.view("float32").astype("float64")
        self.assertEqual(len(sigmf.FORMATS), 28)
        for name in sigmf.FORMATS:
            kind, bits, order = name[1], int(name[2:].partition("_")[0]), name[-2:]
            dtype = np.dtype(f"{'>' if order == 'be' else '<'}{kind}{bits // 8}")
            full = 1.0 if kind == "f" else 2.0 ** (bits - 1)
            raw = (numbers * full + full * KINDS[kind]).astype(dtype)
            wanted = x if name[0] == "c" else numbers.astype("complex64")
            with self.subTest(datatype=name):
                self.put(raw, datatype=name)
                samples, found = sigmf.read_samples(self.meta)
                np.testing.assert_array_equal(samples, wanted)
                self.assertEqual(found.samples, len(wanted))
                np.testing.assert_array_equal(self.read().data, wanted)

    def test_integers_of_32_bits_keep_the_precision_of_small_signals(self):
        raw = np.array([2**31 + 3, 2**31 - 5], "uint32")
        self.put(raw, datatype="cu32_le")
        samples, _ = sigmf.read_samples(self.meta)
        self.assertEqual(samples[0], (3 - 5j) / 2**31)

    def test_complex_datatypes_are_written_as_they_are_read(self):
        x = np.clip(0.2 * gaussian((500,)), -0.9, 0.9)
        for name in sigmf.FORMATS:
            with self.subTest(datatype=name):
                if name[0] == "r":
                    with self.assert_refuses(name, "cf32_le"):
                        sigmf.write_samples(self.meta, x, 1e6, name)
                    with self.assert_refuses(name, "cf32_le"):
                        cudaphy.sigmf_sink(self.meta, datatype=name)
                    continue
                self.assertEqual(sigmf.write_samples(self.meta, x, 1e6, name), 0)
                step = 0 if "f" in name else 2.0 ** -int(name[2:].partition("_")[0])
                error = np.abs((sigmf.read_samples(self.meta)[0] - x).view("float32"))
                self.assertLessEqual(error.max(), max(step * 1.001, 2e-8 * (step > 0)))
        huge = np.array([1e38, np.inf + 0j, complex(-np.inf, np.nan)], "complex64")
        for name in ("ci32_le", "cu16_be", "ci8"):
            self.assertEqual(sigmf.write_samples(self.meta, huge, 1e6, name), 4)
            top, bottom = sigmf.read_samples(self.meta)[0][[1, 2]].real
            self.assertAlmostEqual(top - bottom, 2, 1)

    def test_a_byte_has_no_order_but_may_name_one_and_others_must(self):
        self.put(np.array([64, -64], "int8"), datatype="ci8_le")
        self.assertEqual(sigmf.read_samples(self.meta)[0][0], 0.5 - 0.5j)
        for name in ("cf32", "ci16", "CF32_LE", "cf16_le", "", 7, None, ["ci8"]):
            self.put(b"12345678", datatype=name)
            with self.assert_refuses("core:datatype", "_le or _be"):
                sigmf.read_metadata(self.meta)

    def test_positions_count_from_core_offset(self):
        x = gaussian((1000,))
        packet = {"sample_start": 150, "sample_count": 20, "label": "packet"}
        captures = [
            {"sample_start": 50, "frequency": 1e9},
            {"sample_start": 150, "frequency": 2e9},
        ]
        self.put(x, captures, [packet], offset=50)
        sink = self.read()
        self.assertEqual(sink.tags("rx_freq"), [(0, 1e9), (100, 2e9)])
        self.assertEqual(sink.tags(KEY), [(100, 20)])
        np.testing.assert_array_equal(sink.data, x)
        # The last sample has number 1049.
        self.put(x, captures, [{**packet, "sample_start": 1031}], offset=50)
        with self.assert_refuses("ends at sample 1051, .* ends after 1050"):
            sigmf.read_metadata(self.meta)

    def test_captures_before_core_offset_still_hold(self):
        captures = [
            {"sample_start": 0, "frequency": 1e9, "datetime": "2026-01-31T12:00:00Z"},
            {"sample_start": 40, "frequency": 2e9, "datetime": "2026-01-31T12:00:05.5Z"},
            {"sample_start": 300, "frequency": 3e9},
        ]
        packets = [
            {"sample_start": start, "sample_count": 20, "label": "packet"}
            for start in (90, 200)
        ]
        self.put(gaussian((1000,)), captures, packets, offset=100, sample_rate=40)
        with self.assertWarnsRegex(UserWarning, "before the file"):
            found = sigmf.read_metadata(self.meta)
        whole, _ = sigmf.time_of("2026-01-31T12:00:07Z")
        expected = [sigmf.capture(0, 2e9, (whole, 0.0)), sigmf.capture(200, 3e9)]
        self.assertEqual((found.captures, found.packets), (expected, [(100, 20)]))
        self.put(gaussian((1000,)), captures, offset=100)  # without a rate no time
        with self.assertWarns(UserWarning):
            self.assertIsNone(sigmf.read_metadata(self.meta).captures[0].time)

    def test_trailing_bytes_are_no_samples(self):
        x = gaussian((100,))
        self.put(x.tobytes() + bytes(13), trailing_bytes=13)
        np.testing.assert_array_equal(sigmf.read_samples(self.meta)[0], x)
        np.testing.assert_array_equal(self.read().data, x)

    def test_header_bytes_of_every_capture_are_no_samples(self):
        x = gaussian((10_000,))
        pieces = [x[:10], x[10:700], x[700:9000], x[9000:]]
        headers, data = (5, 1, 0, 4096), b""
        captures, start = [], 0
        for piece, count in zip(pieces, headers):
            data += count * b"\xff" + piece.tobytes()
            captures.append(
                {"sample_start": start, "header_bytes": count, "frequency": 1e6 + start}
            )
            start += len(piece)
        self.put(data + b"end", captures, trailing_bytes=3, dataset="take.dat")
        np.testing.assert_array_equal(sigmf.read_samples(self.meta)[0], x)
        for repeat in (False, True):
            sink = self.play(13_000, repeat)
            np.testing.assert_array_equal(sink.data, np.tile(x, 2)[: len(sink.data)])
            tags = [(i, 1e6 + i) for i in (0, 10, 700, 9000)]
            tags += [(i + 10_000, f) for i, f in tags[: 3 * repeat]]
            self.assertEqual(sink.tags("rx_freq"), tags)

    def test_captures_may_be_without_a_start(self):
        for offset in (0, 50):
            self.put(gaussian((100,)), [{"frequency": 1e9}], offset=offset)
            self.assertEqual(self.read().tags("rx_freq"), [(0, 1e9)])
        self.put(gaussian((100,)), [{"sample_start": 7.0}, {"sample_start": 9}])
        starts = [one.start for one in sigmf.read_metadata(self.meta).captures]
        self.assertEqual(starts, [7, 9])

    def test_a_packet_without_a_count_goes_to_the_end_of_its_capture(self):
        captures = [{"sample_start": 0}, {"sample_start": 60}]
        packets = [{"sample_start": 20, "label": "packet"}]
        packets += [{"sample_start": 70, "label": "packet"}]
        self.put(gaussian((100,)), captures, packets)
        self.assertEqual(self.read().tags(KEY), [(20, 40), (70, 30)])

    def test_times_of_every_writing(self):
        noon = sigmf.time_of("2026-01-31T12:00:00Z")
        self.assertEqual(noon, (1769860800, 0.0))
        for text, wanted in (
            ("2026-01-31T12:00:00+00:00", noon),
            ("2026-01-31T12:00:00", noon),
            ("2026-01-31 12:00:00z", noon),
            ("2026-01-31t12:00:00+00:00Z", noon),
            ("2026-01-31T17:30:00+05:30", noon),
            ("2026-01-31T08:00:00-0400", noon),
            ("2026-01-31T08:00:00-04", noon),
            ("2026-01-31T12:00:00,25Z", (noon[0], 0.25)),
            ("2016-12-31T23:59:60Z", (1483228800, 0.0)),
            ("2016-12-31T23:59:60.5Z", (1483228800, 0.5)),
            ("1969-12-31T23:59:59.75Z", (-1, 0.75)),
            ("1955-11-05T14:00:00.000Z", (-446724000, 0.0)),
            ("2026-01-31T12:00:00." + 99 * "9" + "Z", (noon[0], 1 - 2.0**-53)),
        ):
            self.assertEqual(sigmf.time_of(text), wanted, text)
            whole, part = sigmf.time_of(sigmf.text_of(wanted))
            self.assertEqual(whole, wanted[0], text)
            self.assertAlmostEqual(part, wanted[1], 8)
        for text in (
            *("2026-01-31T12:00:61Z", "2026-01-31T24:00:00Z", "2026-02-29T00:00:00Z"),
            *(
                "0000-01-01T00:00:00Z",
                "0001-01-01T00:00:00+01:00",
                "2026-01-31T12:00:00+5",
            ),
            *("9999-12-31T23:59:60Z", "2026-01-31T12:00:00.Z", "٢026-01-31T12:00:00Z"),
            *("2026-01-31T12:00:00+05:99", "2026-01-31T12:00:00+05:30Z", "", None, 1e9),
        ):
            with self.assertRaises(ValueError, msg=text):
                sigmf.time_of(text)

    def test_times_that_no_tag_can_express_give_one_warning(self):
        times = ("1955-11-05T14:00:00Z", "1969-12-31T23:59:59Z", "2026-01-31T12:00:00")
        captures = [
            {"sample_start": i, "datetime": time, "frequency": 1e9}
            for i, time in enumerate(times)
        ]
        self.put(gaussian((100,)), captures)
        with captured_log() as log:
            sink = self.read()
        self.assertEqual(sink.tags("rx_time"), [(2, (1769860800, 0.0))])
        self.assertEqual(len(sink.tags("rx_freq")), 3)
        self.assertEqual(log.text.count("is before 1970"), 1)
        self.assertEqual(log.text.count("names no zone"), 1)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found = sigmf.read_metadata(self.meta)
        self.assertEqual(len(seen), 2)
        self.assertEqual(found.captures[1].time, (-1, 0.0))

    def test_metadata_without_data_are_refused_by_name(self):
        self.put(b"", metadata_only=True)
        self.assertEqual(sigmf.read_metadata(self.meta).samples, 0)
        self.data.unlink()
        with self.assert_refuses("core:metadata_only", "take.sigmf-data"):
            sigmf.read_metadata(self.meta)

    def test_a_collection_is_refused_and_says_what_to_open(self):
        path = self.folder / "all.sigmf-collection"
        streams = [{"name": f"antenna-{i}", "hash": "0"} for i in range(3)]
        for content, text in (
            (json.dumps({"collection": {"core:streams": streams}}), "antenna-1"),
            ("{", "collection"),
            (json.dumps({"collection": {"core:streams": {"a": 1}}}), "collection"),
        ):
            path.write_text(content)
            with self.assert_refuses(str(path), "open one of its recordings", text):
                cudaphy.sigmf_source(path)
        path.unlink()
        with self.assert_refuses("all.sigmf-collection: No such file"):
            cudaphy.sigmf_source(path)

    def test_errors_quote_little_of_a_file(self):
        long = "x" * 100_000
        deep = json.loads("[" * 500 + "]" * 500)
        for value in (
            long,
            [long] * 9,
            {long: long},
            deep,
            10**4000,
            "\ud800" * 999,
        ):
            for key in ("datatype", "num_channels", "sample_rate", "dataset", "offset"):
                about = {"datatype": "cf32_le", key: value}
                expected = {"dataset": about.pop("dataset")} if "dataset" in about else {}
                self.put(bytes(80), **about)
                self.change(lambda found: found["global"].update(self.named(expected)))
                self.check_text()
            for one in ("sample_start", "datetime", "frequency", "header_bytes"):
                self.put(bytes(80), [{one: value}])
                self.check_text()
            for one in ("sample_start", "sample_count"):
                self.put(bytes(80), [], [{"sample_start": 1, one: value}])
                self.check_text()
        nines = int(4300 * "9")  # the sum has more digits than Python prints
        self.put(bytes(80), [], [{"sample_start": nines, "sample_count": nines}])
        self.check_text()

    def check_text(self):
        with self.assertRaises(sigmf.SigmfError) as caught:
            sigmf.read_metadata(self.meta)
        self.assertLess(len(str(caught.exception)), 400)
        self.assertIn(str(self.folder), str(caught.exception))

    def test_metadata_without_end_are_refused_within_their_limits(self):
        self.put(bytes(80))
        with open(self.meta, "r+b") as file:
            file.truncate((1 << 28) + 1)  # a hole
        with self.assert_refuses("more than 256 MiB"):
            sigmf.read_metadata(self.meta)
        self.meta.write_bytes(b"[{}" + b",[]" * 5_000_000)
        with self.assert_refuses("more than 5000000 captures"):
            sigmf.read_metadata(self.meta)
        self.meta.unlink()
        self.meta.symlink_to("/dev/zero")
        with self.assert_refuses("is no file"):
            sigmf.read_metadata(self.meta)

    def test_a_mark_of_the_order_of_bytes_is_no_fault(self):
        self.put(bytes(80))
        self.meta.write_bytes(b"\xef\xbb\xbf" + self.meta.read_bytes())
        self.assertEqual(sigmf.read_metadata(self.meta).samples, 10)


if __name__ == "__main__":
    main()
