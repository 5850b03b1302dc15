#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A 4x4 link through a furnished room that obeys Maxwell's equations.

Room with walls, furniture and two rows of four antennas -> a pulse from each transmit antenna, stepped through
the room until it has died away -> impulse responses at baseband -> saved, and applied to the samples of the coded
MIMO-OFDM link of mimo_ofdm_link.py; beside it the same link over Rayleigh fading. A pulse sent back from the first
receive antenna must give the same responses: the room is reciprocal.

The room is a plane by default, with fields across it (walls without end): about a minute on a CPU. --volume simulates
a room in three dimensions with half-wave dipoles: for a GPU. --taps takes saved responses instead. SNR is the mean
over antennas of signal over noise at one receive antenna and tone."""

import math
import time

import link_tools
import mimo_ofdm_link
import numpy as np
from gnuradio import cudaphy
from gnuradio.cudaphy.whole_files import write_whole

LIGHT = 299792458.0
ANTENNAS = 4
CARRIER = 2.4e9
LEAD = 8  # samples before the first arrival, for what a sharp band has there
ROLLOFF = 0.15  # leaves the link's tones alone
AROUND = 12  # cells between the walls and the end of the grid, ten of which absorb
DIPOLE = 5  # cells: half a wavelength at ten cells each
# At 2.4 GHz by Recommendation ITU-R P.2040-1, table 3.
CONCRETE = {"eps_r": 5.31, "sigma": 0.066}
WOOD = {"eps_r": 1.99, "sigma": 0.012}
METAL = {"conductor": True}
WALL = 0.1  # metres
# Parts of the room, low and high corner; its height where it is a volume.
FURNITURE = (
    ("cabinet", METAL, (0.47, 0.20), (0.52, 0.66), 0.7),
    ("desk", WOOD, (0.70, 0.12), (0.86, 0.24), 0.35),
    ("shelf", WOOD, (0.12, 0.80), (0.40, 0.90), 0.8),
    ("fridge", METAL, (0.80, 0.78), (0.90, 0.92), 0.6),
)
ROWS = ((0.22, 0.42), (0.76, 0.52))  # middles of the transmit and receive antennas
HEIGHT = 0.5


class furnished_room(cudaphy.fdtd):
    """A simulation with ports `transmitters` and `receivers`; moves a bar as it goes."""

    def __init__(self, size, per_wave, arguments, backend):
        self.size, self._axes = size, len(size)
        self.cell = LIGHT / CARRIER / per_wave
        self.bar, self.cells_stepped = None, 0
        cells = [round(length / self.cell) + 2 * AROUND for length in size]
        super().__init__(
            cells,
            self.cell,
            boundary="cpml",
            courant=0.99,
            backend=backend,
            device=arguments.device,
        )
        self._box((0,) * self._axes, size, CONCRETE)
        self._box((WALL,) * self._axes, [length - WALL for length in size], {})
        self.drawn = []
        for name, material, low, high, height in FURNITURE:
            low = [part * length for part, length in zip(low, size)]
            high = [part * length for part, length in zip(high, size)]
            if self._axes == 3:
                low, high = low + [WALL], high + [height * size[2]]
            self._box(low, high, material)
            self.drawn.append((name, material, low, high))
        # A line of current in a plane radiates into this many ohms for each metre.
        ohms = 2 * math.pi * CARRIER * 4e-7 * math.pi / 4 if self._axes == 2 else 50.0
        self.transmitters, self.receivers = ([*self._row(row, ohms)] for row in ROWS)

    def _at(self, place):
        return tuple(AROUND + round(x / self.cell) for x in place)

    def _box(self, low, high, material):
        self.add_box(self._at(low), self._at(high), replace=True, **material)

    def places(self, row):
        """Of the antennas, metres: half a wavelength apart."""
        for number in range(ANTENNAS):
            off = (number - (ANTENNAS - 1) / 2) * LIGHT / CARRIER / 2
            yield row[0] * self.size[0], row[1] * self.size[1] + off

    def _row(self, row, ohms):
        for place in self.places(row):
            if self._axes == 2:
                yield self.add_port(self._at(place), "ez", ohms)
            else:
                place = self._at((*place, HEIGHT * self.size[2]))
                yield self.add_dipole(place, "ez", DIPOLE, ohms)

    def step(self, excitation=None, steps=None, progress=False):
        """As fdtd.step(), a few hundred steps at a time, so that the bar moves."""
        total = steps if excitation is None else len(excitation)
        seen = []
        for first in range(0, total, 256):
            count = min(256, total - first)
            part = None if excitation is None else excitation[first : first + count]
            seen.append(super().step(part, count))
            self.cells_stepped += count * math.prod(self.cells)
            if self.bar is not None:
                self.bar.update(self.cells_stepped // 10**6 - self.bar.n)
        return np.concatenate(seen)


def simulate(room, bandwidth, settle_db):
    """The channel, (receive, transmit, taps), and that from the first receive antenna back."""
    # How long echoes last is not known before: the bar reckons with the room's usual.
    pulse = 2.6 / bandwidth / room.time_step
    runs = ANTENNAS + 1
    expected = int(2 * pulse) * runs * math.prod(room.cells)
    began = time.monotonic()
    with link_tools.progress(expected // 10**6, "Mcell", "room") as bar:
        room.bar = bar
        both = room.impulse_response(
            room.transmitters + room.receivers[:1],
            room.receivers + room.transmitters,
            CARRIER,
            bandwidth,
            lead=LEAD,
            rolloff=ROLLOFF,
            settle_db=settle_db,
        )
    room.bar, seconds = None, time.monotonic() - began
    text = " x ".join(str(n) for n in room.cells)
    print(
        f"room of {text} cells of {1e3 * room.cell:.1f} mm, {runs} pulses, {seconds:.1f} s, "
        f"{room.cells_stepped / max(seconds, 1e-9) / 1e6:.0f} Mcells/s, {room.backend}"
    )
    return both[:ANTENNAS, :ANTENNAS], both[ANTENNAS:, ANTENNAS]


def field_of(room):
    """What a carrier from the first transmit antenna has filled the room with, V/m."""
    room.reset()
    steps = int(3 * max(room.size) / LIGHT / room.time_step)
    drive = np.zeros((steps, room.sources), np.float32)
    turn = 2 * np.pi * CARRIER * room.time_step * np.arange(steps)
    drive[:, room.transmitters[0].source] = np.sin(turn)
    room.step(drive)
    if len(room.size) == 2:
        return room.plane("ez")
    return room.plane("ez", "z", AROUND + round(HEIGHT * room.size[2] / room.cell))


class room_link(mimo_ofdm_link.link):
    """The link of mimo_ofdm_link over a channel that stays."""

    def __init__(self, impulse_response, *rest, **named):
        self._impulse_response = impulse_response
        mimo_ofdm_link.link.__init__(self, ANTENNAS, *rest, **named)

    def _between_antennas(self):
        return cudaphy.mimo_fixed_channel(self._impulse_response)


def describe(taps):
    """Prints what the channel is like."""
    energy = (np.abs(taps) ** 2).sum((0, 1))
    at = np.arange(len(energy))
    middle = at @ energy / energy.sum()
    spread = math.sqrt((at - middle) ** 2 @ energy / energy.sum())
    values = np.linalg.svd(responses(taps), compute_uv=False)
    decibels = 20 * np.log10(np.median(values / values[:, :1], axis=0))
    print(
        f"{taps.shape[2]} taps, delay spread {spread:.2f} samples; singular values over the tones, median: "
        + ", ".join(f"{value:.1f}" for value in decibels)
        + " dB"
    )


def responses(taps):
    """H of the link's tones, (tones, receive, transmit)."""
    return np.moveaxis(np.fft.fft(taps, mimo_ofdm_link.FFT), 2, 0)[
        mimo_ofdm_link.TONE_NUMBERS
    ]


