/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/packets/packet_refusal.h"
#include <functional>
#include <gnuradio/cudaphy/ldpc_options.h>
#include <gnuradio/tags.h>
#include <map>

namespace gr::cudaphy {

/*!
 * \brief The codes of a block, and which of them a packet means.
 */
class ldpc_code_choice
{
public:
    //! \throws std::invalid_argument for a missing code, one without information bits, or
    //! two codes of one name.
    ldpc_code_choice(kernels::ldpc_code::sptr first,
                     const ldpc_codes& further,
                     const std::string& tag_key);

    const std::vector<kernels::ldpc_code::sptr>& all() const { return d_codes; }
    const kernels::ldpc_code& first() const { return *d_codes[0]; }

    //! The index of the code that a tag's value names, a symbol or a number; null: the
    //! first; -1: there is none.
    int named(const pmt::pmt_t& value) const;
    //! The same by the tags on a packet's first item,
    int named(const std::vector<tag_t>& head) const;
    //! or by a PDU's metadata.
    int named_in(const pmt::pmt_t& metadata) const;
    //! Why a packet is refused that names none.
    const packet_refusal& none_named() const { return d_none; }

    //! Codewords in one launch where the user leaves it open: enough for every
    //! multiprocessor, lane and core, within some megabytes of LLRs.
    int batch(int max_batch, int index) const;

private:
    std::vector<kernels::ldpc_code::sptr> d_codes;
    std::map<std::string, int> d_index;
    const pmt::pmt_t d_key;
    packet_refusal d_none;
};

//! \throws std::invalid_argument for a batch out of range, where no batch_block checks
//! it.
const ldpc_block_options& checked_block(const ldpc_block_options& options);

//! The PDU that tells of a packet that was not processed: its tags and the reason, that
//! no code is named or that its items are no whole number of words.
pmt::pmt_t refused_packet(const std::vector<tag_t>& head,
                          const ldpc_code_choice& codes,
                          uint64_t items,
                          const std::function<int(const kernels::ldpc_code&)>& a_word);

} // namespace gr::cudaphy
