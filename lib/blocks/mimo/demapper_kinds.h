/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/packets/packet_refusal.h"
#include <gnuradio/cudaphy/soft_demapper.h>
#include <gnuradio/tags.h>
#include <map>
#include <tuple>

namespace gr::cudaphy {

/*!
 * \brief The kinds of frames that a soft demapper knows, and which of them a packet is
 * of.
 *
 * Kind 0 is that of packets whose tags say nothing. With tags there are two more of each
 * constellation: items by themselves, and frames of DVB-S2 and S2X whose interleaver is
 * undone.
 */
class demapper_kinds
{
public:
    struct kind {
        int points; //!< index in constellations()
        kernels::bit_interleaver interleaver;
        int items, llrs; //!< of a frame
    };

    //! \throws std::invalid_argument for two constellations of one name, or options that
    //! exclude each other
    explicit demapper_kinds(const soft_demapper_options& options);

    const std::vector<kernels::constellation>& constellations() const { return d_points; }
    const std::vector<kind>& all() const { return d_kinds; }

    struct choice {
        int kind; //!< -1: none
        //! Why; the same texts for all packets. If the length is wrong, `expected` is the
        //! number of items.
        const char* reason = "";
        int64_t expected = 0;
    };
    //! By the tags on a packet's first item. \param length  of the packet, in items
    choice of(const std::vector<tag_t>& head, int64_t length) const;

private:
    void add(kind what);

    const pmt::pmt_t d_key;
    std::string d_unknown; //!< the reason that names the constellations
    std::vector<kernels::constellation> d_points;
    std::vector<kind> d_kinds;
    std::map<std::string, int> d_index; //!< of constellations, by name
    std::map<int, int> d_plain;         //!< kinds, by constellation
    //! Kinds by constellation, columns and symbols.
    std::map<std::tuple<int, std::string, int64_t>, int> d_frames;
};

//! The value of the first tag with that key; null if there is none.
pmt::pmt_t tag_value(const std::vector<tag_t>& head, const pmt::pmt_t& key);

} // namespace gr::cudaphy
