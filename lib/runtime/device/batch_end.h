/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>
#include <memory>

namespace gr::cudaphy {

/*!
 * \brief Tells the host that a batch is done, and what its status words are.
 *
 * On a GPU the CUDA stream writes a mark into the host's memory when it comes to the
 * batch's end. Asking the driver instead takes longer, and holds up the threads that
 * submit. Few status words are copied. Many are brought by a kernel, because a copy would
 * queue with the batches that leave for the host; if all are 0, they are not brought.
 */
class batch_end
{
public:
    //! \throws std::bad_alloc
    batch_end(queue& owner, size_t most_words);

    //! The host's status words: those of the last batch once it is done().
    int* words() const { return static_cast<int*>(d_words.get()); }

    //! Submits the end of a batch to a queue on the same device. If all status words are
    //! 0, they are copied only if `zeros_too`. `status` may be words() itself.
    void submit(queue& work_queue, const int* status, size_t words, bool zeros_too);

    //! Whether the device has come to the end of the last batch that was submitted.
    //! Always true on the host, where a batch is done when it is submitted.
    bool done() const;
    //! False if every status word is 0: words() then holds stale data.
    bool any_words() const;

private:
    std::shared_ptr<void> d_words;
    std::shared_ptr<void> d_mark; //!< written by the device: 2 · number + any_words()
    unsigned d_number = 0;
};

} // namespace gr::cudaphy
