/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/mimo/equalizer/gram_job.cuh"
#include "kernels/nr_receiver/cuda/layers.cuh"
#include "kernels/nr_receiver/cuda/memory.cuh"

namespace gr::cudaphy::kernels::nr {

//! Of elements from `first` on, counted over all slots: what the Gram matrices' equalizer
//! takes.
struct elements_cuda {
    int first, count;
    float2 *received, *channel; //!< (count, antennas), (count, antennas, layers)
    float* n0;                  //!< (count)
    int* whitener_of;           //!< gram_job's, (count); null: all noise is white
};

/*!
 * \brief Separates layers at more than 16 antennas (layer_separation.cc): channels of all
 * elements would take gigabytes, so some elements at a time; a bundle's covariance is
 * factored once.
 */
class many_antennas
{
public:
    many_antennas(
        int antennas, int layers, int data, int bundles, bool white, int device);

    void place(arena& work, int slots);
    void take(const arena& work);
    void run(const layers_cuda& job, int slots, cudaStream_t stream) const;

private:
    const int d_antennas, d_layers, d_data, d_bundles;
    const bool d_white;
    int d_room = 0, d_at_once;
    elements_cuda d_elements{};
    gram_whiteners d_whiteners{};
    float2* d_covariances = nullptr; //!< (slots, bundles, antennas, antennas)
    int *d_wanted = nullptr, *d_status = nullptr;
    struct {
        size_t received, channel, n0, whitener_of, inverse, variance, covariances, wanted,
            status;
    } d_place{};
};

} // namespace gr::cudaphy::kernels::nr
