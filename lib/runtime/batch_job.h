/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>
#include <vector>

namespace gr::cudaphy {

//! A batch of frames as a kernel sees it: the queue reaches what every pointer points to.
struct batch {
    int frames;
    std::vector<const void*> in; //!< one a port, frames after each other
    std::vector<void*> out;
    int* status; //!< frames · status words of the block, in the job's own layout

    template <typename T>
    view<const T> input(int port, size_t items_a_frame) const
    {
        return { static_cast<const T*>(in[port]), frames * items_a_frame };
    }
    template <typename T>
    view<T> output(int port, size_t items_a_frame) const
    {
        return { static_cast<T*>(out[port]), frames * items_a_frame };
    }
};

//! What a job wrote into its batch's status words, back on the host.
struct batch_status {
    const int* words;
    int frames;
};

/*!
 * \brief What a block does to one batch, with its own kernels and workspace.
 *
 * A block owns several jobs, so that several batches are under way at once, each on its
 * own queue.
 */
class batch_job
{
public:
    virtual ~batch_job() = default;
    //! Submits the batch's work to the queue; may return before it is done.
    virtual void run(const batch& work, queue& queue) = 0;
};

//! The frames of one kind within a batch of several kinds.
struct batch_part {
    int kind;
    batch work;
};

//! As batch_job, for batches of several kinds.
class mixed_batch_job
{
public:
    virtual ~mixed_batch_job() = default;
    //! \param parts  at least one; of each kind at most one
    virtual void run(const std::vector<batch_part>& parts, queue& queue) = 0;
};

} // namespace gr::cudaphy
