#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A radio wave on its way through two rooms, by the FDTD Channel block: brick walls, a doorway, a window, a metal
cabinet and a wooden table, seen from above; an antenna in the left room, field probes in both and outside.

A carrier is switched on and off -> FDTD Channel -> probes, and planes of the field, which become an animation. In two
dimensions (TM) all things reach from far below to far above. Walls take Rec. ITU-R P.2040-2, table 3, at the
carrier.

Checks: the block's probes are bit for bit those of cudaphy.fdtd; nothing arrives before light could, and the wave in
free sight arrives when it should; once the antenna is silent, the waves die away."""

import link_tools
import numpy as np
from gnuradio import blocks, cudaphy, gr
from gnuradio.cudaphy.whole_files import write_whole
from tqdm import tqdm

C = 299792458.0
CELLS = 192, 256  # seen from above: rows, and columns of the picture
SPACING = 0.03  # metres
CARRIER = 0.7e9  # hertz: 14 cells a wavelength, 7 in brick
ANTENNA = 60, 70
PROBES = {
    "in free sight": (84, 104),
    "behind the doorway": (60, 190),
    "behind the wall": (150, 215),
    "outside the window": (100, 243),
}
STEPS, QUICK_STEPS = 3000, 900
LEAST_STEPS = 800  # for a wave to cross both rooms and die away
FRAMES, QUICK_FRAMES = 150, 30
ON = 0.5  # part of the time that the carrier is on
RISE = 4  # periods in which it comes and goes


def material(eps_r, c, d):
    """Permittivity, and the conductivity c f^d in S/m with f in GHz, of Rec. ITU-R P.2040-2."""
    return {"eps_r": eps_r, "sigma": c * (CARRIER / 1e9) ** d}


BRICK = material(3.91, 0.0238, 0.16)
GLASS = material(6.31, 0.0036, 1.3394)
WOOD = material(1.99, 0.0047, 1.0718)
METAL = {"conductor": True}
BOXES = [
    ((16, 16), (24, 240), BRICK),
    ((168, 16), (176, 240), BRICK),
    ((24, 16), (168, 24), BRICK),
    ((24, 232), (80, 240), BRICK),
    ((80, 235), (120, 236), GLASS),
    ((120, 232), (168, 240), BRICK),
    ((24, 128), (70, 134), BRICK),
    ((98, 128), (168, 134), BRICK),
    ((140, 100), (164, 116), METAL),
    ((110, 170), (140, 206), WOOD),
]


def room(kind, backend, device):
    return cudaphy.fdtd_scene(
        CELLS,
        SPACING,
        "cpml",
        boxes=BOXES,
        sources=[(ANTENNA, "ez", kind)],
        probes=[(cell, "ez") for cell in PROBES.values()],
        courant=0.99,
        backend=backend,
        device=device,
    )


def carrier(steps, time_step):
    """A carrier that is on for a while, float32."""
    t = (np.arange(steps) + 0.5) * time_step
    rise, end = RISE / CARRIER, ON * steps * time_step
    ramp = np.clip(np.minimum(t, end - t) / rise, 0, 1)
    shape = np.sin(np.pi / 2 * ramp) ** 2
    return (shape * np.sin(2 * np.pi * CARRIER * t)).astype(np.float32)


class flowgraph(gr.top_block):
    """Excitation, channel, and sinks for the probes and the planes."""

    def __init__(self, scene, excitation, plane_every, arguments, backend):
        gr.top_block.__init__(self, "wave in a room", catch_exceptions=True)
        self.channel = cudaphy.fdtd_channel(
            scene,
            plane=("ez", "z", 0),
            plane_every=plane_every,
            backend=backend,
            device=arguments.device,
        )
        source = blocks.vector_source_f(excitation.tolist(), False)
        self.connect(source, self.channel)
        self._probes = [blocks.vector_sink_f() for _ in PROBES]
        for port, sink in enumerate(self._probes):
            self.connect((self.channel, port), sink)
        self._planes = blocks.vector_sink_f(CELLS[0] * CELLS[1])
        self.connect((self.channel, len(PROBES)), self._planes)

    def frames(self):
        """What the progress bar counts: cells stepped."""
        return self.channel.steps() * CELLS[0] * CELLS[1]

    def probes(self):
        return np.array([sink.data() for sink in self._probes], np.float32)

    def planes(self):
        return np.array(self._planes.data(), np.float32).reshape(-1, *CELLS)


def simulated(steps, frames, arguments, backend):
    """The excitation, the probes, the planes, and time steps between two planes."""
    scene = room(arguments.source, backend, arguments.device)
    excitation = carrier(steps, scene.time_step)
    every = max(steps // frames, 1)
    top = flowgraph(scene, excitation, every, arguments, backend)
    cells = steps * CELLS[0] * CELLS[1]
    with tqdm(
        total=cells,
        unit="cells",
        unit_scale=True,
        desc=backend,
        disable=None,
        leave=False,
    ) as bar:
        seconds = link_tools.run(top, top, cells, bar)
    stepping = top.channel.stats()["compute_seconds"]
    rates = [f"{1e-6 * cells / max(t, 1e-9):.1f}" for t in (stepping, seconds)]
    print(
        f"{backend}: {steps} time steps of {1e12 * scene.time_step:.1f} ps, "
        f"{CELLS[0]} x {CELLS[1]} cells: {rates[0]} Mcells/s, {rates[1]} with the flowgraph"
    )
    return scene, excitation, top.probes(), top.planes(), every


def check(scene, excitation, probes):
    """Prints what must hold, and whether it does."""
    expected = scene.step(excitation).astype(np.float32).T
    good = link_tools.check(
        np.array_equal(probes, expected), "the block's probes are those of cudaphy.fdtd"
    )
    dt = scene.time_step
    distances = [
        SPACING * np.hypot(*np.subtract(cell, ANTENNA)) for cell in PROBES.values()
    ]
    early, first = 0.0, []
    for distance, seen in zip(distances, np.abs(probes)):
        early = max(early, seen[: int(distance / C / dt)].max() / seen.max())
        first.append(np.argmax(seen > 0.3 * seen.max()) * dt)
    good &= link_tools.check(
        early < 1e-3, f"nothing comes before light could: {early:.1e} of the peak"
    )
    # The antenna itself needs its time to rise.
    own = np.argmax(np.abs(excitation) > 0.3) * dt
    delay, expected = first[0] - own, distances[0] / C
    good &= link_tools.check(
        abs(delay - expected) < 1 / CARRIER,
        f"in free sight the wave takes {1e9 * delay:.1f} ns, light {1e9 * expected:.1f}",
    )
    tail = probes[:, -probes.shape[1] // 20 :]
    left = max(np.abs(tail).max(axis=1) / np.abs(probes).max(axis=1))
    good &= link_tools.check(
        left < 0.3, f"the waves die away: {left:.3f} of the peak is left"
    )
    return good


def check_alike(backends, results):
    """Whether two backends gave the same probes."""
    one, other = (probes for _, _, probes, _, _ in results)
    worst = np.abs(one - other).max() / np.abs(one).max()
    limit = 1e-3 if "reference" in backends else 0
    return link_tools.check(
        worst <= limit,
        f"{backends[0]} and {backends[1]} give the same probes: {worst:.1e} of the peak apart",
    )


def animate(planes, arguments):
    """Writes the planes as an animated GIF: the field in colours, walls and furniture in grey."""
    from matplotlib import colormaps
    from PIL import Image

    # Levels 0 to 79 for air, 80 to 159 the same darker within walls, 160 for metal.
    colours = 255 * colormaps["RdBu_r"](np.linspace(0, 1, 80))[:, :3]
    colours = np.concatenate([colours, 0.55 * colours, [[50, 50, 50]]])
    palette = colours.astype(np.uint8).ravel().tolist()
    largest = np.percentile(np.abs(planes), 99)
    solid = solid_cells()
    pictures = []
    for plane in planes:
        levels = np.clip(40 * (1 + plane / largest), 0, 79) + 80 * (solid > 0)
        levels = np.where(solid == 2, 160, levels).astype(np.uint8)
        picture = Image.fromarray(np.kron(levels, np.ones((2, 2), np.uint8)), "P")
        picture.putpalette(palette)
        pictures.append(picture)
    arguments.output.mkdir(parents=True, exist_ok=True)
    path = arguments.output / "wave_in_a_room.gif"
    options = {"append_images": pictures[1:], "duration": 60, "loop": 0}
    write_whole(path, lambda beside: pictures[0].save(beside, save_all=True, **options))
    print(f"\nanimation: {path}")


def solid_cells():
    """0 air, 1 something, 2 metal."""
    solid = np.zeros(CELLS, int)
    for low, high, kind in BOXES:
        solid[low[0] : high[0], low[1] : high[1]] = 2 if kind == METAL else 1
    return solid


def draw(scene, probes, planes, every, arguments):
    pyplot = link_tools.styled_pyplot()
    figure, axes = pyplot.subplots(2, 2, figsize=(9, 6.5))
    largest = np.percentile(np.abs(planes), 99)
    size = [0, CELLS[1] * SPACING, CELLS[0] * SPACING, 0]
    solid = np.ma.masked_equal(solid_cells(), 0)
    for axis, part in zip(axes.ravel()[:3], (0.04, 0.1, 0.48)):
        number = int(part * len(planes))
        axis.imshow(
            planes[number], cmap="RdBu_r", vmin=-largest, vmax=largest, extent=size
        )
        axis.imshow(solid, cmap="Greys", vmin=-1, vmax=3, alpha=0.6, extent=size)
        time = (number + 1) * every * scene.time_step
        axis.set(title=f"{1e9 * time:.1f} ns", xlabel="m", ylabel="m")
        axis.grid(False)
    t = 1e9 * (np.arange(probes.shape[1]) + 1) * scene.time_step
    colors = link_tools.BLUE, link_tools.ORANGE, link_tools.GREEN, link_tools.RED
    period = max(int(round(1 / CARRIER / scene.time_step)), 1)
    for (name, cell), seen, color in zip(PROBES.items(), probes, colors):
        power = np.convolve(seen.astype(np.float64) ** 2, np.ones(period) / period)
        level = 10 * np.log10(np.maximum(power[: len(t)], 1e-12 * np.max(probes**2)))
        axes[1, 1].plot(
            t, level - 20 * np.log10(np.abs(probes).max()), color=color, label=name
        )
        for axis in axes.ravel()[:3]:
            axis.plot(
                (cell[1] + 0.5) * SPACING, (cell[0] + 0.5) * SPACING, "o", color=color
            )
    axes[1, 1].set(xlabel="time (ns)", ylabel="power (dB)", ylim=(-60, 3))
    axes[1, 1].legend()
    figure.tight_layout()
    link_tools.save(figure, arguments, "wave_in_a_room.png")


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--steps", type=link_tools.count, help=f"time steps, at least {LEAST_STEPS}"
    )
    parser.add_argument(
        "--source",
        choices=("soft", "hard", "current"),
        default="soft",
        help="adds to the field (default), is the field, or is a current",
    )
    arguments = parser.parse_args()
    backends = link_tools.chosen_backends(arguments)
    steps = arguments.steps or (QUICK_STEPS if arguments.quick else STEPS)
    if steps < LEAST_STEPS:
        parser.error(f"{steps} time steps, at least {LEAST_STEPS} are needed")
    frames = QUICK_FRAMES if arguments.quick else FRAMES
    results = [simulated(steps, frames, arguments, backend) for backend in backends]
    scene, excitation, probes, planes, every = results[0]
    good = check(scene, excitation, probes)
    if arguments.compare:
        good &= check_alike(backends, results)
    animate(planes, arguments)
    draw(scene, probes, planes, every, arguments)
    return good


if __name__ == "__main__":
    link_tools.main(main)
