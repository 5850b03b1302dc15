/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE batch_row
#include "runtime/batch_block.h"
#include "runtime/batch_testing.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <gnuradio/io_signature.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

// Tests which thread works for blocks in a row, and that no thread makes the row stand
// still.

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

using clock_type = std::chrono::steady_clock;
using std::chrono::microseconds;

//! Knows when the last batch of each block on this queue ends.
class slow_queue : public forwarding_queue
{
public:
    void works_for(const void* block, microseconds time)
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        d_ends[block] = clock_type::now() + time;
    }
    bool is_done(const void* block) const
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        const auto found = d_ends.find(block);
        return found == d_ends.end() || found->second <= clock_type::now();
    }

private:
    mutable std::mutex d_mutex;
    std::map<const void*, clock_type::time_point> d_ends;
};

//! A number from `least` to `most`.
int any_of(std::mt19937& engine, int least, int most)
{
    return std::uniform_int_distribution<int>(least, most)(engine);
}

//! Passes ints on. On the CPU too the block has a memory of its own. A third of its
//! batches take up to 200 us longer than their copies.
class relay : public batch_block
{
public:
    relay(int items, int max_batch, int small_bytes, microseconds large_lasts)
        : gr::block("relay",
                    gr::io_signature::make(1, 1, sizeof(int)),
                    gr::io_signature::make(1, 1, sizeof(int))),
          batch_block(options(max_batch),
                      { { sizeof(int), items } },
                      { { sizeof(int), items } },
                      1),
          d_items(items), d_engine(generator()())
    {
        d_small_batch = small_bytes;
        d_large_batch_lasts = large_lasts;
        make_jobs();
    }

    void wait_for_room_for_an_hour() { d_room_patience = std::chrono::hours(1); }

    //! The thread that submitted a batch, and the number of items submitted before.
    struct submission {
        std::thread::id thread;
        size_t before;
    };
    std::vector<submission> submitted;
    //! Whether the thread of block `by` submitted any batch that begins within items
    //! `from` to `to`.
    bool ever_submitted(const relay& by, size_t from, size_t to) const
    {
        return std::any_of(submitted.begin(), submitted.end(), [&](const auto& one) {
            return one.before >= from && one.before < to &&
                   one.thread == by.submitted.front().thread;
        });
    }

private:
    class job : public batch_job
    {
    public:
        explicit job(relay& owner) : d_owner(owner) {}
        void run(const batch& work, queue& q) override
        {
            const size_t items = size_t(work.frames) * d_owner.d_items;
            copy_ints(q, work.out[0], work.in[0], items);
            copy_ints(q, work.status, work.in[0], work.frames);
            d_owner.submitted.push_back({ std::this_thread::get_id(), d_owner.d_before });
            d_owner.d_before += items;
            auto& engine = d_owner.d_engine;
            const int time = any_of(engine, 0, 2) ? 0 : any_of(engine, 0, 200);
            dynamic_cast<slow_queue&>(q).works_for(&d_owner, microseconds(time));
        }

    private:
        relay& d_owner;
    };

    static batch_options options(int max_batch)
    {
        batch_options made;
        made.backend = name_of(tested_backend());
        made.max_batch = max_batch;
        return made;
    }
    bool has_own_memory() const override { return true; }
    bool is_done(queue& q, const batch_end& end) const override
    {
        return dynamic_cast<slow_queue&>(q).is_done(this) && batch_block::is_done(q, end);
    }
    std::unique_ptr<queue> make_queue() override
    {
        return std::make_unique<slow_queue>();
    }
    std::unique_ptr<batch_job> make_job(queue&) override
    {
        return std::make_unique<job>(*this);
    }
    void report(const batch_status&, int, uint64_t) override {}

    const int d_items;
    size_t d_before = 0;
    std::mt19937 d_engine;
};

//! Checks that items count up from 0. A slow sink sleeps now and then.
class counting_sink : public gr::sync_block
{
public:
    std::atomic<int> come{ 0 };
    bool counts = true;
    explicit counting_sink(bool is_slow)
        : gr::sync_block("counting_sink",
                         gr::io_signature::make(1, 1, sizeof(int)),
                         gr::io_signature::make(0, 0, 0)),
          d_slow(is_slow), d_engine(generator()())
    {
    }

