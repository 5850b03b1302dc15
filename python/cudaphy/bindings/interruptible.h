/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <chrono>
#include <condition_variable>
#include <gnuradio/cudaphy/kernels/interruption.h>
#include <mutex>
#include <pybind11/pybind11.h>
#include <thread>

namespace gr::cudaphy::bindings {

/*!
 * \brief Calls `work`, which must not touch Python, without Python's lock; Ctrl-C ends
 * it.
 *
 * Long work, by a rough count of its multiply-adds, runs on a thread of its own, so that
 * this one hears of signals: their handlers run, and where one raises, the work is
 * interrupted, waited for, and the exception goes on.
 */
template <typename Work>
void run_interruptibly(double operations, const Work& work)
{
    constexpr double soon_done = 1e8; // a tenth of a second on a slow core
    constexpr std::chrono::milliseconds between_looks{ 50 };
    if (!(operations > soon_done)) {
        pybind11::gil_scoped_release others_may_run;
        work();
        return;
    }
    interruption ctrl_c;
    std::mutex mutex;
    std::condition_variable news;
    std::exception_ptr problem;
    bool done = false, raised = false;
    {
        pybind11::gil_scoped_release others_may_run;
        std::thread worker([&] {
            try {
                const interruption::scope under(&ctrl_c);
                work();
            } catch (...) {
                problem = std::current_exception();
            }
            const std::lock_guard<std::mutex> lock(mutex);
            done = true;
            news.notify_one();
        });
        std::unique_lock<std::mutex> lock(mutex);
        while (!news.wait_for(lock, between_looks, [&] { return done; })) {
            lock.unlock();
            if (!raised) {
                const pybind11::gil_scoped_acquire locked;
                raised = PyErr_CheckSignals() != 0;
                if (raised) {
                    ctrl_c.ask();
                }
            }
            lock.lock();
        }
        lock.unlock();
        worker.join();
    }
    if (raised) {
        throw pybind11::error_already_set();
    }
    if (problem) {
        std::rethrow_exception(problem);
    }
}

} // namespace gr::cudaphy::bindings
