/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fourier/fourier_transform.h"
#include "kernels/nr_receiver/layer_separation.h"
#include <gnuradio/cudaphy/kernels/soft_demapper.h>

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief From separated layers to the descrambled LLRs of a codeword, in int8.
 */
class soft_bits
{
public:
    soft_bits(shared_channel::sptr, int codeword, backend where, int device);

    //! After run(): the LLRs, 6 steps a unit as the decoder counts on the CPU.
    std::vector<int8_t> llr;
    //! dB: that of the white noise whose capacity equals the mean over the symbols.
    double sinr_db = 0;

    //! Takes the codeword's layers, the first ones of those separated. Not with CUDA.
    //! \param dmrs_times  of DM-RS's positions, in symbols
    void run(const layer_separation& from,
             int slot,
             const std::vector<double>& dmrs_times,
             queue& queue);

    // For a receiver that takes these steps itself.
    soft_demapper& demapper() { return *d_demapper; }
    const std::vector<int8_t>& signs() const { return d_signs; }

private:
    void undo_transform();
    void track_phase(int slot, const std::vector<double>& dmrs_times);
    void find_sinr(const std::vector<float>& noise);

    shared_channel::sptr d_channel;
    int d_codeword;
    std::unique_ptr<soft_demapper> d_demapper;
    std::unique_ptr<fourier_transform> d_transform; // of transform precoding
    std::vector<int8_t> d_signs;                    // -1 for a scrambled bit 1, else 0
    std::vector<complex64> d_symbols;
    std::vector<float> d_noise;
};

} // namespace gr::cudaphy::kernels::nr
