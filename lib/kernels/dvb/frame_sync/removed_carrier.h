/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>

namespace gr::cudaphy::kernels {

/*!
 * \brief Puts back what the block before removes from a symbol on, so that a signal keeps
 * its carrier while Symbol Sync removes more or less of it.
 *
 * Offsets are in cycles a symbol. The first one stays removed.
 */
class removed_carrier
{
public:
    //! From the next symbol on, this is removed. `turns`: what that has taken from the
    //! next symbol more than the offset before would have, in cycles.
    void change(double offset, double turns)
    {
        d_offset = offset;
        d_phase += turns;
    }
    //! Puts nothing back from the next symbol on.
    void begin_anew()
    {
        d_base = d_offset;
        d_phase = 0;
    }

    //! What stays removed.
    double base() const { return d_base; }

    void put_back(std::complex<float>* symbols, size_t count)
    {
        const double step = d_offset - d_base;
        if (step == 0 && d_phase == 0) {
            return;
        }
        // Within a part from a table, so that errors of float do not add up, and no
        // symbol waits for the one before.
        if (step != d_table_step) {
            for (size_t i = 0; i < part; ++i) {
                d_table[i] = std::complex<float>(
                    std::polar(1.0, 2 * M_PI * step * static_cast<double>(i)));
            }
            d_table_step = step;
        }
        for (size_t first = 0; first < count; first += part) {
            const auto now = std::complex<float>(std::polar(1.0, 2 * M_PI * d_phase));
            const size_t last = std::min(count, first + part);
            for (size_t i = first; i < last; ++i) {
                symbols[i] = times(symbols[i], times(now, d_table[i - first]));
            }
            d_phase =
                std::remainder(d_phase + step * static_cast<double>(last - first), 1.0);
        }
    }

private:
    //! Without std::complex's care for infinities.
    static std::complex<float> times(std::complex<float> a, std::complex<float> b)
    {
        return { a.real() * b.real() - a.imag() * b.imag(),
                 a.real() * b.imag() + a.imag() * b.real() };
    }

    static constexpr size_t part = 64;

    std::array<std::complex<float>, part> d_table; //!< turns from the part's first symbol
    double d_table_step = NAN;                     //!< for which d_table is
    double d_offset = 0, d_base = 0;
    double d_phase = 0; //!< cycles that the next symbol is turned by
};

} // namespace gr::cudaphy::kernels