    //! Returns at that time at the latest.
    void wait_for(int items, clock_type::time_point end)
    {
        std::unique_lock<std::mutex> lock(d_mutex);
        d_more.wait_until(lock, end, [&] { return come >= items; });
    }

private:
    int work(int items, gr_vector_const_void_star& in, gr_vector_void_star&) override
    {
        for (int i = 0; i < items; ++i) {
            counts = counts && static_cast<const int*>(in[0])[i] == come + i;
        }
        if (d_slow && any_of(d_engine, 0, 3) == 0) {
            std::this_thread::sleep_for(microseconds(any_of(d_engine, 0, 1000)));
        }
        {
            const std::lock_guard<std::mutex> guard(d_mutex);
            come += items;
        }
        d_more.notify_all();
        return items;
    }
    const bool d_slow;
    std::mt19937 d_engine;
    std::mutex d_mutex;
    std::condition_variable d_more;
};

//! Reads nothing.
class closed_sink : public gr::sync_block
{
public:
    closed_sink()
        : gr::sync_block("closed_sink",
                         gr::io_signature::make(1, 1, sizeof(int)),
                         gr::io_signature::make(0, 0, 0))
    {
    }

private:
    int work(int, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return 0;
    }
};

//! Counts up in bursts. Each burst waits until the sink has the burst before.
class burst_source : public gr::sync_block
{
public:
    bool hangs = false;
    int sent = 0;
    burst_source(std::vector<int> bursts, std::shared_ptr<counting_sink> sink)
        : gr::sync_block("burst_source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, sizeof(int))),
          d_bursts(std::move(bursts)), d_sink(std::move(sink))
    {
    }

private:
    int work(int room, gr_vector_const_void_star&, gr_vector_void_star& out) override
    {
        if (d_left == 0) {
            d_sink->wait_for(sent, clock_type::now() + std::chrono::seconds(20));
            hangs = hangs || d_sink->come < sent;
            if (hangs || d_next == d_bursts.size()) {
                return WORK_DONE;
            }
            std::this_thread::sleep_for(microseconds(d_next % 4 ? 0 : 300));
            d_left = d_bursts[d_next++];
        }
        const int items = std::min(room, d_left);
        std::iota(static_cast<int*>(out[0]), static_cast<int*>(out[0]) + items, sent);
        sent += items;
        d_left -= items;
        return items;
    }
    const std::vector<int> d_bursts;
    const std::shared_ptr<counting_sink> d_sink;
    size_t d_next = 0;
    int d_left = 0;
};

using relay_sptr = std::shared_ptr<relay>;

relay_sptr new_relay(int items, int max_batch, int small_bytes, microseconds large_lasts)
{
    return gnuradio::make_block_sptr<relay>(items, max_batch, small_bytes, large_lasts);
}

gr::top_block_sptr
connect(gr::block_sptr before, const std::vector<relay_sptr>& row, gr::block_sptr sink)
{
    const auto top = gr::make_top_block("row");
    for (const auto& block : row) {
        top->connect(before, 0, block, 0);
        before = block;
    }
    top->connect(before, 0, sink, 0);
    return top;
}

//! Runs bursts through a row of blocks, and checks that all of them arrive.
void run_bursts(const std::vector<int>& bursts,
                const std::vector<relay_sptr>& row,
                bool has_slow_sink)
{
    const auto sink = gnuradio::make_block_sptr<counting_sink>(has_slow_sink);
    const auto source = gnuradio::make_block_sptr<burst_source>(bursts, sink);
    connect(source, row, sink)->run();
    BOOST_TEST(!source->hangs);
    BOOST_TEST(sink->counts);
    BOOST_TEST(sink->come == source->sent);
    BOOST_TEST(source->sent == std::accumulate(bursts.begin(), bursts.end(), 0));
}

} // namespace

BOOST_AUTO_TEST_CASE(
    a_row_shares_a_thread_until_batches_are_large_and_some_time_after_them,
    *boost::unit_test::precondition(if_threads_are_shared))
{
    constexpr int small = 256, large = 1024, each = 30;
    std::vector<int> bursts(each, small);
    bursts.push_back(large);
    bursts.insert(bursts.end(), each, small);
    constexpr size_t first_large = each * small, after = first_large + large,
                     end = after + each * small;
    for (const auto lasts : { microseconds(0), microseconds(std::chrono::hours(1)) }) {
        std::vector<relay_sptr> row;
        for (int i = 0; i < 3; ++i) {
            row.push_back(new_relay(1, large, small * int{ sizeof(int) }, lasts));
        }
        run_bursts(bursts, row, false);
        for (const int i : { 1, 2 }) {
            // The block's own thread may be awake by chance, so the first block submits
            // most batches, not all.
            BOOST_TEST(row[i]->ever_submitted(*row[0], 0, first_large));
            BOOST_TEST(!row[i]->ever_submitted(*row[0], first_large, after));
            BOOST_TEST(row[i]->ever_submitted(*row[0], after, end) ==
                       (lasts.count() == 0));
        }
        BOOST_TEST(!row[2]->ever_submitted(*row[1], first_large, after));
    }
}

