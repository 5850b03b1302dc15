#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A symbol rate that does not divide the radio's sample rate, by the Sparse Matrix Product block: QPSK of
512,000 symbols/s received at 2.4 million samples/s, 75 samples for 16 symbols.

Bits -> QPSK -> root raised cosine pulses at the radio's rate -> noise -> vectors of samples, each behind the
one before it -> A x -> symbols -> bits -> frame error counter. Row m of A is the matched filter, shifted to
where symbol m lies between the samples: pulse(75 m - 16 n) in column n, in units of 1/16 sample. So one sparse
matrix filters and resamples, and one launch takes thousands of vectors. GNU Radio's rational resampler with
the same pulse is received beside it, and the bit error rate must be Q(sqrt(Es / N0)), the matched filter's
(Proakis and Salehi, Digital Communications, 5th ed., section 4.3). All formats of the matrix must give
the same symbols, bit for bit (ccs on a GPU to rounding: its columns are added in any order); the second table
tells their size and speed. For equal pulses at equal distances, as here, the resampler does as well on a CPU;
a matrix takes any rows."""

import math
import time

import link_tools
import numpy as np
import scipy.sparse
from gnuradio import analog, blocks, cudaphy, digital, filter, gr
from gnuradio.filter import firdes

SAMPLES, SYMBOLS = 75, 16  # in the same time: 2.4 MHz / 512 kHz
SPAN = 16  # symbols that a pulse lasts
PERIODS = 4  # of SAMPLES in a vector
ROLL_OFF = 0.35
FRAME = 2 * SYMBOLS * PERIODS  # bits: a vector's
SPARE = 8  # frames beyond those counted: what pulses and vectors still hold at the end
FRAMES, QUICK_FRAMES = 20000, 1600
ES_N0_DB = [6, 8, 10]
FORMATS = ("crs", "ccs", "bcrs", "subdivided_crs", "dictionary", "diagonal")
TIMED_SAMPLES, QUICK_TIMED_SAMPLES = 20e6, 0.5e6


def pulse():
    """Root raised cosine, SYMBOLS taps a sample and SAMPLES taps a symbol; energy 1 at the radio's rate."""
    taps = firdes.root_raised_cosine(1, SAMPLES, 1, ROLL_OFF, SPAN * SAMPLES + 1)
    return np.array(taps) * math.sqrt(SYMBOLS / np.square(taps).sum())


def matched_filter():
    """A, of the samples of two vectors, the one before and this one, for the symbols of this one."""
    taps = pulse()
    m = np.arange(SYMBOLS * PERIODS)[:, None]
    n = np.arange(-SAMPLES * PERIODS, SAMPLES * PERIODS)
    at = SAMPLES * m - SYMBOLS * n
    inside = (at >= 0) & (at < len(taps))
    dense = np.where(inside, taps[np.clip(at, 0, len(taps) - 1)], 0)
    return scipy.sparse.csr_matrix(dense.astype("float32"))


