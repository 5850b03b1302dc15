/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr/require.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/nr/gold_sequence.h>
#include <gnuradio/cudaphy/kernels/nr_cell/pbch.h>
#include <gnuradio/cudaphy/kernels/nr_cell/polar_code.h>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

constexpr int payload = 32, mib_bits = 24, crc_bits = 24;

//! G(j) (TS 38.212, table 7.1.1-1).
constexpr int interleaver[payload] = { 16, 23, 18, 17, 8,  30, 10, 6,  24, 7,  0,
                                       5,  3,  2,  1,  4,  9,  11, 12, 13, 14, 15,
                                       19, 20, 21, 22, 25, 26, 27, 28, 29, 31 };
constexpr int sfn_third_lsb = interleaver[7], sfn_second_lsb = interleaver[8],
              half_frame_bit = interleaver[10];

using bits_of_payload = std::array<uint8_t, payload>;

//! Where bit i of the payload is sent (section 7.1.1).
bits_of_payload places()
{
    bits_of_payload out{};
    int sfn = 0, other = 14;
    for (int i = 0; i < payload; ++i) {
        const bool of_sfn = (i >= 1 && i <= 6) || (i >= mib_bits && i < mib_bits + 4);
        const int j = of_sfn              ? sfn++
                      : i == mib_bits + 4 ? 10
                      : i > mib_bits + 4  ? 11 + i - (mib_bits + 5)
                                          : other++;
        out[i] = uint8_t(interleaver[j]);
    }
    return out;
}

//! Section 7.1.2, the inverse of itself.
void scramble_payload(bits_of_payload& bits, int cell, bool fr2)
{
    const int most = fr2 ? payload - 6 : payload - 3;
    const int v = 2 * bits[sfn_third_lsb] + bits[sfn_second_lsb];
    nr::gold_sequence c(uint32_t(cell), uint64_t(v * most));
    for (int i = 0; i < payload; ++i) {
        const bool of_index =
            fr2 && (i == interleaver[11] || i == interleaver[12] || i == interleaver[13]);
        if (of_index || i == half_frame_bit || i == sfn_second_lsb ||
            i == sfn_third_lsb) {
            continue;
        }
        bits[i] ^= c.next(1);
    }
}

int number(const bits_of_payload& bits, int first, int count)
{
    int out = 0;
    for (int i = 0; i < count; ++i) {
        out = 2 * out + bits[first + i];
    }
    return out;
}

broadcast read(const bits_of_payload& sent, int index, bool fr2, int scrambled_by)
{
    static const bits_of_payload at = places();
    bits_of_payload bits{};
    for (int i = 0; i < payload; ++i) {
        bits[i] = sent[at[i]];
    }
    broadcast out;
    std::copy(bits.begin(), bits.begin() + mib_bits, out.mib.begin());
    // MIB: TS 38.331, section 6.2.2; bit 0 chooses it from BCCH-BCH-MessageType.
    out.system_frame_number = 16 * number(bits, 1, 6) + number(bits, mib_bits, 4);
    out.common_spacing = bits[7];
    out.subcarrier_offset = number(bits, 8, 4);
    out.dmrs_type_a_position = 2 + bits[12];
    out.coreset_zero = number(bits, 13, 4);
    out.search_space_zero = number(bits, 17, 4);
    out.cell_barred = !bits[21];
    out.intra_frequency_reselection = !bits[22];
    out.spare = bits[23];
    out.half_frame = bits[mib_bits + 4];
    if (fr2) {
        out.most_blocks = 64;
        out.ssb_index = index + 8 * number(bits, mib_bits + 5, 3);
        return out;
    }
    out.subcarrier_offset += 16 * bits[mib_bits + 5];
    // With L_max = 4, index has the half frame in its third bit (TS 38.211, 7.4.1.4.1).
    out.most_blocks = scrambled_by < index ? 4 : 8;
    out.ssb_index = scrambled_by;
    return out;
}

} // namespace

std::optional<broadcast> decode_pbch(view<const float> llr, int cell, int index, bool fr2)
{
    nr::require(llr.size() == pbch_bits, "a PBCH has 864 bits (TS 38.211, 7.3.3)");
    nr::require(cell >= 0 && cell < 1008 && index >= 0 && index < 8,
                "a cell is 0 to 1007, and the index of PBCH's DM-RS 0 to 7");
    static const polar_code code(payload + crc_bits, pbch_bits);
    polar_decoder decoder(code);
    std::vector<int> tries{ index };
    if (!fr2 && index >= 4) {
        tries.push_back(index - 4);
    }
    for (const int v : tries) {
        // TS 38.211, section 7.3.3.1: v is the two or three lowest bits of i_SSB.
        std::vector<uint8_t> sequence(pbch_bits);
        nr::gold_sequence(uint32_t(cell), uint64_t(v) * pbch_bits).next(sequence);
        std::vector<float> soft(llr.begin(), llr.end());
        for (int i = 0; i < pbch_bits; ++i) {
            soft[i] = sequence[i] ? -soft[i] : soft[i];
        }
        std::vector<uint8_t> bits(code.information());
        if (!decoder.decode(soft, {}, bits)) {
            continue;
        }
        bits_of_payload sent{};
        std::copy(bits.begin(), bits.begin() + payload, sent.begin());
        scramble_payload(sent, cell, fr2);
        const auto out = read(sent, index, fr2, v);
        // DM-RS and payload tell the half frame alike.
        if (!fr2 && v < index && out.half_frame != 1) {
            continue;
        }
        return out;
    }
    return std::nullopt;
}

} // namespace gr::cudaphy::kernels::nr_cell
