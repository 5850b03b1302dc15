/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/coding/bit_bytes.h"
#include "blocks/coding/coding_block.h"
#include <gnuradio/cudaphy/bch_options.h>

namespace gr::cudaphy {

//! Bytes of an information word,
inline int info_bytes(const kernels::bch_code& code, bool packed)
{
    return bytes_of(code.k(), packed);
}

//! and of a codeword.
inline int word_bytes(const kernels::bch_code& code, bool packed)
{
    return bytes_of(code.n(), packed);
}

//! Of words that come and leave in so many bytes. \throws backend_unavailable
inline word_ports bch_ports(int in, int out, const bch_block_options& options)
{
    word_ports ports{ { { 1, in } }, { { 1, out } }, options.max_batch };
    if (!ports.max_batch) {
        const auto used = resolve(backend_from_name(options.backend), options.device);
        ports.max_batch = default_batch(used.where, ports.in, ports.out);
    }
    return ports;
}

} // namespace gr::cudaphy
