# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of error-rate curves, with confidence, references, theory and the Shannon limit."""

from pathlib import Path

import numpy as np

from .link import constellation_of
from .theory import shannon_limit_db, uncoded_bit_error_rate
from ..whole_files import write_whole

COLORS = ("#1f6fb4", "#e07b00", "#2a9d5c", "#c43c39", "#7a5cb0", "#8c6d31", "#d16ba5")
MARKERS = "os^vDP*"
GREY = "#8a8f98"
STYLE = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e6ea",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "figure.constrained_layout.use": True,
}


def _rate_of(point, constellation):
    """The code rate, from the difference of Eb/N0 and Es/N0."""
    bits = constellation_of(constellation).bits
    return 10 ** ((point.es_n0_db - point.eb_n0_db) / 10) / bits


def curve_labels(curves):
    """For each curve the parts of its identity in which the curves differ, and its code."""
    names = list(curves[0].identity) if curves else []
    decoders = [
        dict(part.partition("=")[::2] for part in c.identity["decoder"].split())
        for c in curves
    ]
    settings = [
        {**{n: c.identity[n] for n in names if n != "decoder"}, **decoder}
        for c, decoder in zip(curves, decoders)
    ]
    keys = dict.fromkeys(key for one in settings for key in one)
    differing = [key for key in keys if len({one.get(key) for one in settings}) > 1]
    plain = ("code", "constellation", "demapper", "arithmetic", "schedule", "algorithm")
    labels = []
    for one in settings:
        parts = [one["code"]]
        for key in differing:
            if key != "code" and key in one:
                parts.append(one[key] if key in plain else f"{key} {one[key]}")
        labels.append(", ".join(part.replace("_", " ") for part in parts))
    return labels


def _draw_curve(axis, points, what, color, marker, label):
    """Draws a curve with its confidence. A point without errors is an open bound."""
    rate, interval = f"{what}_error_rate", f"{what}_error_interval"
    seen = [p for p in points if getattr(p, rate) > 0]
    if seen:
        x = [p.eb_n0_db for p in seen]
        y = np.array([getattr(p, rate) for p in seen])
        low, high = np.array([getattr(p, interval) for p in seen]).T
        axis.errorbar(
            x,
            y,
            yerr=(np.maximum(y - low, 0), np.maximum(high - y, 0)),
            color=color,
            marker=marker,
            elinewidth=1,
            capsize=2.5,
            label=label,
        )
    none = [p for p in points if p.frames and not getattr(p, rate)]
    if none:
        axis.plot(
            [p.eb_n0_db for p in none],
            [getattr(p, interval)[1] for p in none],
            "v",
            color=color,
            markerfacecolor="none",
            label=None if seen else label,
        )


def _draw_references(axis, references):
    lines = [":", "--", "-.", (0, (1, 3))]
    for index, one in enumerate(references):
        exact = [point for point in one.points if not point[2]]
        bounds = [point for point in one.points if point[2]]
        source = one.source.partition(",")[0]
        label = f"{one.decoder} ({source})" if one.decoder else source
        if exact:
            x, y, _ = zip(*exact)
            axis.plot(
                x, y, linestyle=lines[index % 4], color="black", marker="x", label=label
            )
        if bounds:
            x, y, _ = zip(*bounds)
            axis.plot(x, y, "v", color="black", markerfacecolor="none", label=label)


def draw_error_rates(curves, path, references=(), title=None):
    """Draws frame and bit error rates over Eb/N0 into a picture file.

    curves: error_rate_files.curve objects, with 95 % confidence; references: error_rate_files.reference
    objects, dotted, of frame error rates. Uncoded theory is drawn where its constellation has a closed
    form, the Shannon limit of each rate and constellation as a vertical line.
    path: its suffix names the format, PNG if it has none. The file is a whole picture, or unchanged.
    Raises ValueError without curves and references, OSError.
    """
    import matplotlib

    if not any(curve.points for curve in curves) and not references:
        raise ValueError("there is nothing to draw")
    # A figure of its own touches neither a display nor pyplot's state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    curves = [curve for curve in curves if curve.points]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11, 6.2))
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, 2)
        for axis, what in zip(axes, ("frame", "bit")):
            for index, (curve, label) in enumerate(zip(curves, curve_labels(curves))):
                color = COLORS[index % len(COLORS)]
                marker = MARKERS[index % len(MARKERS)]
                _draw_curve(axis, curve.sorted_points(), what, color, marker, label)
        _draw_references(axes[0], references)
        _finish(figure, axes, curves, references, title)
        kind = Path(path).suffix[1:] or "png"
        write_whole(path, lambda name: figure.savefig(name, dpi=150, format=kind))


def _finish(figure, axes, curves, references, title):
    x = [p.eb_n0_db for curve in curves for p in curve.sorted_points()]
    x += [point[0] for one in references for point in one.points]
    margin = 0.05 * (max(x) - min(x)) or 0.5
    limits = {
        (c.identity["constellation"], round(_rate_of(p, c.identity["constellation"]), 6))
        for c in curves
        for p in c.sorted_points()[:1]
    }
    limits = [
        (
            f"Shannon limit, {name.replace('_', ' ')}, rate {rate:.3g}",
            shannon_limit_db(rate, name),
        )
        for name, rate in sorted(limits)
        if rate < 1 - 1e-6
    ]
    left = min([min(x) - margin] + [at - margin for _, at in limits if at > min(x) - 1.5])
    right = max(x) + margin
    at = np.linspace(left, right, 100)
    for name in sorted({c.identity["constellation"] for c in curves}):
        theory = uncoded_bit_error_rate(name, at)
        if theory is not None:
            axes[1].plot(
                at,
                theory,
                "--",
                color=GREY,
                linewidth=1.2,
                label=f"uncoded {name}, theory",
            )
    for axis, text in zip(axes, ("Wrong frames", "Wrong bits")):
        for (label, limit), style in zip(limits, ("-", "--", ":", "-.") * len(limits)):
            if left <= limit <= right:
                axis.axvline(limit, color=GREY, linestyle=style, linewidth=1, label=label)
        axis.set(title=text, xlabel="Eb/N0 (dB)", yscale="log", xlim=(left, right))
        axis.set_ylabel("frame error rate" if axis is axes[0] else "bit error rate")
        axis.set_ylim(top=1.5)
        axis.grid(True, which="minor", linewidth=0.3)
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), fontsize=8)
    if title:
        figure.suptitle(title, fontsize=11)
