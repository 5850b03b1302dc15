#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A transport stream over DVB-S2: GNU Radio's own gr-dtv transmits a file, DVB-S2 Receiver writes it again,
and both files must be equal, byte for byte.

Transport packets -> gr-dtv's transmitter -> root-raised-cosine filter -> any number of samples a symbol, clock
error -> carrier offset that drifts, phase noise -> white noise -> DVB-S2 Receiver -> file, and a player by UDP.
The receiver is told the symbol rate and the roll-off alone. Null packets follow the file, as multiplexers
send them, since a transmitter sends whole frames only."""

import math
import time
from pathlib import Path

import dvbs2_receiver
import link_tools
import numpy as np
from gnuradio import analog, blocks, cudaphy, digital, dtv, gr, network
from gnuradio.fft import window
from gnuradio.filter import fft_filter_ccf, firdes, pfb
from gnuradio.cudaphy.whole_files import write_whole

PACKET = 188
NULL = bytes([0x47, 0x1F, 0xFF, 0x10]) + bytes(PACKET - 4)
ROLL_OFFS = {0.35: dtv.RO_0_35, 0.25: dtv.RO_0_25, 0.2: dtv.RO_0_20}
POINTS = 4000  # symbols in the picture


def numbered_packets(count):
    """Transport packets whose payload begins with their number, then goes on at random."""
    rng = np.random.default_rng(count)
    made = rng.integers(0, 256, (count, PACKET), np.uint8)
    number = np.arange(count)
    made[:, :3] = 0x47, 0x01, 0x00  # PID 256
    made[:, 3] = 0x10 | (number & 15)  # with a payload; continuity counter
    made[:, 4:8] = number.astype(">u4").view(np.uint8).reshape(-1, 4)
    return made.tobytes()


def stream_of(path, packets):
    """Whole transport packets of a file; without a path, so many numbered ones."""
    if not path:
        return numbered_packets(packets)
    stream = path.read_bytes()
    return stream[: len(stream) // PACKET * PACKET]


def with_nulls(stream, how):
    """The stream, and as many null packets behind it as push its last frame out of gr-dtv's transmitter."""
    k = cudaphy.bch_code.dvbs2(how.frame, how.rate).k
    return stream + NULL * (3 * k // (8 * PACKET) + 2)


def input_stream_bits(how, isi):
    """What a baseband frame's bits are XORed with, so that gr-dtv's header, which says a single stream of
    constant coding, says input stream isi of several, and variable coding (ETSI EN 302 307-1, 5.1.6).

    The header's CRC-8 is linear: that of the changes changes it as needed."""
    changes = [0x30, isi, 0, 0, 0, 0, 0, 0, 0]
    changes.append(digital.crc(8, 0xD5, 0, 0, False, False).compute(changes))
    bits = np.zeros(cudaphy.bch_code.dvbs2(how.frame, how.rate).k, np.uint8)
    bits[:80] = np.unpackbits(np.array(changes, np.uint8))
    return bits


class framer(gr.hier_block2):
    """A transport stream in, the symbols of its frames out, each with a zero behind it."""

    def __init__(self, how, roll_off, pilots, gold_code=0, isi=None):
        gr.hier_block2.__init__(
            self,
            "DVB-S2 framer",
            gr.io_signature(1, 1, gr.sizeof_char),
            gr.io_signature(1, 1, gr.sizeof_gr_complex),
        )
        frame_and_rate = how.dtv_parameters
        parameters = (dtv.STANDARD_DVBS2, *frame_and_rate)
        modulation = (*frame_and_rate, how.dtv_modulation)
        frames = dtv.dvb_bbheader_bb(
            *parameters,
            ROLL_OFFS[roll_off],
            dtv.INPUTMODE_NORMAL,
            dtv.INBAND_OFF,
            168,  # FEC blocks and rate of in-band signalling, which is off
            4000000,
        )
        self.connect(self, frames)
        if isi is not None:
            single, frames = frames, blocks.xor_bb()
            changes = blocks.vector_source_b(input_stream_bits(how, isi).tolist(), True)
            self.connect(single, frames)
            self.connect(changes, (frames, 1))
        self.connect(
            frames,
            dtv.dvb_bbscrambler_bb(*parameters),
            dtv.dvb_bch_bb(*parameters),
            dtv.dvb_ldpc_bb(*parameters, how.dtv_modulation),
            dtv.dvbs2_interleaver_bb(*modulation),
            dtv.dvbs2_modulator_bc(*modulation, dtv.INTERPOLATION_OFF),
            dtv.dvbs2_physical_cc(
                *modulation, dtv.PILOTS_ON if pilots else dtv.PILOTS_OFF, gold_code
            ),
            self,
        )


def pulses(roll_off):
    """A filter for symbols with a zero behind each: two samples a symbol, of energy 1 a symbol."""
    taps = np.array(firdes.root_raised_cosine(1, 2, 1, roll_off, 161))
    return fft_filter_ccf(1, taps / np.linalg.norm(taps))


class channel(gr.hier_block2):
    """What a cheap receiver makes of two samples a symbol: another sample rate, a carrier that is off and
    drifts, phase noise, and noise."""

    def __init__(self, arguments, esn0):
        gr.hier_block2.__init__(
            self,
            "channel",
            gr.io_signature(1, 1, gr.sizeof_gr_complex),
            gr.io_signature(1, 1, gr.sizeof_gr_complex),
        )
        sps, seed = arguments.samples_per_symbol, arguments.seed
        clock = sps / 2 * (1 + 1e-6 * arguments.clock_error)
        taps = firdes.low_pass_2(32, 32, 0.8, 0.35, 80, window.WIN_BLACKMAN_HARRIS)
        # Frequency in cycles a sample: the offset, a slow sine, and white noise, which is a random walk of phase.
        sine = analog.sig_source_f(
            1, analog.GR_SIN_WAVE, 1e-7, arguments.drift / sps, arguments.frequency / sps
        )
        walk = analog.noise_source_f(
            analog.GR_GAUSSIAN,
            math.sqrt(arguments.linewidth / sps / (2 * math.pi)),
            seed + 1,
        )
        frequency, carrier = blocks.add_ff(), analog.frequency_modulator_fc(2 * math.pi)
        turned, noisy = blocks.multiply_cc(), blocks.add_cc()
        noise = link_tools.white_noise(sps / 2 * 10 ** (-esn0 / 10), seed + 2)
        self.connect(sine, (frequency, 0))
        self.connect(walk, (frequency, 1))
        self.connect(self, pfb.arb_resampler_ccf(clock, taps, 32), (turned, 0))
        self.connect(frequency, carrier, (turned, 1))
        self.connect(turned, (noisy, 0))
        self.connect(noise, (noisy, 1))
        self.connect(noisy, self)


def add_channel(parser):
    """The arguments that say what channel() does."""
    parser.add_argument("--samples-per-symbol", type=float, default=2.3)
    parser.add_argument("--roll-off", type=float, choices=ROLL_OFFS, default=0.2)
    parser.add_argument(
        "--frequency", type=float, default=0.05, help="of the carrier, in symbol rates"
    )
    parser.add_argument(
        "--drift",
        type=float,
        default=2e-4,
        help="of the carrier, either way, in symbol rates",
    )
    parser.add_argument("--clock-error", type=float, default=50, help="ppm")
    parser.add_argument(
        "--linewidth", type=float, default=1e-6, help="of phase noise, in symbol rates"
    )


class link(gr.top_block):
    """Transmitter, channel, and a receiver for each backend."""

    def __init__(self, stream, how, esn0, arguments, backends):
        gr.top_block.__init__(self, f"DVB-S2 {how}", catch_exceptions=True)
        source = blocks.vector_source_b(list(stream))
        medium = channel(arguments, esn0)
        pilots = not arguments.no_pilots
        sender = framer(how, arguments.roll_off, pilots, arguments.gold_code)
        self.connect(source, sender, pulses(arguments.roll_off), medium)
        self.receivers, self.sinks = [], []
        for backend in backends:
            receiver = cudaphy.dvbs2_receiver(
                arguments.samples_per_symbol,
                arguments.roll_off,
                gold_code=arguments.gold_code,
                backend=backend,
                device=arguments.device,
            )
            self.receivers.append(receiver)
            self.sinks.append(blocks.vector_sink_b())
            self.connect(medium, receiver, self.sinks[-1])
        if arguments.udp:
            host, _, port = arguments.udp.rpartition(":")
            self.connect(
                self.receivers[0],
                network.udp_sink(gr.sizeof_char, 1, host, int(port), 0, 7 * PACKET, True),
            )


class progress_of:
    """What link_tools.run() wants to know: how many of the expected frames came."""

    def __init__(self, receiver, expected):
        self._receiver, self._expected = receiver, expected

    def frames(self):
        return min(self._expected, self._receiver.status()["frames"])


def receive(how, stream, arguments, backends, bar):
    """Sends a stream; gives the bytes that each backend wrote, the receivers' states, and the seconds."""
    k = cudaphy.bch_code.dvbs2(how.frame, how.rate).k
    esn0 = how.threshold + arguments.margin
    top = link(with_nulls(stream, how), how, esn0, arguments, backends)
    expected = -(-len(stream) * 8 // (k - 80))
    seconds = link_tools.run(top, progress_of(top.receivers[0], expected), expected, bar)
    written = [bytes(sink.data()) for sink in top.sinks]
    return written, [receiver.status() for receiver in top.receivers], seconds


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--input", type=Path, help="transport stream to send; default: numbered packets"
    )
    parser.add_argument(
        "--packets", type=link_tools.count, help="so many, without --input"
    )
    parser.add_argument(
        "--modcod",
        nargs="+",
        default=["qpsk-1/2-normal", "8psk-3/4-short"],
        help="default: qpsk-1/2-normal 8psk-3/4-short",
    )
    parser.add_argument(
        "--margin", type=float, default=1, help="dB above threshold; default: 1"
    )
    add_channel(parser)
    parser.add_argument("--no-pilots", action="store_true")
    parser.add_argument("--gold-code", type=int, default=0)
    parser.add_argument(
        "--udp", metavar="HOST:PORT", help="send the received stream there, to a player"
    )
    arguments = parser.parse_args()
    chosen = [dvbs2_receiver.modcod.parse(text) for text in arguments.modcod]
    backends = link_tools.chosen_backends(arguments)
    packets = arguments.packets or (150 if arguments.quick else 3000)
    stream = stream_of(arguments.input, packets)
    rows = link_tools.table(
        f"{len(stream) // PACKET} transport packets",
        [
            ("MODCOD", "s", 20),
            ("sent, dB", ".2f", 8),
            ("heard, dB", ".2f", 9),
            ("frames", "d", 6),
            ("frequency", ".5f", 9),
            ("clock, ppm", ".1f", 10),
            ("seconds", ".1f", 7),
        ],
    )
    good = True
    for how in chosen:
        with link_tools.progress(None, "frame", str(how)) as bar:
            written, states, seconds = receive(how, stream, arguments, backends, bar)
        for state in states:
            rows.row(
                str(how),
                how.threshold + arguments.margin,
                state["esn0"],
                state["frames"],
                state["frequency"],
                state["clock_error"],
                seconds,
            )
        for backend, received in zip(backends, written):
            good &= link_tools.check(
                received[: len(stream)] == stream,
                f"{backend}: the stream comes back, byte for byte; {len(received)} bytes with null packets",
            )
        if len(backends) > 1:
            good &= link_tools.check(
                written[0] == written[1],
                f"{backends[0]} and {backends[1]} write the same bytes, null packets too",
            )
    path = arguments.output / "dvbs2_to_ts.ts"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda beside: beside.write_bytes(written[0][: len(stream)]))
    print(f"\ntransport stream: {path}")
    return good


if __name__ == "__main__":
    link_tools.main(main)
