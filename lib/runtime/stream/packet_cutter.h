/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gr::cudaphy {

/*!
 * \brief Follows the packets of a tagged stream, frame by frame, and remembers their
 * heads until they are put out.
 *
 * Frames are of one kind, or of several that differ in size; a packet's frames are all of
 * one kind. Where there are several, a packet may be refused: its items are passed over.
 */
class packet_cutter
{
public:
    struct head {
        uint64_t frame;  //!< of the stream, where the packet begins
        uint64_t frames; //!< in the packet
    };
    //! What the tags on a packet's first item say.
    struct label {
        std::optional<int64_t> length; //!< in items; none if there is no such tag
        int kind = 0;
        std::string refusal; //!< why the packet can't be used; empty: it can
    };
    //! Reads the tags on an absolute item of the input.
    using label_reader = std::function<label(uint64_t item)>;

    //! \param items_a_frame of each kind
    //! \param before the name of the block before this one, which should have set the
    //! tags
    packet_cutter(std::string key, std::vector<int> items_a_frame, std::string before)
        : d_key(std::move(key)), d_items(std::move(items_a_frame)),
          d_before(std::move(before))
    {
    }

    /*!
     * Goes on over up to `frames` frames that begin at absolute item `item`. Returns how
     * many of them lie in good packets of the kind() that was before the call. If fewer,
     * `problem` is set, or the next packet is of another kind() or is refused. With 0
     * frames only the packet's head is read, of which one item must be there.
     */
    int
    advance(uint64_t item, int frames, const label_reader& read, std::string& problem);

    //! Heads of packets that begin within the next `frames` frames to be put out, in
    //! order; each is given once.
    std::optional<head> next_head(uint64_t first_frame, int frames);

    //! Whether the next frame begins a packet whose length is not known yet. advance() by
    //! 0 frames looks it up.
    bool at_head() const { return d_left == 0 && d_refused == 0; }
    int kind() const { return d_kind; } //!< of the packet that is under way
    //! Of the packet that is under way.
    uint64_t frames_missing() const { return d_left; }

    uint64_t refused_items() const { return d_refused; } //!< still to be passed over
    uint64_t refused_length() const { return d_refused_length; } //!< of the whole packet
    const std::string& refusal() const { return d_refusal; }
    void pass_over(uint64_t items) { d_refused -= items; }

private:
    bool read_head(uint64_t item, const label_reader& read, std::string& problem);

    std::string d_key;
    std::vector<int> d_items;
    std::string d_before;
    uint64_t d_frame = 0; //!< of the stream, up to which advance() has come
    uint64_t d_left = 0;
    int d_kind = 0;
    uint64_t d_refused = 0, d_refused_length = 0;
    std::string d_refusal;
    std::deque<head> d_heads;
};

} // namespace gr::cudaphy
