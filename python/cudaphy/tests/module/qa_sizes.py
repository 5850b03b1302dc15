#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every size at its largest and beyond, alone and in pairs, gives an error that names it,
or works in moderate memory."""

import itertools
import os
import resource
import signal
import sys
import tempfile
import traceback
import unittest

import numpy as np
import scipy.sparse
from gnuradio import blocks, cudaphy, gr
from qa_support import BACKEND

LIMIT = 8 << 30  # bytes of addresses; at most RESIDENT may be used
RESIDENT = 2 << 30
REFUSALS = (ValueError, MemoryError, TypeError, OverflowError, RuntimeError)
BEYOND = (2**31 - 1, 2**31, 2**62, 2**63 - 1, -(2**31))
WIFI = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
DVB = cudaphy.ldpc_code("dvbs2", frame="normal", rate="1/2")
PUSCH = cudaphy.nr_shared_channel("pusch", grid_size=6)
MOST_FRAMES = 1 << 24


def estimator(receive_antennas, layers, tones, pilot_symbols, max_batch):
    pilots = np.ones((min(pilot_symbols, 1 << 20), layers), "complex64")
    pilots[:layers] = np.eye(layers)
    return cudaphy.mimo_channel_estimator(
        receive_antennas, layers, tones, pilots, backend="cpu", max_batch=max_batch
    )


def receiver(receive_antennas, layers, tones, symbols, times, max_batch):
    return cudaphy.mimo_receiver(
        receive_antennas,
        layers,
        tones,
        symbols,
        cudaphy.orthogonal_pilots(16, layers),
        list(range(16)),
        "qpsk",
        WIFI,
        backend="cpu",
        max_batch=max_batch,
        times=[0.0] * min(times, 1 << 20),
    )


def front_end(antennas, fft_size, cyclic_prefix, symbols):
    half = np.exp(1j * np.arange(max(0, min(fft_size, 1 << 16)) // 2) ** 2)
    return cudaphy.ofdm_synchronizer(
        antennas, fft_size, cyclic_prefix, symbols, half.tolist()
    )


def channel(cells, thickness, max_batch, plane_every):
    simulation = cudaphy.fdtd((cells,), 0.01, "cpml", cpml_thickness=thickness)
    simulation.add_source((cells // 2,), "ez")
    simulation.add_probe((cells // 2,), "ez")
    return cudaphy.fdtd_channel(
        simulation, max_batch=max_batch, plane_every=plane_every, backend="cpu"
    )


def on_cpu(make, *first):
    return lambda **sizes: make(*first, backend="cpu", **sizes)


def matvec(rows, columns, max_batch):
    matrix = scipy.sparse.csr_matrix(([1.0], ([0], [0])), (rows, columns))
    return cudaphy.sparse_matvec(matrix, backend="cpu", max_batch=max_batch)


# The maker, and for each size a usual value and the largest value allowed alone.
CASES = {
    "mimo_equalizer": (
        on_cpu(cudaphy.mimo_equalizer),
        dict(
            receive_antennas=(2, 128),
            layers=(1, 16),
            symbols=(2, 65536),
            tones=(4, 65536),
            max_batch=(0, MOST_FRAMES),
        ),
    ),
    "mimo_channel_estimator": (
        estimator,
        dict(
            receive_antennas=(2, 128),
            layers=(1, 16),
            tones=(4, 65536),
            pilot_symbols=(16, 65536),
            max_batch=(0, MOST_FRAMES),
        ),
    ),
    "mimo_receiver": (
        receiver,
        dict(
            receive_antennas=(2, 128),
            layers=(1, 16),
            tones=(64, 65536),
            symbols=(32, 1024),
            times=(1, 1024),
            max_batch=(0, MOST_FRAMES),
        ),
    ),
    "soft_demapper": (
        on_cpu(cudaphy.soft_demapper, "qam1024"),
        dict(vlen=(1, 65536), max_batch=(0, MOST_FRAMES)),
    ),
    "matrix_inverse": (
        on_cpu(cudaphy.matrix_inverse),
        dict(order=(4, 128), max_batch=(0, MOST_FRAMES)),
    ),
    "triangular_matrix_inverse": (
        on_cpu(cudaphy.triangular_matrix_inverse),
        dict(order=(4, 8192), max_batch=(0, MOST_FRAMES)),
    ),
    "symmetric_matrix_inverse": (
        on_cpu(cudaphy.symmetric_matrix_inverse),
        dict(order=(4, 32768), max_batch=(0, 65536)),
    ),
    "sparse_matvec": (
        matvec,
        dict(rows=(3, 1 << 26), columns=(3, 1 << 26), max_batch=(0, MOST_FRAMES)),
    ),
    "ldpc_decoder": (
        on_cpu(cudaphy.ldpc_decoder, DVB),
        dict(max_batch=(0, MOST_FRAMES)),
    ),
    "ldpc_encoder": (
        on_cpu(cudaphy.ldpc_encoder, DVB),
        dict(max_batch=(0, MOST_FRAMES)),
    ),
    "ldpc_decoder_pdu": (
        on_cpu(cudaphy.ldpc_decoder_pdu, DVB),
        dict(max_batch=(0, MOST_FRAMES)),
    ),
    "ldpc_encoder_pdu": (
        on_cpu(cudaphy.ldpc_encoder_pdu, DVB),
        dict(max_batch=(0, MOST_FRAMES)),
    ),
    "ldpc_decoder_def": (
        on_cpu(cudaphy.ldpc_decoder_def.make, DVB),
        dict(batch=(1, 65536)),
    ),
    "ldpc_encoder_def": (
        on_cpu(cudaphy.ldpc_encoder_def.make, DVB),
        dict(batch=(1, 65536)),
    ),
    "packet_resync": (
        cudaphy.packet_resync,
        dict(item_bytes=(8, 1 << 20), packet_length=(10, 1 << 28)),
    ),
    "nr_ofdm_demodulator": (
        cudaphy.nr_ofdm_demodulator,
        dict(
            subcarriers=(24, 3300),
            antennas=(1, 64),
            slot=(0, 19),
            fft_size=(4096, 65536),
            middle=(0, 2048),
            tolerance=(0, 1 << 20),
        ),
    ),
    "nr_ofdm_modulator": (
        cudaphy.nr_ofdm_modulator,
        dict(
            subcarriers=(24, 3300),
            ports=(1, 64),
            slot=(0, 19),
            fft_size=(4096, 65536),
            middle=(0, 2048),
            window=(0, 288),
        ),
    ),
    "nr_pusch_receiver": (
        on_cpu(cudaphy.nr_pusch_receiver, PUSCH),
        dict(
            antennas=(1, 128),
            slot=(0, 19),
            max_iterations=(1, 1000),
            processes=(1, 32),
            harq_bytes=(0, 1 << 40),
        ),
    ),
    "nr_pusch_transmitter": (
        on_cpu(cudaphy.nr_pusch_transmitter, PUSCH),
        dict(user=(0, 1 << 20), slot=(0, 19)),
    ),
    "ofdm_synchronizer": (
        front_end,
        dict(
            antennas=(1, 16),
            fft_size=(64, 65536),
            cyclic_prefix=(16, 32767),
            symbols=(4, 1024),
        ),
    ),
    "fdtd_channel": (
        channel,
        dict(
            cells=(50, 1 << 20),
            thickness=(5, 1 << 19),
            max_batch=(0, 65536),
            plane_every=(1, 1 << 30),
        ),
    ),
    "nr5g.coded_lengths": (
        cudaphy.nr5g.coded_lengths,
        dict(coded=(100, 2**30), blocks=(1, 1 << 15)),
    ),
    "nr5g.segmentation": (
        cudaphy.nr5g.segmentation,
        dict(payload=(100, 1 << 26), base_graph=(1, 2)),
    ),
    "block_pilots": (
        cudaphy.block_pilots,
        dict(symbols=(16, 65536), layers=(1, 16), tones=(4, 65536)),
    ),
    "comb_pilots": (
        cudaphy.comb_pilots,
        dict(symbols=(1, 65536), layers=(1, 16), tones=(16, 65536)),
    ),
    "orthogonal_pilots": (
        cudaphy.orthogonal_pilots,
        dict(pilot_symbols=(16, 65536), layers=(1, 16)),
    ),
}


def run(block):
    """Runs a few items through a block. The items need not come out."""
    top = gr.top_block()
    inputs, outputs = block.input_signature(), block.output_signature()
    for port in range(inputs.min_streams()):
        size = inputs.sizeof_stream_item(port)
        top.connect(blocks.null_source(size), blocks.head(size, 3), (block, port))
    for port in range(outputs.min_streams()):
        top.connect((block, port), blocks.null_sink(outputs.sizeof_stream_item(port)))
    top.start()
    top.stop()
    top.wait()


def tried(make, sizes):
    """In the child: makes the object, runs it, and reports the result."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    signal.alarm(60)
    try:
        made = make(**sizes)
        if hasattr(made, "input_signature"):
            run(made)
        for name in ("get_input_size", "get_output_size"):
            if getattr(made, name, lambda: 1)() <= 0:
                return f"{name}() is not above 0"
    except REFUSALS:
        return ""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return "" if used < RESIDENT else f"it took {used >> 20} MiB"


