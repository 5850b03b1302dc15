/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/memory/device_memory.cuh"
#include "kernels/nr_receiver/cuda/estimate.cuh"
#include <memory>

namespace gr::cudaphy::kernels::nr {

// Of wiener_tables: tables are kept by spread in steps of 1.2 and ratio in steps of 1.5
// dB.
constexpr double table_smallest_spread = 1e-5, table_spread_step = 1.2,
                 table_snr_step_db = 1.5;
constexpr int table_lowest_snr = -13, table_snrs = 54; // -20 to 60 dB

/*!
 * \brief The tables of wiener_table for all ratios and a range of spreads, made on the
 * device at once: a slot chooses among them without the host.
 */
class wiener_tables_cuda
{
public:
    //! Of the current device; equal ones are shared.
    static std::shared_ptr<const wiener_tables_cuda>
    find(int device, int taps, int spacing, table_index which);

    wiener_tables_cuda(int taps, int spacing, table_index which);

    const int taps, spacing, rows;
    const table_index which;
    const device_memory<float2> weights; //!< (spreads, ratios, taps, rows)
    const device_memory<float> error, gain;
};

//! The index of a spread in the tables that wiener_tables would make.
int table_of_spread(double spread);

} // namespace gr::cudaphy::kernels::nr
