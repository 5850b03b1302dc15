# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks that are written in Python, or made by a function. gnuradio.cudaphy exports those of __all__."""

from ..sigmf.blocks import sigmf_sink, sigmf_source
from .beamforming import array_covariance, mvdr_weights
from .dvbs2_receiver import dvbs2_receiver
from .fdtd_channel import fdtd_channel
from .frame_error_counter import frame_error_counter
from .frame_filler import frame_filler
from .mimo_channel_model import mimo_channel_model
from .mimo_fixed_channel import mimo_fixed_channel
from .mimo_multipath_channel import mimo_multipath_channel
from .ofdm import mimo_ofdm_receiver_frontend, mimo_ofdm_transmitter
from .packet_numbers import packet_loss_counter, packet_numberer
from .sparse_matvec import sparse_matvec

__all__ = [
    "array_covariance",
    "dvbs2_receiver",
    "fdtd_channel",
    "frame_error_counter",
    "frame_filler",
    "mimo_channel_model",
    "mimo_fixed_channel",
    "mimo_multipath_channel",
    "mimo_ofdm_receiver_frontend",
    "mimo_ofdm_transmitter",
    "mvdr_weights",
    "packet_loss_counter",
    "packet_numberer",
    "sigmf_sink",
    "sigmf_source",
    "sparse_matvec",
]
