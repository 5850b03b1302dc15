/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/packets/packet_refusal.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/bch_code.h>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <gnuradio/tags.h>
#include <map>

namespace gr::cudaphy {

/*!
 * \brief The names and numbers of a block's codes, and which of the codes a packet means.
 */
class code_names
{
public:
    //! The index of the code that a tag's value names, a symbol or a number; null: the
    //! first; -1: there is none.
    int named(const pmt::pmt_t& value) const;
    //! The same by the tags on a packet's first item,
    int named(const std::vector<tag_t>& head) const;
    //! or by a PDU's metadata.
    int named_in(const pmt::pmt_t& metadata) const;
    //! Why a packet is refused that names none.
    const packet_refusal& none_named() const { return d_none; }

protected:
    explicit code_names(const std::string& tag_key);
    //! The next number, and a name, mean the code of this index. \throws
    //! std::invalid_argument if the name means another code already.
    void add(const std::string& name, int index);

private:
    std::vector<int> d_numbers; //!< the code of each number
    std::map<std::string, int> d_index;
    const pmt::pmt_t d_key;
    std::string d_listed; //!< the names so far
    packet_refusal d_none;
};

//! What messages call a kind of code, and Python's name of the class.
template <typename Code>
struct code_family;
template <>
struct code_family<kernels::ldpc_code> {
    static constexpr const char *name = "LDPC code", *maker = "ldpc_code";
};
template <>
struct code_family<kernels::bch_code> {
    static constexpr const char *name = "BCH code", *maker = "bch_code";
};

/*!
 * \brief The codes of a block.
 */
template <typename Code>
class code_choice : public code_names
{
public:
    using code_ptr = std::shared_ptr<const Code>;

    //! \throws std::invalid_argument for a missing code, one without information bits, or
    //! two codes of one name.
    code_choice(code_ptr first,
                const std::vector<std::pair<std::string, code_ptr>>& further,
                const std::string& tag_key)
        : code_names(tag_key)
    {
        using family = code_family<Code>;
        if (!first) {
            throw std::invalid_argument(std::string("no ") + family::name +
                                        " was given: make one with " + family::maker);
        }
        add(first->name(), first);
        for (const auto& [name, code] : further) {
            if (!code) {
                throw std::invalid_argument(std::string("codes has no ") + family::name +
                                            " for the name \"" + name + "\"");
            }
            add(name, code);
        }
        if (!further.empty() && tag_key.empty()) {
            throw std::invalid_argument(
                "code_tag_key is empty: with several codes, packets need it to name "
                "theirs");
        }
    }

    const std::vector<code_ptr>& all() const { return d_codes; }
    const Code& first() const { return *d_codes[0]; }

private:
    void add(const std::string& name, const code_ptr& code)
    {
        if (code->k() < 1) {
            throw std::invalid_argument("the code " + code->name() +
                                        " has no information bits");
        }
        const auto known = std::find(d_codes.begin(), d_codes.end(), code);
        const auto index = static_cast<int>(known - d_codes.begin());
        if (known == d_codes.end()) {
            d_codes.push_back(code);
        }
        code_names::add(name, index);
    }

    std::vector<code_ptr> d_codes;
};

} // namespace gr::cudaphy
