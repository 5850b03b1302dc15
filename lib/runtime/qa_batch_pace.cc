/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE batch_pace
#include "runtime/batch_block.h"
#include "runtime/batch_testing.h"
#include "runtime/device/batch_end.h"
#include "runtime/device/device_edge.h"
#include <algorithm>
#include <atomic>
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

// Tests when batches are submitted, how large they are, and which calls a queue gets.

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

//! Counts the calls that a block makes, and is busy for as long as a test wants.
class recording_queue : public forwarding_queue
{
public:
    struct calls {
        std::atomic<int> copies_in{ 0 }, copies_out{ 0 }, waits_while_busy{ 0 };
    };
    using is_busy = std::function<bool(int)>;
    explicit recording_queue(calls& made) : d_made(made) {}
    //! The queue now works on this batch of a block. Another block may own the queue.
    void works_on(const is_busy& of_block, int number)
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        d_numbers[&of_block] = number;
    }
    bool busy(const is_busy& of_block) const
    {
        int number = 0;
        {
            const std::lock_guard<std::mutex> guard(d_mutex);
            const auto found = d_numbers.find(&of_block);
            number = found == d_numbers.end() ? 0 : found->second;
        }
        return number && of_block(number);
    }
    static constexpr size_t most_memory = 1 << 20;

    void* allocate(size_t bytes) override
    {
        if (bytes > most_memory) {
            throw std::bad_alloc();
        }
        return forwarding_queue::allocate(bytes);
    }
    void copy_in(void* to, const void* from, size_t bytes) override
    {
        ++d_made.copies_in;
        forwarding_queue::copy_in(to, from, bytes);
    }
    void copy_out(void* to, const void* from, size_t bytes) override
    {
        ++d_made.copies_out;
        forwarding_queue::copy_out(to, from, bytes);
    }
    void synchronize() override
    {
        d_made.waits_while_busy += busy();
        forwarding_queue::synchronize();
    }
    bool idle() override { return !busy() && forwarding_queue::idle(); }
    bool busy() const
    {
        std::map<const is_busy*, int> numbers;
        {
            const std::lock_guard<std::mutex> guard(d_mutex);
            numbers = d_numbers;
        }
        return std::any_of(numbers.begin(), numbers.end(), [](const auto& one) {
            return (*one.first)(one.second);
        });
    }

private:
    calls& d_made;
    mutable std::mutex d_mutex;
    std::map<const is_busy*, int> d_numbers;
};

//! Passes ints on, one a frame. On the CPU too the block has a memory of its own.
class paced : public batch_block
{
public:
    struct launch {
        int frames;
        int waiting;   //!< frames offered by the scheduler, and in no batch yet
        int under_way; //!< batches submitted before and not done
        int call;      //!< which call of general_work
    };

    explicit paced(int max_batch)
        : gr::block("paced",
                    gr::io_signature::make(1, 1, sizeof(int)),
                    gr::io_signature::make(1, 1, sizeof(int))),
          batch_block(
              options(max_batch), { { sizeof(int), 1 } }, { { sizeof(int), 1 } }, 1)
    {
        make_jobs();
    }

    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override
    {
        ++calls;
        offered = static_cast<int>(nitems_read(0)) + ninput_items[0];
        const auto under_way = frames - static_cast<int>(nitems_read(0));
        d_waiting = ninput_items[0] - under_way;
        return batch_block::general_work(
            noutput_items, ninput_items, input_items, output_items);
    }
    void wait_for_room_for_an_hour() { d_room_patience = std::chrono::hours(1); }

    std::vector<launch> launches;
    recording_queue::calls queue_calls;
    std::atomic<int> batches{ 0 }, frames{ 0 }, calls{ 0 }, offered{ 0 };
    //! Whether batch `number`, from 1, is still under way.
    std::function<bool(int number)> busy = [](int) { return false; };
    std::function<void()> while_submitting = [] {};
    bool own_thread = false;

private:
    class job : public batch_job
    {
    public:
        explicit job(paced& owner) : d_owner(owner) {}
        void run(const batch& work, queue& q) override
        {
            copy_ints(q, work.out[0], work.in[0], work.frames);
            copy_ints(q, work.status, work.in[0], work.frames);
            d_owner.launched(work.frames, dynamic_cast<recording_queue&>(q));
        }

