/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_cell/spectrum.h"

namespace gr::cudaphy::kernels::nr_cell {

constexpr int ssb_fft = 256;   //!< samples of an SS/PBCH block's symbol
constexpr int ssb_prefix = 18; //!< 144 of 2048 parts
constexpr int ssb_step = ssb_fft + ssb_prefix;

//! A place where PSS may be.
struct pss_peak {
    double time;       //!< s of the recording: where PSS begins, behind its prefix
    double frequency;  //!< Hz above the samples' centre, of the block's subcarrier 120
    double nominal;    //!< the same without frequency offset
    int scs;           //!< subcarrier spacing, Hz
    int n_id_2;        //!< 0 to 2
    float correlation; //!< 0 to 1: the part of the energy there that is PSS
};

/*!
 * \brief Finds PSS (3GPP TS 38.211, section 7.4.2.2) in a stretch of samples, at one
 * place in frequency and offsets from -1 to 1 subcarrier.
 *
 * Correlates by FFT with the three sequences, each at five offsets half a subcarrier
 * apart. The correlation is |<x, s>|^2 / (|x|^2 |s|^2) over a symbol, x limited to PSS's
 * band; noise alone makes it exceed r with a probability of about (1 - r)^126.
 *
 * \param nominal    Hz above the samples' centre
 * \param scs        subcarrier spacing, Hz
 * \param start      s of the recording, of the stretch that is searched
 * \param seconds    its length; PSS begins in it
 * \param threshold  least correlation
 * \param most       peaks
 * \returns the highest peaks of each sequence, falling, at least a symbol apart
 */
std::vector<pss_peak> find_pss(const spectrum&,
                               double nominal,
                               int scs,
                               double start,
                               double seconds,
                               float threshold,
                               size_t most);

} // namespace gr::cudaphy::kernels::nr_cell
