/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/kernel_entry.h"
#include <gnuradio/cudaphy/kernels/bch_decoder.h>

namespace gr::cudaphy::kernels {

//! Bytes of one word of `bits` bits.
inline size_t bch_bytes(int bits, bool packed)
{
    return packed ? (static_cast<size_t>(bits) + 7) / 8 : bits;
}

//! How many words of `in_bytes` the first view holds. \throws std::invalid_argument if
//! the other does not hold as many of `out_bytes`.
size_t bch_batch(const char* kernel,
                 view<const uint8_t> in,
                 size_t in_bytes,
                 view<const uint8_t> out,
                 size_t out_bytes);

//! The same of a decoder, which has a count for each word besides.
size_t bch_decoder_batch(view<const uint8_t> words,
                         size_t word_bytes,
                         view<const uint8_t> info,
                         size_t info_bytes,
                         view<const int32_t> corrected);

} // namespace gr::cudaphy::kernels
