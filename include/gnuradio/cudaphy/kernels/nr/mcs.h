/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/api.h>

namespace gr::cudaphy::kernels::nr {

//! What an MCS index stands for.
struct modulation_and_coding {
    int order;        //!< Q_m: 1 (pi/2-BPSK), 2, 4, 6, 8 or 10
    int rate_by_2048; //!< target code rate times 2048: an integer in all tables
    double rate() const { return rate_by_2048 / 2048.0; }
};

enum class mcs_table {
    qam64,                 //!< table 5.1.3.1-1 of TS 38.214
    qam256,                //!< 5.1.3.1-2
    qam64_low_se,          //!< 5.1.3.1-3
    qam1024,               //!< 5.1.3.1-4, PDSCH alone
    transform_qam64,       //!< 6.1.4.1-1, PUSCH with transform precoding
    transform_qam64_low_se //!< 6.1.4.1-2
};

/*!
 * \brief A row of the MCS tables of 3GPP TS 38.214, sections 5.1.3.1 and 6.1.4.1.
 *
 * \param pi2_bpsk  tp-pi2BPSK is configured: the first rows of the tables for transform
 *                  precoding have q = 1; otherwise q = 2
 * \throws std::invalid_argument for an index that the table reserves or lacks
 */
CUDAPHY_API modulation_and_coding find_mcs(mcs_table, int index, bool pi2_bpsk = false);

} // namespace gr::cudaphy::kernels::nr
