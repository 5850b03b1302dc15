# SPDX-License-Identifier: GPL-3.0-or-later
"""DVB-S2 frames as gr-dtv's framer sends them."""

import numpy as np
from gnuradio import blocks, dtv, gr

BITS = {"QPSK": 2, "8PSK": 3, "16APSK": 4, "32APSK": 5}


def framed(data, modulation, rate, frame, pilots=True, gold_code=0):
    """The symbols of frames, one after another, with data symbols (frames, symbols)."""
    framer = dtv.dvbs2_physical_cc(
        getattr(dtv, "FECFRAME_" + frame.upper()),
        getattr(dtv, "C" + rate.replace("/", "_")),
        getattr(dtv, "MOD_" + modulation),
        dtv.PILOTS_ON if pilots else dtv.PILOTS_OFF,
        gold_code,
    )
    slots = {"NORMAL": 64800, "SHORT": 16200}[frame.upper()] // BITS[modulation] // 90
    length = 90 * (1 + slots) + (36 * ((slots - 1) // 16) if pilots else 0)
    # The framer needs more than a frame, and puts a zero behind every symbol.
    padded = np.concatenate((data, data[:1])).astype("complex64")
    source = blocks.vector_source_c(padded.ravel().tolist())
    head, sink = blocks.head(8, 2 * length * len(data)), blocks.vector_sink_c()
    top = gr.top_block()
    top.connect(source, framer, head, sink)
    top.run()
    return np.array(sink.data(), "complex64")[::2].reshape(len(data), length)
