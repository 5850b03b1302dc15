/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Flowgraphs side by side that take turns. Both are measured within a fraction of a
// second, so that changes of the machine from one run to the next do not count.

#include "bench/streams/benchmark_copy.h"
#include "bench/streams/benchmark_idle_ends.h"
#include "bench/streams/benchmark_quantiles.h"
#include <array>
#include <condition_variable>
#include <ctime>
#include <gnuradio/top_block.h>
#include <mutex>
#include <pthread.h>

namespace gr::cudaphy::benchmarks {

//! Fills its ring during its turn, and gives nothing between turns.
class turn_source : public filled_source
{
public:
    explicit turn_source(const content& filling) : filled_source(filling) {}
    int work(int items, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        if (d_state != state::runs) { // to give nothing would end the flowgraph
            std::unique_lock<std::mutex> guard(d_mutex);
            d_changed.wait(guard, [this] { return d_state != state::waits; });
        }
        return d_state == state::ends ? static_cast<int>(WORK_DONE) : items;
    }
    void begin() { change(state::runs); }
    void pause() { change(state::waits); }
    void end() { change(state::ends); }

private:
    enum class state { waits, runs, ends };
    void change(state to)
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        d_state = to;
        d_changed.notify_all();
    }
    std::atomic<state> d_state{ state::waits };
    std::mutex d_mutex;
    std::condition_variable d_changed;
};

//! Counts items from begin() on.
class turn_sink : public idle_sink
{
public:
    explicit turn_sink(const content& filling) : idle_sink(filling) {}
    int work(int items, gr_vector_const_void_star& in, gr_vector_void_star&) override
    {
        look_at_first(in);
        const std::lock_guard<std::mutex> guard(d_mutex);
        d_to = { clock_type::now(), nitems_read(0) + items };
        if (d_begins) {
            d_from = d_to;
            d_begins = false;
        }
        return items;
    }
    void begin()
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        d_begins = true;
    }
    //! Items a second since begin(), from the first call of work() to the last.
    double rate()
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        if (d_begins || d_to.items == d_from.items) {
            throw std::runtime_error("too slow to be measured");
        }
        return double(d_to.items - d_from.items) /
               seconds(d_to.when - d_from.when).count();
    }

private:
    struct mark {
        clock_type::time_point when;
        uint64_t items;
    };
    std::mutex d_mutex;
    bool d_begins = false;
    mark d_from{}, d_to{};
};

