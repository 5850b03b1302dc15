/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nr5g_transport_block.h>

namespace gr::cudaphy::kernels::nr5g {

/*!
 * \brief The inside of transport_block_decoder and its soft buffers, for a receiver that
 * decodes on a GPU.
 */
struct soft_buffer_access {
    using decoder = transport_block_decoder;
    using buffer = decoder::soft_buffer;

    static size_t places(const decoder& of) { return of.d_soft_bits; }
    static const decoder::parameters& parameters(const decoder& of)
    {
        return of.d_parameters;
    }
    static rate_matcher matcher(const decoder& of, const transmission& how)
    {
        return of.matcher(how);
    }
    //! A buffer without memory yet, of which nothing is received.
    static buffer reserve(const decoder& of)
    {
        buffer out;
        out.d_bytes = of.bytes_of_buffer();
        return out;
    }
    //! As decode(), but the buffer has the transmission already.
    static decoder::outcome decode_held(decoder& by, view<uint8_t> payload, buffer& of)
    {
        return by.decode_int8(payload, of);
    }

    static int& reach(buffer& of) { return of.d_reach; }
    static std::shared_ptr<buffer::in_gpu>& in_gpu(buffer& of) { return of.d_in_gpu; }
    static std::vector<int8_t>& soft(buffer& of) { return of.d_soft_int8; }
    static std::vector<uint8_t>& bits(buffer& of) { return of.d_bits; }
    static std::vector<int>& passed(buffer& of) { return of.d_passed; }
};

} // namespace gr::cudaphy::kernels::nr5g
