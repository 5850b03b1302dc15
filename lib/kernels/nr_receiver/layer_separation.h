/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_receiver/channel_estimate.h"
#include <gnuradio/cudaphy/kernels/equalizer.h>
#include <memory>

namespace gr::cudaphy::kernels::nr {

//! A channel that sends in the slot: its estimate, and its common_phases().
struct estimated_channel {
    const channel_estimate* estimate;
    std::vector<complex64> phases;
};

/*!
 * \brief Separates the layers of one shared channel, jointly with those of others on its
 * resource blocks.
 */
class layer_separation
{
public:
    //! \param layers  of all channels together
    //! \param where   no GPU
    layer_separation(int antennas, int layers, backend where);

    /*!
     * \param channels  the first one is received; layers follow in this order
     * \param colored   with the noise's covariance
     */
    void run(const std::vector<estimated_channel>& channels,
             view<const complex64> grid,
             bool colored,
             queue& queue);

    int layers() const { return d_layers; }
    //! Layers with unit energy, and the noise of each, (data of the channel, layers).
    std::vector<complex64> symbols;
    std::vector<float> noise;

private:
    void fill_channel(const estimated_channel& from, const resource_map& map, int column);
    equalizer& made(detector method);
    //! Fills in d_place: the order of the data, or by bundles. Returns the number of
    //! elements of each bundle, if by bundles.
    template <typename BundleOf>
    std::vector<size_t>
    find_places(size_t count, bool by_bundle, const BundleOf& bundle_of);
    //! Puts rows of `width` items from their places into the order of the data.
    template <typename T>
    void restore_order(std::vector<T>& values, size_t width) const;

    int d_antennas, d_layers;
    backend d_where;
    std::unique_ptr<equalizer> d_white, d_colored;
    std::vector<complex64> d_received, d_channel, d_covariance;
    std::vector<size_t> d_place; // of each element of the data in these
    std::vector<int> d_status;
};

} // namespace gr::cudaphy::kernels::nr
