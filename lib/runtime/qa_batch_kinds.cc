/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE batch_kinds
#include "runtime/batch_block.h"
#include "runtime/batch_testing.h"
#include <algorithm>
#include <gnuradio/blocks/tag_debug.h>
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/top_block.h>
#include <numeric>
#include <set>
#include <thread>

// Batches of frames of several kinds.

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

//! Copies the first `width` ints of rows of `items`.
void copy_first(queue& q, int* to, const int* from, int items, int width, int rows)
{
    const auto bytes = width * sizeof(int);
    copy_rows(q, to, bytes, from, items * sizeof(int), bytes, rows);
}

//! A kind of frames: ints of a frame, and the most frames of a batch.
struct frame_kind {
    int items, max_batch;
};

//! One batch as a job got it.
struct launch {
    std::vector<int> kinds, frames;
    int all_frames() const { return std::accumulate(frames.begin(), frames.end(), 0); }
};

//! Output 0 is the input, output 1 each frame's first int. The status words are the
//! frame's first two ints. A negative first int marks a frame for dropping.
class mirror : public batch_block
{
public:
    mirror(const std::vector<frame_kind>& kinds,
           const batch_options& how,
           bool own_memory,
           bool drops)
        : gr::block("mirror",
                    gr::io_signature::make(1, 1, sizeof(int)),
                    gr::io_signature::make(2, 2, sizeof(int))),
          batch_block(how,
                      { { sizeof(int), kinds[0].items } },
                      { { sizeof(int), kinds[0].items }, { sizeof(int), 1 } },
                      2),
          d_kinds(kinds), d_own_memory(own_memory), d_drops(drops)
    {
        for (size_t i = 1; i < kinds.size(); ++i) {
            add_kind({ { kinds[i].items }, { kinds[i].items, 1 }, kinds[i].max_batch });
        }
        make_jobs();
    }

    struct word {
        int first, second;
        uint64_t item;
    };
    std::vector<word> reported;
    std::vector<launch> launches;
    std::vector<uint64_t> refused; //!< items of each packet
    int fails_at = 0;              //!< number of the batch, from 1

private:
    class job : public mixed_batch_job
    {
    public:
        explicit job(mirror& owner) : d_owner(owner) {}
        void run(const std::vector<batch_part>& parts, queue& q) override
        {
            launch made;
            for (const auto& [kind, work] : parts) {
                made.kinds.push_back(kind);
                made.frames.push_back(work.frames);
            }
            d_owner.launches.push_back(made);
            if (static_cast<int>(d_owner.launches.size()) == d_owner.fails_at) {
                throw cuda_error("mirror failed on CUDA device 0: the device is lost");
            }
            for (const auto& [kind, work] : parts) {
                const int items = d_owner.d_kinds[kind].items, frames = work.frames;
                const auto* in = static_cast<const int*>(work.in[0]);
                copy_first(q, static_cast<int*>(work.out[0]), in, items, items, frames);
                copy_first(q, static_cast<int*>(work.out[1]), in, items, 1, frames);
                copy_first(q, work.status, in, items, 1, frames);
                copy_first(q, work.status + frames, in + 1, items, 1, frames);
            }
        }

    private:
        mirror& d_owner;
    };

    bool has_own_memory() const override
    {
        return d_own_memory || batch_block::has_own_memory();
    }
    std::unique_ptr<batch_job> make_job(queue&) override
    {
        throw std::logic_error("there are several kinds");
    }
    std::unique_ptr<mixed_batch_job> make_mixed_job(queue&) override
    {
        return std::make_unique<job>(*this);
    }
    int kind_of(const std::vector<gr::tag_t>& head, std::string& refusal) const override
    {
        for (const auto& tag : head) {
            if (pmt::symbol_to_string(tag.key) == "kind") {
                const auto kind = pmt::to_long(tag.value);
                if (kind < static_cast<long>(d_kinds.size())) {
                    return static_cast<int>(kind);
                }
            }
        }
        refusal = "no kind";
        return -1;
    }
    void
    refuse(const std::vector<gr::tag_t>&, uint64_t items, const std::string&) override
    {
        refused.push_back(items);
    }
    void report(const batch_status& status, int frame, uint64_t item) override
    {
        reported.push_back(
            { status.words[frame], status.words[status.frames + frame], item });
    }
    bool keeps(const batch_status& status, int frame) const override
    {
        return !d_drops || status.words[frame] >= 0;
    }
    bool drops_frames() const override { return d_drops; }

