/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_receiver/cuda/many_antennas.cuh"
#include "kernels/nr_receiver/cuda/precoding.cuh"
#include "kernels/nr_receiver/cuda/ranked_stream.cuh"
#include "kernels/nr_receiver/cuda/soft_memory.cuh"
#include "kernels/nr_receiver/cuda/wiener_tables.cuh"
#include "kernels/nr_receiver/cuda/words.cuh"
#include "kernels/nr_receiver/gpu_receiver.h"
#include <gnuradio/cudaphy/kernels/equalizer.h>
#include <map>

namespace gr::cudaphy::kernels::nr {

//! Memory of all users: that which the kernels alone use, that which is copied to the
//! device before they run, and that which is zeroed before and copied back behind.
struct receiver_memory {
    arena work, in, out;
    size_t zeroed = 0; //!< bytes at the beginning of `out`
};

/*!
 * \brief One user of a receiver on the device: its tables, and the jobs of its kernels.
 * Lives and dies with its device current.
 */
class user_cuda
{
public:
    user_cuda(const gpu_user& of, int antennas, const receiver_parameters& p, int device);

    // Memory for batches of up to `slots`. What is zeroed comes first, of all users.
    void place_zeroed(receiver_memory& memory, int slots);
    void place(receiver_memory& memory, int slots);
    void take(const receiver_memory& memory, const float2* grid, const int* slot_numbers);
    void take_senders(const std::vector<std::unique_ptr<user_cuda>>& users);

    //! Before a batch: DM-RS of the slot, and a codeword's order in slot `at`.
    void prepare_slot(int number, queue& queue);
    void prepare_word(size_t codeword, int at, const gpu_order& order);
    //! After the last prepare_word(): decoders and widths. Adds to the batch's key.
    void choose(std::vector<uint64_t>& key, const float2* grid);

    // The steps of a batch.
    //! \param beside  takes steps that do not wait for each other
    void estimate(int slots, cudaStream_t stream, ranked_stream& beside);
    void decode(int slots, queue& queue);
    void fetch(int slots, queue& queue) const;

    // After a batch.
    const slot_state& state(int at) const
    {
        return d_memory->out.host<slot_state>(d_state)[at];
    }
    void report(int at, reception& out) const;
    //! Decodes on the host what a GPU's report is in doubt of, and keeps it.
    void
    settle(size_t codeword, int at, const gpu_order& order, queue& queue, reception& out);
    bool doubtful(size_t codeword, int at) const;
    //! What HARQ counts as received after the batch.
    void reached(size_t codeword, const gpu_order& order) const;

private:
    struct word {
        int n = 0;
        std::unique_ptr<ldpc_decoder> decoder;
    };
    struct codeword_part {
        words_cuda job{};
        codeword_layers_cuda layers{};
        std::map<int, word> decoders; //!< by rows
        word* chosen = nullptr;
        int rows = 0, most_received = 0;
        bool with_harq = false;
        std::unique_ptr<device_memory<int8_t>> signs;
        std::unique_ptr<device_memory<uint32_t>> term, factor;
        size_t wanted, llr, received, decoded, iterations, passed, capacity, x, noise;
        size_t report, records;
    };
    struct tables;

    void make_estimate();
    void make_word(size_t index);
    //! By what its elements are separated.
    enum class way { in_registers, by_equalizer, at_many_antennas };
    way separated() const;
    void separate(int slots, queue& queue);
    //! How many places of the soft buffer a transmission of this version reaches.
    int reach_of(size_t codeword, int version) const;
    //! A codeword's job with the records of the host.
    words_cuda on_host(size_t codeword) const;

    const gpu_user d_user;
    const int d_antennas, d_device;
    const bool d_packed;
    bool d_white;
    estimate_cuda d_estimate{};
    layers_cuda d_layers{};
    std::vector<codeword_part> d_words;
    std::unique_ptr<equalizer> d_equalizer;
    std::unique_ptr<many_antennas> d_many;
    std::unique_ptr<precoding_undone> d_precoding; //!< null without transform precoding
    std::shared_ptr<tables> d_tables;
    std::vector<uint8_t> d_slots_known;
    const receiver_memory* d_memory = nullptr;
    size_t d_state, d_z, d_residual, d_sums, d_errors, d_lags, d_h, d_products, d_samples;
    size_t d_total, d_differences, d_correlation, d_covariance, d_ptrs_sums;
    size_t d_n0, d_received, d_channel, d_covariances, d_x, d_noise, d_status;
};

} // namespace gr::cudaphy::kernels::nr
