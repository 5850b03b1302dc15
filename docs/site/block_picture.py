# SPDX-License-Identifier: GPL-3.0-or-later
"""A block as GNU Radio Companion draws it, as an SVG. Sizes are those of gnuradio.grc.gui, whose own
code needs a display."""

import numbers
from xml.sax.saxutils import escape

from gnuradio.grc.core import Constants

BODY, BORDER = "#F1ECFF", "#616161"
GRID, PADDING, GAP = 8, 7, 3  # of a block; between its lines
PORT_STEP, PORT_EDGE, PORT_HEIGHT = 32, 8, 18
TITLE_SIZE, TEXT_SIZE = 10.7, 10  # pixels: 8 and 7.5 points
LINE = 14
MARGIN = 4
FONT = "DejaVu Sans, Verdana, sans-serif"
NARROW, WIDE = "fijlrtI1.,:;|!'()[]/ -", "mwMWGOQ◆%@"
MOST = 27  # characters of a label and a value together


def width_of(text, size, bold=False):
    """About the width of a text in DejaVu Sans."""
    units = sum(0.38 if c in NARROW else 0.9 if c in WIDE else 0.62 for c in text)
    return units * size * (1.1 if bold else 1)


def on_grid(size):
    return -(-size // GRID) * GRID


def colors():
    found = {key: color for _, key, _, color in Constants.CORE_TYPES}
    found |= {key: color for key, (_, color) in Constants.ALIAS_TYPES.items()}
    return found


def shaded(color, less):
    """The color, darker by `less` of 255."""
    parts = [max(int(color[i : i + 2], 16) - less, 0) for i in (1, 3, 5)]
    return "#" + "".join(f"{part:02x}" for part in parts)


def port_color(port):
    table = colors()
    if port.domain == "message":
        return table["message"]
    color = table.get(port.dtype, table[""])
    return shaded(color, (0, 0, 30, 50, 70)[min(4, port.vlen)])


def number_text(value):
    if isinstance(value, numbers.Real) and value != int(value):
        return f"{value:g}"
    if isinstance(value, numbers.Integral) or isinstance(value, numbers.Real):
        for factor, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
            if value and value % factor == 0:
                return f"{int(value // factor)}{letter}"
        return str(int(value))
    return str(value)


def shown(param):
    """A parameter's value as the block shows it."""
    typed = param.get_value()
    value = param.get_evaluated()
    if typed in param.options:
        return param.options[typed]
    if isinstance(value, bool) or not isinstance(value, numbers.Complex):
        vector = isinstance(value, Constants.VECTOR_TYPES) and len(value) <= 8
        text = ", ".join(map(str, value)) if vector else str(typed)
    else:
        text = number_text(value)
    text = text.strip("\"'")
    most = max(MOST - len(param.name), 6)
    return text if len(text) <= most else text[: most - 3] + "..."


def rows_of(block):
    """(label, value) of the parameters that a block shows."""
    shows = [one for one in block.params.values() if one.hide not in ("all", "part")]
    return [(one.name, shown(one)) for one in shows]


def text_at(x, y, size, content, anchor="start"):
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}">'
        f"{content}</text>"
    )


def rectangle(x, y, width, height, fill, stroke):
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
        f'fill="{fill}" stroke="{stroke}"/>'
    )


def draw(block):
    """The SVG of a block of gnuradio.grc.core that has been rewritten."""
    rows = rows_of(block)
    sides = [block.active_sinks, block.active_sources]
    inner = max(
        [width_of(block.label, TITLE_SIZE, bold=True)]
        + [
            width_of(label + ": ", TEXT_SIZE, bold=True) + width_of(value, TEXT_SIZE)
            for label, value in rows
        ]
    )
    text_height = LINE + GAP + len(rows) * (LINE + GAP)
    ports_height = max(
        [2 * PORT_EDGE + len(side) * PORT_STEP - PORT_HEIGHT for side in sides if side]
        or [0]
    )
    width = on_grid(inner + 2 * PADDING)
    height = on_grid(max(text_height + 2 * PADDING, ports_height))
    widths = [
        max([width_of(p.name, TITLE_SIZE) + 2 * PADDING for p in side] or [0])
        for side in sides
    ]
    left = MARGIN + widths[0]
    made = []
    for side, port_width, x in zip(sides, widths, (MARGIN, left + width)):
        y = MARGIN + (height - (len(side) - 1) * PORT_STEP - PORT_HEIGHT) / 2
        for port in side:
            fill = port_color(port)
            border = shaded(fill, 76)
            made.append(rectangle(x, y, port_width, PORT_HEIGHT, fill, border))
            middle = x + port_width / 2
            made.append(text_at(middle, y + 13, TITLE_SIZE, escape(port.name), "middle"))
            y += PORT_STEP
    made.append(rectangle(left, MARGIN, width, height, BODY, BORDER))
    y = MARGIN + (height - text_height) / 2 + LINE - 2
    title = f"<tspan font-weight='bold'>{escape(block.label)}</tspan>"
    made.append(text_at(left + width / 2, y, TITLE_SIZE, title, "middle"))
    for label, value in rows:
        y += LINE + GAP
        line = f"<tspan font-weight='bold'>{escape(label)}:</tspan> {escape(value)}"
        made.append(text_at(left + (width - inner) / 2, y, TEXT_SIZE, line))
    whole = left + width + widths[1] + MARGIN, height + 2 * MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole[0]:g}" '
            f'height="{whole[1]:g}" font-family="{FONT}">',
            f"<title>{escape(block.label)}</title>",
            '<rect width="100%" height="100%" fill="white"/>',
            *made,
            "</svg>\n",
        ]
    )
