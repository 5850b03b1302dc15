# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls that mypy must accept: those of README.md, blocks, and what they return."""

from typing import List

import numpy as np
from gnuradio import cudaphy, gr
from gnuradio.cudaphy import nr5g

names: List[str] = cudaphy.backends()
version: str = cudaphy.__version__
for device in cudaphy.devices():
    text: str = device.name
    memory: int = device.memory

a = np.eye(4, dtype=np.complex64)[np.newaxis]
x, info = cudaphy.invert(a, pivoting="partial", backend="cpu", device=0)
x, info = cudaphy.invert_triangular(a, lower=False)
x, info = cudaphy.invert_symmetric(a, definite="unknown", rcond=False)
points: np.ndarray = cudaphy.constellation("qam16").points
own = cudaphy.constellation([1, -1], labels=[0, 1])
layers, noise = cudaphy.equalize(np.ones((3, 4)), a, 0.1, method="mmse")
llr = cudaphy.demap(layers, noise, constellation="qam16")
llr = cudaphy.demap(layers, noise, constellation=own, llr_positive=1)

code = cudaphy.ldpc_code("wifi", n=1944, rate="1/2")
length: int = code.n
rate: float = code.rate
bits, iterations, ok = cudaphy.ldpc_decode(code, llr, max_iterations=20, scale=None)
outer = cudaphy.bch_code.dvbs2("normal", "1/2")
bits, corrected = cudaphy.bch_decode(outer, bits)
pilots = cudaphy.nr_dmrs_pilots(4, 11, [0, 1], double_symbol=True)
pilots = cudaphy.nr_dmrs_pilots(ports=[2, 3], resource_blocks=np.int64(11))

graph = gr.top_block()
decoder = cudaphy.ldpc_decoder(
    code, np.int32(10), llr_positive=1, max_latency=1, packed=True, codes={"second": code}
)
graph.connect(cudaphy.frame_filler(64, 10, 5), decoder)
errors: int = decoder.frame_errors()
backend: str = decoder.backend()
batches = decoder.stats()["batches"]
cudaphy.soft_demapper(own, vlen=np.int64(2), points=None, bit_interleaver="012")
definition = cudaphy.ldpc_decoder_def.make(code, 8, max_iterations=10)
counted: int = definition.frames()
cudaphy.mimo_channel_model(tones=52, snr_db=10).noise_variance()
block = nr5g.transport_block(1000, 0.5, layers=2)

try:
    cudaphy.ldpc_code.from_alist("none.alist")
except cudaphy.CodeFileError as problem:
    print(problem)
try:
    cudaphy.matrix_inverse(4, backend="cuda")
except (cudaphy.BackendUnavailable, cudaphy.CudaError) as problem_of_cuda:
    print(problem_of_cuda)
