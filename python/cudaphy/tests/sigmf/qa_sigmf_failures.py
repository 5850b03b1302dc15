#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF blocks when a disk is full, a folder is removed, a file shrinks, a process is
killed, or two blocks use one recording."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
from gnuradio import blocks, cudaphy, gr
from gnuradio.cudaphy import sigmf
from qa_sigmf import RATE, SigmfCase
from qa_support import KEY, Source, captured_log, gaussian, main, tag

TAGGED = """
import sys, time
import numpy as np, pmt
from gnuradio import blocks, cudaphy, gr

class source(gr.sync_block):
    '''Packets of 100 samples each, a retune every 1000.'''
    def __init__(self, channels):
        gr.sync_block.__init__(self, "source", None, channels * [np.complex64])
    def work(self, inputs, outputs):
        count, first = min(map(len, outputs)), self.nitems_written(0)
        for out in outputs:
            out[:count] = 0.25
        for item in range(-(-first // 100) * 100, first + count, 100):
            self.add_item_tag(0, item, pmt.intern("packet_len"), pmt.from_long(100))
            if item % 1000 == 0:
                frequency = pmt.from_double(1e6 + item)
                self.add_item_tag(0, item, pmt.intern("rx_freq"), frequency)
        return count

def link(path, datatype, channels):
    top, made = gr.top_block(), source(channels)
    sink = cudaphy.sigmf_sink(path, 1e6, datatype, channels=channels)
    for channel in range(channels):
        top.connect((made, channel), (sink, channel))
    top.source = made
    return top, sink
"""
FOREVER = """
top, sink = link(sys.argv[1], sys.argv[2], int(sys.argv[3]))
top.start()
while True:
    print(sink.samples(), flush=True)
    time.sleep(0.001)
"""
LIMITED = """
import resource
top, sink = link(sys.argv[1], sys.argv[2], int(sys.argv[3]))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_001, 100_001))
top.start()
top.wait()
print(sink.samples(), sink.problem())
"""


