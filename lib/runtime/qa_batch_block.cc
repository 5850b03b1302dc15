/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE batch_block
#include "runtime/batch_block.h"
#include "runtime/batch_testing.h"
#include "runtime/stream/ring_size.h"
#include <gnuradio/blocks/head.h>
#include <gnuradio/blocks/keep_one_in_n.h>
#include <gnuradio/blocks/tag_debug.h>
#include <gnuradio/blocks/throttle.h>
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/top_block.h>
#include <numeric>
#include <thread>

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

//! Frames of `items` ints. Output 0 is the input, output 1 each frame's first int. A
//! negative first int marks a frame for dropping.
class mirror : public batch_block
{
public:
    mirror(int items, const batch_options& options, bool drops = false)
        : gr::block("mirror",
                    gr::io_signature::make(1, 1, sizeof(int)),
                    gr::io_signature::make(2, 2, sizeof(int))),
          batch_block(options,
                      { { sizeof(int), items } },
                      { { sizeof(int), items }, { sizeof(int), 1 } },
                      1),
          d_items(items), d_drops(drops)
    {
        make_jobs();
    }

    std::vector<std::pair<int, uint64_t>> reported;
    int largest_batch = 0, batches = 0;
    bool tells_of_zeros = true;
    int fails_at = 0; //!< number of the batch, from 1, in which the device is lost

private:
    class job : public batch_job
    {
    public:
        explicit job(mirror& owner) : d_owner(owner) {}
        void run(const batch& work, queue& q) override
        {
            if (d_owner.batches + 1 == d_owner.fails_at) {
                throw cuda_error("mirror failed on CUDA device 0: the device is lost");
            }
            const size_t bytes = d_owner.d_items * sizeof(int);
            copy_rows(q, work.out[0], bytes, work.in[0], bytes, bytes, work.frames);
            copy_rows(
                q, work.out[1], sizeof(int), work.in[0], bytes, sizeof(int), work.frames);
            copy_rows(
                q, work.status, sizeof(int), work.in[0], bytes, sizeof(int), work.frames);
            d_owner.largest_batch = std::max(d_owner.largest_batch, work.frames);
            ++d_owner.batches;
        }

    private:
        mirror& d_owner;
    };

    std::unique_ptr<batch_job> make_job(queue&) override
    {
        return std::make_unique<job>(*this);
    }
    void report(const batch_status& status, int frame, uint64_t item) override
    {
        reported.emplace_back(status.words[frame], item);
    }
    bool keeps(const batch_status& status, int frame) const override
    {
        return !d_drops || status.words[frame] >= 0;
    }
    bool drops_frames() const override { return d_drops; }
    bool reports_zeros() const override { return tells_of_zeros; }

    const int d_items;
    const bool d_drops;
};

gr::tag_t length_tag(uint64_t item, long length)
{
    gr::tag_t tag;
    tag.offset = item;
    tag.key = pmt::intern("packet_len");
    tag.value = pmt::from_long(length);
    return tag;
}

gr::tag_t named_tag(uint64_t item, const std::string& name)
{
    gr::tag_t tag;
    tag.offset = item;
    tag.key = pmt::intern(name);
    tag.value = pmt::from_uint64(item);
    return tag;
}

batch_options options(int max_batch, bool packets = false)
{
    batch_options made;
    made.backend = name_of(tested_backend());
    made.max_batch = max_batch;
    made.length_tag_key = packets ? "packet_len" : "";
    return made;
}

std::vector<int> counted(int n)
{
    std::vector<int> items(n);
    std::iota(items.begin(), items.end(), 0);
    return items;
}

//! source → mirror → two sinks, run to the end.
struct chain {
    chain(const std::vector<int>& items,
          const std::vector<gr::tag_t>& tags,
          int frame,
          const batch_options& how,
          bool drops = false)
        : source(gr::blocks::vector_source<int>::make(items, false, 1, tags)),
          tested(gnuradio::make_block_sptr<mirror>(frame, how, drops)),
          whole(gr::blocks::vector_sink<int>::make()),
          firsts(gr::blocks::vector_sink<int>::make())
    {
        top->connect(source, 0, tested, 0);
        top->connect(tested, 0, whole, 0);
        top->connect(tested, 1, firsts, 0);
    }
    void run() { top->run(); }
    std::vector<gr::tag_t> tags(const std::string& name) const
    {
        std::vector<gr::tag_t> found;
        for (const auto& tag : whole->tags()) {
            if (pmt::symbol_to_string(tag.key) == name) {
                found.push_back(tag);
            }
        }
        return found;
    }

