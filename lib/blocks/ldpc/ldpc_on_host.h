/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>

namespace gr::cudaphy {

/*!
 * \brief Decodes codewords from host memory to host memory, and waits for them. For
 * blocks whose packets come one at a time.
 */
class ldpc_on_host_decoder
{
public:
    //! \param max_batch codewords in one launch
    //! \throws std::invalid_argument, backend_unavailable
    ldpc_on_host_decoder(kernels::ldpc_code::sptr code,
                         const kernels::ldpc_decoder::parameters& parameters,
                         const resolved_backend& where,
                         int max_batch);

    //! \param llr of the parameters' type, (frames, n)
    //! \param[out] bits as ldpc_decoder::results
    //! \param[out] soft null, or the same
    void run(const void* llr, size_t frames, uint8_t* bits, float* soft = nullptr);
    //! Of each word of the last run.
    const std::vector<int>& iterations() const { return d_iterations; }
    const std::vector<int>& ok() const { return d_ok; }

private:
    void run_batch(const char* llr, size_t first, size_t frames, uint8_t*, float*);

    const kernels::ldpc_code::sptr d_code;
    const kernels::ldpc_decoder::parameters d_parameters;
    const size_t d_max_batch;
    std::unique_ptr<queue> d_queue;
    std::unique_ptr<kernels::ldpc_decoder> d_kernel;
    array<char> d_llr; // these are empty on the host
    array<uint8_t> d_bits;
    array<float> d_soft;
    array<int> d_status;
    std::vector<int> d_iterations, d_ok;
};

//! The same for the encoder.
class ldpc_on_host_encoder
{
public:
    ldpc_on_host_encoder(kernels::ldpc_code::sptr code,
                         const kernels::ldpc_encoder::parameters& parameters,
                         const resolved_backend& where,
                         int max_batch);
    void run(const uint8_t* info, size_t frames, uint8_t* words);

private:
    const size_t d_max_batch, d_info_bytes, d_word_bytes;
    std::unique_ptr<queue> d_queue;
    std::unique_ptr<kernels::ldpc_encoder> d_kernel;
    array<uint8_t> d_info, d_words;
};

} // namespace gr::cudaphy
