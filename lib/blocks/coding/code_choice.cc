/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/coding/code_choice.h"
#include "runtime/stream/pmt_number.h"

namespace gr::cudaphy {

code_names::code_names(const std::string& tag_key) : d_key(pmt::intern(tag_key)) {}

void code_names::add(const std::string& name, int index)
{
    const auto [known, is_new] = d_index.emplace(name, index);
    if (known->second != index) {
        throw std::invalid_argument("two codes have the name \"" + name + "\"");
    }
    d_numbers.push_back(index);
    if (is_new) {
        d_listed += ", " + name;
    }
    d_none.reason = pmt::symbol_to_string(d_key) +
                    " names no code of this block, which has 0 to " +
                    std::to_string(d_numbers.size() - 1) + d_listed;
}

int code_names::named(const pmt::pmt_t& value) const
{
    if (!value || pmt::is_null(value)) {
        return 0;
    }
    if (pmt::is_symbol(value)) {
        const auto found = d_index.find(pmt::symbol_to_string(value));
        return found == d_index.end() ? -1 : found->second;
    }
    const auto number = whole_number(value);
    return number && *number >= 0 && *number < static_cast<int64_t>(d_numbers.size())
               ? d_numbers[*number]
               : -1;
}

int code_names::named(const std::vector<tag_t>& head) const
{
    for (const auto& tag : head) {
        if (pmt::eqv(tag.key, d_key)) {
            return named(tag.value);
        }
    }
    return 0;
}

int code_names::named_in(const pmt::pmt_t& metadata) const
{
    return named(pmt::dict_ref(metadata, d_key, pmt::PMT_NIL));
}

} // namespace gr::cudaphy
