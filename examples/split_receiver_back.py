#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The second half of a DVB-S2 receiver in two processes or on two hosts: LLRs and their tags, from
split_receiver_front.py by ZeroMQ, -> decoded codewords.

Either side may die and come back: what was on the way is lost, frames that this tears are dropped,
and both are counted; the rest goes on."""

import signal
import time

import dvbs2_receiver as dvbs2
import link_tools
import split_receiver_front as front
from gnuradio import cudaphy, gr, zeromq


class back(gr.top_block):
    """LLRs of whole frames, decoded and counted."""

    def __init__(self, how, address, backend):
        gr.top_block.__init__(self, "split receiver, back", catch_exceptions=True)
        source = zeromq.pull_source(
            gr.sizeof_float, 1, address, front.WAIT, True, front.QUEUED
        )
        self.whole = cudaphy.packet_resync(gr.sizeof_float, length_tag_key=dvbs2.PACKET)
        self.decoder = cudaphy.ldpc_decoder(
            how.code, max_iterations=50, length_tag_key=dvbs2.PACKET, backend=backend
        )
        self.counter = cudaphy.packet_loss_counter("byte")
        self.connect(source, self.whole, self.decoder, self.counter)

    def report(self):
        """One line of numbers, by name."""
        return (
            f"received {self.counter.received()} lost {self.counter.lost()} torn "
            f"{self.whole.lost_packets()} restarts {self.counter.restarts()} wrong "
            f"{self.decoder.frame_errors()} last {self.counter.last_number()}"
        )


def run(top, frames, idle, every):
    """Until that many frames have come, or none for `idle` seconds after the first, or a signal;
    prints the report every so often."""
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    top.start()
    seen, since, told = 0, time.monotonic(), time.monotonic()
    while not stopped and (not frames or seen < frames):
        time.sleep(0.05)
        now, received = time.monotonic(), top.counter.received()
        if received != seen or not received:
            seen, since = received, now
        if idle and now - since > idle:
            break
        if now - told >= every:
            told = now
            print(top.report(), flush=True)
    top.stop()
    top.wait()


def main():
    parser = front.new_parser(__doc__)
    parser.add_argument("--frames", type=int, default=0, help="default: no end")
    parser.add_argument(
        "--idle", type=float, default=0, help="ends when nothing came for so many seconds"
    )
    parser.add_argument("--every", type=float, default=1, help="seconds between reports")
    arguments = parser.parse_args()
    top = back(arguments.modcod, arguments.address, arguments.backend)
    print(f"listens to {arguments.address}", flush=True)
    try:
        run(top, arguments.frames, arguments.idle, arguments.every)
    finally:
        print("end: " + top.report(), flush=True)
    return True


if __name__ == "__main__":
    link_tools.main(main)
