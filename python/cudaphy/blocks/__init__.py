# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks that are written in Python. gnuradio.cudaphy exports most of them by name."""
