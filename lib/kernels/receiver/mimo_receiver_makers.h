/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/receiver/mimo_receiver_layout.h"
#include <functional>

namespace gr::cudaphy::kernels {

//! Rows of bytes that lie `from_pitch` apart, to rows that lie `to_pitch` apart.
struct row_copy {
    const unsigned char* from;
    unsigned char* to;
    size_t from_pitch, to_pitch, width, rows;
};

/*!
 * \brief What a receiver does itself between the kernels that it is made of, which is to
 * move things to where the next one wants them; and how it submits its work.
 */
class receiver_steps
{
public:
    virtual ~receiver_steps() = default;

    //! Received slots into their pilot symbols and their symbols with data.
    virtual void split(view<const complex64> received,
                       complex64* pilots,
                       complex64* data,
                       queue& queue) = 0;
    //! Of the grid's layers and their noise those of places with data.
    virtual void select(size_t slots,
                        const complex64* grid_x,
                        const float* grid_noise,
                        complex64* x,
                        float* noise,
                        queue& queue) = 0;
    virtual void copy_rows(const row_copy& copy, queue& queue) = 0;

    //! Does the work. Calls of equal keys do the same with the same memory, so that one
    //! may be submitted as it was recorded before.
    virtual void submit(const std::vector<uint64_t>& key,
                        queue& queue,
                        const std::function<void()>& work) = 0;

    //! Slots that go through all kernels together, of so many bytes of memory each.
    virtual size_t slots_at_once(size_t slot_bytes) const = 0;
};

std::unique_ptr<receiver_steps> make_receiver_steps_cpu(const receiver_layout& layout);
//! \param recorded  whether work may be recorded: not where a kernel allocates on the way
std::unique_ptr<receiver_steps>
make_receiver_steps_cuda(const receiver_layout& layout, bool recorded, int device);

} // namespace gr::cudaphy::kernels