class qa_sigmf_failures(SigmfCase):
    def child(self, program, *arguments):
        command = [sys.executable, "-c", TAGGED + program, self.meta, *arguments]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def quietly_read(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return sigmf.read_samples(self.meta)

    def check_recording(self, reported):
        """The recording holds everything before this sample."""
        samples, found = self.quietly_read()
        self.assertGreaterEqual(found.samples, reported)
        self.assertTrue((np.abs(samples - 0.25) < 0.01).all())
        whole = [(item, 100) for item in range(0, found.samples - 99, 100)]
        known = len(found.packets)
        self.assertEqual(found.packets, whole[:known])
        self.assertGreaterEqual(known, reported // 100)
        retunes = [(one.start, one.frequency) for one in found.captures]
        self.assertEqual(
            retunes, [(i * 1000, 1e6 + i * 1000) for i in range(len(retunes))]
        )
        self.assertGreaterEqual(len(retunes), -(-reported // 1000))
        return found

    def test_a_killed_process_leaves_all_that_was_reported(self):
        dice = random.Random(1)
        for datatype, channels in (
            ("cf32_le", 1),
            ("cf32_le", 3),
            ("ci8", 3),
            ("ci16_be", 5),
        ):
            for _ in range(2):
                with self.child(FOREVER, datatype, str(channels)) as process:
                    while int(process.stdout.readline()) == 0:
                        pass
                    time.sleep(dice.uniform(0, 0.3))
                    process.send_signal(signal.SIGKILL)
                    reported = process.stdout.read().split()
                with self.subTest(datatype=datatype, channels=channels):
                    found = self.check_recording(int((reported or [0])[-1]))
                    self.assertIn("never finished", "".join(found.remarks))
        # The next recording of this name is whole.
        self.write(np.full(1000, 0.25, "complex64"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(sigmf.read_metadata(self.meta).samples, 1000)
        self.assertNotIn("unfinished", self.meta.read_text())
        self.assertEqual(len(list(self.folder.iterdir())), 2)

    def test_data_torn_by_a_kill_lose_no_more_than_the_torn_sample(self):
        block = cudaphy.sigmf_sink(self.meta, RATE)
        block.start()
        for size, whole in ((8, 1), (15, 1), (16, 2), (3, 0), (0, 0)):
            self.data.write_bytes(np.ones(2, "complex64").tobytes()[:size])
            self.assertEqual(len(self.quietly_read()[0]), whole)
        self.data.write_bytes(b"")
        block.stop()
        self.data.write_bytes(bytes(15))  # now the recording is finished, and was cut
        with self.assert_refuses("15 bytes are no whole number"):
            sigmf.read_metadata(self.meta)

    def test_data_that_a_failing_machine_loses_cost_their_captures_and_packets_alone(
        self,
    ):
        block, top = cudaphy.sigmf_sink(self.meta), gr.top_block()
        tags = [tag(0, KEY, 50), tag(60, KEY, 50), tag(70, "rx_freq", 1e9)]
        top.connect(Source(gaussian((1000,)), tags).block, block)
        block.stop = lambda: True
        self.run_flowgraph(top)
        os.truncate(self.data, 8 * 65)
        with self.assertWarnsRegex(UserWarning, "begins at sample 70, .* ends after 65"):
            found = sigmf.read_metadata(self.meta)
        self.assertEqual((found.samples, found.packets), (65, [(0, 50)]))
        self.assertEqual(found.captures, [sigmf.capture(0)])

    def test_at_the_limit_of_a_files_size_whole_samples_stay(self):
        for datatype, channels in (("cf32_le", 1), ("cf32_le", 3), ("ci8", 3)):
            process = self.child(LIMITED, datatype, str(channels))
            output, _ = process.communicate(timeout=60)
            with self.subTest(datatype=datatype, channels=channels):
                self.assertEqual(process.returncode, 0)
                reported, problem = output.splitlines()[-1].split(" ", 1)
                self.assertIn("take.sigmf-data: File too large", problem)
                reported = int(reported)
                sample_bytes = sigmf.FORMATS[datatype].sample_bytes * channels
                self.assertGreater(reported, 0)
                found = self.check_recording(reported)
                self.assertEqual(self.data.stat().st_size, found.samples * sample_bytes)

    def ends(self, block, while_it_runs=lambda: None):
        """Runs a flowgraph with this sink or source, which must end. Returns the log."""
        top = gr.top_block()
        if isinstance(block, cudaphy.sigmf_sink):
            top.connect(blocks.null_source(8), blocks.throttle(8, 1e6, False), block)
        else:
            top.connect(block, blocks.throttle(8, 1e6, False), blocks.null_sink(8))
        with captured_log() as log:
            top.start()
            time.sleep(0.05)
            while_it_runs()
            self.run_flowgraph_on(top)
        return log.text

    def run_flowgraph_on(self, top):
        top.start = lambda: None
        self.run_flowgraph(top, 20)

    def test_a_sink_whose_folder_is_removed_ends_the_flowgraph(self):
        folder = self.folder / "inner"
        for when in ("before", "while"):
            folder.mkdir()
            block = cudaphy.sigmf_sink(folder / "take")
            if when == "before":
                shutil.rmtree(folder)
                log = self.ends(block)
            else:
                log = self.ends(block, while_it_runs=lambda: shutil.rmtree(folder))
            self.assertIn("inner/take.sigmf-data", block.problem())
            self.assertIn(block.problem(), log)
        # A folder made again serves as well.
        folder.mkdir()
        top = gr.top_block()
        top.connect(blocks.null_source(8), blocks.head(8, 100), block)
        self.run_flowgraph(top)
        self.assertEqual((block.problem(), block.samples()), ("", 100))
        self.assertEqual(sigmf.read_metadata(folder / "take").samples, 100)

    def test_files_that_replaced_a_sinks_files_are_left_alone(self):
        block = cudaphy.sigmf_sink(self.meta)
        x = gaussian((10,))
        log = self.ends(
            block, lambda: sigmf.write_samples(self.data, x, packets=[(0, 9)])
        )
        self.assertIn("was removed or replaced", block.problem())
        self.assertIn(block.problem(), log)
        samples, found = sigmf.read_samples(self.meta)
        self.assertEqual((samples.tolist(), found.packets), (x.tolist(), [(0, 9)]))

    def test_a_full_disk_leaves_what_was_recorded_before(self):
        x = gaussian((1000,))
        sigmf.write_samples(self.meta, x, RATE, packets=[(0, 10)])
        before = self.meta.read_bytes()
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        block = cudaphy.sigmf_sink(self.meta)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
            with self.assertRaises(OSError) as caught:
                sigmf.write_samples(self.meta, np.ones(5000), RATE)
            self.assertIn("take.sigmf-data", str(caught.exception))
            block.start()
            block.stop()
            self.assertIn("take.sigmf-meta", block.problem())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        self.assertEqual(self.meta.read_bytes(), before)
        np.testing.assert_array_equal(sigmf.read_samples(self.meta)[0], x)
        self.assertEqual(len(list(self.folder.iterdir())), 2)

    def test_wrong_metadata_are_not_written(self):
        sigmf.write_samples(self.meta, np.ones(10))
        for known, text in (
            ({"packets": [(0, 11)]}, "ends at sample 11"),
            ({"packets": [(0, 5), (4, 2)]}, "begins within"),
            (
                {"captures": [sigmf.capture(5), sigmf.capture(3)]},
                "not after the one before",
            ),
            ({"captures": [sigmf.capture(10)]}, "ends after 10"),
            ({"captures": [sigmf.capture(0, float("nan"))]}, "nan"),
            ({"sample_rate": -5}, "not above 0"),
        ):
            with self.assert_refuses(text):
                sigmf.write_samples(self.meta, np.zeros(10), **known)
        self.assertTrue((sigmf.read_samples(self.meta)[0] == 1).all())

    def test_a_source_whose_data_shrink_or_go_ends_the_flowgraph(self):
        def cut():
            os.truncate(self.data, 8)

        def replace():
            (self.folder / "other").write_bytes(bytes(8_000_000))
            os.replace(self.folder / "other", self.data)

        for datatype in ("cf32_le", "ci16_le"):
            for harm in (cut, self.data.unlink, replace):
                for repeat in (False, True):
                    for early in (False, True):
                        x = np.ones(1_000_000, "complex64")
                        sigmf.write_samples(self.meta, x, RATE, datatype)
                        block = cudaphy.sigmf_source(self.meta, repeat)
                        if early:
                            harm()
                            log = self.ends(block)
                        else:
                            log = self.ends(block, while_it_runs=harm)
                        self.assertIn("take.sigmf-data: the file ", block.problem())
                        self.assertIn(block.problem(), log)

    def test_one_recording_is_not_played_and_written_at_once(self):
        x = gaussian((5000,))
        sigmf.write_samples(self.meta, x, RATE)
        link, hard = self.folder / "link.sigmf-data", self.folder / "hard.sigmf-data"
        link.symlink_to(self.data)
        os.link(self.data, hard)
        (self.folder / "to").symlink_to(self.folder)
        names = [self.meta, os.path.relpath(self.data), link, hard]
        names += [self.folder / "to" / "take"]
        source = cudaphy.sigmf_source(self.meta)
        for name in names:
            with self.assert_refuses("is in use by a SigMF Source or Sink"):
                cudaphy.sigmf_sink(name)
        program = (
            "from gnuradio import cudaphy; import sys; cudaphy.sigmf_sink(sys.argv[1])"
        )
        output = subprocess.run(
            [sys.executable, "-c", program, self.meta], capture_output=True, text=True
        )
        self.assertIn("is in use by a SigMF Source or Sink", output.stderr)
        np.testing.assert_array_equal(self.read().data, x)  # two sources may play it
        del source
        sink = cudaphy.sigmf_sink(self.meta)
        for name in names[:2] + names[4:]:
            with self.assert_refuses("is in use by a SigMF Sink"):
                cudaphy.sigmf_source(name)
        for name in names:
            with self.assert_refuses("is in use by a SigMF Source or Sink"):
                cudaphy.sigmf_sink(name)
        del sink
        np.testing.assert_array_equal(self.read().data, x)

    def test_metadata_of_a_file_that_is_played_are_not_written(self):
        sigmf.write_samples(self.folder / "other", np.ones(10))
        sigmf.write_samples(self.meta, np.ones(10), dataset="other.sigmf-data")
        source = cudaphy.sigmf_source(self.meta)
        with self.assert_refuses("take.sigmf-meta: is in use by a SigMF Source"):
            cudaphy.sigmf_sink(self.meta)
        self.assertEqual(source.recording.samples, 10)

    def test_a_block_that_has_stopped_leaves_the_recording_to_others(self):
        x = gaussian((1000,))
        sink = self.write(x)
        source = cudaphy.sigmf_source(self.meta)
        with captured_log() as log:  # the sink started again
            sink.start()
            sink.stop()
        self.assertIn("is in use by", sink.problem())
        self.assertIn(sink.problem(), log.text)
        source.start()
        source.stop()
        sink.start()
        self.assertEqual(sink.problem(), "")
        with captured_log():
            source.start()
            source.stop()
        self.assertIn("is in use by a SigMF Sink", source.problem())
        sink.stop()
        self.write(x[:7])
        source.start()  # reads the recording anew
        self.assertEqual((source.problem(), source.recording.samples), ("", 7))
        source.stop()

    def test_a_sink_takes_nothing_but_files(self):
        os.mkfifo(self.data)
        with self.assert_refuses("is no file"):
            cudaphy.sigmf_sink(self.meta)
        self.data.unlink()
        self.data.mkdir()
        with self.assertRaises(OSError):
            cudaphy.sigmf_sink(self.meta)
        for name in ("", "/", "a\0b", ".sigmf-meta"):
            for make in (cudaphy.sigmf_sink, cudaphy.sigmf_source, sigmf.read_samples):
                with self.assertRaises(ValueError, msg=name):
                    make(name)


if __name__ == "__main__":
    main()
