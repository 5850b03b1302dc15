/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/parallel.h"
#include "kernels/nr_receiver/cuda/slot_batch.cuh"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels::nr {
namespace {

//! In useful symbols and turns a symbol; the caller has the units.
void measure(const slot_state& from, reception& out)
{
    if (!from.usable) {
        return;
    }
    out.timing_offset = from.delay;
    out.delay_spread = from.spread;
    out.frequency_offset = from.turns_a_symbol;
    out.doppler = from.doppler;
    out.noise_variance = from.noise_mean;
    out.dmrs_snr_db =
        10 *
        std::log10(std::max(from.layer_energy / std::max(from.noise_mean, 1e-30), 1e-10));
    out.colored_noise = from.colored;
}

} // namespace

slot_batch::slot_batch(const std::vector<gpu_user>& users,
                       int antennas,
                       const receiver_parameters& p,
                       int device,
                       int rank)
    : d_device(device)
{
    const cuda_device_scope scope(device);
    d_stream = std::make_unique<ranked_stream>(rank);
    d_beside = std::make_unique<ranked_stream>(rank);
    d_queue = queue::attach(d_stream->get(), device);
    const auto& map = users.front().channel->map();
    d_slot_samples = size_t(antennas) * map.symbols * map.subcarriers;
    for (const auto& one : users) {
        d_users.push_back(std::make_unique<user_cuda>(one, antennas, p, device));
        d_codewords.push_back(one.channel->codewords().size());
    }
    for (auto& one : d_users) {
        one->take_senders(d_users);
    }
}

slot_batch::~slot_batch()
{
    const cuda_device_scope scope(d_device, std::nothrow);
    d_recorded.reset();
    d_users.clear();
    d_memory.reset();
    d_queue.reset();
    d_beside.reset();
    d_stream.reset();
}

void slot_batch::submit(view<const complex64> grids,
                        view<const int> slots,
                        view<const orders_of_slot> orders)
{
    const cuda_device_scope scope(d_device);
    const int count = static_cast<int>(slots.size());
    make_room(count);
    std::copy(slots.begin(), slots.end(), d_memory->in.host<int>(d_numbers));
    for (size_t u = 0; u < d_users.size(); ++u) {
        for (int at = 0; at < count; ++at) {
            d_users[u]->prepare_slot(slots[at], *d_queue);
            for (size_t i = 0; i < d_codewords[u]; ++i) {
                d_users[u]->prepare_word(i, at, orders[at][u][i]);
            }
        }
    }
    const auto* const grid = on_device(grids);
    std::vector<uint64_t> key{ uint64_t(count), reinterpret_cast<uint64_t>(grid) };
    for (auto& one : d_users) {
        one->choose(key, grid);
    }
    d_recorded->submit(key, *d_queue, [&] { run_steps(count); });
}

void slot_batch::collect(view<const orders_of_slot> orders,
                         view<std::vector<int>> found,
                         view<std::vector<reception>> out)
{
    const cuda_device_scope scope(d_device);
    d_queue->synchronize();
    const size_t slots = orders.size(), users = d_users.size();
    for (size_t at = 0; at < slots; ++at) {
        for (const auto& one : d_users) {
            const auto& state = one->state(static_cast<int>(at));
            found[at].push_back(!state.usable ? 0 : state.present ? 2 : 1);
        }
        out[at].resize(users);
    }
    for_each_part(slots * users, 1, [&](size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) {
            const size_t at = i / users, u = i % users;
            d_users[u]->report(static_cast<int>(at), out[at][u]);
            measure(d_users[u]->state(static_cast<int>(at)), out[at][u]);
        }
    });
    for (size_t at = 0; at < slots; ++at) {
        for (size_t u = 0; u < users; ++u) {
            for (size_t i = 0; i < d_codewords[u] && found[at][u]; ++i) {
                auto& one = *d_users[u];
                const int slot = static_cast<int>(at);
                one.reached(i, orders[at][u][i]);
                if (one.doubtful(i, slot)) {
                    one.settle(i, slot, orders[at][u][i], *d_queue, out[at][u]);
                }
            }
        }
    }
}

void slot_batch::make_room(int slots)
{
    if (slots <= d_room) {
        return;
    }
    d_recorded = std::make_unique<recorded_work>();
    d_memory = std::make_unique<receiver_memory>();
    auto& memory = *d_memory;
    d_numbers = memory.in.place<int>(slots);
    for (auto& one : d_users) {
        one->place_zeroed(memory, slots);
    }
    memory.zeroed = memory.out.size();
    d_grid = memory.work.place<float2>(slots * d_slot_samples);
    for (auto& one : d_users) {
        one->place(memory, slots);
    }
    memory.work.make_on_device();
    memory.in.make_on_device();
    memory.in.make_on_host();
    memory.out.make_on_device();
    memory.out.make_on_host();
    for (auto& one : d_users) {
        one->take(memory, memory.work.at<float2>(d_grid), memory.in.at<int>(d_numbers));
    }
    for (auto& one : d_users) {
        one->take_senders(d_users);
    }
    d_stage = arena();
    d_room = slots;
}

//! The grids where kernels read them. Pageable ones go through page-locked memory:
//! copied by all cores, an antenna after the other, beside the transfer.
const float2* slot_batch::on_device(view<const complex64> grids)
{
    if (gpu_of_pointer(grids.data()) == d_device) {
        return reinterpret_cast<const float2*>(grids.data());
    }
    auto* const to = d_memory->work.at<complex64>(d_grid);
    const size_t bytes = grids.size() * sizeof(complex64);
    if (is_page_locked(grids.data())) {
        d_queue->copy_in(to, grids.data(), bytes);
        return reinterpret_cast<const float2*>(to);
    }
    if (!d_stage.size()) {
        d_stage.place<complex64>(d_room * d_slot_samples);
        d_stage.make_on_host();
    }
    auto* const stage = d_stage.host<complex64>(0);
    constexpr size_t piece = 1 << 16; // samples
    for (size_t first = 0; first < grids.size(); first += piece) {
        const size_t count = std::min(piece, grids.size() - first);
        for_each_part(count, 1 << 13, [&](size_t a, size_t b) {
            std::memcpy(
                stage + first + a, grids.data() + first + a, (b - a) * sizeof(complex64));
        });
        d_queue->copy_in(to + first, stage + first, count * sizeof(complex64));
    }
    return reinterpret_cast<const float2*>(to);
}

void slot_batch::run_steps(int slots)
{
    auto& memory = *d_memory;
    const auto stream = stream_of(*d_queue);
    d_queue->copy_in(memory.in.at<char>(0), memory.in.host<char>(0), memory.in.size());
    cuda_check(cudaMemsetAsync(memory.out.at<char>(0), 0, memory.zeroed, stream),
               "nr receiver, states");
    for (auto& one : d_users) {
        one->estimate(slots, stream, *d_beside);
    }
    for (auto& one : d_users) {
        one->decode(slots, *d_queue);
    }
    d_queue->copy_out(memory.out.host<char>(0), memory.out.at<char>(0), memory.zeroed);
    for (const auto& one : d_users) {
        one->fetch(slots, *d_queue);
    }
}

} // namespace gr::cudaphy::kernels::nr
