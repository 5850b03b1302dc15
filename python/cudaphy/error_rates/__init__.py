# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated error rates of links: bits, codes, channels, plots and files of results."""
