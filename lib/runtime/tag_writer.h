/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/buffer.h>
#include <gnuradio/tags.h>
#include <map>

namespace gr::cudaphy {

/*!
 * \brief Puts tags onto an output port, many at a time.
 *
 * GNU Radio's add_item_tag takes the buffer's lock for each tag, which the reader takes
 * as well, looks for its place from the root of a tree, and copies it twice on the way.
 * With two tags on each of a million codewords a second that is what a flowgraph is busy
 * with. Here a tag is copied once, into a node of its own, and nodes change hands under
 * one lock.
 */
class tag_writer
{
public:
    //! In the order of their items, or nearly so.
    void add(const tag_t& tag)
    {
        d_waiting.emplace_hint(d_waiting.end(), tag.offset, tag);
    }

    //! Puts all tags that were added since the last time onto the port.
    void write(gr::buffer& port)
    {
        if (d_waiting.empty()) {
            return;
        }
        const gr::thread::scoped_lock guard(*port.mutex());
        auto& tags = port.*access::tags();
        while (!d_waiting.empty()) {
            tags.insert(tags.end(), d_waiting.extract(d_waiting.begin()));
        }
    }

private:
    using tag_map = std::multimap<uint64_t, tag_t>;

    //! The buffer's tags are for classes derived from it.
    struct access : gr::buffer {
        static constexpr tag_map gr::buffer::*tags() { return &access::d_item_tags; }
    };

    tag_map d_waiting;
};

} // namespace gr::cudaphy
