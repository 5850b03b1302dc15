#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a recording as a radio would, in SigMF. For examples/live/dvbs2_receiver.grc: DVB-S2 frames with
pilots from gr-dtv at two samples a symbol, with carrier offset, clock error and noise. For
examples/live/mimo_ofdm_receiver.grc: the MIMO-OFDM frames of examples/mimo_ofdm_link.py as two antennas
receive them, over fading paths with carrier offset and noise."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dvbs2_receiver as dvbs2  # noqa: E402
import link_tools  # noqa: E402
import mimo_ofdm_link as mimo  # noqa: E402
from gnuradio import blocks, channels, cudaphy, dtv, filter, gr  # noqa: E402

NAME = "dvbs2_qpsk_half_short"
MIMO_NAME = "mimo_ofdm_qam16_half"
ANTENNAS = 2
ROLL_OFF, SPAN = 0.2, 44  # symbols


def symbols_of(how):
    """Of a frame: header, slots and pilots (ETSI EN 302 307-1, 5.5)."""
    slots = how.code.n // how.bits // 90
    return 90 * (1 + slots) + 36 * ((slots - 1) // 16)


def make(path, modcod="qpsk-1/2-short", frames=120, snr_db=6.0, offset=0.01, rate=1e6):
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
        10 ** (-snr_db / 20), offset / 2, 1.00002, [1.0], noise_seed=7
    )
    level = blocks.multiply_const_cc(0.1)
    sink = cudaphy.sigmf_sink(
        path, rate, "ci16_le", description=f"{how}, simulated at {snr_db} dB Es/N0"
    )
    shaped = filter.fir_filter_ccf(1, taps)
    length = blocks.head(gr.sizeof_gr_complex, 2 * symbols_of(how) * frames)
    top.connect((sender, 0), framer, shaped, channel, level, length, sink)
    top.connect((sender, 1), blocks.null_sink(gr.sizeof_char))
    top.run()
    return sink.samples()


def make_mimo(path, frames=120, snr_db=25.0, offset=0.35, rate=5e6):
    """Writes the recording; offset in tones, rate in samples a second."""
    how = argparse.Namespace(
        qam=16,
        rate="1/2",
        seed=1,
        device=0,
        offset=offset,
        iterations=20,
        method="mmse",
    )
    top = mimo.link(ANTENNAS, snr_db, frames, how, ["cpu"])
    sink = cudaphy.sigmf_sink(
        path,
        rate,
        "ci16_le",
        description=f"MIMO-OFDM of {ANTENNAS} layers, simulated at {snr_db} dB",
        channels=ANTENNAS,
    )
    # The last frame is found by what follows it.
    length = top.sizes.period * frames + top.sizes.period // 2
    for antenna, samples in enumerate(top.air):
        level = blocks.multiply_const_cc(0.1)
        part = blocks.head(gr.sizeof_gr_complex, length)
        top.connect(samples, level, part)
        top.connect(part, (sink, antenna))
    top.run()
    return sink.samples()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="?", help=f"default: {NAME} or {MIMO_NAME}")
    parser.add_argument("--mimo", action="store_true", help="MIMO-OFDM, not DVB-S2")
    parser.add_argument("--modcod", default="qpsk-1/2-short", help="of DVB-S2")
    parser.add_argument("--frames", type=link_tools.count, default=120)
    parser.add_argument(
        "--snr", type=float, help="dB; default: 6 (Es/N0 of DVB-S2) or 25 (MIMO)"
    )
    arguments = parser.parse_args()
    path = arguments.path or (MIMO_NAME if arguments.mimo else NAME)
    snr = {} if arguments.snr is None else {"snr_db": arguments.snr}
    if arguments.mimo:
        samples = make_mimo(path, arguments.frames, **snr)
    else:
        samples = make(path, arguments.modcod, arguments.frames, **snr)
    print(f"{path}.sigmf-data: {samples} samples")
    return samples > 0


if __name__ == "__main__":
    link_tools.main(main)
