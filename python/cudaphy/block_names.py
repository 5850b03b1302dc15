# SPDX-License-Identifier: GPL-3.0-or-later
"""What only a build with GNU Radio has: blocks, and coders for its FEC blocks."""

BLOCK_NAMES = frozenset(
    """array_covariance bb_deframer bch_decoder bch_encoder dvbs2_frame_sync dvbs2_receiver fdtd_channel
    frame_error_counter frame_filler ldpc_decoder ldpc_decoder_def ldpc_decoder_pdu ldpc_encoder ldpc_encoder_def
    ldpc_encoder_pdu matrix_inverse mimo_channel_estimator mimo_channel_model mimo_equalizer mimo_fixed_channel
    mimo_multipath_channel mimo_ofdm_receiver_frontend mimo_ofdm_transmitter mimo_receiver mvdr_weights
    nr_ofdm_demodulator nr_ofdm_modulator nr_pdsch_receiver nr_pdsch_transmitter nr_pusch_receiver
    nr_pusch_transmitter ofdm_synchronizer packet_loss_counter packet_numberer packet_resync sigmf_sink sigmf_source soft_demapper sparse_matvec symbol_sync symmetric_matrix_inverse triangular_matrix_inverse""".split()
)