//! Processor time of the thread of a running block, in seconds.
inline double thread_seconds(const gr::block& block)
{
    clockid_t clock{};
    timespec time{};
    if (pthread_getcpuclockid(block.detail()->thread, &clock) ||
        clock_gettime(clock, &time)) {
        throw std::runtime_error("the system does not give a thread's time");
    }
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

//! Connects blocks in a row.
template <typename Blocks>
void connect(const gr::top_block_sptr& top,
             gr::block_sptr source,
             const Blocks& row,
             const gr::block_sptr& sink)
{
    for (const auto& block : row) {
        top->connect(source, 0, block, 0);
        source = block;
    }
    top->connect(source, 0, sink, 0);
}

//! A started flowgraph of a source, Copy, blocks in a row, Copy, and a sink, which takes
//! turns.
class row_between_copies
{
public:
    //! \param before  items in the ring that the first Copy reads; 0: GNU Radio's default
    //! \param behind  items in the ring that the last Copy writes; 0: GNU Radio's default
    row_between_copies(const content& filling,
                       const std::vector<gr::block_sptr>& row,
                       long before,
                       long behind)
        : d_source(gnuradio::make_block_sptr<turn_source>(filling)),
          d_sink(gnuradio::make_block_sptr<turn_sink>(filling)),
          d_top(gr::make_top_block("copies")),
          // The row itself sets the size of the first Copy's ring.
          d_copies{ make_copy(filling.bytes, 0), make_copy(filling.bytes, behind) }
    {
        if (before) {
            d_source->set_min_output_buffer(before);
        }
        std::vector<gr::block_sptr> all{ d_copies[0] };
        all.insert(all.end(), row.begin(), row.end());
        all.push_back(d_copies[1]);
        connect(d_top, d_source, all, d_sink);
        // Rates vary less if each thread has its core.
        all.insert(all.begin(), d_source);
        all.push_back(d_sink);
        if (std::thread::hardware_concurrency() >= 2 * all.size()) {
            for (size_t b = 0; b < all.size(); ++b) { // 2 b: hyper-threads
                all[b]->set_processor_affinity({ static_cast<int>(2 * b) });
            }
        }
        d_top->start();
    }
    ~row_between_copies()
    {
        d_source->end();
        d_top->wait();
    }
    row_between_copies(const row_between_copies&) = delete;
    row_between_copies& operator=(const row_between_copies&) = delete;

    //! Items a second over `time` seconds.
    double take_turn(double time)
    {
        d_source->begin();
        std::this_thread::sleep_for(seconds(time / 8));
        std::array<double, 2> before{};
        for (int c = 0; c < 2; ++c) {
            before[c] = thread_seconds(*d_copies[c]);
        }
        d_sink->begin();
        const auto begin = clock_type::now();
        std::this_thread::sleep_for(seconds(time));
        const double rate = d_sink->rate();
        const double took = seconds(clock_type::now() - begin).count();
        for (int c = 0; c < 2; ++c) {
            busy[c].push_back((thread_seconds(*d_copies[c]) - before[c]) / took);
        }
        d_source->pause();
        std::this_thread::sleep_for(seconds(time / 8));
        return rate;
    }
    void warm_up(double time)
    {
        take_turn(time);
        busy = {};
    }
    const turn_sink& sink() const { return *d_sink; }

    //! The share of the time that the threads of the first and the last Copy worked.
    std::array<std::vector<double>, 2> busy;

private:
    const std::shared_ptr<turn_source> d_source;
    const std::shared_ptr<turn_sink> d_sink;
    const gr::top_block_sptr d_top;
    const std::array<gr::blocks::copy::sptr, 2> d_copies;
};

//! The comparison of two kinds of flowgraphs.
struct comparison {
    std::array<std::vector<double>, 2> rates;
    std::vector<double> gains; //!< of the second kind: the median of each pair
};

//! Runs pairs of flowgraphs in turns of `time` seconds. make(0) and make(1) make a pair;
//! see(pair) gets each pair after its turns.
template <typename Make, typename See>
comparison compare(int pairs, double time, const Make& make, const See& see)
{
    constexpr int turns = 3;
    comparison found;
    for (int pair = 0; pair < pairs; ++pair) {
        std::array<decltype(make(0)), 2> flowgraphs;
        for (const int which : { pair % 2, 1 - pair % 2 }) {
            flowgraphs[which] = make(which);
        }
        for (const auto& each : flowgraphs) {
            each->warm_up(time);
        }
        std::vector<double> gains;
        for (int turn = 0; turn < turns; ++turn) {
            std::array<double, 2> rate{};
            const int first = (pair + turn) % 2;
            for (const int which : { first, 1 - first }) {
                rate[which] = flowgraphs[which]->take_turn(time);
                found.rates[which].push_back(rate[which]);
            }
            gains.push_back(rate[1] / rate[0]);
        }
        found.gains.push_back(median(gains));
        see(flowgraphs);
    }
    return found;
}

//! Prints the gain with its confidence interval, and ends the line.
inline void print_gain(const std::vector<double>& gains)
{
    const auto [least, most] = median_between(gains);
    std::printf(
        "%.3f x, median of %zu pairs of flowgraphs by turns, with 95 %% certainty "
        "%.3f to %.3f\n",
        median(gains),
        gains.size(),
        least,
        most);
}

} // namespace gr::cudaphy::benchmarks
