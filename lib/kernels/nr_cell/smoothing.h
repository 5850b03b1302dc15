/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy::kernels::nr_cell {

//! What a channel estimate along frequency starts from.
struct pilots {
    std::vector<double> at;         //!< subcarriers
    std::vector<complex64> channel; //!< least-squares estimates there
    std::vector<float> noise;       //!< their noise variances
};

/*!
 * \brief The channel at other subcarriers, by a Wiener filter that is robust: it assumes
 * that all delays within a spread are equally strong (Li, Cimini and Sollenberger, IEEE
 * Trans. Commun. 46(7), 1998).
 *
 * \param power   mean |channel|^2
 * \param spread  of the delays, around 0, in symbols without prefix
 * \param wanted  subcarriers
 */
std::vector<complex64>
smooth(const pilots&, float power, double spread, const std::vector<double>& wanted);

//! Mean |h|^2 without noise, and the noise's variance, of estimates at neighbouring
//! subcarriers; the channel is taken to bend little over three of them.
struct power_and_noise {
    float power, noise;
};
power_and_noise measure(view<const complex64> channel);

} // namespace gr::cudaphy::kernels::nr_cell
