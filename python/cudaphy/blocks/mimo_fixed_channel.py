# SPDX-License-Identifier: GPL-3.0-or-later
"""A channel between antennas that does not change, for samples."""

import numpy as np
from gnuradio import blocks, filter, gr

from ..impulse_responses import impulse_responses


class mimo_fixed_channel(gr.hier_block2):
    """A channel of given impulse responses between antennas, such as fdtd.impulse_response() computes.

    In: for each transmit antenna a stream of samples. Out: for each receive antenna one: the sum over the transmit
    antennas of the samples filtered by impulse_response[receive, transmit]. Before the first
    sample there is silence. For noise and carrier offset use GNU Radio's Channel Model, one at each receive antenna.

    Args:
        impulse_response: complex, (receive, transmit, taps) with 1 to 16 antennas and 1 to 65536 taps; or the
            name of a .npy file with such an array
        receive_antennas, transmit_antennas: if given, the numbers of antennas that it must have

    Raises:
        ValueError: the shape is another, a tap is not finite, or the file is not one of numpy's. OSError: the file
            can't be read.
    """

    def __init__(self, impulse_response, receive_antennas=None, transmit_antennas=None):
        h = impulse_responses(impulse_response)
        for given, has, name in (
            (receive_antennas, h.shape[0], "receive"),
            (transmit_antennas, h.shape[1], "transmit"),
        ):
            if given not in (None, has):
                raise ValueError(
                    f"the impulse response is of {has} {name} antennas, not of {given}"
                )
        receive, transmit = h.shape[:2]
        gr.hier_block2.__init__(
            self,
            "mimo_fixed_channel",
            gr.io_signature(transmit, transmit, gr.sizeof_gr_complex),
            gr.io_signature(receive, receive, gr.sizeof_gr_complex),
        )
        self._shape = h.shape
        self._filters = [[filter.fir_filter_ccc(1, taps) for taps in row] for row in h]
        for r, row in enumerate(self._filters):
            total = blocks.add_cc()
            for t, one in enumerate(row):
                self.connect((self, t), one, (total, t))
            self.connect(total, (self, r))

    def set_impulse_response(self, impulse_response):
        """Sets another response, an array or a file's name, with as many antennas and at
        most as many taps."""
        h = impulse_responses(impulse_response)
        if h.shape[:2] != self._shape[:2] or h.shape[2] > self._shape[2]:
            raise ValueError(
                f"the impulse response has shape {h.shape}, must have {self._shape} or fewer taps"
            )
        # A filter with another number of taps would shift its stream.
        h = np.pad(h, ((0, 0), (0, 0), (0, self._shape[2] - h.shape[2])))
        for row, taps in zip(self._filters, h):
            for one, own in zip(row, taps):
                one.set_taps(own)
