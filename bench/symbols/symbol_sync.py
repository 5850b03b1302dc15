#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Symbol Sync loses against perfect timing, and its rate in a flowgraph beside GNU Radio's blocks.

symbol_sync.py loss: dB lost in Es/N0, for the roll-offs, rates and clock errors that the design page
lists. symbol_sync.py rate [backend]: symbols a second, and CPU seconds a million symbols.
"""

import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
from gnuradio import blocks, cudaphy, digital, filter, gr
from gnuradio.filter import firdes

sys.path.insert(
    0, str(Path(__file__).resolve().parents[2] / "python/cudaphy/tests/symbols")
)
from shaped_symbols import (
    error_in_db,
    noisy,
    qpsk,
    root_raised_cosine,
    shape,
)  # noqa: E402

ES_N0 = (-2.35, 3, 10, 20)
DELAY, BLOCK = 0.3, 20000


def perfect(samples, rate, clock_error, roll_off, count):
    """The matched filter at the true instants."""
    period = rate * (1 + clock_error)
    reach = int(np.ceil(max(8, 2 / roll_off) * rate))
    padded = np.concatenate([np.zeros(reach + 1), samples, np.zeros(reach + 2)])
    out = []
    for first in range(0, count, BLOCK):
        instants = (np.arange(first, min(first + BLOCK, count)) + DELAY) * period
        whole = np.floor(instants).astype(int)
        total = np.zeros(len(instants), complex)
        for k in range(-reach, reach + 2):
            inside = np.minimum(whole + k + reach + 1, len(padded) - 1)
            pulse = root_raised_cosine((whole + k - instants) / rate, roll_off)
            total += padded[inside] * pulse
        out.append(total)
    return np.concatenate(out)


def print_losses():
    print("roll-off  rate  clock (ppm) " + "".join(f"{e:>9} dB" for e in ES_N0))
    for roll_off in (0.35, 0.2, 0.05):
        for rate in (1.5, 2, 3.7, 8):
            count = 60000 if roll_off < 0.1 else 40000
            sent = qpsk(count)
            for clock_error in (-200e-6, 200e-6):
                clean = shape(sent, rate, roll_off, clock_error, DELAY)
                losses = []
                for es_n0 in ES_N0:
                    samples = noisy(clean, es_n0, rate * (1 + clock_error))
                    got = cudaphy.sync_symbols(
                        samples.astype("c8"), rate, roll_off, most_offset=0, backend="cpu"
                    )
                    best = perfect(samples, rate, clock_error, roll_off, count)
                    part = slice(100, count - 100)
                    losses.append(
                        error_in_db(got[part], sent[part])
                        - error_in_db(best[part], sent[part])
                    )
                print(
                    f"{roll_off:8} {rate:5} {1e6 * clock_error:12.0f} "
                    + "".join(f"{loss:12.3f}" for loss in losses),
                    flush=True,
                )


def peers(rate, roll_off):
    """GNU Radio's own ways to symbols, with gain control before them."""
    taps = firdes.root_raised_cosine(32, 32 * rate, 1, roll_off, int(32 * 11 * rate))
    pfb = digital.pfb_clock_sync_ccf(rate, 2 * np.pi / 100, taps, 32, 16, 1.5, 1)
    sync = digital.symbol_sync_cc(
        digital.TED_SIGNAL_TIMES_SLOPE_ML,
        rate,
        0.045,
        1.0,
        1.0,
        1.5,
        1,
        digital.constellation_qpsk().base(),
        digital.IR_PFB_MF,
        32,
        taps,
    )
    gardner = digital.symbol_sync_cc(digital.TED_GARDNER, rate, 0.045, 1.0, 1.0, 1.5, 1)
    matched = filter.fft_filter_ccf(
        1, firdes.root_raised_cosine(1, rate, 1, roll_off, int(11 * rate) | 1)
    )
    return {
        "pfb_clock_sync_ccf": [pfb],
        "symbol_sync_cc, polyphase matched filter": [sync],
        "fft_filter_ccf, symbol_sync_cc (Gardner)": [matched, gardner],
    }


def print_rates(backend):
    rate, roll_off, chunk = 2, 0.2, 1 << 19
    samples = shape(qpsk(chunk // 2), rate, roll_off, 20e-6).astype("c8")
    samples = np.resize(samples, chunk)
    chains = {
        f"cudaphy.symbol_sync ({backend})": [
            cudaphy.symbol_sync(rate, roll_off, most_offset=0, backend=backend)
        ],
        f"cudaphy.symbol_sync ({backend}), carrier search": [
            cudaphy.symbol_sync(rate, roll_off, backend=backend)
        ],
    }
    for name, chain in {**chains, **peers(rate, roll_off)}.items():
        source, sink = blocks.vector_source_c(samples.tolist(), True), blocks.null_sink(8)
        source.set_min_output_buffer(1 << 18)
        top = gr.top_block()
        top.connect(source, *chain, sink)
        top.start()
        time.sleep(1)
        used, begun = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
        before = chain[-1].nitems_written(0)
        time.sleep(4)
        symbols = chain[-1].nitems_written(0) - before
        seconds = time.monotonic() - begun
        now = resource.getrusage(resource.RUSAGE_SELF)
        cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        top.stop()
        top.wait()
        print(
            f"{name:46} {1e-6 * symbols / seconds:8.2f} Msym/s, "
            f"{1e6 * cpu / max(1, symbols):6.3f} CPU seconds a million",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["loss"]:
        print_losses()
    elif sys.argv[1:2] == ["rate"]:
        print_rates(sys.argv[2] if len(sys.argv) > 2 else "cpu")
    else:
        sys.exit(__doc__.strip() + f"\n({os.path.basename(__file__)} loss | rate)")
