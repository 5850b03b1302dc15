# SPDX-License-Identifier: GPL-3.0-or-later
"""Tags rx_time as radios set them."""

import pmt
from gnuradio import gr

RATE = 1e6


def radio_time(samples, rate=RATE, start=(1_700_000_000, 0.25)):
    """The tuple of an rx_time tag `samples` samples after the start."""
    whole, part = divmod(start[1] + samples / rate, 1)
    return pmt.make_tuple(
        pmt.from_uint64(start[0] + int(whole)), pmt.from_double(float(part))
    )


def time_tag(item, samples, rate=RATE):
    made = gr.tag_t()
    made.offset, made.key, made.value = (
        item,
        pmt.intern("rx_time"),
        radio_time(samples, rate),
    )
    return made