def measure(taps, arguments, backends, bar):
    """Prints the table; gives [(SNR, BLER in the room, BLER with Rayleigh fading)], and whether all is well."""
    frames = mimo_ofdm_link.frames_of(arguments)
    rows = link_tools.table(
        f"{ANTENNAS}x{ANTENNAS}, 802.11n LDPC rate {arguments.rate}, {arguments.qam}-QAM, {frames} frames a point",
        [
            ("SNR dB", ".1f", 6),
            ("found", "d", 6),
            ("BER", "s", 8),
            ("BLER", "s", 8),
            ("BLER Rayleigh", "s", 13),
            ("Mb/s", ".2f", 6),
        ],
    )
    curve, good, alike = [], True, link_tools.agreement(backends)
    for snr in arguments.snr:
        bar.set_description(f"{snr:.1f} dB")
        top = room_link(taps, snr, frames, arguments, backends)
        got, words = top.counters[0], frames * top.sizes.codewords
        seconds = link_tools.run(top, got, words, bar)
        other = mimo_ofdm_link.link(ANTENNAS, snr, frames, arguments, backends[:1])
        link_tools.run(other, other.counters[0], words, bar)
        rayleigh = other.counters[0].frame_error_rate()
        rows.row(
            snr,
            top.frontend.frames(),
            link_tools.rate_text(got.bit_error_rate()),
            link_tools.rate_text(got.frame_error_rate()),
            link_tools.rate_text(rayleigh),
            got.bits() / seconds / 1e6,
        )
        curve.append((snr, got.frame_error_rate(), rayleigh))
        alike.add(words, top.counters, top.difference)
    good &= link_tools.check(
        curve[-1][1] < 0.1, f"under a tenth lost in the room at {curve[-1][0]:.1f} dB"
    )
    good &= link_tools.check(
        top.frontend.frames() >= frames, "every frame is found there"
    )
    return curve, good & alike.holds()


