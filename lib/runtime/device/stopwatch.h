/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <chrono>
#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy {

/*!
 * \brief The time that a queue's work takes from begin() to end(). On a GPU its own clock
 * measures, because a call returns before the work is done.
 */
class stopwatch
{
public:
    explicit stopwatch(queue& work_queue);
    ~stopwatch();
    stopwatch(const stopwatch&) = delete;
    stopwatch& operator=(const stopwatch&) = delete;

    void begin() { begin(d_queue); } //!< after the work that was submitted so far
    void end() { end(d_queue); }
    //! On another queue of the same device.
    void begin(queue& work_queue);
    void end(queue& work_queue);
    //! To be called when the queue has come past end(). 0 if the device does not know.
    double seconds() const;

private:
    queue& d_queue;
    void* d_events[2] = {}; //!< cudaEvent_t
    std::chrono::steady_clock::time_point d_begin{}, d_end{};
};

} // namespace gr::cudaphy
