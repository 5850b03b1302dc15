#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""CSV files of error rates, torn by a crash or a full disk, and added points."""

import contextlib
import multiprocessing
import os
import resource
import tempfile
import unittest
import warnings
from pathlib import Path
from types import SimpleNamespace

from gnuradio import cudaphy
from gnuradio.cudaphy.error_rates import files as error_rate_files
from gnuradio.cudaphy.error_rates import plots as error_rate_plots
from gnuradio.cudaphy.whole_files import write_whole
from qa_support import main, write_anew

IDENTITY = ('dvbs2x rate="2/9 VL-SNR", short', "qpsk", "exact", "scale=0.5 a=b", "random")
LINK = SimpleNamespace(identity=lambda: IDENTITY, backend="cpu", seed=1, batch=4096)


def point(number):
    return cudaphy.error_rate_point(
        number / 2,
        number / 2 - 1.5,
        4096,
        4096 * 324,
        812,
        9000,
        123456,
        1,
        40960,
        1.5,
        1,
    )


@contextlib.contextmanager
def room_for(size):
    """No file grows beyond so many bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def add_many(path, first, count):
    for number in range(first, first + count):
        error_rate_files.append_point(path, LINK, point(number))


class FolderCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "rates.csv"


class qa_error_rate_files(FolderCase):
    def written(self, points):
        """The bytes of a file of points, and the offset at which each line ends."""
        self.path.unlink(missing_ok=True)
        add_many(self.path, 0, points)
        content = self.path.read_bytes()
        return content, [at + 1 for at, byte in enumerate(content) if byte == ord("\n")]

    def seen(self, torn):
        """The points of a file. Reading must warn if, and only if, the end is torn."""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            curves = error_rate_files.read_curves(self.path)
        self.assertEqual(len(warned), int(torn), [str(one.message) for one in warned])
        for one in warned:
            self.assertRegex(
                str(one.message), "rates.csv: the last line is torn: [0-9]+ "
            )
        for curve in curves:
            self.assertEqual(curve.identity, error_rate_files.identity_of(LINK))
            self.assertEqual({each[1:] for each in curve.points.values()}, {(1, 4096)})
        return [one for curve in curves for one in curve.sorted_points()]

    def check_torn(self, content, whole):
        """Of this content `whole` points are read. A point added later follows them."""
        write_anew(self.path, content)
        self.assertEqual(self.seen(True), [point(n) for n in range(whole)])
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            error_rate_files.append_point(self.path, LINK, point(9))
        self.assertEqual(len(warned), 1)
        self.assertEqual(self.seen(False), [point(n) for n in (*range(whole), 9)])

    def test_a_cut_at_any_place_loses_the_torn_line_alone(self):
        content, ends = self.written(3)
        for cut in range(1, len(content)):
            if cut not in ends:
                self.check_torn(content[:cut], max(sum(end < cut for end in ends) - 1, 0))
        for cut, points in zip(ends, range(4)):
            write_anew(self.path, content[:cut])
            self.assertEqual(self.seen(False), [point(n) for n in range(points)])

    def test_zeros_in_place_of_the_last_line_are_left_out(self):
        content, ends = self.written(3)
        for cut in range(0, len(content), 7):
            whole = max(sum(end <= cut for end in ends) - 1, 0)
            self.check_torn(content[:cut] + bytes(len(content) - cut), whole)
        torn = content[: ends[2] + 5] + bytes(20) + content[ends[2] + 25 :]
        self.check_torn(torn, 2)
        self.check_torn(content + bytes(4096), 3)

    def test_a_last_line_without_all_columns_is_left_out(self):
        content, ends = self.written(2)
        self.check_torn(content[: ends[2] - 7] + b"\n", 1)
        self.check_torn(content + b"half a line\n", 2)

    def test_a_damaged_line_amid_others_is_named(self):
        content, ends = self.written(3)
        first, second, third = (content[a:b] for a, b in zip(ends, ends[1:]))
        head = content[: ends[0]]
        for damaged in (
            second[:30] + b"\n",
            second[:-20] + second,  # as glued together
            second[:40] + b"\0" + second[41:],
            second.replace(b",4096\n", b",-4096\n"),
            second.replace(b"2/9", b"\xff/9"),
        ):
            write_anew(self.path, head + first + damaged + third)
            with self.assertRaisesRegex(ValueError, "rates.csv, line 3: "):
                error_rate_files.read_curves(self.path)

    def test_another_file_is_refused_and_stays_as_it_was(self):
        head = error_rate_files.HEAD
        for content in (
            b"notes",
            b"notes\n",
            b"notes without an end " * 9000,
            head[:-1] + b",more\n",
            head.replace(b"frames", b"fram"),
            head[:40].upper(),
            b"\xff\xfe\0",
        ):
            write_anew(self.path, content)
            with self.assertRaisesRegex(
                ValueError, "not a file of error rates"
            ) as warned:
                error_rate_files.append_point(self.path, LINK, point(0))
            self.assertLess(len(str(warned.exception)), 1000)
            self.assertEqual(self.path.read_bytes(), content)
        with self.assertRaisesRegex(ValueError, "/dev/zero, line 1: "):
            error_rate_files.read_curves("/dev/zero")

    def test_a_full_disk_leaves_no_part_of_a_line(self):
        content, ends = self.written(2)
        for start, end in ((0, ends[1]), (ends[1], ends[2])):
            for room in range(start, end, 11):
                write_anew(self.path, content[:start])
                with room_for(room), self.assertRaisesRegex(OSError, "rates.csv"):
                    error_rate_files.append_point(self.path, LINK, point(1))
                self.assertEqual(self.path.read_bytes(), content[:start])
        error_rate_files.append_point(self.path, LINK, point(1))
        self.assertEqual(self.path.read_bytes(), content)
        with self.assertRaises(OSError):
            error_rate_files.append_point("/dev/full", LINK, point(1))

    def test_processes_that_add_to_one_file_lose_no_line(self):
        each, count = 50, 4
        with multiprocessing.get_context("fork").Pool(count) as pool:
            pool.starmap(
                add_many, [(self.path, n * each, each) for n in range(count)], chunksize=1
            )
        self.assertEqual(self.seen(False), [point(n) for n in range(each * count)])

    def test_a_name_with_a_line_feed_is_one_line(self):
        odd = SimpleNamespace(**vars(LINK))
        odd.identity = lambda: ("alist:a\nb\r\n c", *IDENTITY[1:])
        error_rate_files.append_point(self.path, odd, point(1))
        identity = error_rate_files.identity_of(odd)
        found = error_rate_files.read_curve(self.path, identity)
        self.assertEqual(found.sorted_points(), [point(1)])
        self.assertEqual(identity["code"], "alist:a b c")


class qa_whole_files(FolderCase):
    def check_writer(self, name, write):
        """On a full disk write(path) leaves no part of a file, or the whole old file."""
        path = self.folder / name
        for before in (None, b"as it was"):
            if before:
                path.write_bytes(before)
            with room_for(100), self.assertRaises(
                (OSError, cudaphy.CodeFileError)
            ) as said:
                write(path)
            self.assertIn("File too large", str(said.exception))
            names = os.listdir(self.folder)
            self.assertEqual(names, [name] if before else [])
        self.assertEqual(path.read_bytes(), before)
        path.chmod(0o640)
        write(path)
        self.assertEqual(os.listdir(self.folder), [name])
        self.assertGreater(path.stat().st_size, 100)
        for nowhere in (self.folder / "no/such/folder", self.folder):
            with self.assertRaises((OSError, cudaphy.CodeFileError)):
                write(nowhere)
        with self.assertRaisesRegex(Exception, "No space left"):
            write("/dev/full")
        self.assertTrue(Path("/dev/full").is_char_device())
        # Written through a link, which stays a link.
        link = self.folder / "link"
        link.symlink_to(path)
        write(link)
        self.assertTrue(link.is_symlink())
        self.assertCountEqual(os.listdir(self.folder), [name, "link"])

    def test_pictures_are_whole_or_not_there(self):
        curve = error_rate_files.curve(error_rate_files.identity_of(LINK))
        curve.points[0] = point(1), 1, 50
        self.check_writer(
            "rates.png", lambda path: error_rate_plots.draw_error_rates([curve], path)
        )
        self.assertEqual((self.folder / "rates.png").stat().st_mode & 0o777, 0o640)

    def test_a_picture_without_a_suffix_has_its_name(self):
        curve = error_rate_files.curve(error_rate_files.identity_of(LINK))
        curve.points[0] = point(1), 1, 50
        error_rate_plots.draw_error_rates([curve], self.folder / "rates")
        self.assertTrue((self.folder / "rates").read_bytes().startswith(b"\x89PNG"))

    def test_an_alist_file_is_whole_or_not_there(self):
        code = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
        self.check_writer("code.alist", lambda path: code.to_alist(str(path)))

    def test_a_quasi_cyclic_file_is_whole_or_not_there(self):
        code = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
        self.check_writer("code.qc", lambda path: code.to_qc(str(path)))

    def test_a_code_without_a_quasi_cyclic_form_leaves_the_old_file(self):
        path = self.folder / "code.qc"
        path.write_text("as it was")
        with self.assertRaises(ValueError):
            cudaphy.ldpc_code("dvbs2", frame="short", rate="1/2").to_qc(str(path))
        self.assertEqual(path.read_text(), "as it was")
        self.assertEqual(os.listdir(self.folder), ["code.qc"])

    def test_an_interrupted_write_leaves_nothing(self):
        def interrupted(name):
            name.write_text("half")
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            write_whole(self.folder / "new", interrupted)
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    main()