    private:
        paced& d_owner;
    };

    static batch_options options(int max_batch)
    {
        batch_options made;
        made.backend = name_of(tested_backend());
        made.max_batch = max_batch;
        return made;
    }
    bool has_own_memory() const override { return true; }
    bool needs_own_thread() const override { return own_thread; }
    bool is_done(queue& q, const batch_end& end) const override
    {
        return !dynamic_cast<recording_queue&>(q).busy(busy) &&
               batch_block::is_done(q, end);
    }
    std::unique_ptr<queue> make_queue() override
    {
        return std::make_unique<recording_queue>(queue_calls);
    }
    std::unique_ptr<batch_job> make_job(queue&) override
    {
        return std::make_unique<job>(*this);
    }
    void launched(int count, recording_queue& q)
    {
        while_submitting();
        const auto before = batches - static_cast<int>(statistics().batches);
        launches.push_back({ count, d_waiting, before, calls });
        d_waiting -= count;
        frames += count;
        q.works_on(busy, ++batches);
    }
    void report(const batch_status&, int, uint64_t) override {}

    std::atomic<int> d_waiting{ 0 };
};

using paced_sptr = std::shared_ptr<paced>;
using int_sink = gr::blocks::vector_sink<int>;

std::vector<int> counted(int n)
{
    std::vector<int> items(n);
    std::iota(items.begin(), items.end(), 1);
    return items;
}

//! Whether the condition becomes true within a time that suffices on any machine.
template <typename Condition>
bool comes(const Condition& condition)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
    return condition();
}

//! Reads only if at least `least` items are there.
class greedy_sink : public gr::block
{
public:
    explicit greedy_sink(int least)
        : gr::block("greedy_sink",
                    gr::io_signature::make(1, 1, sizeof(int)),
                    gr::io_signature::make(0, 0, 0)),
          d_least(least)
    {
    }
    std::vector<int> data;

private:
    void forecast(int, gr_vector_int& required) override { required[0] = d_least; }
    int general_work(int,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& in,
                     gr_vector_void_star&) override
    {
        const auto* items = static_cast<const int*>(in[0]);
        data.insert(data.end(), items, items + ninput_items[0]);
        consume(0, ninput_items[0]);
        return 0;
    }
    const int d_least;
};

