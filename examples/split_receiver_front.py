#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first half of a DVB-S2 receiver in two processes or on two hosts: symbols in noise -> LLRs, sent
by ZeroMQ with their tags to split_receiver_back.py.

It waits for a receiver, and where that one is too slow: nothing is lost on this side. Each frame
carries a number, by which the other side counts what was lost on the way."""

import argparse
import math
import signal
import time

import dvbs2_receiver as dvbs2
import link_tools
from gnuradio import analog, blocks, cudaphy, gr, zeromq

ADDRESS = "tcp://127.0.0.1:5555"
WAIT = 100  # milliseconds after which a call looks whether the flowgraph shall stop
# Messages, each a buffer's fill, that may wait on either side: what is lost if one side dies.
QUEUED = 4


class front(gr.top_block):
    """Frames from gr-dtv's transmitter through noise, numbered and demapped."""

    def __init__(self, how, esn0_db, frames, seed, address, backend, rate):
        gr.top_block.__init__(self, "split receiver, front", catch_exceptions=True)
        noise_variance = 10 ** (-esn0_db / 10)
        sender = dvbs2.transmitter(how, frames, seed)
        noise = analog.noise_source_c(
            analog.GR_GAUSSIAN, math.sqrt(noise_variance), seed + 1
        )
        channel = blocks.add_cc()
        symbols = how.code.n // how.bits
        self.numbers = cudaphy.packet_numberer("complex", dvbs2.PACKET)
        self.sink = zeromq.push_sink(gr.sizeof_float, 1, address, WAIT, True, QUEUED)
        chain = [
            channel,
            blocks.throttle(gr.sizeof_gr_complex, rate * symbols, True),
            blocks.stream_to_tagged_stream(
                gr.sizeof_gr_complex, 1, symbols, dvbs2.PACKET
            ),
            self.numbers,
            cudaphy.soft_demapper(
                how.constellation,
                noise_variance=noise_variance,
                length_tag_key=dvbs2.PACKET,
                backend=backend,
            ),
            self.sink,
        ]
        self.connect((sender, 0), (channel, 0))
        self.connect(noise, (channel, 1))
        self.connect(*chain)
        self.connect((sender, 1), blocks.null_sink(gr.sizeof_char))


def new_parser(description):
    """A parser with the arguments that both sides have."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--address", default=ADDRESS, help=f"default: {ADDRESS}")
    made.add_argument("--modcod", type=dvbs2.modcod.parse, default="qpsk-1/2-short")
    made.add_argument("--backend", choices=link_tools.BACKENDS, default="auto")
    return made


def main():
    parser = new_parser(__doc__)
    parser.add_argument("--esn0", type=float, default=3.0, help="dB; default: 3")
    parser.add_argument(
        "--frames", type=link_tools.count, default=10**9, help="default: no end"
    )
    parser.add_argument(
        "--rate", type=float, default=100.0, help="frames a second; default: 100"
    )
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    top = front(
        arguments.modcod,
        arguments.esn0,
        arguments.frames,
        arguments.seed,
        arguments.address,
        arguments.backend,
        arguments.rate,
    )
    signal.signal(signal.SIGTERM, lambda *_: top.stop())
    top.start()
    print(f"sends {arguments.modcod} to {arguments.address}", flush=True)
    top.wait()
    time.sleep(0.2)  # ZeroMQ sends what it holds
    return True


if __name__ == "__main__":
    link_tools.main(main)
