/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/interruption.h>
#ifdef __SANITIZE_THREAD__
#include <future>
#else
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#endif

namespace gr::cudaphy::kernels {

//! Runs one piece of work at a time in the background, on other cores. The work runs to
//! its end even if the calling thread is interrupted.
class background_task
{
public:
    background_task() = default;
    background_task(const background_task&) = delete;
    background_task& operator=(const background_task&) = delete;
    ~background_task() { wait(); }

    template <typename Work>
    static auto to_its_end(const Work& work)
    {
        return [work] {
            const interruption::scope none(nullptr);
            work();
        };
    }

#ifdef __SANITIZE_THREAD__ // as in kernels/common/parallel.h
    template <typename Work>
    void start(const Work& work)
    {
        d_running = std::async(std::launch::async, to_its_end(work));
    }
    void wait()
    {
        if (d_running.valid()) {
            d_running.get();
        }
    }
    template <typename Work>
    static void beside(const Work& work)
    {
        work();
    }

private:
    std::future<void> d_running;
#else
    template <typename Work>
    void start(const Work& work)
    {
        d_running.run(to_its_end(work));
    }
    void wait() { d_running.wait(); }
    //! Does parallel work while the task runs. The calling thread takes up no part of the
    //! task.
    template <typename Work>
    static void beside(const Work& work)
    {
        tbb::this_task_arena::isolate(work);
    }

private:
    tbb::task_group d_running;
#endif
};

} // namespace gr::cudaphy::kernels
