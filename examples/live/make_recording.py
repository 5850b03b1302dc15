#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a recording as a radio would: DVB-S2 frames with pilots from gr-dtv at two samples a symbol,
with carrier offset, clock error and noise, in SigMF. examples/live/dvbs2_receiver.grc plays it."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dvbs2_receiver as dvbs2  # noqa: E402
import link_tools  # noqa: E402
from gnuradio import blocks, channels, cudaphy, dtv, filter, gr  # noqa: E402

NAME = "dvbs2_qpsk_half_short"
ROLL_OFF, SPAN = 0.2, 44  # symbols


def symbols_of(how):
    """Of a frame: header, slots and pilots (ETSI EN 302 307-1, 5.5)."""
    slots = how.code.n // how.bits // 90
    return 90 * (1 + slots) + 36 * ((slots - 1) // 16)


def make(path, modcod="qpsk-1/2-short", frames=120, esn0_db=6.0, offset=0.01, rate=1e6):
    """Writes the recording; offset in cycles a symbol, rate in samples a second."""
    how = dvbs2.modcod.parse(modcod)
    top = gr.top_block()
    # Frames beyond the last one push it through the filters.
    sender = dvbs2.transmitter(how, frames + 2, 1)
    framer = dtv.dvbs2_physical_cc(
        *how.dtv_parameters, how.dtv_modulation, dtv.PILOTS_ON, 0
    )
    # Of unit energy a symbol behind the receiver's filter.
    taps = filter.firdes.root_raised_cosine(2.0, 2, 1, ROLL_OFF, 2 * SPAN + 1)
    channel = channels.channel_model(
        10 ** (-esn0_db / 20), offset / 2, 1.00002, [1.0], noise_seed=7
    )
    level = blocks.multiply_const_cc(0.1)
    sink = cudaphy.sigmf_sink(
        path, rate, "ci16_le", description=f"{how}, simulated at {esn0_db} dB Es/N0"
    )
    shaped = filter.fir_filter_ccf(1, taps)
    length = blocks.head(gr.sizeof_gr_complex, 2 * symbols_of(how) * frames)
    top.connect((sender, 0), framer, shaped, channel, level, length, sink)
    top.connect((sender, 1), blocks.null_sink(gr.sizeof_char))
    top.run()
    return sink.samples()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="?", default=NAME, help=f"default: {NAME}")
    parser.add_argument("--modcod", default="qpsk-1/2-short")
    parser.add_argument("--frames", type=link_tools.count, default=120)
    parser.add_argument("--esn0", type=float, default=6.0, help="dB")
    arguments = parser.parse_args()
    samples = make(arguments.path, arguments.modcod, arguments.frames, arguments.esn0)
    print(f"{arguments.path}.sigmf-data: {samples} samples")
    return samples > 0


if __name__ == "__main__":
    link_tools.main(main)
