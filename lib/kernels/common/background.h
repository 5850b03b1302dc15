/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace gr::cudaphy {

//! What takes long to prepare, and need not be ready at once.
class prepared_later
{
public:
    virtual ~prepared_later() = default;
    //! Returns when the thing is ready. Any thread may call it at any time.
    virtual void prepare() = 0;
};

/*!
 * \brief Threads that prepare things in the order of add().
 *
 * Things that nobody holds any more are passed over. An exception of prepare() is
 * dropped, because whoever needs the thing calls prepare() itself and gets the exception.
 */
class background
{
public:
    explicit background(size_t threads) : d_most_threads(threads) {}
    //! Waits for what is being prepared. The rest is dropped.
    ~background()
    {
        {
            const std::lock_guard<std::mutex> lock(d_guard);
            d_ends = true;
        }
        d_changed.notify_all();
        for (auto& thread : d_threads) {
            thread.join();
        }
    }
    background(const background&) = delete;
    background& operator=(const background&) = delete;

    void add(const std::weak_ptr<prepared_later>& thing)
    {
        {
            const std::lock_guard<std::mutex> lock(d_guard);
            d_waiting.push_back(thing);
            if (d_threads.size() < d_most_threads && d_idle < d_waiting.size()) {
                d_threads.emplace_back([this] { run(); });
            }
        }
        d_changed.notify_one();
    }

private:
    void run()
    {
        std::unique_lock<std::mutex> lock(d_guard);
        for (;;) {
            ++d_idle;
            d_changed.wait(lock, [this] { return d_ends || !d_waiting.empty(); });
            --d_idle;
            if (d_ends) {
                return;
            }
            auto thing = d_waiting.front().lock();
            d_waiting.pop_front();
            lock.unlock();
            if (thing) {
                try {
                    thing->prepare();
                } catch (...) { // shows again where the thing is needed
                }
                thing.reset(); // the last holder may be this thread
            }
            lock.lock();
        }
    }

    const size_t d_most_threads;
    std::mutex d_guard;
    std::condition_variable d_changed;
    std::deque<std::weak_ptr<prepared_later>> d_waiting;
    size_t d_idle = 0;
    bool d_ends = false;
    std::vector<std::thread> d_threads;
};

} // namespace gr::cudaphy
