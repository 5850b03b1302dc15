/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <chrono>
#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy {

/*!
 * \brief The time that a queue's work takes from begin() to end(): on a GPU by its own
 * clock, since there a call returns before the work is done.
 */
class stopwatch
{
public:
    explicit stopwatch(queue& line);
    ~stopwatch();
    stopwatch(const stopwatch&) = delete;
    stopwatch& operator=(const stopwatch&) = delete;

    void begin() { begin(d_line); } //!< after what was submitted so far
    void end() { end(d_line); }
    //! On another queue of the same device.
    void begin(queue& line);
    void end(queue& line);
    //! Once the queue has come past end(); 0 where the device can't tell.
    double seconds() const;

private:
    queue& d_line;
    void* d_events[2] = {}; //!< cudaEvent_t
    std::chrono::steady_clock::time_point d_begin{}, d_end{};
};

} // namespace gr::cudaphy