def check_estimate(taps, arguments, backend):
    """Whether what the receiver estimates without noise are these taps."""
    top = room_link(taps, 60, 1, arguments, [backend], keep=True)
    top.run()
    expected = np.abs(responses(taps))
    off = np.abs(np.abs(top.channel()[0, 0]) - expected)
    off = math.sqrt(np.mean(off**2) / np.mean(expected**2))
    return link_tools.check(
        off < 0.05,
        f"the receiver's estimate is the room's channel, within {100 * off:.1f} %",
    )


def draw_room(pyplot, axis, room):
    field = field_of(room)
    inside = field[AROUND:-AROUND, AROUND:-AROUND]
    most = np.quantile(np.abs(inside), 0.98)
    width, depth = room.size[:2]
    axis.imshow(
        inside.T,
        origin="lower",
        extent=(0, width, 0, depth),
        cmap="RdBu",
        vmin=-most,
        vmax=most,
    )
    boxes = [("", {}, (WALL, WALL), (width - WALL, depth - WALL)), *room.drawn]
    for name, material, low, high in boxes:
        across, up = high[0] - low[0], high[1] - low[1]
        color = link_tools.GREY if material.get("conductor") else "none"
        axis.add_patch(
            pyplot.Rectangle(low[:2], across, up, fc=color, ec="black", lw=0.8)
        )
        axis.text(low[0] + across / 2, low[1] + up / 2, name, fontsize=7, ha="center")
    for row, color, name in zip(
        ROWS, (link_tools.ORANGE, link_tools.GREEN), ("transmit", "receive")
    ):
        axis.plot(*zip(*room.places(row)), "o", color=color, ms=3.5, label=name)
    axis.set(xlabel="metres", ylabel="metres", title="A carrier from one antenna")
    axis.grid(False)
    axis.legend(fontsize=7, loc="lower left", frameon=True)


def draw(room, taps, curve, arguments, backend):
    pyplot = link_tools.styled_pyplot()
    figure, axes = pyplot.subplot_mosaic(
        [["room", "room", "taps"], ["room", "room", "H"], ["BLER", "BLER", "BLER"]],
        figsize=(11, 8),
        height_ratios=(1, 1, 0.9),
    )
    if room is None:
        axes["room"].axis("off")
    else:
        draw_room(pyplot, axes["room"], room)
    delay = (np.arange(taps.shape[2]) - LEAD) / arguments.bandwidth * 1e9
    colors = (link_tools.BLUE, link_tools.ORANGE, link_tools.GREEN, link_tools.RED)
    for t, color in enumerate(colors):
        level = 20 * np.log10(np.abs(taps[0, t]) + 1e-6)
        axes["taps"].plot(delay, level, ".-", color=color, linewidth=1, ms=4)
        h = 20 * np.log10(np.abs(responses(taps)[:, 0, t]) + 1e-6)
        numbers = mimo_ofdm_link.TONE_NUMBERS
        axes["H"].plot(numbers, h, color=color, label=f"from antenna {t + 1}")
    axes["taps"].set(title="Taps to receive antenna 1", xlabel="ns", ylabel="dB")
    axes["taps"].set_ylim(-50, 8)
    axes["H"].set(xlabel="tone", ylabel="|H| (dB)")
    axes["H"].legend(fontsize=7, ncols=2)
    for index, color, name in (
        (1, link_tools.BLUE, f"this room, {backend}"),
        (2, link_tools.GREY, "Rayleigh fading"),
    ):
        seen = [(point[0], point[index]) for point in curve if point[index] > 0]
        if seen:
            axes["BLER"].plot(*zip(*seen), "o-", color=color, label=name)
    axes["BLER"].set(
        title=f"Codewords lost, {arguments.qam}-QAM, 802.11n LDPC rate {arguments.rate}",
        xlabel="SNR (dB)",
        ylabel="BLER",
        yscale="log",
    )
    axes["BLER"].set_ylim(top=1.5)
    if axes["BLER"].get_lines():
        axes["BLER"].legend()
    link_tools.save(figure, arguments, "fdtd_mimo_channel.png")


