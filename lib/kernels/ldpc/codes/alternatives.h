/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Error texts for codes of standards that do not exist.

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace gr::cudaphy::kernels {

//! "a, b or c".
inline std::string alternatives(const std::vector<std::string>& all)
{
    std::string text = all[0];
    for (size_t i = 1; i < all.size(); ++i) {
        text += (i + 1 < all.size() ? ", " : " or ") + all[i];
    }
    return text;
}

inline std::string quoted(const std::string& text) { return '"' + text + '"'; }

//! "a, b or c": the values of `name` among the tables' entries that `chosen` takes.
template <typename Table, typename Name, typename Chosen>
std::string alternatives(const Table& tables, Name name, Chosen chosen)
{
    std::vector<std::string> all;
    for (const auto& table : tables) {
        if (chosen(table) &&
            std::find(all.begin(), all.end(), name(table)) == all.end()) {
            all.push_back(name(table));
        }
    }
    return alternatives(all);
}

//! The entry of `tables` of that rate among those that `chosen` takes; never null.
//! \throws std::invalid_argument with the text "<what> have rate <the existing rates>".
template <typename Table, typename Chosen>
const auto* of_rate(const Table& tables,
                    const std::string& rate,
                    const std::string& what,
                    Chosen chosen)
{
    for (const auto& table : tables) {
        if (chosen(table) && rate == table.rate) {
            return &table;
        }
    }
    const auto rate_of = [](const auto& table) { return quoted(table.rate); };
    throw std::invalid_argument(what + " have rate " +
                                alternatives(tables, rate_of, chosen) + ", not " +
                                quoted(rate));
}

} // namespace gr::cudaphy::kernels
