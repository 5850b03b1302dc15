#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What channel estimation costs a coded 2x2 link: BLER with the channel known, and with estimates at
an SNR raised by their known loss, 10 log10(1 + layers * error / noise variance)."""

import numpy as np
from gnuradio import cudaphy

rng = np.random.default_rng(1)


def g(shape):
    parts = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return (parts / np.sqrt(2)).astype("complex64")


code = cudaphy.ldpc_code("wifi", n=1944, rate="1/2")
c = cudaphy.constellation("qam16")
n, K, S = 2, 54, 18  # antennas, tones, data symbols


def bler(snr, how, F=500):
    n0 = n * 10 ** (-snr / 10)
    P = cudaphy.block_pilots(2, n, K)
    e = np.exp(-np.arange(6) / 2)
    e /= e.sum()
    taps = g((F, 6, n, n)) * np.sqrt(e)[:, None, None]
    k = np.arange(-K // 2, K // 2)
    h = np.einsum(
        "ftab,tk->fkab", taps, np.exp(-2j * np.pi * np.outer(np.arange(6), k) / 64)
    ).astype("complex64")
    bits = rng.integers(0, 2, (F * 4, code.k)).astype("uint8")
    w = cudaphy.ldpc_encode(code, bits)
    lab = w.reshape(F, S, K, n, 4) @ np.array([8, 4, 2, 1])
    x = c.points[lab]
    y = np.einsum("fkab,fskb->fska", h, x) + np.sqrt(n0) * g((F, S, K, n))
    if how == "perfect":
        H, N = h, np.full(F, n0, "f")
    else:
        yp = np.einsum("pkt,fkrt->fpkr", P.pilots, h) + np.sqrt(n0) * g((F, 2, K, n))
        H, N = cudaphy.estimate_channel(
            yp,
            P,
            method=how,
            delay_spread=2 / 64,
            snr_db=snr - 3,
            errors_as_noise=True,
        )
        bler.mse = np.mean(abs(H - h) ** 2) / n0
    xe, ne = cudaphy.equalize(y, H[:, None], N[:, None, None])
    llr = cudaphy.demap(xe, ne, "qam16").reshape(F * 4, -1)
    d, _, _ = cudaphy.ldpc_decode(code, llr)
    return np.mean((d != bits).any(1))


for snr in (12, 14, 16):
    print(f"known channel, {snr} dB: BLER {bler(snr, 'perfect'):.4f}")
for how, loss in (("ls", 3.01), ("mmse", 0.91)):
    for snr in (12, 14, 16):
        rate = bler(snr + loss, how)
        print(f"{how}, {snr} + {loss} dB: BLER {rate:.4f}, error / N0 {bler.mse:.3f}")
