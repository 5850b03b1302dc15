/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_receiver/wiener_table.h"

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief The channel on all tones of a run of resource blocks, from a comb of pilots.
 *
 * A tone's estimate takes the `taps` pilots around it; at the ends of the run the first
 * or last ones.
 * \param re, im          pilots, (pilots); pilots >= taps of the table
 * \param start           tones before the first pilot
 * \param[out] re_out, im_out  (tones)
 */
void filter_run(const wiener_table&,
                const float* re,
                const float* im,
                int pilots,
                int start,
                int tones,
                float* re_out,
                float* im_out);

/*!
 * \brief The sum of squares of pilots less what the others around them predict.
 *
 * That is the estimate's residual over 1 less the pilot's own weight (leave-one-out;
 * Rasmussen and Williams, Gaussian Processes for Machine Learning, section 5.4.2).
 */
double
prediction_error(const wiener_table&, const float* re, const float* im, int pilots);

//! The first pilot that a tone's estimate takes.
inline int first_tap(const wiener_table& table, int pilots, int start, int tone)
{
    const int before = (tone - start + table.spacing) / table.spacing - 1; // rounded down
    const int wanted = before - (table.taps / 2 - 1);
    const int last = pilots - table.taps;
    return wanted < 0 ? 0 : wanted > last ? last : wanted;
}

} // namespace gr::cudaphy::kernels::nr
