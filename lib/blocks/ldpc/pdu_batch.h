/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/packets/packet_refusal.h"
#include <cstring>
#include <vector>

namespace gr::cudaphy {

/*!
 * \brief PDUs of one kind that are processed together: their vectors after each other.
 */
class pdu_batch
{
public:
    struct part {
        pmt::pmt_t metadata;
        size_t first, frames; //!< of the batch
    };

    bool empty() const { return d_parts.empty(); }
    size_t frames() const { return d_frames; }
    const std::vector<part>& parts() const { return d_parts; }
    //! Of one PDU the vector itself, of several a copy.
    const void* data() const
    {
        return d_parts.size() == 1 ? d_only.first : d_bytes.data();
    }
    void add(const pmt::pmt_t& metadata, const pmt::pmt_t& vector, size_t frames)
    {
        size_t bytes = 0;
        const auto* from =
            static_cast<const char*>(pmt::uniform_vector_elements(vector, bytes));
        if (d_parts.size() == 1) {
            d_bytes.assign(d_only.first, d_only.first + d_only.second);
        }
        if (d_parts.empty()) {
            d_only = { from, bytes };
            d_vector = vector;
        } else {
            d_bytes.insert(d_bytes.end(), from, from + bytes);
        }
        d_parts.push_back({ metadata, d_frames, frames });
        d_frames += frames;
    }
    void clear()
    {
        d_parts.clear();
        d_bytes.clear();
        d_vector.reset();
        d_frames = 0;
    }

private:
    std::vector<part> d_parts;
    std::vector<char> d_bytes;
    pmt::pmt_t d_vector; //!< the first one, kept
    std::pair<const char*, size_t> d_only;
    size_t d_frames = 0;
};

//! A PDU's parts; false and why not if it is none.
inline bool take_apart(const pmt::pmt_t& pdu,
                       pmt::pmt_t& metadata,
                       pmt::pmt_t& vector,
                       packet_refusal& refusal)
{
    metadata = pmt::make_dict();
    vector = pmt::PMT_NIL;
    if (!pmt::is_pair(pdu) || pmt::is_dict(pdu)) {
        refusal.reason = "the message is no PDU, a pair of metadata and a vector";
        return false;
    }
    vector = pmt::cdr(pdu);
    if (pmt::is_dict(pmt::car(pdu))) {
        metadata = pmt::car(pdu);
    } else if (!pmt::is_null(pmt::car(pdu))) {
        refusal.reason = "the PDU's metadata is no dictionary";
        return false;
    }
    if (!pmt::is_uniform_vector(vector)) {
        refusal.reason = "the PDU holds no uniform vector";
        return false;
    }
    return true;
}

} // namespace gr::cudaphy
