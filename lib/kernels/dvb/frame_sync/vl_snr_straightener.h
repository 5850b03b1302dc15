/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <cstdint>
#include <gnuradio/cudaphy/kernels/dvb_mode.h>
#include <map>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief Makes BPSK of the data symbols of VL-SNR frames, and adds up those that are the
 * same.
 *
 * Scrambling turns pi/2-BPSK by half turns only, by the lower bit of pl_scrambling(); the
 * quarter turns of all other symbols have been taken off when they come. (EN 302 307-2,
 * sections 5.4.0a and 5.5.4.1.1)
 */
class vl_snr_straightener
{
public:
    explicit vl_snr_straightener(int gold_code);

    //! symbols: symbols() * repeats data symbols of a frame of this mode; symbols() then.
    void run(const dvb_mode& mode, std::vector<std::complex<float>>& symbols);

private:
    std::vector<uint8_t> d_turns;
    std::map<int, std::vector<std::complex<float>>> d_factors; //!< by dvb_mode::pl_code()
};

} // namespace gr::cudaphy::kernels
