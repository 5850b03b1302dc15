/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * Makes bytes of the data fields of one input stream whose bits are no whole bytes, as
 * medium frames of VL-SNR have them: DFL is 5580 if K of the BCH code is 5660.
 */
class field_joiner
{
public:
    struct joined {
        const uint8_t* data;
        size_t count; //!< bytes
        size_t start; //!< bytes before the first packet that starts in them; none: count
    };

    /*!
     * The bytes that are whole by now, until the next call.
     * \param start  bits before the first packet that starts in the field; none: bits
     */
    joined take(const uint8_t* data, size_t bits, size_t start)
    {
        if (d_bits == 0 && bits % 8 == 0 && start % 8 == 0) {
            return { data, bits / 8, start / 8 };
        }
        size_t from = 0;
        if (start < bits && (d_bits + start) % 8 != 0) { // a frame is missing before
            from = start;
            d_bits = 0;
        }
        const bool has_start = start < bits;
        const size_t first = d_bits + start - from;
        d_bytes.clear();
        for (size_t i = from; i < bits; ++i) {
            d_part = static_cast<uint8_t>(d_part << 1 | (data[i / 8] >> (7 - i % 8) & 1));
            if (++d_bits == 8) {
                d_bytes.push_back(d_part);
                d_bits = 0;
            }
        }
        return { d_bytes.data(), d_bytes.size(), has_start ? first / 8 : d_bytes.size() };
    }
    //! What has come of a byte is of no use.
    void forget() { d_bits = 0; }

private:
    std::vector<uint8_t> d_bytes;
    uint8_t d_part = 0; //!< its lowest bits: what is not a whole byte yet
    size_t d_bits = 0;  //!< of d_part
};

} // namespace gr::cudaphy::kernels
