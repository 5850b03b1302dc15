/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/cuda/slot_batch.cuh"
#include <algorithm>

namespace gr::cudaphy::kernels::nr {
namespace {

// A part of a batch that is this large keeps the GPU busy; beside it another part's
// decisions, which few threads take, and copies go on. The GPU prefers the first part, so
// that its results are taken over while it computes the others.
constexpr size_t slots_a_part = 4, most_parts = 3;

//! Parts of a batch one after the other, and beside each other on the GPU.
class gpu_receiver_cuda : public gpu_receiver
{
public:
    gpu_receiver_cuda(const std::vector<gpu_user>& users,
                      int antennas,
                      const receiver_parameters& p,
                      int device)
        : d_users(users), d_antennas(antennas), d_parameters(p), d_device(device)
    {
        make_parts(1);
    }

    std::vector<std::vector<int>>
    run(view<const complex64> grids,
        const std::vector<int>& slots,
        const std::vector<std::vector<std::vector<gpu_order>>>& orders,
        std::vector<std::vector<reception>>& out) override
    {
        const size_t count = slots.size(), a_slot = grids.size() / count;
        const size_t parts =
            std::max<size_t>(1, std::min(most_parts, count / slots_a_part));
        make_parts(parts);
        std::vector<std::vector<int>> found(count);
        out.assign(count, {});
        const auto begin = [&](size_t part) { return count * part / parts; };
        const auto size = [&](size_t part) { return begin(part + 1) - begin(part); };
        const view<const slot_batch::orders_of_slot> wanted(orders);
        const auto orders_of = [&](size_t part) {
            return wanted.part(begin(part), size(part));
        };
        try {
            for (size_t part = 0; part < parts; ++part) {
                d_parts[part]->submit(
                    grids.part(begin(part) * a_slot, size(part) * a_slot),
                    view<const int>(slots).part(begin(part), size(part)),
                    orders_of(part));
            }
            for (size_t part = 0; part < parts; ++part) {
                d_parts[part]->collect(
                    orders_of(part),
                    view<std::vector<int>>(found).part(begin(part), size(part)),
                    view<std::vector<reception>>(out).part(begin(part), size(part)));
            }
        } catch (...) {
            wait(); // no part reads the grids or writes HARQ's memory any more
            throw;
        }
        return found;
    }

private:
    void make_parts(size_t count)
    {
        while (d_parts.size() < count) {
            const auto rank = static_cast<int>(d_parts.size());
            d_parts.push_back(std::make_unique<slot_batch>(
                d_users, d_antennas, d_parameters, d_device, rank));
        }
    }
    void wait() noexcept
    {
        for (auto& one : d_parts) {
            try {
                one->wait();
            } catch (const std::exception&) { // the first problem is told
            }
        }
    }

    const std::vector<gpu_user> d_users;
    const int d_antennas;
    const receiver_parameters d_parameters;
    const int d_device;
    std::vector<std::unique_ptr<slot_batch>> d_parts;
};

} // namespace

std::unique_ptr<gpu_receiver> gpu_receiver::make(const std::vector<gpu_user>& users,
                                                 int antennas,
                                                 const receiver_parameters& p,
                                                 int device)
{
    return std::make_unique<gpu_receiver_cuda>(users, antennas, p, device);
}

} // namespace gr::cudaphy::kernels::nr
