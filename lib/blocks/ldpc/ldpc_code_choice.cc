/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ldpc/ldpc_code_choice.h"
#include "runtime/stream/pmt_number.h"
#include <algorithm>

namespace gr::cudaphy {

ldpc_code_choice::ldpc_code_choice(kernels::ldpc_code::sptr first,
                                   const ldpc_codes& further,
                                   const std::string& tag_key)
    : d_key(pmt::intern(tag_key))
{
    const auto add = [&](const std::string& name, const kernels::ldpc_code::sptr& code) {
        if (code->k() < 1) {
            throw std::invalid_argument("the code " + code->name() +
                                        " has no information bits");
        }
        const auto known = std::find(d_codes.begin(), d_codes.end(), code);
        const auto index = static_cast<int>(known - d_codes.begin());
        if (d_index.emplace(name, index).first->second != index) {
            throw std::invalid_argument("two codes have the name \"" + name + "\"");
        }
        if (known == d_codes.end()) {
            d_codes.push_back(code);
        }
    };
    if (!first) {
        throw std::invalid_argument("no LDPC code was given: make one with ldpc_code");
    }
    add(first->name(), first);
    for (const auto& [name, code] : further) {
        if (!code) {
            throw std::invalid_argument("codes has no LDPC code for the name \"" + name +
                                        "\"");
        }
        add(name, code);
    }
    if (!further.empty() && tag_key.empty()) {
        throw std::invalid_argument(
            "code_tag_key is empty: with several codes, packets need it to name theirs");
    }
    d_none.reason = tag_key + " names no code of this block, which has 0 to " +
                    std::to_string(d_codes.size() - 1);
    for (size_t i = 0; i < d_codes.size(); ++i) {
        for (const auto& [name, index] : d_index) {
            if (index == static_cast<int>(i)) {
                d_none.reason += ", " + name;
            }
        }
    }
}

int ldpc_code_choice::named(const pmt::pmt_t& value) const
{
    if (!value || pmt::is_null(value)) {
        return 0;
    }
    if (pmt::is_symbol(value)) {
        const auto found = d_index.find(pmt::symbol_to_string(value));
        return found == d_index.end() ? -1 : found->second;
    }
    const auto index = whole_number(value);
    return index && *index >= 0 && *index < static_cast<int64_t>(d_codes.size())
               ? static_cast<int>(*index)
               : -1;
}

int ldpc_code_choice::named(const std::vector<tag_t>& head) const
{
    for (const auto& tag : head) {
        if (pmt::eqv(tag.key, d_key)) {
            return named(tag.value);
        }
    }
    return 0;
}

int ldpc_code_choice::named_in(const pmt::pmt_t& metadata) const
{
    return named(pmt::dict_ref(metadata, d_key, pmt::PMT_NIL));
}

int ldpc_code_choice::batch(int max_batch, int index) const
{
    return max_batch ? max_batch : std::clamp((1 << 21) / d_codes[index]->n(), 32, 1024);
}

const ldpc_block_options& checked_block(const ldpc_block_options& options)
{
    if (options.max_batch < 0 || options.max_batch > 1 << 24) {
        throw std::invalid_argument("max_batch " + std::to_string(options.max_batch) +
                                    " is not in 0 (automatic) to 16777216 frames");
    }
    return options;
}

pmt::pmt_t refused_packet(const std::vector<tag_t>& head,
                          const ldpc_code_choice& codes,
                          uint64_t items,
                          const std::function<int(const kernels::ldpc_code&)>& a_word)
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
                                   a_word(*codes.all()[code]) };
    return pmt::cons(refusal.add_to(metadata),
                     pmt::init_u8vector(0, std::vector<uint8_t>{}));
}

} // namespace gr::cudaphy
