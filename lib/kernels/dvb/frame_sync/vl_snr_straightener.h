/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/dvb/frame_sync/carrier.h"
#include <complex>
#include <cstdint>
#include <gnuradio/cudaphy/kernels/dvb_mode.h>
#include <map>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief Takes the carrier off frames of pi/2-BPSK, makes BPSK of their data symbols, and
 * adds up those that are the same. On the host: these frames are long, rare and slow.
 *
 * Scrambling turns pi/2-BPSK by half turns only, by the lower bit of pl_scrambling(); the
 * quarter turns of all other symbols have been taken off when they come. (EN 302 307-2,
 * sections 5.4.0a and 5.5.4.1.1)
 */
class vl_snr_straightener
{
public:
    explicit vl_snr_straightener(int gold_code);

    //! The symbols() of a frame of such a mode.
    //! \param in        the frame's first symbol
    //! \param segments  of its symbols() * repeats data symbols
    std::vector<std::complex<float>> run(const dvb_mode& mode,
                                         const std::complex<float>* in,
                                         const std::vector<carrier_segment>& segments);

private:
    const std::unique_ptr<queue> d_queue;
    const std::unique_ptr<carrier_corrector> d_corrector;
    const std::vector<uint8_t> d_turns;
    std::map<int, std::vector<std::complex<float>>> d_factors; //!< by dvb_mode::pl_code()
};

} // namespace gr::cudaphy::kernels
