/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_receiver/cuda/memory.cuh"
#include "kernels/nr_receiver/cuda/phases.cuh"
#include <gnuradio/cudaphy/kernels/nr/shared_channel.h>

namespace gr::cudaphy::kernels::nr {

constexpr int most_passes = 12; // of a transform: 2^11 3 > 3,300
constexpr int most_ptrs = 32;   // samples of PT-RS in a symbol

//! From layers to symbols before transform precoding (soft_bits.cc), of a channel with
//! one layer. Arrays have a first index over slots.
struct precoding_cuda {
    int size, symbols; //!< tones, and OFDM symbols that have data
    int subcarriers;
    int passes, radix[most_passes];
    int order;            //!< bits of a symbol
    const float2* root;   //!< exp(2 pi j k / size)
    const uint32_t* data; //!< elements, (symbols, size)
    const slot_state* state;
    const int* slot_number;
    int places, kept; //!< of PT-RS in a symbol; and symbols of data in a slot
    unsigned tracked; //!< a bit for each symbol of the slot that has PT-RS
    const int* place;
    const float2* ptrs; //!< (slots of a frame, places)
    dmrs_times dmrs;
    int slot_symbols;

    double2* sums;    //!< that PT-RS tells, (slot_symbols)
    double* capacity; //!< bits, (symbols)
    float2* x;        //!< (kept)
    float* noise;
};

/*!
 * \brief Undoes transform precoding, and the phases that PT-RS tells before it (3GPP TS
 * 38.211, sections 6.3.1.4 and 6.4.1.2.2.2).
 */
class precoding_undone
{
public:
    //! \param times  of DM-RS's positions, in symbols
    precoding_undone(const shared_channel& channel,
                     const std::vector<double>& times,
                     int slots_of_frame,
                     const uint32_t* data);

    void place(arena& work, int slots);
    void take(const arena& work, const slot_state* state, const int* slot_numbers);
    //! Before the first batch with a slot of this number.
    void prepare_slot(const shared_channel& channel, int number, queue& queue);

    //! \param x, noise  (slots, symbols · size), which it changes
    void run(float2* x, float* noise, int slots, cudaStream_t stream) const;

    // After run(); x and noise are run()'s unless PT-RS is taken out.
    bool has_ptrs() const { return d_job.places > 0; }
    const float2* x() const { return d_job.x; }
    const float* noise() const { return d_job.noise; }
    const double* capacity() const { return d_job.capacity; }
    int capacity_parts() const { return d_job.symbols; }

private:
    precoding_cuda d_job{};
    std::unique_ptr<device_memory<float2>> d_root, d_ptrs;
    std::unique_ptr<device_memory<int>> d_places;
    size_t d_sums = 0, d_capacity = 0, d_x = 0, d_noise = 0;
};

} // namespace gr::cudaphy::kernels::nr
