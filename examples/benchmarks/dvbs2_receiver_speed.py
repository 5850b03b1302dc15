#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many symbols a second DVB-S2 Receiver takes: samples from a file that lies in memory, over and over, to
transport packets that a Null Sink drops.

gr-dtv makes the samples, two a symbol, with a carrier offset of 0.03 symbol rates, in a folder in memory. The file has
whole frames and whole turns of the carrier, so that it repeats as one signal: only the data of some ten symbols break.
--carriers receivers run in one flowgraph, each with its own file source."""

import argparse
import fractions
import math
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import dvbs2_receiver
import dvbs2_to_ts
import numpy as np
from gnuradio import analog, blocks, cudaphy, gr


OFFSET = fractions.Fraction(3, 200)  # cycles a sample
SAMPLES_A_SYMBOL = 2


def cut_to_whole_turns(path, how, pilots):
    """Leaves as many frames as there are at most, over which the carrier turns whole cycles."""
    symbols = {"normal": 64800, "short": 16200}[how.frame] // how.bits
    blocks_between = (symbols - 1) // (16 * 90) if pilots else 0  # of 36 pilots
    frame = SAMPLES_A_SYMBOL * (symbols + 90 + 36 * blocks_between)
    period = frame * (OFFSET * frame).denominator
    begin = 1000  # behind the filter's start
    samples = np.fromfile(path, np.complex64)[begin:]
    whole = len(samples) // period * period
    if whole == 0:
        raise SystemExit(f"--packets: {period // frame} frames are needed")
    samples[:whole].tofile(path)


def make_samples(path, how, esn0, packets, pilots):
    """complex64, two samples a symbol, roll-off 0.2."""
    stream = dvbs2_to_ts.with_nulls(dvbs2_to_ts.numbered_packets(packets), how)
    noise = analog.noise_source_c(
        analog.GR_GAUSSIAN, math.sqrt(10 ** (-esn0 / 10)), len(stream)
    )
    top, noisy = gr.top_block(), blocks.add_cc()
    top.connect(
        blocks.vector_source_b(list(stream)),
        dvbs2_to_ts.framer(how, 0.2, pilots),
        dvbs2_to_ts.pulses(0.2),
        blocks.rotator_cc(2 * math.pi * float(OFFSET)),
        (noisy, 0),
    )
    top.connect(noise, (noisy, 1))
    sink = blocks.file_sink(gr.sizeof_gr_complex, str(path))
    top.connect(noisy, sink)
    top.run()
    sink.close()
    cut_to_whole_turns(path, how, pilots)


def measure(path, arguments, carriers):
    """(symbols a second of all carriers, seconds to make them, frame error rate, Es/N0 in dB)"""
    began = time.monotonic()
    top, receivers = gr.top_block(), []
    for _ in range(carriers):
        source = blocks.file_source(gr.sizeof_gr_complex, str(path), True)
        source.set_min_output_buffer(1 << 20)
        receivers.append(
            cudaphy.dvbs2_receiver(
                2,
                0.2,
                extended=arguments.extended,
                backend=arguments.backend,
                device=arguments.device,
            )
        )
        top.connect(source, receivers[-1], blocks.null_sink(gr.sizeof_char))
    made = time.monotonic() - began
    top.start()
    time.sleep(arguments.warm_up)
    before, then = [one.status() for one in receivers], time.monotonic()
    time.sleep(arguments.seconds)
    after, now = [one.status() for one in receivers], time.monotonic()
    top.stop()
    top.wait()
    rate = sum(b["symbols"] - a["symbols"] for a, b in zip(before, after)) / (now - then)
    return rate, made, after[0]["frame_error_rate"], after[0]["esn0"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument(
        "--modcod", nargs="+", default=["qpsk-1/2-normal", "qpsk-1/2-short"]
    )
    parser.add_argument("--margin", type=float, default=0.5, help="dB above threshold")
    parser.add_argument("--no-pilots", action="store_true")
    parser.add_argument("--extended", action="store_true", help="receive S2X too")
    parser.add_argument("--carriers", type=int, nargs="+", default=[1])
    parser.add_argument("--packets", type=int, default=3000)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--warm-up", type=float, default=3)
    arguments = parser.parse_args()
    gr.logging().set_default_level(gr.log_levels.error)
    print(
        f"backend {cudaphy.resolve_backend(arguments.backend, arguments.device)[0]}, {os.cpu_count()} cores"
    )
    print("MODCOD                carriers   Msym/s  made in, s   frame errors  Es/N0, dB")
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    for text in arguments.modcod:
        how = dvbs2_receiver.modcod.parse(text)
        with tempfile.TemporaryDirectory(dir=memory) as folder:
            path = Path(folder) / "samples"
            esn0 = how.threshold + arguments.margin
            make_samples(path, how, esn0, arguments.packets, not arguments.no_pilots)
            for carriers in arguments.carriers:
                rate, made, errors, heard = measure(path, arguments, carriers)
                print(
                    f"{str(how):20}  {carriers:8}  {rate / 1e6:7.1f}  {made:10.2f}  {errors:13.1e}  {heard:9.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
