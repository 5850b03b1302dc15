#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a recording as a radio would, in SigMF. For examples/live/dvbs2_receiver.grc: a transport stream
that gr-dtv sends by DVB-S2 at two samples a symbol, with carrier offset, clock error and noise. For
examples/live/mimo_ofdm_receiver.grc: the MIMO-OFDM frames of examples/mimo_ofdm_link.py as two antennas
receive them, over fading paths with carrier offset and noise."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dvbs2_receiver as dvbs2  # noqa: E402
import dvbs2_to_ts  # noqa: E402
import link_tools  # noqa: E402
import mimo_ofdm_link as mimo  # noqa: E402
from gnuradio import blocks, channels, cudaphy, gr  # noqa: E402

NAME = "dvbs2_qpsk_half_short"
MIMO_NAME = "mimo_ofdm_qam16_half"
ANTENNAS = 2
ROLL_OFF = 0.2
PACKETS = 500  # of the transport stream


def make(path, stream, modcod="qpsk-1/2-short", snr_db=6.0, offset=0.01, rate=1e6):
    """Writes the recording of a transport stream; offset in cycles a symbol, rate in samples a second."""
    how = dvbs2.modcod.parse(modcod)
    top = gr.top_block()
    source = blocks.vector_source_b(list(dvbs2_to_ts.with_nulls(stream, how)))
    sender = dvbs2_to_ts.framer(how, ROLL_OFF, True)
    channel = channels.channel_model(
        10 ** (-snr_db / 20), offset / 2, 1.00002, [1.0], noise_seed=7
    )
    level = blocks.multiply_const_cc(0.1)
    sink = cudaphy.sigmf_sink(
        path, rate, "ci16_le", description=f"{how}, simulated at {snr_db} dB Es/N0"
    )
    pulses = dvbs2_to_ts.pulses(ROLL_OFF)
    top.connect(source, sender, pulses, channel, level, sink)
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
    parser.add_argument(
        "--input", type=Path, help="transport stream to send; default: numbered packets"
    )
    parser.add_argument("--packets", type=link_tools.count, default=PACKETS)
    parser.add_argument("--frames", type=link_tools.count, default=120, help="of MIMO")
    parser.add_argument(
        "--snr", type=float, help="dB; default: 6 (Es/N0 of DVB-S2) or 25 (MIMO)"
    )
    arguments = parser.parse_args()
    path = arguments.path or (MIMO_NAME if arguments.mimo else NAME)
    snr = {} if arguments.snr is None else {"snr_db": arguments.snr}
    if arguments.mimo:
        samples = make_mimo(path, arguments.frames, **snr)
    else:
        stream = dvbs2_to_ts.stream_of(arguments.input, arguments.packets)
        samples = make(path, stream, arguments.modcod, **snr)
    print(f"{path}.sigmf-data: {samples} samples")
    return samples > 0


if __name__ == "__main__":
    link_tools.main(main)
