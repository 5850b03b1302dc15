/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

namespace gr::cudaphy::kernels {

//! The numbers of the float32 decoder for CUDA that were found by measuring.
struct ldpc_decoder_tuning {
    int most_threads; //!< of a block
    //! Blocks on each multiprocessor that work in device memory. Two, because one works
    //! while the other waits at a barrier. More blocks would only fill the L2 cache.
    int most_resident;
};

//! The column for all GPUs, measured on an H100.
constexpr ldpc_decoder_tuning ldpc_decoder_tuned = {
    /* most_threads */ 512,
    /* most_resident */ 2,
};

} // namespace gr::cudaphy::kernels