def in_child(make, sizes):
    """The problem, or nothing. A fork spares a second of imports."""
    with tempfile.TemporaryFile("w+") as output:
        child = os.fork()
        if child == 0:
            try:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                found = tried(make, sizes)
                sys.stdout.write(found)
                sys.stdout.flush()
                os._exit(1 if found else 0)
            except BaseException:
                traceback.print_exc()
                os._exit(2)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        text = output.read()[-2000:]
    code = os.waitstatus_to_exitcode(status)
    return "" if code == 0 else f"ended with {code}: {text}"


class qa_sizes(unittest.TestCase):
    def check(self, name, changed):
        make, sizes = CASES[name]
        usual = {key: values[0] for key, values in sizes.items()}
        with self.subTest(name, **changed):
            self.assertEqual(in_child(make, {**usual, **changed}), "")

    def test_usual_sizes_work(self):
        for name, (make, sizes) in CASES.items():
            with self.subTest(name):
                make(**{key: values[0] for key, values in sizes.items()})

    def test_the_largest_sizes_together(self):
        for name, (_, sizes) in CASES.items():
            most = {key: values[1] for key, values in sizes.items()}
            self.check(name, most)
            for count in (1, 2):
                for keys in itertools.combinations(most, count):
                    self.check(name, {key: most[key] for key in keys})

    def test_sizes_beyond_their_limits_end_in_errors_or_moderate_memory(self):
        for name, (_, sizes) in CASES.items():
            for key in sizes:
                for value in BEYOND:
                    self.check(name, {key: value})

    def test_errors_name_the_sizes(self):
        equalizer = CASES["mimo_equalizer"][0]
        with self.assertRaisesRegex(ValueError, "symbols \\* tones.*65536 \\* 65536"):
            equalizer(receive_antennas=1, layers=1, symbols=65536, tones=65536)
        with self.assertRaisesRegex(ValueError, "pilot symbols \\* tones"):
            estimator(1, 1, 65536, 65536, 0)
        with self.assertRaisesRegex(ValueError, "batch times.*65536 \\* 64800"):
            cudaphy.ldpc_decoder_def.make(DVB, batch=65536, backend="cpu")
        for thickness in (2**62, 2**63 - 1):
            with self.assertRaisesRegex(ValueError, "absorbing layers"):
                cudaphy.fdtd((20, 20), 0.01, "cpml", cpml_thickness=thickness)
        for spacing in (1e-200, 1e200, 5e-324):
            with self.assertRaisesRegex(ValueError, "spacing"):
                cudaphy.fdtd((20, 20), spacing)


if __name__ == "__main__":
    if BACKEND != "cpu":
        print("skipped: sizes are checked before a backend is asked for")
        sys.exit(77)
    unittest.main()