class receivers(gr.top_block):
    """A flowgraph in which samples become symbols, one for each that was sent."""

    def __init__(self, arguments):
        gr.top_block.__init__(self, "matched filter", catch_exceptions=True)
        self.arguments = arguments

    def by_matrix(self, samples, backend, name):
        length = SAMPLES * PERIODS
        now, before = (
            blocks.stream_to_vector(gr.sizeof_gr_complex, length) for _ in range(2)
        )
        both = blocks.interleave(gr.sizeof_gr_complex * length)
        pairs = blocks.stream_to_vector(gr.sizeof_gr_complex * length, 2)
        for block in (now, before, both, pairs):
            block.set_min_output_buffer(256)  # whole pages hold 128 such vectors
        late = blocks.delay(gr.sizeof_gr_complex, length)
        self.connect(samples, late, before, (both, 0))
        self.connect(samples, now, (both, 1))
        product = cudaphy.sparse_matvec(
            matched_filter(), name, backend=backend, device=self.arguments.device
        )
        symbols = blocks.vector_to_stream(gr.sizeof_gr_complex, SYMBOLS * PERIODS)
        self.connect(both, pairs, product, symbols)
        return symbols

    def by_resampler(self, samples):
        # It begins when its filter is full: zeros, as the matrix has them before the first vector.
        zeros = blocks.delay(gr.sizeof_gr_complex, SPAN * SAMPLES // SYMBOLS)
        symbols = filter.rational_resampler_ccc(SYMBOLS, SAMPLES, pulse().tolist())
        self.connect(samples, zeros, symbols)
        return symbols


class link(receivers):
    """Transmitter, noise, a receiver on each backend, and GNU Radio's.

    counters[backend's index] and `plain` count errors; with two backends, `difference` what they decided
    differently. symbols() are those of the first backend and GNU Radio's, samples() what was received.
    """

    def __init__(self, es_n0_db, frames, arguments, backends, keep=False):
        receivers.__init__(self, arguments)
        self._frames, self._qpsk = frames, digital.constellation_qpsk().base()
        numbers = blocks.head(gr.sizeof_char, (frames + SPARE) * FRAME // 2)
        sent = blocks.unpack_k_bits_bb(2)
        # Sent bits wait here while their samples are under way.
        sent.set_min_output_buffer(1 << 20)
        self.connect(analog.random_uniform_source_b(0, 4, arguments.seed), numbers, sent)
        points = [p / abs(p) for p in self._qpsk.points()]
        noise = analog.noise_source_c(
            analog.GR_GAUSSIAN, 10 ** (-es_n0_db / 20), arguments.seed + 1
        )
        samples = blocks.add_cc()
        self.connect(
            numbers,
            digital.chunks_to_symbols_bc(points),
            blocks.delay(gr.sizeof_gr_complex, SPAN),
            filter.rational_resampler_ccc(SAMPLES, SYMBOLS, pulse().tolist()),
            (samples, 0),
        )
        self.connect(noise, (samples, 1))
        symbols = [
            self.by_matrix(samples, backend, arguments.format) for backend in backends
        ]
        bits = [self._decided(one) for one in symbols]
        self.counters = [link_tools.error_counter(self, one, sent, FRAME) for one in bits]
        self.difference = link_tools.difference_counter(self, bits, FRAME)
        resampled = self.by_resampler(samples)
        self.plain = link_tools.error_counter(self, self._decided(resampled), sent, FRAME)
        if keep:
            self._kept = [blocks.vector_sink_c() for _ in range(3)]
            for source, sink in zip((symbols[0], resampled, samples), self._kept):
                self.connect(source, sink)

    def _decided(self, symbols):
        # A pulse's middle and the matched filter's are SPAN / 2 symbols late each.
        begun = blocks.skiphead(gr.sizeof_gr_complex, SPAN)
        bits = blocks.unpack_k_bits_bb(2)
        counted = blocks.head(gr.sizeof_char, self._frames * FRAME)
        self.connect(
            symbols, begun, digital.constellation_decoder_cb(self._qpsk), bits, counted
        )
        return counted

    def symbols(self):
        by_matrix, resampled = (np.array(sink.data()) for sink in self._kept[:2])
        both = slice(SPAN, min(len(by_matrix), len(resampled)))
        return by_matrix[both], resampled[both]

    def samples(self):
        return np.array(self._kept[2].data())


class alone(receivers):
    """The same samples again and again through one receiver, a format's or (None) GNU Radio's."""

    def __init__(self, samples, count, arguments, backend, name, keep=False):
        receivers.__init__(self, arguments)
        source = blocks.vector_source_c(samples.tolist(), True)
        head = blocks.head(gr.sizeof_gr_complex, count)
        self.connect(source, head)
        out = self.by_matrix(head, backend, name) if name else self.by_resampler(head)
        self.sink = blocks.vector_sink_c() if keep else blocks.null_sink(8)
        self.connect(out, self.sink)

    def seconds(self):
        began = time.monotonic()
        self.run()
        return time.monotonic() - began


def expected_ber(es_n0_db):
    return math.erfc(math.sqrt(10 ** (es_n0_db / 10) / 2)) / 2


def measure(arguments, backends, frames, bar):
    """Prints the table; gives [(Es/N0, BER, theory)], and whether all is well."""
    rows = link_tools.table(
        f"QPSK, {SAMPLES} samples for {SYMBOLS} symbols, {frames * FRAME} bits a point, {arguments.format}",
        [
            ("Es/N0 dB", ".1f", 8),
            ("BER", ".2e", 9),
            ("theory", ".2e", 9),
            ("rational resampler", ".2e", 18),
        ],
    )
    curve, good, alike = [], True, link_tools.agreement(backends)
    for es_n0 in arguments.snr:
        top = link(es_n0, frames, arguments, backends)
        counter = top.counters[0]
        link_tools.run(top, counter, frames, bar)
        rate, theory = counter.bit_error_rate(), expected_ber(es_n0)
        rows.row(es_n0, rate, theory, top.plain.bit_error_rate())
        curve.append((es_n0, rate, theory))
        deviation = math.sqrt(theory / (frames * FRAME)) + 1 / (frames * FRAME)
        good &= link_tools.check(
            abs(rate - theory) < 5 * deviation,
            f"{es_n0:.1f} dB: the bit error rate is that of theory within {5 * deviation:.1e}",
        )
        alike.add(frames, top.counters, top.difference)
    return curve, good & alike.holds()


def check_symbols(top):
    """Those of the matrix are those of the rational resampler."""
    by_matrix, resampled = top.symbols()
    off = np.abs(by_matrix - resampled).max()
    return link_tools.check(
        len(by_matrix) > 100 and off < 1e-5,
        f"{len(by_matrix)} symbols are those of GNU Radio's rational resampler within {off:.0e}",
    )


def compare_formats(samples, arguments, backend):
    """Prints what each format takes; gives whether all give the same."""
    vector = SAMPLES * PERIODS
    count = int(QUICK_TIMED_SAMPLES if arguments.quick else TIMED_SAMPLES)
    rows = link_tools.table(
        f"the matrix in memory, and through GNU Radio on {backend}, each by itself",
        [("format", "s", 18), ("bytes", "s", 7), ("M samples/s", ".1f", 11)],
    )
    same, first, a = True, None, matched_filter()
    for name in FORMATS:
        top = alone(samples, len(samples) // vector * vector, arguments, backend, name, 1)
        top.run()
        symbols = np.array(top.sink.data())
        first = symbols if first is None else first
        # On a GPU the columns of ccs are added in any order.
        exact = name != "ccs" or backend != "cuda"
        alike = np.array_equal if exact else lambda a, b: np.allclose(a, b, atol=1e-5)
        same &= len(symbols) == len(first) > 0 and alike(symbols, first)
        size = cudaphy.sparse_matvec(a, name, backend=backend).matrix_bytes()
        seconds = alone(samples, count, arguments, backend, name).seconds()
        rows.row(name, str(size), 1e-6 * count / seconds)
    seconds = alone(samples, count, arguments, backend, None).seconds()
    rows.row("rational resampler", "", 1e-6 * count / seconds)
    return link_tools.check(same, "every format gives the same symbols, bit for bit")


def draw(curve, top, arguments, backend):
    figure, (shape, axis, rate) = link_tools.styled_pyplot().subplots(
        1, 3, figsize=(12, 4.2), width_ratios=(1.3, 1, 1.1)
    )
    dense = matched_filter().toarray()[: 2 * SYMBOLS]
    held = np.flatnonzero(dense.any(0))
    largest = np.abs(dense).max()
    shape.imshow(
        dense[:, held[0] : held[-1] + 1],
        cmap="RdBu",
        vmin=-largest,
        vmax=largest,
        aspect="auto",
        interpolation="nearest",
    )
    shape.grid(False)
    shape.set(title=f"First {2 * SYMBOLS} rows of A", xlabel="sample", ylabel="symbol")
    symbols = top.symbols()[0][:4000]
    axis.plot(symbols.real, symbols.imag, ".", color=link_tools.BLUE, ms=1.6, alpha=0.5)
    axis.set(title=f"A x at {arguments.snr[-1]:g} dB", aspect="equal")
    axis.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6))
    snr, got, theory = zip(*curve)
    rate.plot(snr, theory, "-", color=link_tools.GREY, label="theory")
    rate.plot(snr, got, "o", color=link_tools.BLUE, label=f"A x, {backend}")
    rate.set(title="QPSK", xlabel="Es/N0 (dB)", ylabel="bit error rate", yscale="log")
    rate.legend()
    link_tools.save(figure, arguments, "matched_filter_by_matrix.png")


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--snr",
        type=link_tools.number_list,
        default=ES_N0_DB,
        help="Es/N0 in dB; default: 6,8,10",
    )
    parser.add_argument(
        "--frames", type=link_tools.count, help=f"of {FRAME} bits a point"
    )
    parser.add_argument("--format", choices=FORMATS, default="subdivided_crs")
    arguments = parser.parse_args()
    backends = link_tools.chosen_backends(arguments)
    frames = arguments.frames or (QUICK_FRAMES if arguments.quick else FRAMES)
    with link_tools.progress(
        frames * len(arguments.snr), "frame", "matched filter"
    ) as bar:
        curve, good = measure(arguments, backends, frames, bar)
    shown = link(arguments.snr[-1], QUICK_FRAMES, arguments, backends[:1], True)
    shown.run()
    good &= check_symbols(shown)
    good &= compare_formats(shown.samples()[:60000], arguments, backends[0])
    draw(curve, shown, arguments, backends[0])
    return good


if __name__ == "__main__":
    link_tools.main(main)
