/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/pi.h"
#include "kernels/nr/base_sequences_table.h"
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/dmrs_sequence.h>
#include <gnuradio/cudaphy/kernels/nr/gold_sequence.h>
#include <stdexcept>
#include <string>

namespace gr::cudaphy::kernels::nr {
namespace {

complex64 unit(double angle) { return complex64(std::polar(1.0, angle)); }

const uint64_t* phases_of(size_t size)
{
    switch (size) {
    case 6:
        return phases_6;
    case 12:
        return phases_12;
    case 18:
        return phases_18;
    case 24:
        return phases_24;
    default:
        return nullptr;
    }
}

bool prime(int64_t n)
{
    for (int64_t i = 2; i * i <= n; ++i) {
        if (n % i == 0) {
            return false;
        }
    }
    return true;
}

//! Section 5.2.2.1.
void zadoff_chu(int u, int v, view<complex64> values)
{
    int64_t length = static_cast<int64_t>(values.size()) - 1;
    while (!prime(length)) {
        --length;
    }
    // q_bar = length (u + 1) / 31, in integers.
    const int64_t scaled = length * (u + 1);
    const bool odd = 2 * scaled / 31 % 2;
    const int64_t q = (2 * scaled + 31) / 62 + (odd ? -v : v);
    for (size_t n = 0; n < values.size(); ++n) {
        const int64_t m = static_cast<int64_t>(n) % length;
        // The period of the exponent is 2 length: the angle stays small and exact.
        const int64_t turns = q * (m * (m + 1) % (2 * length)) % (2 * length);
        values[n] = unit(-pi * double(turns) / double(length));
    }
}

} // namespace

uint32_t dmrs_c_init(int symbols_per_slot, int slot, int symbol, int n_id, int n_scid)
{
    const uint64_t symbols = uint64_t(symbols_per_slot) * slot + symbol + 1;
    const uint64_t id = n_id;
    return static_cast<uint32_t>((symbols * (2 * id + 1) << 17) + 2 * id + n_scid) &
           0x7fffffff;
}

void dmrs_gold_sequence(uint32_t c_init, size_t first, view<complex64> values)
{
    gold_sequence c(c_init, 2 * first);
    const float part = static_cast<float>(std::sqrt(0.5));
    for (auto& value : values) {
        const uint32_t bits = c.next(2);
        value = { bits & 1 ? -part : part, bits & 2 ? -part : part };
    }
}

void low_papr_sequence(int u, int v, view<complex64> values)
{
    const size_t size = values.size();
    const auto* const phases = phases_of(size);
    if (u < 0 || u > 29 || v < 0 || v > (size >= 72 ? 1 : 0) ||
        (!phases && size != 30 && size < 36)) {
        throw std::invalid_argument("nr: no base sequence of " + std::to_string(size) +
                                    " values, u = " + std::to_string(u) +
                                    ", v = " + std::to_string(v) + " (TS 38.211, 5.2.2)");
    }
    if (size >= 36) {
        zadoff_chu(u, v, values);
        return;
    }
    for (size_t n = 0; n < size; ++n) {
        if (phases) {
            const int phase = 2 * static_cast<int>(phases[u] >> 2 * n & 3) - 3;
            values[n] = unit(phase * pi / 4);
        } else {
            const int turns = (u + 1) * static_cast<int>((n + 1) * (n + 2)) % 62;
            values[n] = unit(-pi * turns / 31);
        }
    }
}

low_papr_choice choose_low_papr(sequence_hopping hopping,
                                int symbols_per_slot,
                                int slot,
                                int symbol,
                                int n_rs_id,
                                size_t size)
{
    const uint64_t number = uint64_t(symbols_per_slot) * slot + symbol;
    int f = 0, v = 0;
    if (hopping == sequence_hopping::group) {
        f = static_cast<int>(gold_sequence(n_rs_id / 30, 8 * number).next(8) % 30);
    } else if (hopping == sequence_hopping::sequence && size >= 72) {
        v = static_cast<int>(gold_sequence(n_rs_id, number).next(1));
    }
    return { (f + n_rs_id) % 30, v };
}

} // namespace gr::cudaphy::kernels::nr
