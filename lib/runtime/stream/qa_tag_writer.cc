/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE tag_writer
#include "runtime/batch_testing.h"
#include "runtime/stream/tag_writer.h"
#include <array>
#include <boost/test/unit_test.hpp>
#include <gnuradio/buffer_reader.h>
#include <map>
#include <random>

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

int any_of(int least, int most)
{
    return std::uniform_int_distribution<>(least, most)(generator());
}

gr::tag_t any_tag(uint64_t offset)
{
    gr::tag_t made;
    made.offset = offset;
    made.key = pmt::intern("key " + std::to_string(any_of(0, 2)));
    made.value = pmt::from_long(any_of(0, 1 << 20));
    made.srcid = pmt::intern("block " + std::to_string(any_of(0, 2)));
    return made;
}

constexpr long block_id = 7;

void get_tags(gr::buffer_reader& reader,
              std::vector<gr::tag_t>& found,
              uint64_t first,
              uint64_t last)
{
#if CUDAPHY_GNURADIO_VERSION < 31100
    reader.get_tags_in_range(found, first, last, block_id);
#else
    reader.get_tags_in_range(found, first, last);
#endif
}

void check(const std::vector<gr::tag_t>& found,
           const std::multimap<uint64_t, gr::tag_t>& written)
{
    BOOST_REQUIRE(found.size() == written.size());
    auto expected = written.begin();
    for (const auto& tag : found) {
        BOOST_REQUIRE((tag.offset == expected->first &&
                       pmt::eqv(tag.key, expected->second.key) &&
                       pmt::eqv(tag.value, expected->second.value) &&
                       pmt::eqv(tag.srcid, expected->second.srcid)));
#if CUDAPHY_GNURADIO_VERSION < 31100
        BOOST_REQUIRE(tag.marked_deleted.empty());
#endif
        ++expected;
    }
}

} // namespace

// Two readers at different positions, one with a delay, see every tag as written. The
// writer reuses a tag's memory, and either reader may delete tags. Readers also see tags
// that they have passed, as far as GNU Radio keeps them.
BOOST_AUTO_TEST_CASE(readers_see_every_tag_as_it_was_written)
{
    constexpr unsigned delay = 700;
    const auto ring = gr::make_buffer(4096, sizeof(float), 1, 1, nullptr, nullptr);
    const std::array readers{ gr::buffer_add_reader(ring, 0, nullptr, 0),
                              gr::buffer_add_reader(ring, 0, nullptr, delay) };
    tag_writer writer;
    std::multimap<uint64_t, gr::tag_t> written;
    const auto between = [&](uint64_t first, uint64_t last) {
        return std::multimap<uint64_t, gr::tag_t>(written.lower_bound(first),
                                                  written.lower_bound(last));
    };
    std::vector<gr::tag_t> found;
    uint64_t seen = 0;
    for (int round = 0; round < 900; ++round) {
        int room = 0;
        {
            const gr::thread::scoped_lock guard(*ring->mutex());
            room = ring->space_available();
        }
        const int items = any_of(0, room);
        const auto first = readers[0]->nitems_read() + readers[0]->items_available();
        // Sometimes tags are dense, and sometimes several rings have none.
        for (int left = round % 300 < 200 ? items / 8 : 0; left > 0; --left) {
            const auto tag = any_tag(first + any_of(0, items - 1));
            writer.add(tag);
            written.emplace(tag.offset, tag);
            if (any_of(0, 20) == 0) {
                writer.write(*ring);
            }
        }
        writer.write(*ring);
        ring->update_write_pointer(items);
        for (const auto& reader : readers) {
            const auto read = reader->nitems_read();
            const uint64_t shift = reader->sample_delay();
            const int count = any_of(0, reader->items_available());
            const auto back = std::min<uint64_t>(read, ring->bufsize());
            get_tags(*reader, found, read - back, read + count);
            for (auto& tag : found) {
                tag.offset -= shift;
            }
            const auto shifted = [&](uint64_t item) {
                return item - std::min(item, shift);
            };
            check(found, between(shifted(read - back), shifted(read + count)));
            seen += found.size();
#if CUDAPHY_GNURADIO_VERSION < 31100 // later no block can delete a tag
            if (!found.empty()) {
                const auto gone = found[any_of(0, static_cast<int>(found.size()) - 1)];
                ring->remove_item_tag(gone, block_id);
                for (auto at = written.lower_bound(gone.offset);
                     at != written.upper_bound(gone.offset);) {
                    at = at->second == gone ? written.erase(at) : std::next(at);
                }
            }
#endif
            reader->update_read_pointer(count);
        }
        const auto least = std::min(readers[0]->nitems_read(), readers[1]->nitems_read());
        written.erase(written.begin(),
                      written.lower_bound(least - std::min<uint64_t>(least, 8192)));
    }
    BOOST_TEST(seen > 100000);
}

// The memory of passed tags is used again, so that tags gather neither in the ring nor in
// the writer.
BOOST_AUTO_TEST_CASE(tags_take_no_more_memory_than_the_rings_hold)
{
    const auto ring = gr::make_buffer(4096, sizeof(float), 1, 1, nullptr, nullptr);
    const auto reader = gr::buffer_add_reader(ring, 0, nullptr, 0);
    tag_writer writer;
    const auto value = pmt::make_u8vector(1, 0);
    long most = 0;
    for (int round = 0; round < 1000; ++round) {
        for (int i = 0; i < 1000; ++i) {
            auto tag = any_tag(reader->nitems_read() + i);
            tag.value = value;
            writer.add(tag);
        }
        writer.write(*ring);
        ring->update_write_pointer(1000);
        reader->update_read_pointer(1000);
        const gr::thread::scoped_lock guard(*ring->mutex());
        ring->space_available();
        most = std::max(most, value.use_count());
    }
    BOOST_TEST(most <= 2 * ring->bufsize() + 5000);
}
