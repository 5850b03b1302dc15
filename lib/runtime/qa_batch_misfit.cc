/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE batch_misfit
#include "runtime/batch_block.h"
#include "runtime/batch_testing.h"
#include <future>
#include <gnuradio/blocks/head.h>
#include <gnuradio/blocks/null_source.h>
#include <gnuradio/blocks/stream_demux.h>
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/top_block.h>
#include <numeric>
#include <thread>

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;
using namespace std::chrono_literals;

namespace {

//! Frames of `first` ints of input 0 and one of input 1, which are outputs 0 and 1.
class pair_of : public batch_block
{
public:
    explicit pair_of(int first, const std::string& key = "", bool sizes = true)
        : gr::block("pair_of",
                    gr::io_signature::make(2, 2, sizeof(int)),
                    gr::io_signature::make(1, 2, sizeof(int))),
          batch_block(how(key),
                      { { sizeof(int), first }, { sizeof(int), 1 } },
                      { { sizeof(int), first }, { sizeof(int), 1 } },
                      0),
          d_first(first), d_sizes(sizes)
    {
        d_stuck_patience = 300ms;
        make_jobs();
    }

private:
    class job : public batch_job
    {
    public:
        explicit job(int first) : d_first(first) {}
        void run(const batch& work, queue& q) override
        {
            copy_ints(q, work.out[0], work.in[0], size_t(work.frames) * d_first);
            copy_ints(q, work.out[1], work.in[1], work.frames);
        }

    private:
        const int d_first;
    };

    static batch_options how(const std::string& key)
    {
        batch_options made;
        made.backend = name_of(tested_backend());
        made.max_batch = 16;
        made.length_tag_key = key;
        return made;
    }
    std::unique_ptr<batch_job> make_job(queue&) override
    {
        return std::make_unique<job>(d_first);
    }
    void report(const batch_status&, int, uint64_t) override {}
    std::string frame_sizes() const override
    {
        return d_sizes ? std::to_string(d_first) + " ints" : "";
    }

    const int d_first;
    const bool d_sizes;
};

std::vector<int> counted(int n)
{
    std::vector<int> items(n);
    std::iota(items.begin(), items.end(), 0);
    return items;
}

gr::tag_t tag_at(uint64_t item, const std::string& name, long value)
{
    gr::tag_t tag;
    tag.offset = item;
    tag.key = pmt::intern(name);
    tag.value = pmt::from_long(value);
    return tag;
}

//! Whether the flowgraph ends by itself in time. Stops the flowgraph if not.
bool ends(const gr::top_block_sptr& top, std::chrono::milliseconds limit = 20s)
{
    top->start();
    auto waits = std::async(std::launch::async, [&] { top->wait(); });
    const bool in_time = waits.wait_for(limit) == std::future_status::ready;
    if (!in_time) {
        top->stop();
    }
    waits.wait();
    return in_time;
}

} // namespace

BOOST_AUTO_TEST_CASE(
    a_flowgraph_ends_if_its_streams_come_at_another_ratio_than_frames_take_them)
{
    // Input 0 gets four items for each item of input 1, but frames take other numbers.
    for (const int wanted : { 1, 3, 4, 5, 16 }) {
        BOOST_TEST_CONTEXT("a frame takes " << wanted)
        {
            auto top = gr::make_top_block("misfit");
            auto source = gr::blocks::vector_source<int>::make(counted(1000), true);
            auto head = gr::blocks::head::make(sizeof(int), 5000000);
            auto parts = gr::blocks::stream_demux::make(sizeof(int), { 4, 1 });
            auto tested = gnuradio::make_block_sptr<pair_of>(wanted);
            auto sink = gr::blocks::vector_sink<int>::make();
            top->connect(source, 0, head, 0);
            top->connect(head, 0, parts, 0);
            top->connect(parts, 0, tested, 0);
            top->connect(parts, 1, tested, 1);
            top->connect(tested, 0, sink, 0);
            BOOST_TEST(ends(top));
            const bool all = sink->data().size() == 4000000;
            BOOST_TEST(all == (wanted == 4));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_stream_of_another_source_is_waited_for_however_long_it_takes)
{
    auto top = gr::make_top_block("slow");
    auto fast = gr::blocks::null_source::make(sizeof(int));
    // Puts nothing out for a second, four times as long as finding a misfit takes.
    class late : public gr::block
    {
    public:
        late()
            : gr::block("late",
                        gr::io_signature::make(0, 0, 0),
                        gr::io_signature::make(1, 1, sizeof(int)))
        {
        }
        int general_work(int n,
                         gr_vector_int&,
                         gr_vector_const_void_star&,
                         gr_vector_void_star& out) override
        {
            if (!d_slept) {
                std::this_thread::sleep_for(1200ms);
                d_slept = true;
            }
            std::fill_n(static_cast<int*>(out[0]), n, 7);
            return n;
        }

    private:
        bool d_slept = false;
    };
    auto second = gnuradio::make_block_sptr<late>();
    auto tested = gnuradio::make_block_sptr<pair_of>(1);
    auto head = gr::blocks::head::make(sizeof(int), 100);
    auto sink = gr::blocks::vector_sink<int>::make();
    top->connect(fast, 0, tested, 0);
    top->connect(second, 0, tested, 1);
    top->connect(tested, 0, head, 0);
    top->connect(head, 0, sink, 0);
    BOOST_TEST(ends(top));
    BOOST_TEST(sink->data().size() == 100u);
}

BOOST_AUTO_TEST_CASE(a_frame_that_begins_amid_the_blocks_own_ends_the_flowgraph)
{
    for (const bool sizes : { true, false }) {
        for (const int period : { 12, 24, 18 }) { // of frames of 12
            std::vector<gr::tag_t> tags;
            for (int item = 0; item < 240; item += period) {
                tags.push_back(tag_at(item, "frame_start", item));
                tags.push_back(tag_at(item + 1, "other", 1));
            }
            auto top = gr::make_top_block("marks");
            auto first =
                gr::blocks::vector_source<int>::make(counted(240), false, 1, tags);
            auto second = gr::blocks::vector_source<int>::make(counted(20));
            auto tested = gnuradio::make_block_sptr<pair_of>(12, "", sizes);
            auto sink = gr::blocks::vector_sink<int>::make();
            top->connect(first, 0, tested, 0);
            top->connect(second, 0, tested, 1);
            top->connect(tested, 0, sink, 0);
            BOOST_TEST(ends(top));
            const bool all = sink->data() == counted(240);
            BOOST_TEST(all == (period != 18 || !sizes));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_last_outputs_need_not_be_connected)
{
    for (const std::string key : { "", "packet_len" }) {
        for (const bool reads_both : { false, true }) {
            auto top = gr::make_top_block("unread");
            auto first = gr::blocks::vector_source<int>::make(
                counted(3000), false, 1, { tag_at(0, "packet_len", 3000) });
            auto second = gr::blocks::vector_source<int>::make(counted(1000));
            auto tested = gnuradio::make_block_sptr<pair_of>(3, key);
            auto sink = gr::blocks::vector_sink<int>::make();
            auto other = gr::blocks::vector_sink<int>::make();
            top->connect(first, 0, tested, 0);
            top->connect(second, 0, tested, 1);
            top->connect(tested, 0, sink, 0);
            if (reads_both) {
                top->connect(tested, 1, other, 0);
            }
            for (int round = 0; round < 2; ++round) { // the flowgraph starts again too
                first->rewind();
                second->rewind();
                sink->reset();
                BOOST_TEST(ends(top));
                BOOST_TEST(sink->data() == counted(3000));
            }
        }
    }
}
