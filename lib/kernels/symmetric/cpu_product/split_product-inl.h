/* SPDX-License-Identifier: GPL-3.0-or-later */
// Products of floats on matrix units. Highway includes this file once for each
// instruction set, so it has no #pragma once.
#if defined(CUDAPHY_SPLIT_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SPLIT_PRODUCT_INL_H
#undef CUDAPHY_SPLIT_PRODUCT_INL_H
#else
#define CUDAPHY_SPLIT_PRODUCT_INL_H
#endif

#include "kernels/common/memory/thread_memory.h"
#include "kernels/symmetric/cpu_product/dense_packing-inl.h"
#include "kernels/symmetric/cpu_product/matrix_units.h"
#include <hwy/cache_control.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

//! Suits no product: matrix units multiply floats only, and not every processor has them.
template <typename T,
          bool = (std::is_same_v<T, float> && CUDAPHY_MATRIX_UNITS &&
                  HWY_TARGET <= HWY_AVX3)>
struct split_product {
    static bool suits(const product<T>&) { return false; }
    template <typename R>
    static void run(const product<T>&, const crew&, R*)
    {
    }
};

#if CUDAPHY_MATRIX_UNITS && HWY_TARGET <= HWY_AVX3

//! dense_product for large products of floats on matrix units. These have several times
//! the rate of vector units, but numbers must be split and reordered first.
template <>
struct split_product<float, true> {
    static constexpr size_t side = matrix_units::side;
    static constexpr size_t slice = 256;
    static constexpr size_t piece_rows = 192;
    static constexpr size_t least = 192;

    static bool suits(const product<float>& p)
    {
        return std::min({ p.m, p.n, p.k }) >= least && matrix_units::usable();
    }

    static void run(const product<float>& p, const crew& by, float* packed_b)
    {
        for (size_t first = 0, depth; first < p.k; first += depth) {
            depth = slice_depth(p, first, slice);
            run_slice(p, by, reinterpret_cast<uint32_t*>(packed_b), first, depth);
        }
    }

private:
    using tag = hn::ScalableTag<float>;
    static constexpr size_t lanes = hn::MaxLanes(tag());
    static_assert(lanes == matrix_units::tile_side);

    static size_t steps(size_t depth)
    {
        return (depth + matrix_units::step - 1) / matrix_units::step;
    }

    static void run_slice(const product<float>& p,
                          const crew& by,
                          uint32_t* packed_b,
                          size_t first,
                          size_t depth)
    {
        const size_t words = steps(depth) * matrix_units::step_words;
        const size_t panels = (p.n + side - 1) / side;
        by.each(panels, 2, [&](size_t from, size_t to) {
            thread_local thread_memory<float> memory;
            float* const plain = memory.get(slice * side);
            for (size_t panel = from; panel < to; ++panel) {
                const size_t column = panel * side;
                dense_packing<float>::pack_b<side>(
                    p, first, depth, column, std::min(side, p.n - column), plain);
                split(plain, depth, false, packed_b + panel * words);
            }
        });
        each_job(p, by, piece_rows, side, [&](const product_job& job) {
            thread_local thread_memory<float> rows_memory;
            thread_local thread_memory<uint32_t> packed_memory;
            float* const plain = rows_memory.get(slice * side);
            uint32_t* const packed_a = packed_memory.get(most_words);
            for (size_t r = 0; r < job.rows; r += side) {
                dense_packing<float>::pack_a<side>(
                    p, first, depth, job.row + r, std::min(side, job.rows - r), plain);
                split(plain, depth, true, packed_a + r / side * words);
            }
            multiply(p, first, depth, job, packed_a, packed_b);
        });
    }
    static constexpr size_t most_words =
        piece_rows / side * (slice / matrix_units::step) * matrix_units::step_words;

