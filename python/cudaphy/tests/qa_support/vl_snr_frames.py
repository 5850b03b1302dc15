# SPDX-License-Identifier: GPL-3.0-or-later
"""VL-SNR frames of DVB-S2X as GNU Radio's transmitter sends them."""

import numpy as np
from gnuradio import blocks, cudaphy, dtv, gr

# By the number of the VL-SNR header: gr-dtv's frame size, rate and modulation, and the Es/N0 in dB at which the frames
# are quasi error-free in white noise (EN 302 307-2, section 6).
MODES = {
    0: ("NORMAL", "C2_9_VLSNR", "QPSK", -2.85),
    1: ("MEDIUM", "C1_5_MEDIUM", "BPSK", -6.85),
    2: ("MEDIUM", "C11_45_MEDIUM", "BPSK", -5.5),
    3: ("MEDIUM", "C1_3_MEDIUM", "BPSK", -4.0),
    4: ("SHORT", "C1_5_VLSNR_SF2", "BPSK_SF2", -9.9),
    5: ("SHORT", "C11_45_VLSNR_SF2", "BPSK_SF2", -8.3),
    9: ("SHORT", "C1_5_VLSNR", "BPSK", -6.1),
    10: ("SHORT", "C4_15_VLSNR", "BPSK", -4.9),
    11: ("SHORT", "C1_3_VLSNR", "BPSK", -3.72),
}
FIRST = 256  # dvb_mode.pls of header 0


def threshold(number):
    return MODES[number][3]


def mode_of(number):
    return cudaphy.dvb_mode.of(FIRST + number)


def _transmitted(number, items, head, count, gold_code):
    frame, rate, modulation, _ = MODES[number]
    how = (
        getattr(dtv, "FECFRAME_" + frame),
        getattr(dtv, rate),
        getattr(dtv, "MOD_" + modulation),
    )
    fec = (dtv.STANDARD_DVBS2, *how[:2])
    top, sink = gr.top_block(), blocks.vector_sink_c()
    top.connect(
        blocks.vector_source_b(items.ravel().tolist()),
        *head(fec),
        dtv.dvb_bch_bb(*fec),
        dtv.dvb_ldpc_bb(*fec, dtv.MOD_OTHER),
        dtv.dvbs2_interleaver_bb(*how),
        dtv.dvbs2_modulator_bc(*how, dtv.INTERPOLATION_OFF),
        dtv.dvbs2_physical_cc(*how, dtv.PILOTS_ON, gold_code),
        blocks.head(gr.sizeof_gr_complex, 2 * count * mode_of(number).length),
        sink,
    )
    top.run()
    return np.array(sink.data(), "c8")[::2]  # zeros stand between


def _baseband(fec):
    header = dtv.dvb_bbheader_bb(
        *fec, dtv.RO_0_20, dtv.INPUTMODE_NORMAL, dtv.INBAND_OFF, 168, 4000000
    )
    return header, dtv.dvb_bbscrambler_bb(*fec)


def baseband_frames(number, stream):
    """BBFRAMEs (frames, k) that carry transport packets (packets, 188), scrambled."""
    frame, rate, _, _ = MODES[number]
    fec = (
        dtv.STANDARD_DVBS2,
        getattr(dtv, "FECFRAME_" + frame),
        getattr(dtv, rate),
    )
    top, sink = gr.top_block(), blocks.vector_sink_b()
    top.connect(blocks.vector_source_b(stream.ravel().tolist()), *_baseband(fec), sink)
    top.run()
    k = cudaphy.bch_code.dvbs2x(mode_of(number).frame, mode_of(number).rate).k
    bits = np.array(sink.data(), np.uint8)
    return bits[: len(bits) // k * k].reshape(-1, k)


def random_frames(number, count, seed=1, gold_code=0):
    """BBFRAMEs (count, k) of random bits, still scrambled, and the symbols of their frames."""
    k = cudaphy.bch_code.dvbs2x(mode_of(number).frame, mode_of(number).rate).k
    bits = np.random.default_rng(seed).integers(0, 2, (count, k), np.uint8)
    # The framer holds back a frame until another one has begun.
    padded = np.concatenate([bits, bits[:1]])
    return bits, _transmitted(number, padded, lambda fec: (), count, gold_code)


def stream_frames(number, stream, count, gold_code=0):
    """Symbols of `count` frames that carry transport packets (packets, 188)."""
    return _transmitted(number, stream, _baseband, count, gold_code)
