/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_job.h"
#include <memory>

namespace gr::cudaphy {

//! Bytes of each port: of one frame, or of a batch.
struct port_bytes {
    std::vector<size_t> in, out;
};

//! Bytes to be copied from one place to another that the same queue reaches.
struct copied_piece {
    const char* from;
    char* to;
    size_t bytes;
};

/*!
 * \brief Groups a batch's frames by kind, so that the job sees each kind's frames
 * contiguously, and scatters the results back into arrival order.
 *
 * The frames are copied within the queue's memory, on a GPU by two small kernels. On the
 * host, frames of a kind that are contiguous anyway stay where they are.
 */
class kind_sorter
{
public:
    //! Parts of one batch at most, so that the list of copies has a bounded size.
    static constexpr int most_parts = 1024;

    //! \param kinds  bytes of a frame of each kind
    //! \param batch  bytes of the largest batch
    //! \param frames  of the largest batch
    //! \throws std::bad_alloc
    kind_sorter(queue& owner,
                std::vector<port_bytes> kinds,
                const port_bytes& batch,
                int frames,
                int status_words);

    //! Frames of one kind that lie side by side in a batch.
    struct kind_frames {
        int kind, frames;
    };
    //! The parts of a batch in which these follow each other.
    std::vector<batch_part> cut(const batch& whole,
                                const std::vector<kind_frames>& parts) const;

    //! Runs a job on a batch of at most most_parts parts. May be called again when that
    //! batch is done.
    void
    run(mixed_batch_job& job, const std::vector<batch_part>& parts, queue& work_queue);

private:
    //! The frames of one kind, side by side.
    struct group {
        batch_part all;
        std::vector<char*> in; //!< as all.work.in, but writable
        int parts = 0;
        size_t frames_before = 0; //!< of the parts that are listed already
    };
    std::vector<group> groups_of(const std::vector<batch_part>& parts) const;
    void place(std::vector<group>& groups) const;
    void list_copies(const batch_part& part, group& to);
    void add(std::vector<copied_piece>& list, const void* from, void* to, size_t bytes);
    void copy(const std::vector<copied_piece>& pieces,
              size_t first_in_table,
              queue& work_queue);

    const std::vector<port_bytes> d_kinds;
    const int d_status_words;
    const bool d_on_device;
    std::vector<array<char>> d_in, d_out;
    array<int> d_status;
    std::vector<copied_piece> d_before, d_after; //!< the job
    // On a device only: d_before and d_after, in its memory and on the host.
    array<copied_piece> d_table;
    std::shared_ptr<void> d_host_table;
};

} // namespace gr::cudaphy
