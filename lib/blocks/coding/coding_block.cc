/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/coding/coding_block.h"

namespace gr::cudaphy {

bool checked_drop(const std::string& on_failure)
{
    if (on_failure != "mark" && on_failure != "drop") {
        throw std::invalid_argument("on_failure \"" + on_failure +
                                    "\" is neither \"drop\" nor \"mark\"");
    }
    return on_failure == "drop";
}

pmt::pmt_t refused_packet(const std::vector<tag_t>& head,
                          const code_names& codes,
                          uint64_t items,
                          const std::vector<int>& word_items)
{
    auto metadata = pmt::make_dict();
    for (const auto& tag : head) {
        metadata = pmt::dict_add(metadata, tag.key, tag.value);
    }
    const int code = codes.named(head);
    const auto refusal =
        code < 0 ? codes.none_named()
                 : packet_refusal{ "the packet's length is no whole number of words",
                                   static_cast<int64_t>(items),
                                   word_items[code] };
    return pmt::cons(refusal.add_to(metadata),
                     pmt::init_u8vector(0, std::vector<uint8_t>{}));
}

} // namespace gr::cudaphy
