/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE device_edge
#include "runtime/batch_block.h"
#include "runtime/batch_testing.h"
#include "runtime/device/device_edge.h"
#include <filesystem>
#include <fstream>
#include <gnuradio/block_detail.h>
#include <gnuradio/blocks/head.h>
#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/blocks/throttle.h>
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/top_block.h>
#include <numeric>
#include <thread>
#include <unistd.h>
#ifdef CUDAPHY_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

//! Counts the pieces of memory that blocks hold. A GPU's free memory would depend on
//! other processes.
class counting_queue : public forwarding_queue
{
public:
    static inline std::atomic<long> held{ 0 };

    void* allocate(size_t bytes) override
    {
        auto* memory = forwarding_queue::allocate(bytes);
        ++held;
        return memory;
    }
    void release(void* memory) override
    {
        forwarding_queue::release(memory);
        --held;
    }
};

/*!
 * Passes frames of ints on unchanged. On the CPU the block has a memory of its own too.
 * Streams between two relays therefore bypass GNU Radio's rings, as on a GPU.
 */
class relay : public batch_block
{
public:
    relay(int items, const batch_options& options, bool drops = false)
        : gr::block("relay",
                    gr::io_signature::make(1, 1, sizeof(int)),
                    gr::io_signature::make(1, 1, sizeof(int))),
          batch_block(options, { { sizeof(int), items } }, { { sizeof(int), items } }, 1),
          d_items(items), d_drops(drops)
    {
        make_jobs();
    }

    std::vector<std::pair<int, uint64_t>> reported;

private:
    class job : public batch_job
    {
    public:
        explicit job(relay& owner) : d_owner(owner) {}
        void run(const batch& work, queue& q) override
        {
            constexpr size_t word = sizeof(int);
            const size_t bytes = d_owner.d_items * word, frames = work.frames;
            copy_rows(q, work.out[0], bytes, work.in[0], bytes, bytes, frames);
            copy_rows(q, work.status, word, work.in[0], bytes, word, frames);
        }

    private:
        relay& d_owner;
    };

    bool has_own_memory() const override { return true; }
    std::unique_ptr<queue> make_queue() override
    {
        return std::make_unique<counting_queue>();
    }
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
        return !d_drops || status.words[frame] % 3 != 0;
    }
    bool drops_frames() const override { return d_drops; }

    const int d_items;
    const bool d_drops;
};

using relay_sptr = std::shared_ptr<relay>;
using int_sink = gr::blocks::vector_sink<int>;

batch_options options(int max_batch, bool packets = false)
{
    batch_options made;
    made.backend = name_of(tested_backend());
    made.max_batch = max_batch;
    made.length_tag_key = packets ? "packet_len" : "";
    return made;
}

relay_sptr new_relay(int items, int max_batch, bool packets = false, bool drops = false)
{
    return gnuradio::make_block_sptr<relay>(items, options(max_batch, packets), drops);
}

//! 1, 2 ... n: no zeros, so that items differ from fresh memory.
std::vector<int> counted(int n)
{
    std::vector<int> items(n);
    std::iota(items.begin(), items.end(), 1);
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

//! Whether GNU Radio's ring behind a block was ever written.
bool host_ring_is_used(const relay_sptr& block)
{
    const auto ring = block->detail()->output(0);
    const auto* items = reinterpret_cast<const int*>(ring->base());
    return std::any_of(items, items + ring->bufsize(), [](int i) { return i != 0; });
}

//! The system's resources that this process holds.
struct holdings {
    long threads = 0, files = 0, mappings = 0;
    double resident = 0; //!< MiB

    static holdings now()
    {
        namespace fs = std::filesystem;
        const auto entries = [](const char* folder) {
            const fs::directory_iterator all{ folder };
            return static_cast<long>(std::distance(fs::begin(all), fs::end(all)));
        };
        holdings h;
        h.threads = entries("/proc/self/task");
        h.files = entries("/proc/self/fd");
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);) {
            ++h.mappings;
        }
        double pages = 0;
        std::ifstream("/proc/self/statm") >> pages >> pages;
        h.resident = pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
        return h;
    }
};

//! source → relays, one after the other → sink.
struct chain {
    chain(const std::vector<int>& items,
          const std::vector<relay_sptr>& relays,
          const std::vector<gr::tag_t>& tags = {})
        : source(gr::blocks::vector_source<int>::make(items, false, 1, tags)),
          sink(int_sink::make())
    {
        top->connect(source, 0, relays.front(), 0);
        for (size_t i = 1; i < relays.size(); ++i) {
            top->connect(relays[i - 1], 0, relays[i], 0);
        }
        top->connect(relays.back(), 0, sink, 0);
    }
    gr::top_block_sptr top = gr::make_top_block("chain");
    gr::blocks::vector_source<int>::sptr source;
    int_sink::sptr sink;
};

} // namespace