    const std::vector<frame_kind> d_kinds;
    const bool d_own_memory, d_drops;
};

//! A number from `least` to `most`.
int any_of(int least, int most)
{
    return std::uniform_int_distribution<int>(least, most)(generator());
}

gr::tag_t new_tag(uint64_t item, const char* key, long value)
{
    gr::tag_t tag;
    tag.offset = item;
    tag.key = pmt::intern(key);
    tag.value = pmt::from_long(value);
    return tag;
}

//! A stream of packets, and the output that is expected.
struct packet_stream {
    std::vector<int> items;
    std::vector<gr::tag_t> tags;
    std::vector<int> expected, firsts;        //!< the expected output
    std::vector<mirror::word> words;          //!< reported
    std::vector<std::pair<int, int>> packets; //!< packets put out: head, items
    std::vector<uint64_t> refused;
    int count = 0;

    //! Adds a packet of frames of `length` ints. The block refuses a kind that it does
    //! not have.
    void add(int kind, int length, int frames, bool is_known, bool drops)
    {
        const auto head = items.size();
        tags.push_back(new_tag(head, "packet_len", length * frames));
        tags.push_back(new_tag(head, "kind", kind));
        tags.push_back(new_tag(head, "number", count));
        tags.push_back(new_tag(head + length * frames - 1, "last", count++));
        if (!is_known) {
            refused.push_back(length * frames);
        } else if (!drops) {
            packets.emplace_back(expected.size(), length * frames);
        }
        for (int f = 0; f < frames; ++f) {
            const auto begin = items.size();
            for (int i = 0; i < length; ++i) {
                items.push_back(static_cast<int>(items.size()) + 1);
            }
            if (drops && any_of(0, 2) == 0) {
                items[begin] = -items[begin];
            }
            if (!is_known) {
                continue;
            }
            const bool stays = items[begin] > 0 || !drops;
            words.push_back({ items[begin], items[begin + 1], expected.size() });
            if (stays) {
                if (drops) {
                    packets.emplace_back(expected.size(), length);
                }
                expected.insert(expected.end(), items.begin() + begin, items.end());
                firsts.push_back(items[begin]);
            }
        }
    }
};

const std::vector<frame_kind> three_kinds{ { 3, 40 }, { 16, 40 }, { 7, 40 } };

packet_stream any_packets(const std::vector<frame_kind>& kinds,
                          int count,
                          bool refuses = false,
                          bool drops = false)
{
    packet_stream made;
    for (int i = 0; i < count; ++i) {
        const int most = static_cast<int>(kinds.size()) - 1;
        const bool is_known = !refuses || any_of(0, 9) != 0;
        const int kind = any_of(0, most);
        made.add(is_known ? kind : most + 1,
                 kinds[kind].items,
                 any_of(0, 9) ? any_of(1, 3) : any_of(4, 200),
                 is_known,
                 drops);
    }
    return made;
}

using mirror_sptr = std::shared_ptr<mirror>;

