/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_graph.cuh"
#include "kernels/nr_receiver/cuda/ranked_stream.cuh"
#include "kernels/nr_receiver/cuda/user.cuh"

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief Slots that go through the kernels together, on a queue and in memory of their
 * own: one CUDA graph for each number of slots.
 */
class slot_batch
{
public:
    using orders_of_slot = std::vector<std::vector<gpu_order>>; //!< (users, codewords)

    //! \param rank  the GPU prefers batches of a lower one
    slot_batch(const std::vector<gpu_user>& users,
               int antennas,
               const receiver_parameters& p,
               int device,
               int rank);
    ~slot_batch();

    //! Returns as soon as the work is submitted; the grids must stay until collect() or
    //! wait(). Parameters are gpu_receiver's.
    void submit(view<const complex64> grids,
                view<const int> slots,
                view<const orders_of_slot> orders);
    //! Waits, and says what came of it.
    void collect(view<const orders_of_slot> orders,
                 view<std::vector<int>> found,
                 view<std::vector<reception>> out);
    void wait() { d_queue->synchronize(); }

private:
    void make_room(int slots);
    const float2* on_device(view<const complex64> grids);
    void run_steps(int slots);

    const int d_device;
    std::unique_ptr<ranked_stream> d_stream, d_beside;
    std::unique_ptr<queue> d_queue;
    size_t d_slot_samples = 0;
    std::vector<std::unique_ptr<user_cuda>> d_users;
    std::vector<size_t> d_codewords;
    std::unique_ptr<receiver_memory> d_memory;
    std::unique_ptr<recorded_work> d_recorded;
    arena d_stage;
    size_t d_grid = 0, d_numbers = 0;
    int d_room = 0;
};

} // namespace gr::cudaphy::kernels::nr
