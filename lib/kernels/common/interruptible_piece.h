/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <gnuradio/cudaphy/kernels/interruption.h>

namespace gr::cudaphy {

/*!
 * \brief Cuts a piece of work into slices of about 20 ms, in whole grains. An
 * interruption ends the work between two slices. Without an interruption the piece is one
 * slice.
 */
class interruptible_piece
{
public:
    interruptible_piece(const interruption* under,
                        size_t first,
                        size_t last,
                        size_t grain);

    //! The end of the next slice. \throws interrupted
    size_t next();

private:
    const interruption* const d_under;
    const interruption::scope d_scope;
    const size_t d_last;
    size_t d_end;
    const size_t d_grain;
    size_t d_items; //!< of a slice
    size_t d_done = 0;
    const double d_began;
};

} // namespace gr::cudaphy
