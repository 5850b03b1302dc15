/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nr/shared_channel_parameters.h>
#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief Where data, DM-RS and PT-RS of a shared channel lie in a slot's resource grid.
 *
 * An element's number is symbol · subcarriers + subcarrier: its place in one port of a
 * grid (ports, symbols, subcarriers). The lists are the same in every slot; what DM-RS
 * and PT-RS send in a slot, dmrs_values() says. A kernel on a GPU reads the lists as they
 * stand.
 */
struct CUDAPHY_API resource_map {
    int symbols;     //!< of a slot
    int subcarriers; //!< of the grid

    //! Allocated physical resource blocks of the grid, ascending, 0 its first one.
    std::vector<int> blocks;
    //! Elements of data, in the order in which symbols of a layer are mapped to them (TS
    //! 38.211, sections 6.3.1.6, 6.3.1.7, 7.3.1.5 and 7.3.1.6): the same for all layers.
    std::vector<uint32_t> data;
    //! Elements of data in each symbol, (symbols).
    std::vector<int> data_in_symbol;

    //! Symbols with DM-RS, ascending.
    std::vector<int> dmrs_symbols;
    //! l' of each: 1 for the second symbol of a position.
    std::vector<int> dmrs_time;
    //! Pilots of a symbol and a CDM group: 6 a resource block, with type 2 4.
    int pilots;
    //! Subcarriers of the pilots of each CDM group without data, (groups, pilots),
    //! ascending.
    std::vector<uint32_t> dmrs_subcarriers;
    //! The index of each pilot's value in the sequence r, (pilots); of all groups and
    //! symbols.
    std::vector<uint32_t> dmrs_sequence;

    //! The port of a layer sends amplitude · r · (-1)^(frequency · k' + time · l'). k' is
    //! the lowest bit of a pilot's number, l' the symbol's dmrs_time.
    struct port {
        int group;     //!< its CDM group
        int frequency; //!< 1 if w_f alternates
        int time;      //!< 1 if w_t alternates
    };
    std::vector<port> ports; //!< (layers)
    float dmrs_amplitude;

    //! Elements of PT-RS, symbol after symbol; empty if it is off.
    std::vector<uint32_t> ptrs;
    //! The pilot of the first DM-RS symbol whose r each of them has, times
    //! ptrs_amplitude.
    std::vector<uint32_t> ptrs_pilot;
    int ptrs_layer; //!< that sends them; the others are silent there
    float ptrs_amplitude;

    //! With transform precoding PT-RS stands among the symbols before it instead: at
    //! these places of a symbol, ascending (TS 38.211, section 6.4.1.2.2.2),
    std::vector<int> precoded_ptrs_places;
    std::vector<int> precoded_ptrs_symbols; //!< in these symbols of the slot, ascending

    //! Modulation symbols of a layer: one for each element of data, less precoded PT-RS.
    size_t modulation_symbols() const
    {
        return data.size() - precoded_ptrs_places.size() * precoded_ptrs_symbols.size();
    }

    int groups() const { return static_cast<int>(dmrs_subcarriers.size()) / pilots; }
};

//! \throws std::invalid_argument as parameters.check() does, if reserved elements meet
//! DM-RS, and if no element is left for data.
CUDAPHY_API resource_map make_resource_map(const shared_channel_parameters&);

//! The values r of all pilots in a slot of a frame, (dmrs_symbols, pilots), without signs
//! and amplitude (TS 38.211, sections 6.4.1.1.1 and 7.4.1.1.1).
CUDAPHY_API std::vector<complex64>
dmrs_values(const shared_channel_parameters&, const resource_map&, int slot);

//! What PT-RS before transform precoding sends in a slot of a frame, (places), times
//! ptrs_amplitude; the same in all its symbols (TS 38.211, section 6.4.1.2.1.2).
CUDAPHY_API std::vector<complex64>
precoded_ptrs_values(const shared_channel_parameters&, const resource_map&, int slot);

} // namespace gr::cudaphy::kernels::nr
