# SPDX-License-Identifier: GPL-3.0-or-later
"""Every block of the module, small, with a good input, for tests of all blocks and the
fuzzer.

Add new blocks here: qa_bad_samples.py compares the table with GRC's blocks and the
package's names."""

import dataclasses
import functools
import os
import tempfile
from typing import Any, Callable

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, fec, gr

from . import BACKEND, KEY, gaussian, packet_tags, tag
from .dvb import transport_stream
from .dvb_samples import channel, physical_frames
from .dvbs2_frames import framed

CODE = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
OUTER = cudaphy.bch_code(5, 2)
DVB_MODES = [19]  # PLS code of QPSK 1/2, short frames with pilots
PILOTS = np.array([[1, 1], [1, -1]], "c8")
SYMBOLS, GAP = 4, 100  # of OFDM
TONES = [t for t in range(-26, 27) if t]
PERIOD = (SYMBOLS + 1) * 80 + GAP


@dataclasses.dataclass
class Block:
    """make(**options) makes the block. inputs: for each input an array of good items, (n)
    or (n, vlen), of `frames` frames. outputs: (dtype, vlen) of each output, with vlen 0
    for scalar items. tags: those of input 0.
    """

    make: Callable[..., Any]
    inputs: list
    outputs: list
    frames: int
    takes: tuple = ()  # of the options length_tag_key, backend, max_batch, max_latency
    tags: list = dataclasses.field(default_factory=list)
    keys: tuple = (KEY,)  # keys of tags that the block reads
    remembers: int = 0  # frames after a bad frame that may be wrong too
    heads: tuple = (0,)  # items that matter most: headers, preambles
    refuses: bool = False  # an item that is not finite ends the flowgraph with a message


BATCH = ("length_tag_key", "backend", "max_batch", "max_latency")


def _matrices(count, order):
    return (
        gaussian((count, order * order)) + 4 * order * np.eye(order, dtype="c8").ravel()
    )


def _transmitted(frames):
    """Samples of two antennas' OFDM frames."""
    count = SYMBOLS * len(TONES)
    points = np.sign(gaussian((frames * count, 2)).view("f4")).view("c8") / np.sqrt(2)
    source = blocks.vector_source_c(points.ravel().tolist(), False, 2)
    sender = cudaphy.mimo_ofdm_transmitter(2, symbols=SYMBOLS, gap=GAP)
    sinks, top = [blocks.vector_sink_c() for _ in range(2)], gr.top_block()
    top.connect(source, sender)
    for port, sink in enumerate(sinks):
        top.connect((sender, port), sink)
    top.run()
    return [np.array(sink.data(), "c8")[: frames * PERIOD] for sink in sinks]


def _synchronizer(**options):
    word = cudaphy.ofdm_preamble(64, TONES)
    half = np.fft.ifft(np.fft.ifftshift(word))[:32] * 64
    shifts = cudaphy.ofdm_preamble_shifts(2, 16)
    return cudaphy.ofdm_synchronizer(2, 64, 16, SYMBOLS, half.tolist(), shifts, **options)


def _slots(count):
    """Words of zeros in QPSK over two layers that do not mix, pilots in symbols 0 and 5."""
    y = np.full((count, 20, 9, 2), cudaphy.constellation("qpsk").points[0])
    y[:, [0, 5]] = PILOTS[:, None]
    return (y + 0.03 * gaussian(y.shape)).astype("c8").reshape(-1, 2)


def _dvbs2_frames(count):
    """QPSK of unit energy, short frames with pilots."""
    data = np.sign(gaussian((count, 2 * 8100)).real) / np.sqrt(2)
    return framed(data[:, ::2] + 1j * data[:, 1::2], "QPSK", "1/2", "short").ravel()


