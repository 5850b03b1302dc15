/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/ldpc_mixed_decoder.h>

namespace gr::cudaphy {

/*!
 * \brief Decodes words of several codes from host memory to host memory, and waits for
 * them: for packets each of which names its own code.
 */
class ldpc_mixed_on_host
{
public:
    //! \param max_batch of each code, codewords in one launch
    //! \throws std::invalid_argument, backend_unavailable
    ldpc_mixed_on_host(const std::vector<kernels::ldpc_code::sptr>& codes,
                       const kernels::ldpc_decoder::parameters& parameters,
                       const resolved_backend& where,
                       const std::vector<int>& max_batch);

    //! The words of one code, from and to host memory.
    struct group {
        int code;
        size_t frames;
        const void* llr;                //!< of the parameters' type, (frames, n)
        std::vector<uint8_t> bits = {}; //!< out: as ldpc_decoder::results
        std::vector<float> soft = {};   //!< out: the same, where they are wanted
        std::vector<int> iterations = {}, ok = {}; //!< out: the same
    };
    //! \param groups  of each code one at most
    //! \param soft    whether soft output is wanted
    void run(std::vector<group>& groups, bool soft);

private:
    //! A part of a group that takes part in a launch.
    struct piece {
        group& of;
        size_t first, frames;
        size_t llr_bytes, bytes, bits; //!< of a word, in and out

        const char* llr() const
        {
            return static_cast<const char*>(of.llr) + first * llr_bytes;
        }
    };
    void decode(const std::vector<piece>& pieces, bool soft);
    void decode_on_device(const std::vector<piece>& pieces, bool soft);
    static kernels::ldpc_decoder::results
    results_of(const piece& which, uint8_t* bits, int* iterations, int* ok, float* soft);

    const std::vector<kernels::ldpc_code::sptr> d_codes;
    const kernels::ldpc_decoder::parameters d_parameters;
    const std::vector<int> d_max_batch;
    std::unique_ptr<queue> d_queue;
    std::unique_ptr<kernels::ldpc_mixed_decoder> d_kernel;
    array<char> d_llr; // these on a device only, as large as a launch has asked for
    array<uint8_t> d_bits;
    array<float> d_soft;
    array<int> d_status;
};

} // namespace gr::cudaphy