struct chain {
    chain(const packet_stream& packets,
          const std::vector<frame_kind>& kinds,
          bool own_memory,
          bool drops = false,
          int row = 1)
        : source(gr::blocks::vector_source<int>::make(
              packets.items, false, 1, packets.tags)),
          whole(gr::blocks::vector_sink<int>::make()),
          firsts(gr::blocks::vector_sink<int>::make())
    {
        gr::basic_block_sptr before = source;
        for (int i = 0; i < row; ++i) {
            batch_options how;
            how.backend = name_of(tested_backend());
            how.max_batch = kinds[0].max_batch;
            how.length_tag_key = "packet_len";
            tested.push_back(
                gnuradio::make_block_sptr<mirror>(kinds, how, own_memory, drops));
            top->connect(before, 0, tested.back(), 0);
            before = tested.back();
            if (i + 1 < row) {
                top->connect(before, 1, gr::blocks::vector_sink<int>::make(), 0);
            }
        }
        top->connect(before, 0, whole, 0);
        top->connect(before, 1, firsts, 0);
    }
    std::vector<std::pair<int, int>> tags(const std::string& key) const
    {
        std::vector<std::pair<int, int>> found;
        for (const auto& tag : whole->tags()) {
            if (pmt::symbol_to_string(tag.key) == key) {
                found.emplace_back(tag.offset, pmt::to_long(tag.value));
            }
        }
        return found;
    }
    //! Checks that all expected items and tags came out at their positions.
    void check(const packet_stream& packets) const
    {
        BOOST_TEST((whole->data() == packets.expected));
        BOOST_TEST((firsts->data() == packets.firsts));
        BOOST_TEST((tags("packet_len") == packets.packets));
        const auto& last = *tested.back();
        BOOST_TEST((last.refused == packets.refused));
        BOOST_REQUIRE(last.reported.size() == packets.words.size());
        for (size_t i = 0; i < packets.words.size(); ++i) {
            BOOST_TEST(last.reported[i].first == packets.words[i].first);
            BOOST_TEST(last.reported[i].second == packets.words[i].second);
            BOOST_TEST(last.reported[i].item == packets.words[i].item);
        }
    }
    //! Batches of several kinds.
    size_t mixed() const
    {
        const auto& all = tested.back()->launches;
        return std::count_if(
            all.begin(), all.end(), [](const auto& one) { return one.kinds.size() > 1; });
    }

    gr::top_block_sptr top = gr::make_top_block("chain");
    gr::blocks::vector_source<int>::sptr source;
    std::vector<mirror_sptr> tested;
    gr::blocks::vector_sink<int>::sptr whole, firsts;
};

} // namespace

BOOST_AUTO_TEST_CASE(packets_of_every_kind_share_batches_and_come_out_in_order)
{
    for (const bool own_memory : { false, true }) {
        const auto packets = any_packets(three_kinds, 2000);
        chain c(packets, three_kinds, own_memory);
        c.top->run();
        c.check(packets);
        BOOST_TEST(c.mixed() > 0);
        int frames = 0;
        for (const auto& one : c.tested[0]->launches) {
            frames += one.all_frames();
            BOOST_TEST(one.all_frames() <= 40);
            BOOST_TEST((std::set<int>(one.kinds.begin(), one.kinds.end()).size() ==
                        one.kinds.size()));
        }
        BOOST_TEST(frames == static_cast<int>(packets.words.size()));
        const auto found = c.tested[0]->statistics();
        BOOST_TEST(found.batches == c.tested[0]->launches.size());
        BOOST_TEST(found.frames == packets.words.size());
        BOOST_TEST(found.queue_depth == 0);
        // The tag on a packet's last item carries the packet's number.
        const auto numbers = c.tags("number"), ends = c.tags("last");
        BOOST_REQUIRE(numbers.size() == packets.packets.size());
        BOOST_REQUIRE(ends.size() == packets.packets.size());
        for (int i = 0; i < static_cast<int>(numbers.size()); ++i) {
            const auto& [head, items] = packets.packets[i];
            BOOST_TEST((numbers[i] == std::pair(head, i)));
            BOOST_TEST((ends[i] == std::pair(head + items - 1, i)));
        }
    }
}

BOOST_AUTO_TEST_CASE(kinds_by_turns_fill_batches_though_no_packet_does)
{
    packet_stream packets;
    for (int i = 0; i < 4000; ++i) {
        packets.add(i % 3, three_kinds[i % 3].items, 1, true, false);
    }
    chain c(packets, three_kinds, false);
    c.top->run();
    c.check(packets);
    BOOST_TEST(c.tested[0]->launches.size() < 4000 / 10);
}

