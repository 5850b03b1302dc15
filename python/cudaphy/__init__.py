# SPDX-License-Identifier: GPL-3.0-or-later
"""Physical-layer blocks and functions on NVIDIA GPUs and CPU vector units.

A block for flowgraphs has a noun's name: matrix_inverse, triangular_matrix_inverse,
symmetric_matrix_inverse, sparse_matvec, mimo_channel_estimator, mimo_equalizer, soft_demapper,
mimo_receiver, ldpc_encoder, ldpc_decoder, bch_encoder, bch_decoder, bb_deframer, symbol_sync,
dvbs2_frame_sync, dvbs2_receiver, nr_ofdm_modulator, nr_ofdm_demodulator, nr_pusch_transmitter,
nr_pusch_receiver, nr_pdsch_transmitter, nr_pdsch_receiver, fdtd_channel, mimo_fixed_channel, array_covariance, mvdr_weights.
A function that works on arrays, of numpy or on a GPU, has a verb's: invert, invert_triangular, solve_triangular,
invert_symmetric, update_inverse, multiply_sparse, estimate_channel, equalize, demap,
receive_slots, ldpc_encode, ldpc_decode, bch_encode, bch_decode, sync_symbols, nr_pusch_transmit,
nr_pdsch_transmit, nr_pusch_receive, nr_pdsch_receive, nr_ofdm_modulate, nr_ofdm_demodulate,
nr_cell_search, dvbs2_receive.
fdtd simulates fields in time. The wheel of PyPI, `import cudaphy`, has the functions alone, without
GNU Radio; they are the same. backends() and devices() say what this machine has.
"""

from .cudaphy_python import *  # noqa: F401,F403
from .cudaphy_python import __version__  # noqa: F401
from .fdtd import fdtd, fdtd_matrices  # noqa: F401
from .fdtd_scene import fdtd_scene  # noqa: F401
from .linalg import invert, invert_triangular, solve_triangular  # noqa: F401
from .symbols import sync_symbols  # noqa: F401
from .symmetric import invert_symmetric, update_inverse  # noqa: F401
from .bch import bch_decode, bch_encode  # noqa: F401
from .dvb import bb_frame_reader, dvbs2_frames  # noqa: F401
from .dvbs2 import dvbs2_receive  # noqa: F401
from .ldpc import ldpc_decode, ldpc_encode  # noqa: F401
from .error_rates.simulation import code_from_text, error_rate_point  # noqa: F401
from .error_rates.simulation import (
    error_rate_simulation,
    simulate_error_rate,
)  # noqa: F401
from .nr import nr_limited_buffer, nr_ofdm_demodulate, nr_ofdm_modulate  # noqa: F401
from .nr import nr_pdsch_transmit, nr_pusch_transmit, nr_shared_channel  # noqa: F401
from .nr_receive import nr_harq, nr_pdsch_receive, nr_pusch_receive  # noqa: F401
from .nr_receive import nr_reception  # noqa: F401
from .nr_cell import nr_cell, nr_cell_search, nr_mib  # noqa: F401
from .nr_cell import nr_synchronization_raster  # noqa: F401
from .nr_sib1 import nr_sib1_identities  # noqa: F401
from . import nr5g  # noqa: F401
from .mimo import demap, equalize, estimate_channel, receive_slots  # noqa: F401
from .antenna_arrays import uniform_array  # noqa: F401
from .ofdm_frames import ofdm_preamble, ofdm_preamble_shifts  # noqa: F401
from .matrix_market import read_matrix_market  # noqa: F401
from .sparse import multiply_sparse, sparse_product  # noqa: F401
from . import cudaphy_python as _native
from . import sigmf  # noqa: F401
from .block_names import BLOCK_NAMES as _BLOCK_NAMES

if _native._with_gnuradio:
    from .blocks import *  # noqa: F401,F403

# The names above but for modules; dir() and "import *" give these alone.
_MODULE = type(nr5g)
__all__ = ["nr5g"] + [
    name
    for name, thing in globals().items()
    if name == "__version__" or not (name.startswith("_") or isinstance(thing, _MODULE))
]


def __dir__():
    return sorted(__all__)


def __getattr__(name):
    if name in _BLOCK_NAMES and not _native._with_gnuradio:
        raise AttributeError(
            f"{__name__}.{name} is for flowgraphs: this package is without GNU Radio. "
            "Install GNU Radio and gr-cudaphy, then: from gnuradio import cudaphy"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
