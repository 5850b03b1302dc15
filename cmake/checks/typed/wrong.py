# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls that mypy must refuse, each in a line with the code of its error."""

from gnuradio import cudaphy
from gnuradio.cudaphy import nr5g

cudaphy.backend()  # attr-defined
cudaphy.inverse([[1.0]])  # attr-defined
numbers: int = cudaphy.backends()  # assignment
code = cudaphy.ldpc_code("wifi", n=1944, rate="1/2")
code.lenght  # attr-defined
code.n = 3  # misc
cudaphy.ldpc_decoder("wifi")  # arg-type
cudaphy.ldpc_decoder(code, max_iteration=20)  # call-arg
cudaphy.ldpc_decoder(code, packed="yes")  # arg-type
cudaphy.ldpc_decoder(code, "20")  # arg-type
cudaphy.ldpc_decoder(code, output=1)  # arg-type
cudaphy.ldpc_decoder_def(code)  # arg-type
cudaphy.ldpc_decode(code)  # call-arg
cudaphy.invert([[1.0]], backend=0)  # arg-type
cudaphy.invert([[1.0]], device="0")  # arg-type
cudaphy.soft_demapper("qpsk", frame_bits="all")  # arg-type
cudaphy.mimo_channel_model(snr=10)  # call-arg
nr5g.crc([1, 0], kind=24)  # arg-type
nr5g.crcs([1, 0])  # attr-defined
