/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nr/shared_channel.h>

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief DM-RS of a shared channel as its receiver sees it.
 *
 * Two ports of a CDM group send +r, +r, +r ... and +r, -r, +r ... Divided by r, even
 * pilots show the sum of both ports' channels, and odd pilots the difference. These are
 * two channels on combs of one spacing, which a filter smooths one by one (38.211,
 * tables 6.4.1.1.3-1 and -2). With two symbols at a position, sum and difference of the
 * symbols tell ports of w_t apart in the same way.
 *
 * A tone is a subcarrier of the allocation, counted over its resource blocks, ascending.
 */
struct pilot_layout {
    explicit pilot_layout(const shared_channel&);

    //! Resource blocks without a gap. Filters do not reach over its ends.
    struct run {
        int first_tone, tones;
        int first_pilot, pilots; //!< of a comb
    };
    std::vector<run> runs;
    int tones;   //!< of the allocation
    int spacing; //!< subcarriers between pilots of a comb: 4, with type 2 6
    int pilots;  //!< of a comb: half of resource_map::pilots
    int groups;  //!< CDM groups without data
    int length;  //!< symbols at a position; also the time signs that tell ports apart
    bool type_1;

    //! Of each position of DM-RS.
    std::vector<int> first_symbol;
    std::vector<double> time; //!< its middle, in symbols
    int positions() const { return static_cast<int>(first_symbol.size()); }

    //! Tones from a run's first one to the first pilot of a comb (parity 0 or 1).
    int comb_start(int group, int parity) const
    {
        return type_1 ? group + 2 * parity : 2 * group + parity;
    }
    //! The set of observations that port p is in: its group and time sign.
    int set_of(const resource_map::port& p) const { return p.time * groups + p.group; }
    int sets() const { return length * groups; }

    //! The tone of each subcarrier of the grid, -1 outside of the allocation.
    std::vector<int> tone_of_subcarrier;
};

} // namespace gr::cudaphy::kernels::nr
