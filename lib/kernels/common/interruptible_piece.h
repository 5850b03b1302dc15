/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <gnuradio/cudaphy/kernels/interruption.h>

namespace gr::cudaphy {

/*!
 * \brief Cuts a piece of work into turns of some tens of milliseconds, in whole grains,
 * between which an interruption ends it. Without one it is a single turn.
 */
class interruptible_piece
{
public:
    interruptible_piece(const interruption* under,
                        size_t first,
                        size_t last,
                        size_t grain);

    //! Where the next turn ends. \throws interrupted
    size_t next();

private:
    const interruption* const d_under;
    const interruption::scope d_scope;
    const size_t d_last;
    size_t d_end;
    const size_t d_grain;
    size_t d_items; //!< of a turn
    size_t d_done = 0;
    const double d_began;
};

} // namespace gr::cudaphy
