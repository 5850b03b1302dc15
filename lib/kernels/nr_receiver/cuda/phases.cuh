/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_receiver/cuda/estimate.cuh"

namespace gr::cudaphy::kernels::nr {

//! When the phase is 0.
struct dmrs_times {
    int positions;
    double time[most_positions]; //!< in symbols
};

#ifdef __CUDACC__
namespace {

/*!
 * \brief phases_between() (common_phase.cc): straight lines between known phases, each
 * the nearest one to the last.
 *
 * \param sum_of  what PT-RS tells of a symbol's phase, 0 if nothing
 * \param put     takes a symbol and its phase
 */
template <typename SumOf, typename Put>
__device__ __forceinline__ void
find_phases_between(const dmrs_times& dmrs, int symbols, SumOf sum_of, Put put)
{
    constexpr double two_pi = 6.28318530717958647692;
    double at[most_symbols + most_positions], phase[most_symbols + most_positions];
    int known = 0, position = 0;
    for (int symbol = 0; symbol < symbols; ++symbol) {
        const double2 sum = sum_of(symbol);
        if (position < dmrs.positions && dmrs.time[position] < symbol + 1) {
            at[known] = dmrs.time[position++];
            phase[known++] = 0;
        } else if (sum.x != 0 || sum.y != 0) {
            at[known] = symbol;
            phase[known++] = atan2(sum.y, sum.x);
        }
    }
    int next = 0;
    for (int symbol = 0; symbol < symbols; ++symbol) {
        while (next < known && at[next] <= symbol) {
            ++next;
        }
        double own = phase[next ? next - 1 : 0];
        if (next > 0 && next < known) {
            const double step = remainder(phase[next] - phase[next - 1], two_pi);
            own += step * (symbol - at[next - 1]) / (at[next] - at[next - 1]);
        }
        put(symbol, own);
    }
}

} // namespace
#endif

} // namespace gr::cudaphy::kernels::nr