BOOST_AUTO_TEST_CASE(items_pass_in_order_and_the_rings_between_stay_untouched)
{
    const std::vector<std::vector<int>> shapes{ // frame and batch of each block
                                                { 1, 64, 1, 64, 1, 64 },
                                                { 7, 3, 5, 11, 1, 1000 },
                                                { 1000, 1, 1, 77, 250, 9 },
                                                { 1, 1, 999, 4, 333, 1 }
    };
    for (const auto& s : shapes) {
        const std::vector<relay_sptr> relays{ new_relay(s[0], s[1]),
                                              new_relay(s[2], s[3]),
                                              new_relay(s[4], s[5]) };
        // On a GPU a batch of one small frame takes long.
        const int repeated = tested_backend() == backend::cuda ? 2 : 9;
        const auto items = counted(7 * 5 * 1000 * repeated);
        chain c(items, relays);
        c.top->run();
        const int whole = std::lcm(std::lcm(s[0], s[2]), s[4]);
        const auto got = c.sink->data();
        BOOST_TEST(got.size() + whole > items.size());
        BOOST_TEST(got == counted(static_cast<int>(got.size())));
        BOOST_TEST(!host_ring_is_used(relays[0]));
        BOOST_TEST(!host_ring_is_used(relays[1]));
        BOOST_TEST(host_ring_is_used(relays[2]));
    }
}

BOOST_AUTO_TEST_CASE(every_frame_is_reported_once_and_in_order_even_if_no_thread_waits)
{
    const std::vector<relay_sptr> relays{ new_relay(8, 16), new_relay(4, 5) };
    chain c(counted(8 * 5003), relays);
    c.top->run();
    for (const int i : { 0, 1 }) {
        const int frame = i == 0 ? 8 : 4;
        BOOST_REQUIRE(relays[i]->reported.size() == size_t(8 * 5003 / frame));
        for (int f = 0; f < 8 * 5003 / frame; ++f) {
            BOOST_TEST(relays[i]->reported[f].first == f * frame + 1);
            BOOST_TEST(relays[i]->reported[f].second == uint64_t(f * frame));
        }
    }
}

BOOST_AUTO_TEST_CASE(packets_and_tags_pass_along)
{
    std::vector<gr::tag_t> tags;
    std::vector<long> lengths{ 4, 8, 200000, 12, 4, 68, 4000, 64, 60, 4 };
    uint64_t item = 0;
    for (const long length : lengths) {
        tags.push_back(tag_at(item, "packet_len", length));
        tags.push_back(tag_at(item + length - 1, "last", length));
        item += length;
    }
    for (const int batch : { 1, 3, 1000 }) {
        const std::vector<relay_sptr> relays{ new_relay(4, 16, true),
                                              new_relay(2, batch, true),
                                              new_relay(1, 7),
                                              new_relay(4, batch, true) };
        chain c(counted(item), relays, tags);
        c.top->run();
        BOOST_TEST(c.sink->data() == counted(item));
        BOOST_TEST(!host_ring_is_used(relays[2]));
        std::vector<long> found;
        uint64_t head = 0;
        for (const auto& tag : c.sink->tags()) {
            const auto length = pmt::to_long(tag.value);
            if (pmt::symbol_to_string(tag.key) == "packet_len") {
                BOOST_TEST(tag.offset == head);
                found.push_back(length);
                head += length;
            } else {
                BOOST_TEST(tag.offset == head - 1);
            }
        }
        BOOST_TEST(found == lengths);
        BOOST_TEST(c.sink->tags().size() == 2 * lengths.size());
    }
}

BOOST_AUTO_TEST_CASE(one_output_feeds_blocks_on_the_device_and_on_the_host)
{
    const auto items = counted(40 * (tested_backend() == backend::cuda ? 500 : 5000));
    auto source = gr::blocks::vector_source<int>::make(items);
    const auto first = new_relay(8, 16), fast = new_relay(5, 100), slow = new_relay(1, 1);
    std::vector<int_sink::sptr> sinks;
    for (int i = 0; i < 3; ++i) {
        sinks.push_back(int_sink::make());
    }
    auto top = gr::make_top_block("fan-out");
    top->connect(source, 0, first, 0);
    top->connect(first, 0, fast, 0);
    top->connect(first, 0, slow, 0);
    top->connect(fast, 0, sinks[0], 0);
    top->connect(slow, 0, sinks[1], 0);
    top->run();
    BOOST_TEST(!host_ring_is_used(first));
    // The same with another reader on the host.
    for (const auto& sink : sinks) {
        sink->reset();
    }
    source->rewind();
    top->connect(first, 0, sinks[2], 0);
    top->run();
    BOOST_TEST(host_ring_is_used(first));
    for (const auto& sink : sinks) {
        BOOST_TEST(sink->data() == items);
    }
}

