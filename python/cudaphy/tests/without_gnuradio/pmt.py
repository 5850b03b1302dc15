# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands for GNU Radio's pmt, which is absent."""

from gnuradio import absent


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return absent
