/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/dvb/frame_sync/removed_carrier.h"
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::cudaphy::kernels {

//! The last symbols of a stream, by their numbers.
class symbol_buffer
{
public:
    //! Symbols that are not finite, or too large for their energy, become zeros.
    void
    append(const std::complex<float>* symbols, size_t count, removed_carrier& removed)
    {
        constexpr float most = 1e15f;
        if (d_dropped > d_symbols.size() / 2) {
            d_symbols.erase(d_symbols.begin(),
                            d_symbols.begin() + static_cast<std::ptrdiff_t>(d_dropped));
            d_dropped = 0;
        }
        const size_t before = d_symbols.size();
        d_symbols.insert(d_symbols.end(), symbols, symbols + count);
        for (size_t i = before; i < d_symbols.size(); ++i) {
            const auto one = d_symbols[i];
            const bool good = (std::abs(one.real()) <= most) &
                              (std::abs(one.imag()) <= most); // NaN is not
            d_symbols[i] = good ? one : std::complex<float>(0);
        }
        removed.put_back(d_symbols.data() + before, count);
    }

    uint64_t first() const { return d_first; }
    uint64_t end() const { return d_first + d_symbols.size() - d_dropped; }
    const std::complex<float>* at(uint64_t symbol) const
    {
        return d_symbols.data() + d_dropped + (symbol - d_first);
    }

    //! Forgets all before a symbol.
    void drop_to(uint64_t symbol)
    {
        symbol = std::clamp(symbol, d_first, end());
        d_dropped += symbol - d_first;
        d_first = symbol;
    }

private:
    std::vector<std::complex<float>> d_symbols;
    size_t d_dropped = 0; //!< of d_symbols
    uint64_t d_first = 0;
};

} // namespace gr::cudaphy::kernels