//! Counts up to `total`, `piece` items at a time, each time when `ready` says so.
class piece_source : public gr::sync_block
{
public:
    piece_source(int total, int piece, std::function<bool(int sent)> ready)
        : gr::sync_block("piece_source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, sizeof(int))),
          d_total(total), d_piece(piece), d_ready(std::move(ready))
    {
        set_output_multiple(piece);
    }

private:
    int work(int, gr_vector_const_void_star&, gr_vector_void_star& out) override
    {
        const auto sent = static_cast<int>(nitems_written(0));
        if (sent == d_total) {
            return WORK_DONE;
        }
        while (!d_ready(sent)) {
            std::this_thread::sleep_for(std::chrono::microseconds(10));
        }
        std::iota(
            static_cast<int*>(out[0]), static_cast<int*>(out[0]) + d_piece, sent + 1);
        return d_piece;
    }
    const int d_total, d_piece;
    const std::function<bool(int)> d_ready;
};

//! source → blocks, one after the other → sink, run to the end.
void run_chain(const gr::block_sptr& source,
               const std::vector<paced_sptr>& row,
               const gr::block_sptr& sink)
{
    auto top = gr::make_top_block("chain");
    gr::block_sptr before = source;
    for (const auto& block : row) {
        top->connect(before, 0, block, 0);
        before = block;
    }
    top->connect(before, 0, sink, 0);
    top->run();
}

void run_chain(const std::vector<int>& items,
               const std::vector<paced_sptr>& row,
               const gr::block_sptr& sink)
{
    run_chain(gr::blocks::vector_source<int>::make(items), row, sink);
}

paced_sptr new_paced(int max_batch)
{
    return gnuradio::make_block_sptr<paced>(max_batch);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_batch_is_not_cut_to_the_room_that_slow_readers_leave)
{
    const auto items = counted(1 << 20);
    for (const bool on_device : { false, true }) {
        const auto first = new_paced(8192);
        first->wait_for_room_for_an_hour();
        std::vector<paced_sptr> row(on_device ? 2 : 1, first);
        if (on_device) {
            row[1] = new_paced(1009);
        }
        auto sink = int_sink::make();
        sink->set_max_noutput_items(101);
        run_chain(items, row, sink);
        BOOST_TEST(sink->data() == items);
        int cut = 0;
        for (const auto& one : first->launches) {
            cut += one.frames < std::min(one.waiting, 8192);
        }
        BOOST_TEST(cut == 0);
    }
}

BOOST_AUTO_TEST_CASE(a_batch_is_cut_for_a_reader_that_needs_a_nearly_full_ring)
{
    // The sink needs a ring of five batches filled but for half a batch. So one batch
    // must be cut.
    const auto items = counted(40000 * 6);
    const auto block = new_paced(8192);
    const auto sink = gnuradio::make_block_sptr<greedy_sink>(9 * 8192 / 2);
    run_chain(items, { block }, sink);
    BOOST_TEST(sink->data.size() > items.size() - 9 * 8192 / 2);
    BOOST_TEST(sink->data == counted(static_cast<int>(sink->data.size())));
}

BOOST_AUTO_TEST_CASE(a_row_sleeps_while_the_batch_of_its_first_block_is_under_way)
{
    using namespace std::chrono;
    const auto first = new_paced(16);
    const auto end = steady_clock::now() + milliseconds(100);
    first->busy = [&](int) { return steady_clock::now() < end; };
    run_chain(counted(16), { first, new_paced(16) }, int_sink::make());
    BOOST_TEST(first->calls < 50);
}

BOOST_AUTO_TEST_CASE(
    frames_that_come_meanwhile_are_submitted_before_the_oldest_batch_is_done)
{
    const int total = 16 * 500;
    const auto block = new_paced(16);
    // A batch takes until another one is submitted.
    block->busy = [raw = block.get()](int number) {
        return raw->batches == number && raw->frames < total;
    };
    const auto ready = [raw = block.get()](int sent) { return raw->frames == sent; };
    const auto source = gnuradio::make_block_sptr<piece_source>(total, 16, ready);
    auto sink = int_sink::make();
    run_chain(source, { block }, sink);
    BOOST_TEST(sink->data() == counted(total));
    BOOST_TEST(block->batches == total / 16);
    BOOST_TEST(block->queue_calls.waits_while_busy == 0);
}

BOOST_AUTO_TEST_CASE(small_pieces_gather_while_two_batches_are_under_way)
{
    const int total = 4 * 1000;
    const auto block = new_paced(64);
    // A batch takes until a few more pieces have come.
    block->busy = [raw = block.get()](int number) {
        const auto& one = raw->launches[number - 1];
        return raw->calls < one.call + 4 && raw->offered < total;
    };
    const auto ready = [raw = block.get()](int sent) { return raw->offered == sent; };
    const auto source = gnuradio::make_block_sptr<piece_source>(total, 4, ready);
    auto sink = int_sink::make();
    run_chain(source, { block }, sink);
    BOOST_TEST(sink->data() == counted(total));
    int small = 0;
    for (const auto& one : block->launches) {
        small += one.under_way >= 2 && one.frames < 32;
    }
    BOOST_TEST(small == 0);
}

BOOST_AUTO_TEST_CASE(between_blocks_on_a_device_a_batch_costs_one_copy_of_its_status)
{
    const std::vector<paced_sptr> row{ new_paced(64), new_paced(64), new_paced(64) };
    auto sink = int_sink::make();
    run_chain(counted(64 * 300), row, sink);
    BOOST_TEST(sink->data() == counted(64 * 300));
    // Count the copies of all queues, because a block may use the queue of the block
    // before.
    int copies_in = 0, copies_out = 0;
    for (const auto& block : row) {
        copies_in += block->queue_calls.copies_in;
        copies_out += block->queue_calls.copies_out;
    }
    BOOST_TEST(copies_in == row[0]->batches);
    BOOST_TEST(copies_out == row[0]->batches + row[1]->batches + 2 * row[2]->batches);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_batch_brings_its_status_words)
{
    const auto q = queue::make(tested_backend());
    constexpr int most = 40000;
    batch_end end(*q, most);
    BOOST_TEST(end.done());
    // A few status words are always copied. Of many words a GPU copies none if all are 0.
    for (const int count : { 0, 1, 3, 1024, 4096, 4097, 4102, 20481, most }) {
        const bool brought = count > 4096 && q->where() == backend::cuda;
        for (const int at :
             { -1, 0, count / 2, count - 1 }) { // index of the word that is not 0
            std::vector<int> words(count);
            const bool any = at >= 0 && at < count;
            if (any) {
                words[at] = count + 1;
            }
            array<int> status(*q, view<const int>(words.data(), words.size()));
            for (const bool zeros_too : { false, true }) {
                std::fill_n(end.words(), most, -7);
                end.submit(*q, status.data(), count, zeros_too);
                q->synchronize();
                BOOST_TEST(end.done());
                const bool come = any || zeros_too || !brought;
                BOOST_TEST((count == 0 || end.any_words() == come));
                const auto expected = come ? words : std::vector<int>(count, -7);
                BOOST_TEST(std::equal(expected.begin(), expected.end(), end.words()));
                BOOST_TEST((count == most || end.words()[count] == -7));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(readers_wait_for_the_queues_that_write_what_they_read_and_no_other)
{
    const auto make = [] { return queue::make(tested_backend()); };
    const auto a = make(), b = make(), c = make();
    device_edge edge(make(), sizeof(int), 100);
    array<char> room(*a, 100 * sizeof(int));
    const auto write = [&](queue& q, uint64_t first, size_t items) {
        edge.written(q, first, items, edge.place(first, items, room.data()));
    };
    using queues = std::vector<const queue*>;
    BOOST_TEST((edge.writing(0, 100) == queues{}));
    write(*a, 0, 10);
    write(*b, 10, 10);
    write(*c, 20, 10);
    BOOST_TEST((edge.writing(0, 10) == queues{ a.get() }));
    BOOST_TEST((edge.writing(9, 2) == queues{ a.get(), b.get() }));
    BOOST_TEST((edge.writing(0, 30) == queues{ a.get(), b.get(), c.get() }));
    write(*a, 30, 10); // so earlier writes of `a` are done
    BOOST_TEST((edge.writing(0, 10) == queues{}));
    BOOST_TEST((edge.writing(5, 10) == queues{ b.get() }));
    BOOST_TEST((edge.writing(29, 100) == queues{ a.get(), c.get() }));
    BOOST_TEST((edge.writing(40, 100) == queues{}));
    edge.begin();
    BOOST_TEST((edge.writing(0, 100) == queues{}));
    // On a queue that blocks share, earlier writes may not be done.
    const auto write_lent = [&](queue& q, uint64_t first, size_t items) {
        const auto* at = edge.place(first, items, room.data());
        edge.written(q, first, items, at, true, first % 40 == 0);
    };
    write_lent(*a, 0, 10);
    write_lent(*b, 10, 10);
    BOOST_TEST((edge.writing(10, 10) == queues{ b.get() }));
    write_lent(*a, 20, 10);
    BOOST_TEST((edge.writing(0, 10) == queues{ a.get() }));
    BOOST_TEST((edge.writing(15, 10) == queues{ a.get(), b.get() }));
}

BOOST_AUTO_TEST_CASE(readers_side_by_side_wake_up_while_the_block_before_submits)
{
    const auto first = new_paced(16), one = new_paced(16), other = new_paced(16);
    // The first block submits nothing until both readers' threads have run.
    bool woken = true;
    first->while_submitting = [&, one = one.get(), other = other.get()] {
        woken = woken && comes([&] { return one->calls && other->calls; });
    };
    auto source = gr::blocks::vector_source<int>::make(counted(16));
    auto sink = int_sink::make(), other_sink = int_sink::make();
    auto top = gr::make_top_block("side by side");
    top->connect(source, 0, first, 0);
    top->connect(first, 0, one, 0);
    top->connect(first, 0, other, 0);
    top->connect(one, 0, sink, 0);
    top->connect(other, 0, other_sink, 0);
    top->run();
    BOOST_TEST(woken);
    BOOST_TEST(sink->data() == counted(16));
    BOOST_TEST(other_sink->data() == counted(16));
}

BOOST_AUTO_TEST_CASE(one_thread_works_for_blocks_in_a_row_but_for_such_as_need_their_own,
                     *boost::unit_test::precondition(if_threads_are_shared))
{
    for (const bool own : { false, true }) {
        const std::vector<paced_sptr> row{ new_paced(16), new_paced(16), new_paced(16) };
        row[1]->own_thread = own;
        std::vector<std::thread::id> threads(row.size());
        for (size_t i = 0; i < row.size(); ++i) {
            row[i]->while_submitting = [&threads, i] {
                threads[i] = std::this_thread::get_id();
            };
        }
        auto sink = int_sink::make();
        run_chain(counted(16), row, sink);
        BOOST_TEST(sink->data() == counted(16));
        BOOST_TEST((threads[0] == threads[1]) == !own);
        BOOST_TEST((threads[1] == threads[2]));
    }
}

BOOST_AUTO_TEST_CASE(a_batch_that_is_long_under_way_holds_up_no_block_before)
{
    for (const bool own : { false, true }) {
        const std::vector<paced_sptr> row{ new_paced(16), new_paced(16), new_paced(16) };
        row[1]->own_thread = row[2]->own_thread = own;
        std::atomic<bool> ended{ false };
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        row[2]->busy = [&, before = row[1].get()](int number) {
            const bool wait = number == 1 && before->batches < 9 &&
                              std::chrono::steady_clock::now() < end;
            ended = ended || (number == 1 && !wait);
            return wait;
        };
        auto sink = int_sink::make();
        run_chain(counted(16 * 50), row, sink);
        BOOST_TEST(ended);
        BOOST_TEST((std::chrono::steady_clock::now() < end));
        BOOST_TEST(sink->data() == counted(16 * 50));
    }
}

BOOST_AUTO_TEST_CASE(an_error_names_what_memory_does_not_suffice_for)
{
    constexpr int most = recording_queue::most_memory / sizeof(int);
    BOOST_CHECK_NO_THROW(new_paced(most));
    BOOST_CHECK_EXCEPTION(
        new_paced(most + 1), std::bad_alloc, [](const std::bad_alloc& problem) {
            const std::string text = problem.what();
            return text.find("paced: ") == 0 &&
                   text.find(std::to_string(most + 1)) != text.npos &&
                   text.find("max_batch") != text.npos;
        });
    // The same while the flowgraph runs.
    const auto block = new_paced(64);
    block->while_submitting = [raw = block.get()] {
        if (raw->batches == 3) {
            throw std::bad_alloc();
        }
    };
    auto sink = int_sink::make();
    run_chain(counted(64 * 10), { block }, sink);
    const auto data = sink->data();
    BOOST_TEST(data == counted(static_cast<int>(data.size())));
    BOOST_TEST(data.size() <= 3u * 64);
}
