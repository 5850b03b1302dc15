#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF archives are read in place, in every form of tar, whole and damaged."""

import io
import json
import random
import tarfile
import time

import numpy as np
from gnuradio import cudaphy, gr
from gnuradio.cudaphy import sigmf
from qa_sigmf import RATE, SigmfCase
from qa_support import KEY, Sink, gaussian, main

FORMS = {
    "ustar": tarfile.USTAR_FORMAT,
    "pax": tarfile.PAX_FORMAT,
    "gnu": tarfile.GNU_FORMAT,
}


class qa_sigmf_archive(SigmfCase):
    def setUp(self):
        super().setUp()
        self.x = gaussian((1000,))
        sigmf.write_samples(self.data, self.x, RATE, packets=[(0, 100), (100, 200)])
        self.whole = self.meta.read_bytes()
        self.meta.unlink()
        self.archive = self.folder / "all.sigmf"

    def pack(self, *names, form=tarfile.PAX_FORMAT, data=None, meta=None):
        """An archive with a recording of each name."""
        data = self.x.tobytes() if data is None else data
        with tarfile.open(self.archive, "w", format=form) as tar:
            for number, name in enumerate(names):
                parts = [(".sigmf-meta", meta or self.whole)]
                parts.insert(number % 2, (".sigmf-data", data))
                for suffix, content in parts:
                    self.add(tar, name + suffix, content)
        return self.archive.read_bytes()

    def add(self, tar, name, content, **also):
        member = tarfile.TarInfo(name)
        member.size = len(content)
        for key, value in also.items():
            setattr(member, key, value)
        tar.addfile(member, io.BytesIO(content))

    def check(self, path):
        samples, found = sigmf.read_samples(path)
        np.testing.assert_array_equal(samples, self.x)
        self.assertEqual(found.packets, [(0, 100), (100, 200)])

    def test_recordings_in_every_form_of_tar_are_played_where_they_stand(self):
        long = "folder-" + 80 * "a" + "/" + 60 * "b"
        names = ["take", "take/take", "./take", long]
        for form, number in FORMS.items():
            for name in names + [190 * "c" + "/" + 150 * "d", "Größe"] * (
                form != "ustar"
            ):
                with self.subTest(form=form, name=name):
                    self.pack(name, form=number)
                    before = sorted(self.folder.iterdir())
                    self.check(self.archive)
                    source, sink = cudaphy.sigmf_source(self.archive), Sink("complex64")
                    top = gr.top_block()
                    top.connect(source, sink.block)
                    self.run_flowgraph(top)
                    np.testing.assert_array_equal(sink.data, self.x)
                    self.assertEqual(sink.tags(KEY), [(0, 100), (100, 200)])
                    self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_an_archive_is_found_by_its_name_without_suffix(self):
        self.pack("take")
        self.check(self.folder / "all")
        sigmf.write_samples(self.folder / "all", self.x[:7])  # two files come first
        self.assertEqual(sigmf.read_metadata(self.folder / "all").samples, 7)
        self.check(self.archive)

    def test_one_of_several_recordings_must_be_named(self):
        self.pack("one", "two/two", "three", "four", "five")
        with self.assert_refuses("all.sigmf: has the recordings 'one'", "1 more", "NAME"):
            cudaphy.sigmf_source(self.archive)
        for name in ("one", "two", "two/two", "three.sigmf-meta", "four.sigmf-data"):
            self.check(self.archive / name)
        with self.assert_refuses("no recording 'six', but 'one'"):
            sigmf.read_metadata(self.archive / "six")
        self.pack("a/take", "b/take")
        with self.assert_refuses("no recording 'take', but 'a/take', 'b/take'"):
            sigmf.read_metadata(self.archive / "take")
        self.check(self.archive / "b/take")

    def test_errors_name_the_archive_and_the_recording_in_it(self):
        self.pack("take", data=bytes(13))
        with self.assert_refuses("all.sigmf/take.sigmf-data: 13 bytes are no whole"):
            sigmf.read_metadata(self.archive)
        self.pack("take", meta=b"{")
        with self.assert_refuses("all.sigmf/take.sigmf-meta: is no JSON"):
            sigmf.read_metadata(self.archive)
        with tarfile.open(self.archive, "w") as tar:
            self.add(tar, "readme", b"text")
        with self.assert_refuses("all.sigmf: has no recording"):
            sigmf.read_metadata(self.archive)
        with tarfile.open(self.archive, "w") as tar:
            self.add(tar, "take.sigmf-meta", self.whole)
        with self.assert_refuses("take.sigmf-data: No such file in the archive"):
            sigmf.read_metadata(self.archive)

    def test_other_members_of_an_archive_are_passed_over(self):
        found = json.loads(self.whole)
        found["global"].update({"core:dataset": "take.dat", "core:trailing_bytes": 5})
        with tarfile.open(self.archive, "w") as tar:
            self.add(tar, "x", b"", type=tarfile.DIRTYPE)
            self.add(tar, "x/._take.sigmf-meta", b"macOS")
            self.add(tar, "x/take.sigmf-meta", json.dumps(found).encode())
            self.add(tar, "link.sigmf-meta", b"", type=tarfile.SYMTYPE, linkname="/etc/x")
            self.add(tar, "all.sigmf-collection", b"{}")
            self.add(tar, "x/take.dat", self.x.tobytes() + b"12345")
        self.check(self.archive)

    def test_sizes_of_any_writing_are_read_and_those_beyond_the_end_refused(self):
        size = self.x.nbytes
        whole = self.pack("take", form=tarfile.GNU_FORMAT)
        at = 512 * (2 + -(-len(self.whole) // 512))  # behind meta, header of the data
        at = whole.index(b"take.sigmf-data")
        for text, good in (
            (b"%011o\0" % size, True),
            (b" %o " % size, True),
            (b"\x80" + size.to_bytes(11, "big"), True),
            (b"\x80" + (2**80).to_bytes(11, "big"), False),
            (b"\xff" * 12, False),
            (b"-0000000512\0", False),
            (b"%011o\0" % (size + 4096), None),
        ):
            head = bytearray(whole[at : at + 512])
            head[124:136] = text.ljust(12, b"\0")
            head[148:156] = b"%06o\0 " % sum(head[:148] + b" " * 8 + head[156:])
            self.archive.write_bytes(whole[:at] + head + whole[at + 512 :])
            if good:
                self.check(self.archive)
            else:
                with self.assert_refuses("all.sigmf"):
                    sigmf.read_metadata(self.archive)

    def test_an_archive_that_is_cut_short_or_none_is_refused(self):
        whole = self.pack("take")
        end = whole.index(self.x.tobytes()) + self.x.nbytes
        for size in [0, 1, 511, 512, *range(600, end, 509), end - 1]:
            self.archive.write_bytes(whole[:size])
            with self.subTest(size=size), self.assert_refuses("all.sigmf"):
                sigmf.read_metadata(self.archive)
        for content in (bytes(10240), b"\x1f\x8b" + bytes(600), b"x" * 2000):
            self.archive.write_bytes(content)
            with self.assert_refuses("all.sigmf", "none of a tar archive"):
                sigmf.read_metadata(self.archive)

    def test_damaged_archives_are_read_or_refused_at_once(self):
        good, begin = 0, time.monotonic()
        for seed in range(600):
            dice = random.Random(seed)
            whole = bytearray(self.pack("take", form=dice.choice(list(FORMS.values()))))
            for _ in range(dice.randint(1, 4)):
                at = dice.randrange(len(whole) // 512 + 1) * 512
                field = at + dice.choice((0, 100, 124, 125, 136, 156, 257, 345))
                whole[field : field + 1] = bytes([dice.choice(b"\0 019xgLKS\x80\xff=")])
                if dice.randrange(4):
                    head = whole[at : at + 512]
                    head[148:156] = b"%06o\0 " % sum(head[:148] + b" " * 8 + head[156:])
                    whole[at : at + 512] = head
            self.archive.write_bytes(whole)
            with self.subTest(seed=seed):
                try:
                    sigmf.read_samples(self.archive)
                    good += 1
                except sigmf.SigmfError as problem:
                    self.assertIn("all.sigmf", str(problem))
                    self.assertLess(len(str(problem)), 1000)
        self.assertTrue(50 < good < 550, good)
        self.assertLess(time.monotonic() - begin, 120)


if __name__ == "__main__":
    main()