    static void multiply(const product<float>& p,
                         size_t first,
                         size_t depth,
                         const product_job& job,
                         const uint32_t* packed_a,
                         const uint32_t* packed_b)
    {
        const size_t count = steps(depth), words = count * matrix_units::step_words;
        const bool add = p.add || first > 0;
        const size_t blocks = (job.rows + side - 1) / side;
        const size_t lines = matrix_units::step_words / lanes / blocks;
        const matrix_units::session tiles;
        HWY_ALIGN float block[side * side];
        for (size_t panel = job.begin; panel < job.end; ++panel) {
            const size_t column = panel * side, columns = std::min(side, p.n - column);
            const uint32_t* const b = packed_b + panel * words;
            size_t r = 0;
            if (p.lower && column > job.row) {
                r = (column - job.row) / side * side;
            }
            for (; r < job.rows; r += side) {
                float* const c = p.c + (job.row + r) * p.ldc + column;
                const size_t high = std::min(side, job.rows - r);
                for (size_t i = 0; add && i < high; ++i) {
                    hwy::Prefetch(c + i * p.ldc);
                    hwy::Prefetch(c + i * p.ldc + columns / 2);
                    hwy::Prefetch(c + i * p.ldc + columns - 1);
                }
                // The blocks of a piece share the prefetch of the next panel of B.
                tiles.multiply(count,
                               packed_a + r / side * words,
                               b,
                               block,
                               b + words + r / side * count * lines * lanes,
                               lines);
                put(block, c, p.ldc, high, columns, p.negative, add);
            }
        }
    }

    static void put(const float* block,
                    float* c,
                    size_t ldc,
                    size_t rows,
                    size_t columns,
                    bool negative,
                    bool add)
    {
        for (size_t i = 0; i < rows; ++i, c += ldc, block += side) {
            if (columns == side) {
                const tag d;
                for (size_t j = 0; j < side; j += lanes) {
                    const auto value = hn::Load(d, block + j);
                    const auto before = add ? hn::LoadU(d, c + j) : hn::Zero(d);
                    hn::StoreU(negative ? hn::Sub(before, value) : hn::Add(before, value),
                               d,
                               c + j);
                }
                continue;
            }
            for (size_t j = 0; j < columns; ++j) {
                c[j] = (add ? c[j] : 0) + (negative ? -block[j] : block[j]);
            }
        }
    }

    //! Splits a packed panel into tiles as matrix_units describes them: of the first
    //! factor if `rows`, else of the second. `plain` has room for whole steps.
    static void split(float* plain, size_t depth, bool rows, uint32_t* to)
    {
        using namespace matrix_units;
        std::fill(plain + depth * side, plain + steps(depth) * step * side, 0.f);
        const tag d;
        const hn::Repartition<uint32_t, tag> words;
        HWY_ALIGN uint32_t pairs[3][tile_words];
        for (size_t k = 0; k < depth; k += step, to += step_words) {
            for (size_t half = 0; half < 2; ++half) {
                const auto tile = [=](size_t part) {
                    return to + (2 * part + half) * tile_words;
                };
                for (size_t pair = 0; pair < tile_side; ++pair) {
                    const float* const from =
                        plain + (k + 2 * pair) * side + half * tile_side;
                    auto one = hn::Load(d, from), other = hn::Load(d, from + side);
                    for (size_t part = 0; part < 3; ++part) {
                        const auto first = take(one), second = take(other);
                        uint32_t* const target = rows ? pairs[part] : tile(part);
                        hn::Store(hn::Or(hn::ShiftRight<16>(first), second),
                                  words,
                                  target + pair * tile_side);
                    }
                }
                for (size_t part = 0; rows && part < 3; ++part) {
                    for (size_t i = 0; i < tile_side; i += block_elements<float>) {
                        transpose(d,
                                  reinterpret_cast<const float*>(pairs[part]) + i,
                                  tile_side,
                                  reinterpret_cast<float*>(tile(part)) + i * tile_side,
                                  tile_side);
                    }
                }
            }
        }
    }

    //! Subtracts from x its rounding to bfloat16. Returns that rounding's bits, in the
    //! upper half of each word.
    template <class V>
    static HWY_INLINE hn::VFromD<hn::Repartition<uint32_t, tag>> take(V& x)
    {
        const tag d;
        const hn::Repartition<uint32_t, tag> words;
        const auto rounded =
            hn::And(hn::Add(hn::BitCast(words, x), hn::Set(words, 0x8000u)),
                    hn::Set(words, 0xffff0000u));
        x = hn::Sub(x, hn::BitCast(d, rounded));
        return rounded;
    }
};

#endif

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
