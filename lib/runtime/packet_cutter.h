/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

namespace gr::cudaphy {

/*!
 * \brief Follows the packets of a tagged stream, frame by frame, and remembers their
 * heads until they are put out.
 */
class packet_cutter
{
public:
    struct head {
        uint64_t frame;  //!< of the stream, where the packet begins
        uint64_t frames; //!< in the packet
    };
    //! Looks up the length tag, in items, on an absolute item of the input; none if there
    //! is no such tag.
    using length_lookup = std::function<std::optional<int64_t>(uint64_t item)>;

    //! \param before the name of the block before this one, which should have set the
    //! tags
    packet_cutter(std::string key, int items_a_frame, std::string before)
        : d_key(std::move(key)), d_items(items_a_frame), d_before(std::move(before))
    {
    }

    /*!
     * Goes on over up to `frames` frames that begin at absolute item `item`, and says how
     * many of them lie in good packets. If fewer, `problem` says why. With 0 frames only
     * a head is looked at, of which one item must be there.
     */
    int advance(uint64_t item,
                int frames,
                const length_lookup& length_at,
                std::string& problem);

    //! Heads of packets that begin within the next `frames` frames to be put out, in
    //! order; each is given once.
    std::optional<head> next_head(uint64_t first_frame, int frames);

    //! Whether the next frame begins a packet whose length is not known yet. advance() by
    //! 0 frames looks it up.
    bool at_head() const { return d_left == 0; }
    uint64_t frames_missing() const
    {
        return d_left;
    } //!< of the packet that is under way

private:
    std::string d_key;
    int d_items;
    std::string d_before;
    uint64_t d_frame = 0; //!< where advance() stands
    uint64_t d_left = 0;
    std::deque<head> d_heads;
};

} // namespace gr::cudaphy