    gr::top_block_sptr top = gr::make_top_block("chain");
    gr::blocks::vector_source<int>::sptr source;
    std::shared_ptr<mirror> tested;
    gr::blocks::vector_sink<int>::sptr whole, firsts;
};

} // namespace

BOOST_AUTO_TEST_CASE(every_whole_frame_comes_out_once_and_in_order)
{
    for (const int frame : { 1, 7, 8, 1000 }) {
        for (const int batch : { 1, 3, 64 }) {
            const int frames = frame == 1000 ? 311 : 5003;
            const auto items = counted(frame * frames);
            chain c(items, {}, frame, options(batch));
            c.run();
            BOOST_TEST(c.whole->data() == items);
            BOOST_TEST(c.firsts->data().size() == size_t(frames));
            BOOST_TEST(c.tested->largest_batch <= batch);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_part_of_a_frame_at_the_end_is_left_out)
{
    chain c(counted(8 * 100 + 5), {}, 8, options(16));
    c.run();
    BOOST_TEST(c.whole->data() == counted(800));
}

BOOST_AUTO_TEST_CASE(an_empty_stream_ends)
{
    chain c({}, {}, 8, options(16));
    c.run();
    BOOST_TEST(c.whole->data().empty());
}

BOOST_AUTO_TEST_CASE(buffers_before_and_after_are_large_enough_by_themselves)
{
    // 40000 ints a frame are more than twice GNU Radio's default buffer.
    const auto items = counted(40000 * 9);
    chain c(items, {}, 40000, options(4));
    c.run();
    BOOST_TEST(c.whole->data() == items);
}

BOOST_AUTO_TEST_CASE(a_buffer_before_holds_a_frame_whatever_maximum_is_set)
{
    const auto items = counted(40000 * 9);
    chain c(items, {}, 40000, options(4));
    c.source->set_max_output_buffer(8192);
    c.run();
    BOOST_TEST(c.whole->data() == items);
}

BOOST_AUTO_TEST_CASE(packets_of_any_length_pass_and_their_tags_stay_with_them)
{
    const int frame = 4;
    std::vector<gr::tag_t> tags;
    std::vector<uint64_t> heads, lengths;
    uint64_t item = 0;
    for (const int frames : { 1, 2, 50000, 3, 1, 17, 1000, 16, 15, 1 }) {
        heads.push_back(item);
        lengths.push_back(frames * frame);
        tags.push_back(length_tag(item, frames * frame));
        tags.push_back(named_tag(item, "rx_time"));
        tags.push_back(named_tag(item + frame * frames - 1, "last"));
        item += frames * frame;
    }
    const auto items = counted(item);
    chain c(items, tags, frame, options(16, true));
    c.run();
    BOOST_TEST(c.whole->data() == items);
    for (const auto name : { "packet_len", "rx_time", "last" }) {
        BOOST_TEST(c.tags(name).size() == heads.size());
    }
    for (size_t i = 0; i < heads.size(); ++i) {
        BOOST_TEST(c.tags("packet_len").at(i).offset == heads[i]);
        BOOST_TEST(uint64_t(pmt::to_long(c.tags("packet_len").at(i).value)) ==
                   lengths[i]);
        BOOST_TEST(c.tags("rx_time").at(i).offset == heads[i]);
        BOOST_TEST(c.tags("last").at(i).offset == heads[i] + lengths[i] - 1);
    }
    // On the other port a frame is one item.
    size_t seen = 0;
    for (const auto& tag : c.firsts->tags()) {
        if (pmt::symbol_to_string(tag.key) == "packet_len") {
            BOOST_TEST(tag.offset == heads[seen] / frame);
            BOOST_TEST(uint64_t(pmt::to_long(tag.value)) == lengths[seen] / frame);
            ++seen;
        }
    }
    BOOST_TEST(seen == heads.size());
}

BOOST_AUTO_TEST_CASE(a_missing_length_tag_ends_the_flowgraph_after_the_good_packets)
{
    chain c(counted(100), { length_tag(0, 40) }, 4, options(16, true));
    c.run();
    BOOST_TEST(c.whole->data() == counted(40));
}

BOOST_AUTO_TEST_CASE(a_packet_that_is_no_whole_number_of_frames_ends_the_flowgraph)
{
    for (const long wrong : { 41L, 2L, 0L, -4L }) {
        chain c(counted(100),
                { length_tag(0, 40), length_tag(40, wrong) },
                4,
                options(16, true));
        c.run();
        BOOST_TEST(c.whole->data() == counted(40));
    }
    // Even if not one whole frame comes.
    chain c(counted(3), { length_tag(0, 3) }, 4, options(16, true));
    c.run();
    BOOST_TEST(c.whole->data().empty());
}

BOOST_AUTO_TEST_CASE(every_frame_is_reported_on_the_item_that_it_became)
{
    const int frame = 8, frames = 3001;
    chain c(counted(frame * frames), {}, frame, options(16));
    c.run();
    BOOST_REQUIRE(c.tested->reported.size() == size_t(frames));
    for (int f = 0; f < frames; ++f) {
        BOOST_TEST(c.tested->reported[f].first == f * frame);
        BOOST_TEST(c.tested->reported[f].second == uint64_t(f * frame));
    }
}

BOOST_AUTO_TEST_CASE(every_frame_with_a_status_is_reported_where_zeros_need_not_be)
{
    const int frame = 3, frames = 3001;
    for (const bool drops : { false, true }) {
        std::vector<int> items(frame * frames, 0);
        std::vector<std::pair<int, uint64_t>> expected;
        const int dropped = 1500;
        for (const int f : { 0, 1, 63, 64, 299, 300, 1000, 2047, frames - 1 }) {
            items[f * frame] = f + 1;
            const int before = drops && f > dropped;
            expected.emplace_back(f + 1, uint64_t(f - before) * frame);
        }
        if (drops) {
            items[dropped * frame] = -1;
        }
        chain c(items, {}, frame, options(300), drops);
        c.tested->tells_of_zeros = false;
        c.run();
        std::vector<std::pair<int, uint64_t>> reported;
        for (const auto& one : c.tested->reported) {
            if (one.first > 0) {
                reported.push_back(one);
            }
        }
        BOOST_TEST((reported == expected));
        BOOST_TEST(c.tested->reported.size() < size_t(frames / 2));
    }
}

BOOST_AUTO_TEST_CASE(dropped_frames_leave_no_gap_and_take_their_tags_along)
{
    const int frame = 8, frames = 20000;
    auto items = counted(frame * frames);
    std::vector<int> kept;
    std::vector<gr::tag_t> tags{ length_tag(0, frame * frames) };
    for (int f = 0; f < frames; ++f) {
        tags.push_back(named_tag(f * frame, "number"));
        if (generator()() % 3 == 0) {
            items[f * frame] = -f - 1;
        } else {
            kept.insert(
                kept.end(), items.begin() + f * frame, items.begin() + (f + 1) * frame);
        }
    }
    chain c(items, tags, frame, options(64, true), true);
    c.run();
    BOOST_TEST(c.whole->data() == kept);
    const auto numbers = c.tags("number");
    BOOST_REQUIRE(numbers.size() == kept.size() / frame);
    for (size_t i = 0; i < numbers.size(); ++i) {
        BOOST_TEST(numbers[i].offset == i * frame);
        BOOST_TEST(pmt::to_uint64(numbers[i].value) == uint64_t(kept[i * frame]));
    }
    const auto lengths = c.tags("packet_len");
    BOOST_REQUIRE(lengths.size() == numbers.size());
    for (size_t i = 0; i < lengths.size(); ++i) {
        BOOST_TEST(lengths[i].offset == i * frame);
        BOOST_TEST(pmt::to_long(lengths[i].value) == frame);
    }
}

BOOST_AUTO_TEST_CASE(a_flowgraph_starts_again_after_it_stopped)
{
    const auto items = counted(8 * 1000);
    chain c(items, { length_tag(0, 8 * 1000) }, 8, options(16, true));
    for (int round = 1; round <= 3; ++round) {
        c.source->rewind();
        c.whole->reset();
        c.run();
        BOOST_TEST(c.whole->data() == items);
    }
}

BOOST_AUTO_TEST_CASE(a_flowgraph_can_be_stopped_at_any_time)
{
    for (int round = 0; round < 5; ++round) {
        auto source = gr::blocks::vector_source<int>::make(counted(8 * 1000), true);
        auto tested = gnuradio::make_block_sptr<mirror>(8, options(16));
        auto whole = gr::blocks::vector_sink<int>::make();
        auto firsts = gr::blocks::vector_sink<int>::make();
        auto top = gr::make_top_block("endless");
        top->connect(source, 0, tested, 0);
        top->connect(tested, 0, whole, 0);
        top->connect(tested, 1, firsts, 0);
        top->start();
        std::this_thread::sleep_for(std::chrono::milliseconds(5 * round));
        top->stop();
        top->wait();
        const auto data = whole->data();
        BOOST_TEST(data.size() % 8 == 0);
        for (size_t i = 0; i < data.size(); ++i) {
            if (data[i] != int(i % 8000)) {
                BOOST_ERROR("wrong item " << i);
                break;
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(two_blocks_share_a_ring_and_a_third_follows)
{
    // Two blocks read the source's ring, and a third reads one of their rings. Each ring
    // is page-locked once.
    const auto items = counted(8 * 30011);
    auto source = gr::blocks::vector_source<int>::make(items);
    std::vector<std::shared_ptr<mirror>> blocks;
    std::vector<gr::blocks::vector_sink<int>::sptr> sinks;
    auto top = gr::make_top_block("fan-out");
    for (int i = 0; i < 3; ++i) {
        blocks.push_back(gnuradio::make_block_sptr<mirror>(8, options(64)));
        sinks.push_back(gr::blocks::vector_sink<int>::make());
        sinks.push_back(gr::blocks::vector_sink<int>::make());
        top->connect(blocks[i], 0, sinks[2 * i], 0);
        top->connect(blocks[i], 1, sinks[2 * i + 1], 0);
    }
    top->connect(source, 0, blocks[0], 0);
    top->connect(source, 0, blocks[1], 0);
    top->connect(blocks[1], 0, blocks[2], 0);
    top->run();
    for (int i = 0; i < 3; ++i) {
        BOOST_TEST(sinks[2 * i]->data() == items);
        BOOST_TEST(sinks[2 * i + 1]->data().size() == 30011u);
    }
}

BOOST_AUTO_TEST_CASE(a_part_of_a_batch_waits_for_max_latency_and_no_longer)
{
    // 2000 items a second in frames of 8, and batches of 1000 frames. Without max_latency
    // a batch takes the frames that have come. With max_latency batches gather for that
    // time.
    const auto run = [](double latency) {
        auto how = options(1000);
        how.max_latency = latency;
        auto source = gr::blocks::vector_source<int>::make(counted(800));
        auto slow = gr::blocks::throttle::make(sizeof(int), 2000.0);
        slow->set_max_noutput_items(8);
        auto tested = gnuradio::make_block_sptr<mirror>(8, how);
        auto whole = gr::blocks::vector_sink<int>::make();
        auto firsts = gr::blocks::vector_sink<int>::make();
        auto top = gr::make_top_block("slow");
        top->connect(source, 0, slow, 0);
        top->connect(slow, 0, tested, 0);
        top->connect(tested, 0, whole, 0);
        top->connect(tested, 1, firsts, 0);
        top->run();
        BOOST_TEST(whole->data() == counted(800));
        return tested->batches;
    };
    const int at_once = run(0), gathered = run(0.1);
    BOOST_TEST(at_once > 40);
    BOOST_TEST(gathered <= 8);
}

BOOST_AUTO_TEST_CASE(a_block_before_with_few_outputs_is_not_held_back)
{
    // The block before puts one item out after several calls.
    constexpr int items = 4000000, each = 20000;
    auto how = options(1000);
    how.max_latency = 0.5;
    auto thin = gr::blocks::keep_one_in_n::make(sizeof(int), each);
    auto tested = gnuradio::make_block_sptr<mirror>(1, how);
    auto whole = gr::blocks::vector_sink<int>::make();
    auto firsts = gr::blocks::vector_sink<int>::make();
    auto top = gr::make_top_block("thin");
    top->connect(gr::blocks::vector_source<int>::make(counted(items)), 0, thin, 0);
    top->connect(thin, 0, tested, 0);
    top->connect(tested, 0, whole, 0);
    top->connect(tested, 1, firsts, 0);
    const auto begin = std::chrono::steady_clock::now();
    top->run();
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(5)));
    BOOST_TEST(whole->data().size() == size_t{ items / each });
    BOOST_TEST(whole->data() == firsts->data());
}

BOOST_AUTO_TEST_CASE(a_lost_device_ends_the_flowgraph_and_what_came_before_stays_whole)
{
    chain c(counted(8 * 10000), {}, 8, options(16));
    c.tested->fails_at = 20;
    c.run();
    const auto whole = c.whole->data();
    BOOST_TEST(whole.size() % 8 == 0);
    BOOST_TEST(whole.size() <= 19u * 16 * 8);
    BOOST_TEST(whole == counted(static_cast<int>(whole.size())));
    BOOST_TEST(c.firsts->data().size() == whole.size() / 8);
    // A new flowgraph in the same process works.
    chain again(counted(8 * 100), {}, 8, options(16));
    again.run();
    BOOST_TEST(again.whole->data() == counted(8 * 100));
}

BOOST_AUTO_TEST_CASE(parameters_out_of_range_are_refused)
{
    auto how = options(-1);
    BOOST_CHECK_THROW(gnuradio::make_block_sptr<mirror>(8, how), std::invalid_argument);
    how = options(1);
    how.max_latency = -1;
    BOOST_CHECK_THROW(gnuradio::make_block_sptr<mirror>(8, how), std::invalid_argument);
    how = options(1);
    how.backend = "gpu";
    BOOST_CHECK_THROW(gnuradio::make_block_sptr<mirror>(8, how), std::invalid_argument);
}

namespace {

//! Has items of any size, and never runs.
class wide : public batch_block
{
public:
    explicit wide(size_t item_bytes)
        : gr::block("wide",
                    gr::io_signature::make(1, 1, sizeof(int)),
                    gr::io_signature::make(1, 1, static_cast<int>(item_bytes))),
          batch_block(options(1), { { sizeof(int), 1 } }, { { item_bytes, 1 } }, 0)
    {
    }

private:
    std::unique_ptr<batch_job> make_job(queue&) override { return nullptr; }
    void report(const batch_status&, int, uint64_t) override {}
};

} // namespace

BOOST_AUTO_TEST_CASE(items_whose_ring_would_be_huge_are_refused_with_the_vlen_to_use)
{
    constexpr size_t page = 4096, mib = 1 << 20;
    for (const size_t bytes : { size_t{ 1 }, size_t{ 4 }, 64 * page, 256 * mib }) {
        BOOST_TEST(ring_problem(bytes, page) == "");
    }
    // 600732 = 4 · 150,183 has two factors of 2, and a page has twelve.
    const auto problem = ring_problem(600732, page);
    for (const std::string part :
         { "600732 bytes", "587 MiB", "75092 complex", "150184 float" }) {
        BOOST_TEST(problem.find(part) != problem.npos, problem);
    }
    BOOST_TEST(ring_problem(8 * 75092, page) == "");
    BOOST_TEST(ring_problem(255 * mib + 8, page).find("vlen of 33423872 complex or") !=
               std::string::npos);
    BOOST_TEST(ring_problem(257 * mib, page).find("use shorter") != std::string::npos);

    BOOST_CHECK_NO_THROW(gnuradio::make_block_sptr<wide>(8 * 75092));
    BOOST_CHECK_EXCEPTION(gnuradio::make_block_sptr<wide>(257 * mib + 4),
                          std::invalid_argument,
                          [](const auto& refused) {
                              return std::string(refused.what()).find("wide: ") == 0;
                          });
}