BOOST_AUTO_TEST_CASE(an_output_on_the_host_feeds_blocks_on_the_device_and_on_the_host)
{
    const auto items = counted(40 * (tested_backend() == backend::cuda ? 500 : 5000));
    auto top = gr::make_top_block("fan-out");
    auto source = gr::blocks::vector_source<int>::make(items);
    std::vector<int_sink::sptr> sinks;
    const auto ends_in_sink = [&](const gr::block_sptr& block) {
        sinks.push_back(int_sink::make());
        top->connect(block, 0, sinks.back(), 0);
    };
    ends_in_sink(source);
    for (const int batch : { 16, 100 }) {
        const auto first = new_relay(1, batch), second = new_relay(1, batch);
        top->connect(source, 0, first, 0);
        top->connect(first, 0, second, 0);
        ends_in_sink(second); // two sinks read `second`
        ends_in_sink(second);
    }
    top->run();
    for (const auto& sink : sinks) {
        BOOST_TEST(sink->data() == items);
    }
}

BOOST_AUTO_TEST_CASE(sixty_packets_of_every_size_come_out_whole)
{
    // Some of these lengths would hang in GNU Radio's single-mapped buffers of 16384
    // items.
    for (const int length : { 1000, 5000, 8000, 9000, 12000, 16000 }) {
        std::vector<gr::tag_t> tags;
        for (int packet = 0; packet < 60; ++packet) {
            tags.push_back(tag_at(uint64_t(packet) * length, "packet_len", length));
        }
        const std::vector<relay_sptr> relays{ new_relay(1, 0, true),
                                              new_relay(1, 0, true) };
        chain c(counted(60 * length), relays, tags);
        c.top->run();
        BOOST_TEST(c.sink->data() == counted(60 * length));
        const auto found = c.sink->tags();
        BOOST_REQUIRE(found.size() == tags.size());
        for (size_t t = 0; t < tags.size(); ++t) {
            BOOST_TEST(found[t].offset == tags[t].offset);
            BOOST_TEST(pmt::to_long(found[t].value) == length);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_block_that_drops_frames_hands_on_through_the_host)
{
    const auto dropping = new_relay(1, 16, true, true), behind = new_relay(1, 16, true);
    const auto items = counted(3 * 3000);
    chain c(items, { dropping, behind }, { tag_at(0, "packet_len", 3 * 3000) });
    c.top->run();
    std::vector<int> kept;
    std::copy_if(items.begin(), items.end(), std::back_inserter(kept), [](int i) {
        return i % 3 != 0;
    });
    BOOST_TEST(c.sink->data() == kept);
    BOOST_TEST(host_ring_is_used(dropping));
}

BOOST_AUTO_TEST_CASE(a_low_rate_stalls_nothing)
{
    auto source = gr::blocks::vector_source<int>::make(counted(400));
    auto slow = gr::blocks::throttle::make(sizeof(int), 2000.0);
    slow->set_max_noutput_items(8);
    const auto a = new_relay(8, 1000), b = new_relay(8, 1000);
    auto sink = int_sink::make();
    auto top = gr::make_top_block("slow");
    top->connect(source, 0, slow, 0);
    top->connect(slow, 0, a, 0);
    top->connect(a, 0, b, 0);
    top->connect(b, 0, sink, 0);
    top->run();
    BOOST_TEST(sink->data() == counted(400));
    BOOST_TEST(a->reported.size() == 50u);
}

BOOST_AUTO_TEST_CASE(a_slow_reader_stalls_nothing)
{
    auto source = gr::blocks::vector_source<int>::make(counted(60000));
    const auto a = new_relay(8, 100), b = new_relay(3, 50), c = new_relay(1, 1000);
    auto slow = gr::blocks::throttle::make(sizeof(int), 200000.0);
    slow->set_max_noutput_items(500);
    auto sink = int_sink::make();
    auto top = gr::make_top_block("slow");
    top->connect(source, 0, a, 0);
    top->connect(a, 0, b, 0);
    top->connect(b, 0, c, 0);
    top->connect(c, 0, slow, 0);
    top->connect(slow, 0, sink, 0);
    top->run();
    BOOST_TEST(sink->data() == counted(60000));
}

BOOST_AUTO_TEST_CASE(
    a_wrong_packet_in_the_middle_ends_it_all_and_what_came_before_is_whole)
{
    std::vector<gr::tag_t> tags;
    for (int item = 0; item < 4000; item += 40) {
        tags.push_back(tag_at(item, "packet_len", item == 2000 ? 41 : 40));
    }
    for (const int batch : { 1, 7, 1000 }) {
        const std::vector<relay_sptr> relays{ new_relay(4, batch),
                                              new_relay(4, 16, true),
                                              new_relay(4, batch, true) };
        chain c(counted(4000), relays, tags);
        c.top->run();
        BOOST_TEST(c.sink->data() == counted(2000));
    }
}

BOOST_AUTO_TEST_CASE(flowgraphs_start_again_after_a_stop_at_any_time)
{
    for (int round = 0; round < 4; ++round) {
        auto source = gr::blocks::vector_source<int>::make(counted(8000), true);
        const auto a = new_relay(8, 16), b = new_relay(5, 16);
        auto sink = int_sink::make();
        auto top = gr::make_top_block("endless");
        top->connect(source, 0, a, 0);
        top->connect(a, 0, b, 0);
        top->connect(b, 0, sink, 0);
        for (int again = 0; again < 3; ++again) {
            top->start();
            std::this_thread::sleep_for(std::chrono::milliseconds(5 * round));
            top->stop();
            top->wait();
            const auto data = sink->data();
            size_t wrong = 0;
            for (size_t i = 0; i < data.size(); ++i) {
                wrong += data[i] != int(i % 8000) + 1;
            }
            BOOST_TEST(wrong == 0u);
            sink->reset();
            source->rewind();
        }
    }
}

BOOST_AUTO_TEST_CASE(a_flowgraph_is_rewired_while_it_runs)
{
    auto source = gr::blocks::vector_source<int>::make(counted(800), true);
    const auto a = new_relay(8, 16), b = new_relay(8, 16), c = new_relay(4, 16);
    auto sink = int_sink::make();
    auto rest = gr::blocks::null_sink::make(sizeof(int));
    auto top = gr::make_top_block("rewired");
    top->connect(source, 0, a, 0);
    top->connect(a, 0, b, 0);
    top->connect(b, 0, sink, 0);
    top->start();
    for (int round = 0; round < 6; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        top->lock();
        if (round % 2 == 0) {
            top->connect(a, 0, c, 0);
            top->connect(c, 0, rest, 0);
        } else {
            top->disconnect(a, 0, c, 0);
            top->disconnect(c, 0, rest, 0);
        }
        top->unlock();
    }
    top->stop();
    top->wait();
    // GNU Radio drops the items under way when the wiring changes. All other items
    // arrive.
    const auto data = sink->data();
    BOOST_TEST(data.size() > 0u);
    int jumps = 0;
    for (size_t i = 1; i < data.size(); ++i) {
        jumps += data[i] != data[i - 1] % 800 + 1;
    }
    BOOST_TEST(jumps <= 6);
}

BOOST_AUTO_TEST_CASE(flowgraphs_come_and_go_and_leave_nothing_behind)
{
    std::weak_ptr<device_edge> before;
    holdings settled;
    constexpr int rounds = 1000, settling = 100;
    for (int round = 0; round < rounds; ++round) {
        if (round == settling) {
            settled = holdings::now();
        }
        BOOST_TEST(counting_queue::held == 0);
        const std::vector<relay_sptr> relays{ new_relay(1, 16), new_relay(1, 16) };
        BOOST_TEST(counting_queue::held > 0);
        chain c(counted(50), relays);
        c.top->run();
        BOOST_TEST(c.sink->data() == counted(50));
        BOOST_TEST(before.expired());
        before = device_edge::along(relays[0]->detail()->output(0), [] {
            BOOST_ERROR("the edge is not the one that was used");
            return queue::make(backend::cpu);
        });
    }
    // The limit is a tenth of one leftover a flowgraph. One ring of GNU Radio has 64 KiB.
    const auto now = holdings::now();
    constexpr int some = (rounds - settling) / 10;
    BOOST_TEST(now.threads - settled.threads < some);
    BOOST_TEST(now.files - settled.files < some);
    BOOST_TEST(now.mappings - settled.mappings < some);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // which keep memory
    BOOST_TEST(now.resident - settled.resident < 4);
#endif
}
