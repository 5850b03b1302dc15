# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of codes as text, for command lines and files."""

import itertools
import shlex

from .link import code_from_text

_DVBS2 = "1/4 1/3 2/5 1/2 3/5 2/3 3/4 4/5 5/6 8/9".split()
_S2X_NORMAL = (
    "13/45 9/20 90/180 96/180 11/20 100/180 104/180 26/45 18/30 28/45 23/36 116/180 20/30 124/180 "
    "25/36 128/180 13/18 132/180 22/30 135/180 140/180 7/9 154/180"
).split()
_S2X_SHORT = "11/45 4/15 14/45 7/15 8/15 26/45 32/45".split()
_T2 = "1/2 3/5 2/3 3/4 4/5 5/6".split()
_LIFTING = sorted(
    a << j for a in (2, 3, 5, 7, 9, 11, 13, 15) for j in range(8) if a << j <= 384
)


def _vl_snr(*rates):
    """Rates as S2X names them: "2/9 VL-SNR", "1/5 VL-SNR SF2"."""
    return tuple(rate.replace("+", " VL-SNR ").strip() for rate in rates)


# A family's codes: every combination of a line's values.
FAMILIES = {
    "wifi": [{"n": (648, 1296, 1944), "rate": ("1/2", "2/3", "3/4", "5/6")}],
    "nr5g": [
        {"base_graph": (1,), "lifting_size": tuple(_LIFTING), "rows": (46,)},
        {"base_graph": (2,), "lifting_size": tuple(_LIFTING), "rows": (42,)},
    ],
    "dvbs2": [
        {"frame": ("normal",), "rate": (*_DVBS2, "9/10")},
        {"frame": ("short",), "rate": tuple(_DVBS2)},
    ],
    "dvbs2x": [
        {"frame": ("normal",), "rate": (*_S2X_NORMAL, *_vl_snr("2/9+"))},
        {"frame": ("medium",), "rate": _vl_snr("1/5+", "11/45+", "1/3+")},
        {
            "frame": ("short",),
            "rate": (
                *_S2X_SHORT,
                *_vl_snr("1/5+", "4/15+", "1/3+", "1/5+SF2", "11/45+SF2"),
            ),
        },
    ],
    "dvbt2": [
        {"frame": ("normal",), "rate": tuple(_T2)},
        {"frame": ("short",), "rate": ("1/4", "1/3", "2/5", *_T2)},
    ],
    "ccsds": [
        {"family": ("ar4ja",), "k": (1024, 4096, 16384), "rate": ("1/2", "2/3", "4/5")},
        {"family": ("tc",), "k": (64, 256)},
        {"family": ("c2",), "k": (7154, 7136)},
    ],
    "wimax": [
        {
            "n": tuple(range(576, 2305, 96)),
            "rate": ("1/2", "2/3A", "2/3B", "3/4A", "3/4B", "5/6"),
        }
    ],
    "10gbase-t": [{}],
    "regular": [{"n": (1024,), "column_weight": (3,), "row_weight": (6,)}],
}
NOTES = {
    "nr5g": "rows=4 to 46 (base graph 1) or 42 (2); fillers=0 or more",
    "regular": "other n, column_weight and row_weight",
}


def canonical(text):
    """The normal form of a code's name: names of the same code are equal."""
    if text.partition(":")[0] in ("alist", "qc"):
        return text
    family, *words = shlex.split(text) or [""]
    return " ".join([family, *sorted(words)])


def _word(value):
    """A value as code_from_text() reads it."""
    return f'"{value}"' if " " in str(value) else str(value)


def _has(family):
    """Whether this version of the module knows a family."""
    try:
        next(_codes(family))
    except (ValueError, TypeError):
        return False
    return True


def _codes(family):
    for grid in FAMILIES[family]:
        for values in itertools.product(*grid.values()):
            text = " ".join([family, *(f"{n}={_word(v)}" for n, v in zip(grid, values))])
            yield text, code_from_text(text)


def list_codes(family=""):
    """Lines of text: the families with the values of their arguments, or all codes of one.

    Raises ValueError for an unknown family.
    """
    known = [name for name in FAMILIES if _has(name)]
    if not family:
        for name in known:
            for grid in FAMILIES[name]:
                yield name + "".join(
                    f" {n}={'|'.join(map(_word, v))}" for n, v in grid.items()
                )
            if name in NOTES:
                yield f"    {NOTES[name]}"
        yield "alist:FILE  qc:FILE  uncoded n=1 to 1048576"
        return
    if family not in known:
        raise ValueError(f'code family "{family}" is none of {", ".join(known)}')
    yield f"{'n':>6} {'k':>6} {'rate':>6}  code"
    for text, code in _codes(family):
        yield f"{code.n:6} {code.k:6} {code.rate:6.3f}  {text}"
    if family in NOTES:
        yield NOTES[family]
