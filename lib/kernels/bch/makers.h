/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/bch_decoder.h>

namespace gr::cudaphy::kernels {

std::unique_ptr<bch_encoder> make_bch_encoder_reference(bch_code::sptr,
                                                        const bch_packing&);
std::unique_ptr<bch_encoder> make_bch_encoder_cpu(bch_code::sptr, const bch_packing&);
std::unique_ptr<bch_encoder>
make_bch_encoder_cuda(bch_code::sptr, const bch_packing&, int device);

std::unique_ptr<bch_decoder> make_bch_decoder_reference(bch_code::sptr,
                                                        const bch_packing&);
std::unique_ptr<bch_decoder> make_bch_decoder_cpu(bch_code::sptr, const bch_packing&);
std::unique_ptr<bch_decoder>
make_bch_decoder_cuda(bch_code::sptr, const bch_packing&, int device);

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
