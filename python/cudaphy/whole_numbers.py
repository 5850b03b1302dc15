# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of whole numbers among a function's or a block's parameters."""


def whole_between(name, value, low, high):
    """The value as an int. Raises ValueError that names it unless it is whole and in low to high."""
    if int(value) != value or not low <= value <= high:
        raise ValueError(f"{name} {value} is not a whole number in {low} to {high}")
    return int(value)