def rooms(arguments, backends):
    """The room simulated on each backend: (room, taps and those of the way back, none if read from a file)."""
    if arguments.volume:
        size, per_wave = (arguments.size or [2.4, 1.8, 1.2]), 10
    elif arguments.quick:
        size, per_wave = (arguments.size or [1.5, 1.1]), 8
    else:
        size, per_wave = (arguments.size or [6.0, 4.0]), 14
    if len(size) != (3 if arguments.volume else 2) or min(size) < 0.9:
        raise ValueError("a room has two sizes, with --volume three, of at least 0.9 m")
    settle_db = 30 if arguments.quick else 50
    for backend in backends:
        room = furnished_room(size, per_wave, arguments, backend)
        yield room, *simulate(room, arguments.bandwidth, settle_db)


def channel(arguments, backends):
    """(room or None, taps of mean energy 1 at an antenna pair, whether all is well)."""
    if arguments.taps:
        taps, room, good = np.load(arguments.taps), None, True
        if taps.ndim != 3 or taps.shape[:2] != (ANTENNAS, ANTENNAS):
            raise ValueError(f"{arguments.taps} has shape {taps.shape}, not (4, 4, taps)")
    else:
        made = list(rooms(arguments, backends))
        room, taps, back = made[0]
        off = np.abs(taps[0] - back).max() / np.abs(taps[0]).max()
        good = link_tools.check(
            off < 1e-3, f"there and back the responses are the same, within {off:.0e}"
        )
        if len(made) == 2:
            off = np.abs(made[1][1] - taps).max() / np.abs(taps).max()
            good &= link_tools.check(
                off < 1e-3, f"{backends[0]} and {backends[1]} agree within {off:.0e}"
            )
    gain = (np.abs(taps) ** 2).sum() / ANTENNAS**2
    print(f"mean gain from generator to port {10 * math.log10(gain):.1f} dB, set to 0 dB")
    return room, (taps / math.sqrt(gain)).astype(np.complex64), good


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--volume", action="store_true", help="in three dimensions: for a GPU"
    )
    parser.add_argument(
        "--size", type=link_tools.number_list, help="of the room, metres: 6,4"
    )
    parser.add_argument("--bandwidth", type=float, default=80e6, help="Hz; default: 80e6")
    parser.add_argument("--taps", help="a .npy file with responses saved before")
    parser.add_argument("--rate", choices=("1/2", "2/3", "3/4", "5/6"), default="1/2")
    parser.add_argument("--qam", type=int, choices=(4, 16, 64, 256), default=16)
    parser.add_argument("--method", choices=("ls", "mmse"), default="mmse")
    parser.add_argument(
        "--offset", type=float, default=0.35, help="of the carrier, in tones"
    )
    parser.add_argument("--snr", type=link_tools.number_list, help="dB")
    parser.add_argument("--frames", type=link_tools.count, help="a point")
    parser.add_argument("--iterations", type=link_tools.count, default=20)
    arguments = parser.parse_args()
    arguments.snr = sorted(
        arguments.snr or ([18, 40] if arguments.quick else range(12, 31, 2))
    )
    backends = link_tools.chosen_backends(arguments)
    room, taps, good = channel(arguments, backends)
    arguments.output.mkdir(parents=True, exist_ok=True)
    path = arguments.output / "fdtd_mimo_channel.npy"
    write_whole(path, lambda beside: np.save(beside, taps))
    print(f"taps: {path}, at {arguments.bandwidth / 1e6:g} Msamples/s")
    describe(taps)
    good &= check_estimate(taps, arguments, backends[0])
    bits = int(math.log2(arguments.qam))
    words = mimo_ofdm_link.numerology(ANTENNAS, bits).codewords
    total = 2 * words * mimo_ofdm_link.frames_of(arguments) * len(arguments.snr)
    with link_tools.progress(total, "codeword", "link") as bar:
        curve, right = measure(taps, arguments, backends, bar)
    draw(room, taps, curve, arguments, backends[0])
    return good and right


if __name__ == "__main__":
    link_tools.main(main)
