/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/dvb/frame_sync/removed_carrier.h"
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>

namespace gr::cudaphy::kernels {

//! The last symbols of a stream, by their numbers, side by side in memory.
class symbol_buffer
{
public:
    using complex = std::complex<float>;
    //! Memory of the host for so many bytes. \throws std::bad_alloc
    using allocator = std::function<std::shared_ptr<void>(size_t bytes)>;

    static std::shared_ptr<void> ordinary_memory(size_t bytes)
    {
        return { ::operator new(bytes), [](void* memory) { ::operator delete(memory); } };
    }

    //! \param wait  returns when nobody reads symbols any more that were dropped, so that
    //! their memory is used again
    explicit symbol_buffer(
        allocator memory = ordinary_memory, std::function<void()> wait = [] {})
        : d_allocator(std::move(memory)), d_wait(std::move(wait))
    {
    }

    //! Symbols that are not finite, or too large for their energy, become zeros.
    void append(const complex* symbols, size_t count, removed_carrier& removed)
    {
        make_room(count);
        auto* to = d_symbols + d_count;
        d_count += count;
        constexpr size_t part = 1024; // stays in the first-level cache
        for (size_t first = 0; first < count; first += part) {
            const size_t some = std::min(part, count - first);
            std::memcpy(to + first, symbols + first, some * sizeof(complex));
            clean(to + first, some);
            removed.put_back(to + first, some);
        }
    }

    uint64_t first() const { return d_first; }
    uint64_t end() const { return d_kept + d_count - d_dropped; }
    //! Also of a symbol that is dropped and kept.
    const complex* at(uint64_t symbol) const
    {
        return d_symbols + d_dropped + (symbol - d_kept);
    }

    //! Forgets all before a symbol.
    void drop_to(uint64_t symbol) { drop_to(symbol, symbol); }
    //! \param kept  from here on symbols stay in memory, though first() is `symbol`
    void drop_to(uint64_t symbol, uint64_t kept)
    {
        d_first = std::clamp(symbol, d_first, end());
        kept = std::clamp(kept, d_kept, d_first);
        d_dropped += kept - d_kept;
        d_kept = kept;
    }

private:
    void make_room(size_t count)
    {
        if (d_count + count <= d_capacity) {
            return;
        }
        d_wait();
        const size_t kept = d_count - d_dropped, needed = kept + count;
        const auto* const from = d_symbols + d_dropped;
        if (2 * needed <= d_capacity) {
            std::memmove(d_symbols, from, kept * sizeof(complex));
        } else {
            // So much that few symbols are moved often.
            const size_t capacity = 4 * needed;
            auto memory = d_allocator(capacity * sizeof(complex));
            if (kept > 0) {
                std::memcpy(memory.get(), from, kept * sizeof(complex));
            }
            d_memory = std::move(memory);
            d_symbols = static_cast<complex*>(d_memory.get());
            d_capacity = capacity;
        }
        d_count = kept;
        d_dropped = 0;
    }

    //! The bits of a float's magnitude are in the order of its values, and those of NaN
    //! behind them: whole numbers, which compilers turn into vectors.
    static void clean(complex* symbols, size_t count)
    {
        constexpr float most = 1e15f;
        constexpr uint32_t magnitude = 0x7fffffff;
        int32_t limit;
        std::memcpy(&limit, &most, sizeof(limit));
        auto* const parts = reinterpret_cast<float*>(symbols);
        int32_t least = 0;
        for (size_t i = 0; i < 2 * count; ++i) {
            uint32_t bits;
            std::memcpy(&bits, parts + i, sizeof(bits));
            least |= limit - static_cast<int32_t>(bits & magnitude);
        }
        if (least >= 0) {
            return;
        }
        for (size_t i = 0; i < count; ++i) {
            const auto one = symbols[i];
            const bool good = (std::abs(one.real()) <= most) &
                              (std::abs(one.imag()) <= most); // NaN is not
            symbols[i] = good ? one : complex(0);
        }
    }

    const allocator d_allocator;
    const std::function<void()> d_wait;
    std::shared_ptr<void> d_memory;
    complex* d_symbols = nullptr;
    size_t d_capacity = 0;
    size_t d_count = 0;   //!< symbols in memory
    size_t d_dropped = 0; //!< of these, at the beginning
    uint64_t d_first = 0, d_kept = 0;
};

} // namespace gr::cudaphy::kernels
