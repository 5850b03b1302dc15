/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>
#include <memory>

namespace gr::cudaphy {

/*!
 * \brief Tells the host that a batch is done, and what its status words are.
 *
 * On a GPU a mark in the host's memory says so, which the stream writes when it gets
 * there: the host need not ask the driver, which takes longer and holds up the threads
 * that submit. Few words are copied; many are brought by a kernel, since a copy would
 * queue with the batches that leave for the host, and stay where they are if all are 0.
 */
class batch_end
{
public:
    //! \throws std::bad_alloc
    batch_end(queue& owner, size_t most_words);

    //! The host's status words: those of the last batch once it is done().
    int* words() const { return static_cast<int*>(d_words.get()); }

    //! Submits the end of a batch to a queue on the same device. Words that are all 0 are
    //! not copied unless `zeros_too`. `status` may be words() itself.
    void submit(queue& line, const int* status, size_t words, bool zeros_too);

    //! Whether the device has come to the end of the last batch that was submitted; true
    //! where it can't say, on the host, and the queue is to be asked.
    bool done() const;
    //! Whether words() are to be looked at.
    bool any_words() const;

private:
    std::shared_ptr<void> d_words;
    std::shared_ptr<void> d_mark; //!< written by the device: 2 · number + any_words()
    unsigned d_number = 0;
};

} // namespace gr::cudaphy