@functools.cache
def _dvbs2_samples(count):
    """So many frames of a transport stream, at two samples a symbol."""
    symbols = physical_frames(transport_stream(5 * count), "QPSK", "1/2", "short")
    return channel(symbols[: count * len(symbols) // (len(symbols) // 8370)], 2, 0.2, 20)


def _scene():
    return cudaphy.fdtd_scene(
        (40,), 0.01, sources=[((30,), "ez")], probes=[((10,), "ez")], backend=BACKEND
    )


def _room():
    """A folder for recordings, removed when the process ends."""
    if not hasattr(_room, "folder"):
        _room.folder = tempfile.TemporaryDirectory()
    return _room.folder.name


@functools.cache
def _recording():
    path = os.path.join(_room(), "recording")
    source = blocks.vector_source_c(gaussian((3000,)).tolist())
    sink, top = cudaphy.sigmf_sink(path, 1e6), gr.top_block()
    top.connect(source, sink)
    top.run()
    return path


def _block(make, inputs, outputs, **more):
    return lambda: Block(make, *(part() for part in (inputs, outputs)), **more)


def _table():
    """{name: function that makes a Block}."""
    n = 40
    bits = np.random.default_rng(3).integers(0, 2, 50 * n).astype("u1")
    batch = {"frames": n, "takes": BATCH}
    complexes = ("complex64", 0)
    return {
        "array_covariance": _block(
            lambda **o: cudaphy.array_covariance(4, 8, 0.1, **o),
            lambda: [gaussian((8 * n, 4))],
            lambda: [("complex64", 4)],
            frames=n,
            takes=("length_tag_key",),
        ),
        "bb_deframer": _block(
            lambda **o: cudaphy.bb_deframer(80, **o),
            lambda: [np.tile(bits, 2)[: 80 * n]],
            lambda: [("uint8", 0)],
            frames=n,
            takes=("length_tag_key",),
            keys=(KEY, "bch_ok"),
        ),
        "bch_decoder": _block(
            lambda **o: cudaphy.bch_decoder(OUTER, codes={"again": OUTER}, **o)
            if o.get("length_tag_key")
            else cudaphy.bch_decoder(OUTER, **o),
            lambda: [bits[: n * OUTER.n]],
            lambda: [("uint8", 0)],
            keys=(KEY, "bch_code"),
            **batch,
        ),
        "bch_decoder that drops": _block(
            lambda **o: cudaphy.bch_decoder(OUTER, "drop", **o),
            lambda: [bits[: n * OUTER.n]],
            lambda: [("uint8", 0)],
            **batch,
        ),
        "bch_encoder": _block(
            lambda **o: cudaphy.bch_encoder(OUTER, **o),
            lambda: [bits[: n * OUTER.k]],
            lambda: [("uint8", 0)],
            **batch,
        ),
        "dvbs2_frame_sync": _block(
            lambda **o: cudaphy.dvbs2_frame_sync(**o),
            lambda: [_dvbs2_frames(n)],
            lambda: [complexes],
            frames=n,
            takes=("backend",),
            keys=(KEY, "rx_time", "rx_rate", "rx_freq"),
            remembers=10,
            heads=(0, 10, 89, 90 + 16 * 90 + 5),
        ),
        "dvbs2_receiver": _block(
            lambda **o: cudaphy.dvbs2_receiver(2, 0.2, modes=DVB_MODES, **o),
            lambda: [_dvbs2_samples(80)],
            lambda: [("uint8", 0)],
            frames=80,
            takes=("backend",),
            keys=("rx_time", "rx_rate"),
            remembers=30,
        ),
        "fdtd_channel": _block(
            lambda **o: cudaphy.fdtd_channel(_scene(), **o),
            lambda: [gaussian((1000,)).real.astype("f4")],
            lambda: [("float32", 0)],
            frames=1000,
            takes=("backend", "max_batch"),
            refuses=True,
        ),
        "fdtd_channel with a plane": _block(
            lambda **o: cudaphy.fdtd_channel(_scene(), [3, 5], 7, **o),
            lambda: [gaussian((1000,)).real.astype("f4")],
            lambda: [("float32", 0), ("float32", 2)],
            frames=1000,
            takes=("backend", "max_batch"),
            refuses=True,
        ),
        "frame_error_counter": _block(
            lambda **o: cudaphy.frame_error_counter(50, **o),
            lambda: [bits, bits],
            lambda: [],
            frames=n,
            takes=("length_tag_key",),
            keys=(KEY, "iterations", "ldpc_ok"),
        ),
        "frame_filler": _block(
            lambda **o: cudaphy.frame_filler(2, 10, 100, max_fill=50, **o),
            lambda: [gaussian((10 * n, 2))],
            lambda: [("complex64", 2)],
            frames=n,
            tags=[tag(10 * i, "frame_start", 100 * i) for i in range(n)],
            keys=("frame_start",),
        ),
        "ldpc_decoder": _block(
            lambda **o: cudaphy.ldpc_decoder(CODE, codes={"again": CODE}, **o)
            if o.get("length_tag_key")
            else cudaphy.ldpc_decoder(CODE, **o),
            lambda: [np.full(n * CODE.n, 4, "f4")],
            lambda: [("uint8", 0)],
            keys=(KEY, "ldpc_code"),
            **batch,
        ),
        "ldpc_decoder that drops": _block(
            lambda **o: cudaphy.ldpc_decoder(CODE, on_failure="drop", **o),
            lambda: [np.full(n * CODE.n, 4, "f4")],
            lambda: [("uint8", 0)],
            **batch,
        ),
        "ldpc_decoder_def": _block(
            lambda **o: fec.decoder(cudaphy.ldpc_decoder_def.make(CODE, **o), 4, 1),
            lambda: [np.full(n * CODE.n, -4, "f4")],
            lambda: [("uint8", 0)],
            frames=n,
            takes=("backend",),
        ),
        "ldpc_decoder_pdu": _block(
            lambda **o: cudaphy.ldpc_decoder_pdu(CODE, **o),
            lambda: [],
            lambda: [],
            frames=0,
            takes=("backend", "max_batch"),
        ),
        "ldpc_encoder": _block(
            lambda **o: cudaphy.ldpc_encoder(CODE, **o),
            lambda: [np.tile(bits, 7)[: 40 * CODE.k]],
            lambda: [("uint8", 0)],
            **batch,
        ),
        "ldpc_encoder_def": _block(
            lambda **o: fec.encoder(cudaphy.ldpc_encoder_def.make(CODE, **o), 1, 1),
            lambda: [np.tile(bits, 7)[: 40 * CODE.k]],
            lambda: [("uint8", 0)],
            frames=n,
            takes=("backend",),
        ),
        "ldpc_encoder_pdu": _block(
            lambda **o: cudaphy.ldpc_encoder_pdu(CODE, **o),
            lambda: [],
            lambda: [],
            frames=0,
            takes=("backend", "max_batch"),
        ),
        "matrix_inverse": _block(
            lambda **o: cudaphy.matrix_inverse(3, **o),
            lambda: [_matrices(n, 3)],
            lambda: [("complex64", 9)],
            **batch,
        ),
        "mimo_channel_estimator": _block(
            lambda **o: cudaphy.mimo_channel_estimator(2, 2, 3, PILOTS, **o),
            lambda: [gaussian((n * 6, 2))],
            lambda: [("complex64", 4), ("float32", 0)],
            **batch,
        ),
        "mimo_channel_model": _block(
            lambda: cudaphy.mimo_channel_model(
                2, 2, 4, 3, np.inf, 2, impulse_response=np.ones((2, 2, 2), "c8")
            ),
            lambda: [gaussian((n * 12, 2))],
            lambda: [("complex64", 2)],
            frames=n,
        ),
        "mimo_equalizer": _block(
            lambda **o: cudaphy.mimo_equalizer(2, 2, symbols=2, tones=3, **o),
            lambda: [gaussian((n * 6, 2)), _matrices(n * 3, 2)],
            lambda: [("complex64", 2), ("float32", 2)],
            keys=(KEY, "channel", "noise_var"),
            **batch,
        ),
        "mimo_equalizer told by messages": _block(
            lambda **o: cudaphy.mimo_equalizer(
                2,
                2,
                "mmse_irc",
                symbols=2,
                tones=3,
                channel_from="message",
                covariance_from="message",
                **o,
            ),
            lambda: [gaussian((n * 6, 2))],
            lambda: [("complex64", 2), ("float32", 2)],
            **batch,
        ),
        "mimo_equalizer told by tags": _block(
            lambda **o: cudaphy.mimo_equalizer(
                2, 2, symbols=2, tones=3, channel_from="tag", **o
            ),
            lambda: [gaussian((n * 6, 2))],
            lambda: [("complex64", 2), ("float32", 2)],
            tags=[tag(0, "channel", pmt.init_c32vector(4, [1, 0.1j, 0.2, 1]))],
            keys=(KEY, "channel", "noise_var"),
            **batch,
        ),
        "mimo_fixed_channel": _block(
            lambda: cudaphy.mimo_fixed_channel(gaussian((2, 2, 5))),
            lambda: [gaussian((1000,), seed) for seed in (1, 2)],
            lambda: 2 * [complexes],
            frames=100,
            remembers=2,
        ),
        "mimo_multipath_channel": _block(
            lambda: cudaphy.mimo_multipath_channel(2, 2, 100, 3),
            lambda: [gaussian((1000,), seed) for seed in (1, 2)],
            lambda: 2 * [complexes],
            frames=100,
            remembers=1,
        ),
        "mimo_ofdm_receiver_frontend": _block(
            lambda **o: cudaphy.mimo_ofdm_receiver_frontend(
                2, symbols=SYMBOLS, transmit_antennas=2, **o
            ),
            lambda: _transmitted(n),
            lambda: [("complex64", 2)],
            frames=n,
            keys=(KEY, "rx_time", "rx_rate", "rx_freq"),
            remembers=10,
            heads=(0, 10, 60, 79, 100, 499),
        ),
        "mimo_ofdm_transmitter": _block(
            lambda **o: cudaphy.mimo_ofdm_transmitter(2, symbols=SYMBOLS, **o),
            lambda: [gaussian((n * SYMBOLS * len(TONES), 2))],
            lambda: 2 * [complexes],
            frames=n,
        ),
        "mimo_receiver": _block(
            lambda **o: cudaphy.mimo_receiver(
                2, 2, 9, 20, PILOTS, [0, 5], "qpsk", CODE, put_layers=True, **o
            ),
            lambda: [_slots(n)],
            lambda: [("uint8", 0), ("complex64", 2)],
            **batch,
        ),
        "mvdr_weights": _block(
            lambda **o: cudaphy.mvdr_weights([1, 1j, -1], **o),
            lambda: [
                np.tile(np.diag([1, 2, 3]).astype("c8"), (n, 1))
                + 0.1 * np.ones((3 * n, 3), "c8")
            ],
            lambda: [("complex64", 3)],
            frames=n,
            takes=("length_tag_key",),
        ),
        "nr_ofdm_demodulator": _block(
            lambda: cudaphy.nr_ofdm_demodulator(24, antennas=2),
            lambda: [gaussian((8 * 1920,), seed) for seed in (1, 2)],
            lambda: 2 * [complexes],
            frames=8,
            keys=("slot", "frame", "rx_time", "rx_rate"),
        ),
        "nr_ofdm_modulator": _block(
            lambda: cudaphy.nr_ofdm_modulator(1, ports=2),
            lambda: [gaussian((n * 14,), seed) for seed in (1, 2)],
            lambda: 2 * [complexes],
            frames=n,
            tags=packet_tags(n * [14]),
            keys=(KEY, "slot", "frame"),
        ),
        **{
            f"nr_{link}_transmitter": _block(
                functools.partial(
                    getattr(cudaphy, f"nr_{link}_transmitter"),
                    cudaphy.nr_shared_channel(link, grid_size=6),
                ),
                lambda: [],
                lambda: [complexes],
                frames=0,
                takes=("backend",),
            )
            for link in ("pusch", "pdsch")
        },
        **{
            f"nr_{link}_receiver": _block(
                functools.partial(
                    getattr(cudaphy, f"nr_{link}_receiver"),
                    cudaphy.nr_shared_channel(link, grid_size=1),
                    length_tag_key="",
                ),
                lambda: [gaussian((8 * 168,))],
                lambda: [],
                frames=8,
                takes=("backend",),
                keys=("slot", "frame", "nr_schedule", "rx_time"),
            )
            for link in ("pusch", "pdsch")
        },
        "ofdm_synchronizer": _block(
            _synchronizer,
            lambda: _transmitted(n),
            lambda: 2 * [("complex64", 64)],
            frames=n,
            keys=(KEY, "rx_time", "rx_rate", "rx_freq"),
            remembers=10,
            heads=(0, 10, 60, 79, 100, 499),
        ),
        "packet_loss_counter": _block(
            lambda: cudaphy.packet_loss_counter("complex"),
            lambda: [gaussian((100,))],
            lambda: [],
            frames=100,
            keys=("packet_number",),
        ),
        "packet_numberer": _block(
            lambda **o: cudaphy.packet_numberer("complex", **o),
            lambda: [gaussian((100,))],
            lambda: [complexes],
            frames=100,
        ),
        "packet_resync": _block(
            lambda **o: cudaphy.packet_resync(8, 25, 1e6, **o),
            lambda: [gaussian((1000,))],
            lambda: [complexes],
            frames=40,
            keys=(KEY, "rx_time", "rx_rate", "rx_freq"),
        ),
        "packet_resync of tagged packets": _block(
            lambda **o: cudaphy.packet_resync(8, 0, 1e6, **o),
            lambda: [gaussian((1000,))],
            lambda: [complexes],
            frames=40,
            tags=packet_tags(40 * [25]),
            keys=(KEY, "rx_time", "rx_rate", "rx_freq"),
        ),
        "sigmf_sink": _block(
            lambda: cudaphy.sigmf_sink(tempfile.mktemp(dir=_room()), 1e6),
            lambda: [gaussian((1000,))],
            lambda: [],
            frames=1000,
            keys=(KEY, "rx_time", "rx_rate", "rx_freq"),
        ),
        "sigmf_source": _block(
            lambda: cudaphy.sigmf_source(_recording()),
            lambda: [],
            lambda: [complexes],
            frames=0,
        ),
        "soft_demapper": _block(
            lambda **o: cudaphy.soft_demapper("qam16", vlen=5, **o),
            lambda: [gaussian((n, 5))],
            lambda: [("float32", 0)],
            **batch,
        ),
        "soft_demapper of frames": _block(
            lambda **o: cudaphy.soft_demapper(
                "dvbs2_8psk",
                bit_interleaver="210",
                frame_symbols=5,
                constellation_tag_key="constellation" if o.get("length_tag_key") else "",
                **o,
            ),
            lambda: [gaussian((5 * n,))],
            lambda: [("float32", 0)],
            keys=(KEY, "constellation", "bit_interleaver", "noise_variance"),
            **batch,
        ),
        "soft_demapper with a noise input": _block(
            lambda **o: cudaphy.soft_demapper("qam16", vlen=5, noise_input=True, **o),
            lambda: [gaussian((n, 5)), np.full((n, 5), 0.1, "f4")],
            lambda: [("float32", 0)],
            **batch,
        ),
        "sparse_matvec": _block(
            lambda **o: cudaphy.sparse_matvec([[1, 0, 2], [0, 3, 0]], **o),
            lambda: [gaussian((n, 3))],
            lambda: [("complex64", 2)],
            **batch,
        ),
        "symbol_sync": _block(
            lambda **o: cudaphy.symbol_sync(2, 0.35, **o),
            lambda: [np.repeat(np.sign(gaussian((30720,)).view("f4")).view("c8"), 2)],
            lambda: [complexes],
            frames=60,
            takes=("backend",),
            keys=("rx_time", "rx_rate"),
            remembers=20,
        ),
        "symmetric_inverse": _block(
            lambda **o: cudaphy.symmetric_matrix_inverse(3, **o),
            lambda: [np.tile(np.diag([1, 2, 3]).astype("c8"), (n, 1))],
            lambda: [("complex64", 3)],
            frames=n,
            takes=("length_tag_key", "backend", "max_batch"),
        ),
        "triangular_inverse": _block(
            lambda **o: cudaphy.triangular_matrix_inverse(3, **o),
            lambda: [_matrices(n, 3)],
            lambda: [("complex64", 9)],
            **batch,
        ),
    }


TABLE = _table()


@functools.cache
def entry(name):
    """The Block of that name."""
    return TABLE[name]()
