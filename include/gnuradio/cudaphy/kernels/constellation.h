/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/view.h>
#include <string>

namespace gr::cudaphy::kernels {

/*!
 * \brief Points of a signal constellation and the bits that each stands for. Those with a
 * name have unit mean energy.
 *
 * `points[label]` is the point of a label whose most significant bit is sent first.
 *
 * - "bpsk" "qpsk" "qam16" "qam64" "qam256" "qam1024": Gray, 3GPP TS 38.211 section 5.1
 *   (bpsk there lies on the diagonal; here 0 is +1, 1 is -1)
 * - "wifi_bpsk" "wifi_qpsk" "wifi_qam16" "wifi_qam64" "wifi_qam256" "wifi_qam1024": Gray,
 *   IEEE 802.11-2020 sections 17.3.5.8 and 21.3.10.9, 802.11ax-2021 section 27.3.12.9
 * - "dvbs2_qpsk" "dvbs2_8psk" "dvbs2_16apsk_2/3" ... "_9/10" "dvbs2_32apsk_3/4" ...
 * "_9/10": ETSI EN 302 307-1 section 5.4; the radius ratios are by code rate, its tables
 * 9 and 10
 * - "dvbs2x_8apsk_100/180" "dvbs2x_16apsk_90/180" ... "dvbs2x_256apsk_135/180": those
 * that ETSI EN 302 307-2 section 5.4 adds, by code rate as its LDPC codes have it (20/30,
 * not 2/3-L); of 32APSK 2/3 the short frames have their own, "dvbs2x_short_32apsk_2/3"
 */
struct CUDAPHY_API constellation {
    std::string name;
    int bits;                      //!< per symbol, 1..10
    std::vector<complex64> points; //!< 2^bits

    //! \throws std::invalid_argument for a name that is none of constellation_names().
    static constellation make(const std::string& name);

    /*!
     * One of your own points, which are not scaled.
     * \param points  2, 4, 8, 16, 32, 64, 128 or 256 different ones, coordinates in -1e6
     *                to 1e6
     * \param labels  the label of each; each of 0 to points - 1 once. Empty: 0, 1, 2 ...
     * \throws std::invalid_argument if points or labels are none of these; the text says
     * which.
     */
    static constellation make(const std::vector<complex64>& points,
                              const std::vector<int>& labels = {});
};

CUDAPHY_API std::vector<std::string> constellation_names();

} // namespace gr::cudaphy::kernels