BOOST_AUTO_TEST_CASE(nothing_is_lost_and_nothing_stands_still_whoever_works)
{
    auto& engine = generator();
    for (int round = 0; round < 48; ++round) {
        // In a third of the rounds one thread works for all blocks unless room lacks. In
        // the others threads alternate.
        const int small_bytes = round % 3 ? 1 << any_of(engine, 8, 13) : 1 << 30;
        const microseconds lasts(any_of(engine, 0, 2) ? any_of(engine, 0, 3000) : 0);
        std::vector<relay_sptr> row;
        for (int count = any_of(engine, 2, 4); count > 0; --count) {
            row.push_back(new_relay(1 << any_of(engine, 0, 2),
                                    64 << any_of(engine, 0, 7),
                                    small_bytes,
                                    lasts));
        }
        std::vector<int> bursts;
        for (int count = 0; count < 150; ++count) {
            constexpr std::array<int, 3> most{ 8, 512, 3072 };
            bursts.push_back(8 * any_of(engine, 1, most[any_of(engine, 0, 2)]));
        }
        run_bursts(bursts, row, round % 8 != 0);
    }
}

BOOST_AUTO_TEST_CASE(a_row_needs_no_time_limit_while_its_reader_reads)
{
    constexpr int items = 1 << 28;
    for (const int most : { 1024, 4096, 8192 }) {
        std::vector<relay_sptr> row;
        for (int i = 0; i < 3; ++i) {
            row.push_back(new_relay(32, 8192, 1 << 30, microseconds(0)));
            row.back()->wait_for_room_for_an_hour();
        }
        const auto sink = gnuradio::make_block_sptr<counting_sink>(false);
        sink->set_max_noutput_items(most);
        const auto source =
            gnuradio::make_block_sptr<burst_source>(std::vector<int>{ items }, sink);
        const auto top = connect(source, row, sink);
        top->start();
        int come = 0;
        auto last_come = clock_type::now();
        while (come < items && clock_type::now() - last_come < std::chrono::seconds(10)) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (sink->come > come) {
                come = sink->come;
                last_come = clock_type::now();
            }
        }
        BOOST_TEST(come == items);
        top->stop();
        top->wait();
        BOOST_TEST(sink->counts);
    }
}

BOOST_AUTO_TEST_CASE(a_row_that_was_stopped_for_want_of_room_starts_again)
{
    std::vector<relay_sptr> row;
    for (int i = 0; i < 3; ++i) {
        row.push_back(new_relay(1, 256, 1 << 30, microseconds(0)));
    }
    auto quickest = clock_type::duration::max();
    for (int round = 0; round < 5; ++round) {
        const auto none = gnuradio::make_block_sptr<counting_sink>(false);
        const auto source =
            gnuradio::make_block_sptr<burst_source>(std::vector<int>{ 1 << 20 }, none);
        const auto top = connect(source, row, gnuradio::make_block_sptr<closed_sink>());
        top->start();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        top->stop();
        top->wait();
        top->disconnect_all();
        const auto begin = clock_type::now();
        run_bursts({ 256, 256, 512 }, row, false);
        quickest = std::min(quickest, clock_type::now() - begin);
    }
    // GNU Radio wakes a sleeping block after 250 ms, so a quicker round needed no time
    // limit.
    BOOST_TEST((quickest < std::chrono::milliseconds(250)));
}

BOOST_AUTO_TEST_CASE(a_stream_at_full_rate_passes_through_threads_of_their_own)
{
    for (int round = 0; round < 4; ++round) {
        std::vector<relay_sptr> row;
        for (int i = 0; i < 3; ++i) {
            row.push_back(new_relay(1, 32768, 4096, microseconds(100000)));
        }
        run_bursts({ 10000000 }, row, false);
    }
}
