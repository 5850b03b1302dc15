#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Coded MIMO-OFDM frames from bits to samples and back, 2x2 and 4x4, with everything that a receiver
must find out by itself: when a frame begins, the carrier's offset, the channel and the noise.

Bits -> LDPC encoder (802.11n) -> QAM -> layers -> pilots and data -> OFDM transmitter -> multipath
Rayleigh channel, carrier offset and noise -> OFDM front end -> channel estimator -> MMSE equalizer -> soft
demapper -> LDPC decoder -> frame error counter. SNR is signal over noise at one receive antenna and
tone."""

import math

import link_tools
import numpy as np
from gnuradio import analog, blocks, channels, cudaphy, digital, gr

FFT, PREFIX, GAP = 64, 16, 40
TONE_NUMBERS = [tone for tone in range(-27, 28) if tone]
TONES = len(TONE_NUMBERS)
DATA_SYMBOLS = 18  # with 54 tones 972 points a layer: whole codewords for two layers
CODEWORD = 1944
PATHS, DELAY_SPREAD = 6, 2.0  # samples
ITEM = gr.sizeof_gr_complex
SHOWN_SNR_DB = {2: 25, 4: 28}  # of the constellations in the picture
LOWEST_SNR_DB = {2: 8, 4: 11}  # for 16-QAM at rate 1/2, where nothing gets through yet
SPARE = 4  # frames sent beyond those counted, so that one missed at the end is noticed


class numerology:
    """Sizes of a frame with so many layers."""

    def __init__(self, layers, bits):
        self.layers, self.bits = layers, bits
        group = cudaphy.block_pilots(layers, layers, TONES).pilots
        # Before the data and after it: between them the channel is interpolated, so that what
        # is left of the carrier's offset does not turn the points.
        self.pilots = np.concatenate((group, group))
        self.pilot_times = [*range(layers)]
        self.pilot_times += [layers + DATA_SYMBOLS + s for s in range(layers)]
        self.times = [layers + s for s in range(DATA_SYMBOLS)]
        self.symbols = 2 * layers + DATA_SYMBOLS
        self.period = (self.symbols + 1) * (FFT + PREFIX) + GAP
        self.parts = [layers * TONES, DATA_SYMBOLS * TONES, layers * TONES]  # vectors
        self.codewords = DATA_SYMBOLS * TONES * layers * bits // CODEWORD  # a frame


class link(gr.top_block):
    """Transmitter, channel, and a receiver for each backend.

    air are the samples of each receive antenna; counters[backend's index] counts errors; difference what two backends decided differently. With
    keep, symbols() and channel() are those of all frames.
    """

    def __init__(self, layers, snr_db, frames, arguments, backends, keep=False):
        gr.top_block.__init__(self, "MIMO-OFDM link", catch_exceptions=True)
        bits = int(math.log2(arguments.qam))
        self.sizes = numerology(layers, bits)
        self.frames_sent = frames
        name = "qpsk" if arguments.qam == 4 else f"qam{arguments.qam}"
        self._constellation = cudaphy.constellation(name)
        self._code = cudaphy.ldpc_code("wifi", n=CODEWORD, rate=arguments.rate)
        self._arguments, self._kept = arguments, {} if keep else None
        self._snr_db = snr_db
        sent = self._bits((frames + SPARE) * self.sizes.codewords * self._code.k)
        self.air = self._air(self._transmitter(sent, backends[0]))
        found = self._frontend(self.air)
        decoded = [self._receiver(found, backend) for backend in backends]
        self.counters = [
            link_tools.error_counter(self, one, sent, self._code.k) for one in decoded
        ]
        self.difference = link_tools.difference_counter(self, decoded, self._code.k)

    def _bits(self, count):
        bits = blocks.head(gr.sizeof_char, count)
        # They wait here for the decoder's while their frames are under way.
        bits.set_min_output_buffer(128 * self.sizes.codewords * self._code.k)
        self.connect(analog.random_uniform_source_b(0, 2, self._arguments.seed), bits)
        return bits

    def _transmitter(self, bits, backend):
        sizes = self.sizes
        frame = blocks.stream_mux(ITEM * sizes.layers, sizes.parts)
        frame.set_min_output_buffer(4 * sum(sizes.parts))
        half = sizes.pilots[: sizes.layers].ravel().tolist()
        for port in (0, 2):
            source = blocks.vector_source_c(half, True, sizes.layers)
            self.connect(source, (frame, port))
        self.connect(
            bits,
            cudaphy.ldpc_encoder(
                self._code, backend=backend, device=self._arguments.device
            ),
            blocks.repack_bits_bb(1, sizes.bits, "", False, gr.GR_MSB_FIRST),
            digital.chunks_to_symbols_bc(self._constellation.points.tolist()),
            blocks.stream_to_vector(ITEM, sizes.layers),
            (frame, 1),
        )
        self.transmitter = cudaphy.mimo_ofdm_transmitter(
            sizes.layers, FFT, PREFIX, TONE_NUMBERS, sizes.symbols, GAP
        )
        self.connect(frame, self.transmitter)
        return self.transmitter

    def _air(self, transmitter):
        """The samples of each receive antenna."""
        antennas = self.sizes.layers
        # A block written in Python lives only as long as somebody names it.
        self.fading = self._between_antennas()
        # Of noise on a sample the tones see TONES / FFT.
        variance = antennas * 10 ** (-self._snr_db / 10) * FFT / TONES
        out = []
        for a in range(antennas):
            self.connect((transmitter, a), (self.fading, a))
            out.append(
                channels.channel_model(
                    math.sqrt(variance),
                    self._arguments.offset / FFT,
                    1.0,
                    [1.0],
                    self._arguments.seed + 1 + a,
                )
            )
            self.connect((self.fading, a), out[a])
        return out

    def _between_antennas(self):
        return cudaphy.mimo_multipath_channel(
            self.sizes.layers,
            self.sizes.layers,
            self.sizes.period,
            PATHS,
            DELAY_SPREAD,
            self._arguments.seed,
        )

    def _frontend(self, samples):
        sizes = self.sizes
        self.frontend = cudaphy.mimo_ofdm_receiver_frontend(
            sizes.layers,
            FFT,
            PREFIX,
            TONE_NUMBERS,
            sizes.symbols,
            transmit_antennas=sizes.layers,
            most_offset=1.0,
        )
        self.filler = cudaphy.frame_filler(sizes.layers, sum(sizes.parts), sizes.period)
        self.filler.set_min_output_buffer(4 * sum(sizes.parts))
        for a, source in enumerate(samples):
            self.connect(source, (self.frontend, a))
        self.connect(self.frontend, self.filler)
        return self.filler

    def _receiver(self, found, backend):
        """Gives the decoder."""
        sizes, arguments = self.sizes, self._arguments
        where = {"backend": backend, "device": arguments.device}
        n = sizes.layers
        parts = blocks.stream_demux(ITEM * n, sizes.parts)
        pilots = blocks.stream_mux(ITEM * n, [sizes.parts[0], sizes.parts[2]])
        pilots.set_min_output_buffer(4 * sum(sizes.parts))
        estimator = cudaphy.mimo_channel_estimator(
            n,
            n,
            TONES,
            sizes.pilots,
            method=arguments.method,
            delay_spread=DELAY_SPREAD / FFT,
            first_delay=self.frontend.first_delay(),
            snr_db=self._snr_db - 10 * math.log10(n),
            pilot_times=sizes.pilot_times,
            times=sizes.times,
            tone_numbers=TONE_NUMBERS,
            group_symbols=n,
            errors_as_noise=True,
            **where,
        )
        # A channel matrix for every data vector.
        equalizer = cudaphy.mimo_equalizer(
            n, n, symbols=1, tones=TONES, noise_input=True, **where
        )
        demapper = cudaphy.soft_demapper(
            self._constellation.name, vlen=n, noise_input=True, **where
        )
        decoder = cudaphy.ldpc_decoder(
            self._code, max_iterations=arguments.iterations, **where
        )
        counted = blocks.head(
            gr.sizeof_char, self.frames_sent * sizes.codewords * self._code.k
        )
        self.connect(found, parts)
        self.connect((parts, 0), (pilots, 0))
        self.connect((parts, 2), (pilots, 1))
        self.connect(pilots, estimator)
        self.connect((parts, 1), (equalizer, 0))
        self.connect((estimator, 0), (equalizer, 1))
        self.connect((estimator, 1), (equalizer, 2))
        self.connect((equalizer, 0), (demapper, 0))
        self.connect((equalizer, 1), (demapper, 1))
        self.connect(demapper, decoder, counted)
        self._keep("symbols", (equalizer, 0), n)
        self._keep("channel", (estimator, 0), n * n)
        return counted

    def _keep(self, name, source, vlen):
        if self._kept is not None and name not in self._kept:
            self._kept[name] = blocks.vector_sink_c(vlen)
            self.connect(source, self._kept[name])

    def symbols(self):
        """After the equalizer, (vectors, layers)."""
        return np.array(self._kept["symbols"].data()).reshape(-1, self.sizes.layers)

    def channel(self):
        """(frames, data symbols, tones, receive antennas, layers)"""
        n = self.sizes.layers
        return np.array(self._kept["channel"].data()).reshape(
            -1, DATA_SYMBOLS, TONES, n, n
        )

    def error_vector_magnitude(self):
        """Of the points nearest to the symbols, in % rms."""
        points = self._constellation.points
        symbols = self.symbols().ravel()
        nearest = np.abs(symbols[:, None] - points).min(axis=1)
        return 100 * np.sqrt(np.mean(nearest**2))


def frames_of(arguments):
    return arguments.frames or (10 if arguments.quick else 250)


def points(layers, arguments):
    """SNR in dB, ascending."""
    if arguments.snr:
        return sorted(arguments.snr)
    lowest = LOWEST_SNR_DB[layers] + 3 * (int(math.log2(arguments.qam)) - 4)
    return [lowest + step for step in ((4, 16) if arguments.quick else range(0, 18, 2))]


def measure(layers, arguments, backends, bar):
    """Prints a table; gives [(SNR, codewords, BLER, BER)], and whether all checks hold."""
    rows = link_tools.table(
        f"{layers}x{layers}, 802.11n LDPC n {CODEWORD} rate {arguments.rate}, "
        f"{arguments.qam}-QAM, {frames_of(arguments)} frames a point, carrier offset "
        f"{arguments.offset} tones, estimates by {arguments.method.upper()}",
        [
            ("SNR dB", ".1f", 6),
            ("found", "d", 6),
            ("BER", "s", 8),
            ("BLER", "s", 8),
            ("iter.", ".1f", 6),
            ("offset error", ".1e", 13),
            ("Mb/s", ".2f", 6),
        ],
    )
    curve, good, alike = [], True, link_tools.agreement(backends)
    for snr in points(layers, arguments):
        bar.set_description(f"{layers}x{layers}, {snr:.1f} dB")
        top = link(layers, snr, frames_of(arguments), arguments, backends)
        got = top.counters[0]
        frames = frames_of(arguments) * top.sizes.codewords
        seconds = link_tools.run(top, got, frames, bar)
        curve.append((snr, frames, got.frame_error_rate(), got.bit_error_rate()))
        rows.row(
            snr,
            top.frontend.frames(),
            link_tools.rate_text(got.bit_error_rate()),
            link_tools.rate_text(got.frame_error_rate()),
            got.average_iterations(),
            abs(top.frontend.carrier_offset() - arguments.offset),
            got.bits() / seconds / 1e6,
        )
        alike.add(frames, top.counters, top.difference)
    if not arguments.snr:
        good &= link_tools.check(
            curve[-1][2] < 0.1,
            f"{layers}x{layers}: under a tenth lost at {curve[-1][0]:.1f} dB",
        )
        good &= link_tools.check(
            top.frontend.frames() >= frames_of(arguments),
            f"{layers}x{layers}: every frame found there",
        )
    return curve, good & alike.holds()


def draw(results, shown, arguments, backends):
    figure, axes = link_tools.styled_pyplot().subplot_mosaic(
        [["0", "1", "2", "3"], ["H"] * 2 + ["BLER"] * 2], figsize=(10.5, 6.6)
    )
    top = shown[max(shown)]
    colors = (link_tools.BLUE, link_tools.ORANGE, link_tools.GREEN, link_tools.RED)
    ideal = top._constellation.points
    for layer in range(4):
        axis = axes[str(layer)]
        if layer >= top.sizes.layers:
            axis.axis("off")
            continue
        symbols = top.symbols()[:, layer]
        axis.plot(symbols.real, symbols.imag, ".", color=colors[layer], ms=1.6, alpha=0.4)
        axis.plot(ideal.real, ideal.imag, "+", color="black", ms=6, mew=1)
        axis.set(title=f"Layer {layer + 1}", xlim=(-1.7, 1.7), ylim=(-1.7, 1.7))
        axis.set_aspect("equal")
        axes["H"].plot(
            TONE_NUMBERS,
            20 * np.log10(np.abs(top.channel()[0, 0, :, 0, layer]) + 1e-9),
            color=colors[layer],
            label=f"from layer {layer + 1}",
        )
    axes["H"].set(title="Channel to receive antenna 1", xlabel="tone", ylabel="|H| (dB)")
    axes["H"].legend(fontsize=8, ncols=2)
    for (layers, curve), color in zip(results, colors):
        seen = [(point[0], point[2]) for point in curve if point[2] > 0]
        if seen:
            axes["BLER"].plot(*zip(*seen), "o-", color=color, label=f"{layers}x{layers}")
    axes["BLER"].set(
        title="Codewords lost", xlabel="SNR (dB)", ylabel="BLER", yscale="log"
    )
    axes["BLER"].set_ylim(top=1.5)
    axes["BLER"].legend()
    figure.suptitle(
        f"MIMO-OFDM, {arguments.qam}-QAM, 802.11n LDPC {CODEWORD} rate {arguments.rate}, "
        f"carrier offset {arguments.offset} tones, {arguments.method.upper()} estimates, "
        f"backend {backends[0]}\nabove: {top.sizes.layers}x{top.sizes.layers} at "
        f"{SHOWN_SNR_DB[top.sizes.layers]} dB, error vector magnitude "
        f"{top.error_vector_magnitude():.1f} %",
        fontsize=10,
    )
    link_tools.save(figure, arguments, "mimo_ofdm_link.png")


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--antennas",
        type=int,
        nargs="+",
        choices=(2, 4),
        default=[2, 4],
        help="default: 2 4",
    )
    parser.add_argument("--rate", choices=("1/2", "2/3", "3/4", "5/6"), default="1/2")
    parser.add_argument("--qam", type=int, choices=(4, 16, 64, 256), default=16)
    parser.add_argument("--method", choices=("ls", "mmse"), default="mmse")
    parser.add_argument(
        "--offset",
        type=float,
        default=0.35,
        help="of the carrier, in tones; default: 0.35",
    )
    parser.add_argument(
        "--snr", type=link_tools.number_list, help="dB; default: around the waterfall"
    )
    parser.add_argument(
        "--frames",
        type=link_tools.count,
        help="a point; default: 250, or 10 with --quick",
    )
    parser.add_argument("--iterations", type=link_tools.count, default=20)
    arguments = parser.parse_args()
    backends = link_tools.chosen_backends(arguments)
    bits = int(math.log2(arguments.qam))
    total = sum(
        frames_of(arguments) * numerology(n, bits).codewords * len(points(n, arguments))
        for n in arguments.antennas
    )
    results, shown, good = [], {}, True
    with link_tools.progress(total, "codeword", "MIMO-OFDM link") as bar:
        for n in arguments.antennas:
            curve, right = measure(n, arguments, backends, bar)
            results.append((n, curve))
            good = good and right
            shown[n] = link(n, SHOWN_SNR_DB[n], 1, arguments, backends[:1], True)
            shown[n].run()
    draw(results, shown, arguments, backends)
    return good


if __name__ == "__main__":
    link_tools.main(main)
