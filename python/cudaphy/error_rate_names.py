# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of codes as text, for command lines and files."""

import itertools

from .error_rate_link import code_from_text

_DVBS2 = "1/4 1/3 2/5 1/2 3/5 2/3 3/4 4/5 5/6 8/9".split()
_LIFTING = sorted(
    a << j for a in (2, 3, 5, 7, 9, 11, 13, 15) for j in range(8) if a << j <= 384
)
# A family's codes: every combination of a line's values. A line stands for its largest 5G codes.
FAMILIES = {
    "wifi": [{"n": (648, 1296, 1944), "rate": ("1/2", "2/3", "3/4", "5/6")}],
    "dvbs2": [
        {"frame": ("normal",), "rate": (*_DVBS2, "9/10")},
        {"frame": ("short",), "rate": tuple(_DVBS2)},
    ],
    "nr5g": [
        {"base_graph": (1,), "lifting_size": tuple(_LIFTING), "rows": (46,)},
        {"base_graph": (2,), "lifting_size": tuple(_LIFTING), "rows": (42,)},
    ],
}
NOTES = {"nr5g": "rows=4 to 46 (base graph 1) or 42 (2); fillers=0 or more"}


def canonical(text):
    """A code's name such that two that mean the same code are equal."""
    if text.partition(":")[0] in ("alist", "qc"):
        return text
    family, *words = text.split() or [""]
    return " ".join([family, *sorted(words)])


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
            text = " ".join([family, *(f"{n}={v}" for n, v in zip(grid, values))])
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
                    f" {n}={'|'.join(map(str, v))}" for n, v in grid.items()
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
