/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/parallel.h"
#include "kernels/receiver/mimo_receiver_makers.h"
#include <algorithm>
#include <cstring>

namespace gr::cudaphy::kernels {
namespace {

// Groups of slots of about so much memory go through all kernels, so that each kernel
// finds its input in the cache. Small slots are still many at a time, because the decoder
// takes a codeword a lane.
constexpr size_t cache_bytes = size_t{ 4 } << 20;
constexpr size_t bytes_a_part = size_t{ 1 } << 16;

class receiver_steps_cpu : public receiver_steps
{
public:
    explicit receiver_steps_cpu(const receiver_layout& layout) : d_layout(layout) {}

    void split(view<const complex64> received,
               complex64* pilots,
               complex64* data,
               queue&) override
    {
        const size_t row = d_layout.row_items();
        const size_t symbols = d_layout.symbols;
        const size_t all = received.size() / row;
        for_each_part(all, grain(row * sizeof(complex64)), [&](size_t i, size_t last) {
            for (; i < last; ++i) {
                const size_t slot = i / symbols;
                const auto copy_to = [&](complex64* to, int rows, int place) {
                    if (place >= 0) {
                        std::copy_n(received.data() + i * row,
                                    row,
                                    to + (slot * rows + place) * row);
                    }
                };
                copy_to(pilots, d_layout.pilot_rows, d_layout.pilot_row[i % symbols]);
                copy_to(data, d_layout.data_rows, d_layout.data_row[i % symbols]);
            }
        });
    }

    void select(size_t slots,
                const complex64* grid_x,
                const float* grid_noise,
                complex64* x,
                float* noise,
                queue&) override
    {
        const size_t layers = d_layout.layers;
        const size_t places = d_layout.places.size();
        const size_t bytes = layers * (sizeof(complex64) + sizeof(float));
        for_each_part(slots * places, grain(bytes), [&](size_t i, size_t last) {
            for (; i < last; ++i) {
                const size_t from =
                    i / places * d_layout.grid_vectors() + d_layout.places[i % places];
                std::copy_n(grid_x + from * layers, layers, x + i * layers);
                std::copy_n(grid_noise + from * layers, layers, noise + i * layers);
            }
        });
    }

    void copy_rows(const row_copy& copy, queue&) override
    {
        for_each_part(copy.rows, grain(copy.width), [&](size_t row, size_t last) {
            for (; row < last; ++row) {
                std::memcpy(copy.to + row * copy.to_pitch,
                            copy.from + row * copy.from_pitch,
                            copy.width);
            }
        });
    }

    void submit(const std::vector<uint64_t>&,
                queue&,
                const std::function<void()>& work) override
    {
        work();
    }

    size_t slots_at_once(size_t slot_bytes) const override
    {
        return std::max<size_t>(1, cache_bytes / slot_bytes);
    }

private:
    static size_t grain(size_t bytes)
    {
        return std::max<size_t>(1, bytes_a_part / bytes);
    }

    const receiver_layout d_layout;
};

} // namespace

std::unique_ptr<receiver_steps> make_receiver_steps_cpu(const receiver_layout& layout)
{
    return std::make_unique<receiver_steps_cpu>(layout);
}

} // namespace gr::cudaphy::kernels