BOOST_AUTO_TEST_CASE(no_batch_exceeds_its_buffers_or_the_limits_of_its_kinds)
{
    // 60, 64 and 21 ints a batch. One kind's limit would admit more of another kind.
    const std::vector<frame_kind> kinds{ { 3, 20 }, { 16, 4 }, { 7, 3 } };
    for (const bool own_memory : { false, true }) {
        const auto packets = any_packets(kinds, 1000);
        chain c(packets, kinds, own_memory);
        c.top->run();
        c.check(packets);
        BOOST_TEST(c.mixed() > 0);
        for (const auto& one : c.tested[0]->launches) {
            int items = 0;
            for (size_t i = 0; i < one.kinds.size(); ++i) {
                const auto& kind = kinds[one.kinds[i]];
                items += kind.items * one.frames[i];
                BOOST_TEST(one.frames[i] <= kind.max_batch);
            }
            BOOST_TEST(items <= 64);
            BOOST_TEST(one.all_frames() <= 20);
        }
    }
}

BOOST_AUTO_TEST_CASE(batches_of_one_frame_are_of_one_kind)
{
    const std::vector<frame_kind> kinds{ { 3, 1 }, { 16, 1 } };
    const auto packets = any_packets(kinds, 300);
    chain c(packets, kinds, true);
    c.top->run();
    c.check(packets);
    BOOST_TEST(c.mixed() == 0u);
    BOOST_TEST(c.tested[0]->launches.size() == packets.words.size());
}

BOOST_AUTO_TEST_CASE(refused_packets_are_reported_and_left_out)
{
    for (const bool own_memory : { false, true }) {
        const auto packets = any_packets(three_kinds, 1500, true);
        chain c(packets, three_kinds, own_memory);
        c.top->run();
        c.check(packets);
        BOOST_TEST(packets.refused.size() > 0);
        BOOST_TEST(c.mixed() > 0);
    }
}

BOOST_AUTO_TEST_CASE(dropped_frames_of_any_kind_leave_no_gap)
{
    for (const bool own_memory : { false, true }) {
        const auto packets = any_packets(three_kinds, 1500, true, true);
        chain c(packets, three_kinds, own_memory, true);
        c.top->run();
        c.check(packets);
        BOOST_TEST(c.mixed() > 0);
    }
}

BOOST_AUTO_TEST_CASE(two_blocks_in_a_row_both_mix_and_start_again)
{
    for (const bool own_memory : { false, true }) {
        const auto packets = any_packets(three_kinds, 1000);
        chain c(packets, three_kinds, own_memory, false, 2);
        for (int round = 0; round < 2; ++round) {
            c.top->run();
            c.check(packets);
            BOOST_TEST(c.mixed() > 0);
            c.source->rewind();
            c.whole->reset();
            c.firsts->reset();
            for (auto& each : c.tested) {
                each->reported.clear();
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_flowgraph_stopped_at_any_time_has_put_out_frames_in_order)
{
    const auto packets = any_packets(three_kinds, 20000);
    for (int round = 0; round < 20; ++round) {
        chain c(packets, three_kinds, round % 2);
        c.top->start();
        std::this_thread::sleep_for(std::chrono::microseconds(any_of(0, 20000)));
        c.top->stop();
        c.top->wait();
        const auto came = c.whole->data();
        BOOST_REQUIRE(came.size() <= packets.expected.size());
        BOOST_TEST(std::equal(came.begin(), came.end(), packets.expected.begin()));
    }
}

BOOST_AUTO_TEST_CASE(frames_before_a_failed_batch_stay_whole)
{
    const auto packets = any_packets(three_kinds, 2000);
    chain c(packets, three_kinds, true);
    c.tested[0]->fails_at = 5;
    c.top->run();
    // Batches under way beside the failed one are lost as a whole.
    std::set<size_t> whole{ 0 };
    for (size_t i = 0, frames = 0; i < 4; ++i) {
        frames += c.tested[0]->launches.at(i).all_frames();
        whole.insert(frames);
    }
    const auto& came = c.firsts->data();
    BOOST_TEST(c.tested[0]->launches.size() == 5u);
    BOOST_TEST(whole.count(came.size()) == 1u);
    BOOST_TEST(came.size() > 0u);
    BOOST_TEST(std::equal(came.begin(), came.end(), packets.firsts.begin()));
}

BOOST_AUTO_TEST_CASE(a_missing_length_tag_ends_the_flowgraph_after_the_good_packets)
{
    auto packets = any_packets(three_kinds, 50);
    const auto good = packets.items.size();
    packets.items.resize(good + 100);
    chain c(packets, three_kinds, false);
    c.top->run();
    c.check(packets);
}
