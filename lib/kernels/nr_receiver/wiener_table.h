/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/view.h>
#include <map>
#include <tuple>

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief Weights of the linear MMSE estimate of a channel from `taps` noisy values of it,
 * `spacing` tones apart (Kay, Fundamentals of Statistical Signal Processing, vol. 1, ch.
 * 12).
 *
 * The channel has unit energy and an exponential power delay profile whose mean is 0:
 * E[h(q + d) h(q)*] = exp(jx) / (1 + jx), x = 2 pi spread d. Row d has the weights of the
 * estimate d tones behind the first value; d is -spacing + 1 to spacing · taps - 1.
 */
struct wiener_table {
    wiener_table(int taps, int spacing, double spread, double snr);

    int taps, spacing;
    std::vector<float> re, im; //!< (rows, taps)
    std::vector<float> error;  //!< mean square error of each row's estimate, (rows)
    std::vector<float> gain;   //!< of noise: the weights' energy, (rows)

    size_t row(int d) const { return size_t(d + spacing - 1); }
};

//! Makes tables once for each spread, within 10 %, and ratio, within 0.75 dB.
class wiener_tables
{
public:
    const wiener_table& find(int taps, int spacing, double spread, double snr);

private:
    std::map<std::tuple<int, int, int, int>, wiener_table> d_made;
};

} // namespace gr::cudaphy::kernels::nr
