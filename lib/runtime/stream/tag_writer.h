/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/scheduler_port.h"
#include <utility>
#include <vector>

namespace gr::cudaphy {

/*!
 * \brief Puts tags onto an output port, many at a time.
 *
 * GNU Radio's add_item_tag takes the buffer's lock for each tag, which the reader takes
 * as well, looks for its place from the root of a tree, and copies it twice on the way.
 * With two tags on each of a million codewords a second that is what a flowgraph is busy
 * with. Here nodes of the tree change hands, many under one lock: those that all readers
 * have passed long ago, and which GNU Radio would give back to the heap, hold the next
 * tags.
 */
class tag_writer
{
public:
    //! In the order of their items, or nearly so.
    void add(const tag_t& tag)
    {
        if (d_passed.empty()) {
            d_waiting.push_back(new_node(tag));
            return;
        }
        auto& node = d_waiting.emplace_back(std::move(d_passed.back()));
        d_passed.pop_back();
        node.key() = tag.offset;
        auto& here = node.mapped();
        here.offset = tag.offset;
        set(here.key, tag.key);
        set(here.value, tag.value);
        set(here.srcid, tag.srcid);
        copy_deletions(tag, here);
    }

    //! Puts all tags that were added since the last time onto the port.
    void write(gr::buffer& port)
    {
        if (!d_waiting.empty()) {
            move_tags(port, d_waiting, d_passed);
        }
    }

private:
    using node_type = tag_map::node_type;

    static node_type new_node(const tag_t& tag)
    {
        tag_map made;
        made.emplace(tag.offset, tag);
        return made.extract(made.begin());
    }

    //! A tag that is as the one before in this place costs no count of references.
    static void set(pmt::pmt_t& to, const pmt::pmt_t& from)
    {
        if (to != from) {
            to = from;
        }
    }

    std::vector<node_type> d_waiting, d_passed;
};

} // namespace gr::cudaphy
