/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/receiver/mimo_receiver_layout.h"
#include <functional>

namespace gr::cudaphy::kernels {

//! A copy of rows of bytes, `from_pitch` apart, to rows that are `to_pitch` apart.
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

    //! Splits received slots into pilot symbols and symbols with data.
    virtual void split(view<const complex64> received,
                       complex64* pilots,
                       complex64* data,
                       queue& queue) = 0;
    //! Selects, of the grid's layers and their noise, those of places with data.
    virtual void select(size_t slots,
                        const complex64* grid_x,
                        const float* grid_noise,
                        complex64* x,
                        float* noise,
                        queue& queue) = 0;
    virtual void copy_rows(const row_copy& copy, queue& queue) = 0;

    //! Does the work. Calls with equal keys do the same work in the same memory, so that
    //! a call may replay the work that was recorded before.
    virtual void submit(const std::vector<uint64_t>& key,
                        queue& queue,
                        const std::function<void()>& work) = 0;

    //! Slots that go through all kernels together, of so many bytes of memory each.
    virtual size_t slots_at_once(size_t slot_bytes) const = 0;
};

std::unique_ptr<receiver_steps> make_receiver_steps_cpu(const receiver_layout& layout);
//! \param recorded  whether work may be recorded: false if a kernel allocates on the way
std::unique_ptr<receiver_steps>
make_receiver_steps_cuda(const receiver_layout& layout, bool recorded, int device);

} // namespace gr::cudaphy::kernels
