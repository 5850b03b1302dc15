/* SPDX-License-Identifier: GPL-3.0-or-later */
// Products of the formats' pieces, included once an instruction set after lanes-inl.h. No
// #pragma once, for that.

//! One row whose entries stand one after the other.
template <typename T>
struct row_of_entries {
    const int32_t* column;
    const T* value;
    int64_t count;
    T* y;
};

//! Four rows at once: their chains of sums overlap.
template <typename T>
HWY_INLINE void
multiply_rows(row_of_entries<T>* rows, int count, const sparse_job<T>& job)
{
    T sum[4] = {};
    int64_t least = rows[0].count;
    for (int i = 0; i < count; ++i) {
        sum[i] = job.accumulate ? *rows[i].y : T(0);
        least = std::min(least, rows[i].count);
    }
    int64_t common = 0;
    if (count == 4) {
        for (; common < least; ++common) {
            for (int i = 0; i < 4; ++i) {
                sum[i] =
                    fused(rows[i].value[common], job.x[rows[i].column[common]], sum[i]);
            }
        }
    }
    for (int i = 0; i < count; ++i) {
        for (int64_t e = common; e < rows[i].count; ++e) {
            sum[i] = fused(rows[i].value[e], job.x[rows[i].column[e]], sum[i]);
        }
        *rows[i].y = sum[i];
    }
}

template <typename T>
HWY_INLINE void add_short_rows(const crs_layout<T>& a,
                               const sparse_job<T>& job,
                               int64_t first,
                               int64_t last,
                               const int32_t* column,
                               const T* value)
{
    if constexpr (std::is_same_v<T, complex64>) {
        for (auto row = first; row < last; ++row) {
            const uint32_t entries = a.start[row + 1] - a.start[row];
            T sum = job.accumulate ? job.y[row] : T(0);
            for (uint32_t e = 0; e < entries; ++e) {
                sum = fused(value[e], job.x[column[e]], sum);
            }
            job.y[row] = sum;
            column += entries;
            value += entries;
        }
    } else {
        const auto rows = [&](const auto& begin) HWY_ATTR {
            add_compressed_rows(a.start.data() + first,
                                last - first,
                                column,
                                value,
                                job.x,
                                job.y + first,
                                begin,
                                [](auto, auto sum) HWY_ATTR { return sum; });
        };
        if (job.accumulate) {
            rows([](auto tag, const T* y) HWY_ATTR { return hn::LoadU(tag, y); });
        } else {
            rows([](auto tag, const T*) HWY_ATTR { return hn::Zero(tag); });
        }
    }
}

template <typename T>
void multiply(const crs_layout<T>& a, const sparse_job<T>& job, const sparse_piece& piece)
{
    for (auto tile = piece.first; tile < piece.last; ++tile) {
        const auto &begin = a.tiles[tile], &end = a.tiles[tile + 1];
        const auto* column = a.column.data() + begin.entry;
        const auto* value = a.value.data() + begin.entry;
        const auto entries_of = [&](int32_t row) {
            return a.start[row + 1] - a.start[row];
        };
        auto row = begin.row;
        // Sums of short rows overlap by themselves; long rows are summed side by side.
        constexpr int64_t long_on_average = 32;
        if (end.entry - begin.entry < long_on_average * (end.row - begin.row)) {
            add_short_rows(a, job, begin.row, end.row, column, value);
            continue;
        }
        while (row < end.row) {
            row_of_entries<T> rows[4];
            int count = 0;
            for (; count < 4 && row < end.row; ++row) {
                const auto entries = entries_of(row);
                rows[count++] = { column, value, entries, job.y + row };
                column += entries;
                value += entries;
            }
            multiply_rows(rows, count, job);
        }
    }
}

template <typename T>
void multiply(const ccs_layout<T>& a, const sparse_job<T>& job, const sparse_piece&)
{
    if (!job.accumulate) {
        std::fill_n(job.y, job.rows, T(0));
    }
    const auto* row = a.column.data();
    const auto* value = a.value.data();
    for (int64_t column = 0; column < job.columns; ++column) {
        const uint32_t entries = a.start[column + 1] - a.start[column];
        for (uint32_t e = 0; e < entries; ++e) {
            job.y[row[e]] = fused(value[e], job.x[column], job.y[row[e]]);
        }
        row += entries;
        value += entries;
    }
}

template <int Block, typename T>
HWY_INLINE void
multiply_blocks(const bcrs_layout<T>& a, const sparse_job<T>& job, int64_t top)
{
    constexpr int places = Block * Block;
    const int64_t first = top * Block;
    const int height = int(std::clamp<int64_t>(job.rows - first, 1, Block));
    T sum[Block] = {};
    if (job.accumulate) {
        std::copy_n(job.y + first, height, sum);
    }
    for (auto b = a.start[top]; b < a.start[top + 1]; ++b) {
        uint64_t mask = 0;
        for (int byte = 0; byte < (places + 7) / 8; ++byte) {
            mask |= uint64_t(a.mask[b * a.mask_bytes + byte]) << 8 * byte;
        }
        const auto* value = a.value.data() + b * places;
        const auto* x = job.x + int64_t(a.column[b]) * Block;
        if (mask == ~uint64_t(0) >> (64 - places)) {
            for (int j = 0; j < Block; ++j) {
                for (int i = 0; i < Block; ++i) {
                    sum[i] = fused(value[j * Block + i], x[j], sum[i]);
                }
            }
            continue;
        }
        // The bits are in order of columns, so each row's sum is.
        for (; mask; mask &= mask - 1) {
            const int bit = __builtin_ctzll(mask);
            sum[bit % Block] = fused(value[bit], x[bit / Block], sum[bit % Block]);
        }
    }
    std::copy_n(sum, height, job.y + first);
}

//! Block row `top`, all of whose rows are A's: a block's column is as wide as a vector
//! or a few, and its bits choose which of the vector's sums take part.
template <int Block, typename T>
HWY_INLINE void
multiply_blocks_by_columns(const bcrs_layout<T>& a, const sparse_job<T>& job, int64_t top)
{
    const hn::CappedTag<T, Block> tag;
    const hn::RebindToUnsigned<decltype(tag)> bits;
    using word = hn::TFromD<decltype(bits)>;
    constexpr int vectors = Block / int(hn::MaxLanes(tag));
    constexpr int lanes = int(hn::MaxLanes(tag));
    constexpr unsigned column_of_bits = (1u << Block) - 1;
    T* const y = job.y + top * Block;
    const auto bit = hn::Shl(hn::Set(bits, word(1)), hn::Iota(bits, word(0)));
    hn::Vec<decltype(tag)> sum[vectors];
    for (int v = 0; v < vectors; ++v) {
        sum[v] = job.accumulate ? hn::LoadU(tag, y + v * lanes) : hn::Zero(tag);
    }
    for (auto b = a.start[top]; b < a.start[top + 1]; ++b) {
        uint64_t mask = 0;
        for (int byte = 0; byte < (Block * Block + 7) / 8; ++byte) {
            mask |= uint64_t(a.mask[b * a.mask_bytes + byte]) << 8 * byte;
        }
        const auto* value = a.value.data() + b * Block * Block;
        const auto* x = job.x + int64_t(a.column[b]) * Block;
        if (mask == ~uint64_t(0) >> (64 - Block * Block)) {
            HWY_UNROLL(8)
            for (int j = 0; j < Block; ++j, value += Block) {
                for (int v = 0; v < vectors; ++v) {
                    sum[v] = hn::MulAdd(
                        hn::LoadU(tag, value + v * lanes), hn::Set(tag, x[j]), sum[v]);
                }
            }
            continue;
        }
        HWY_UNROLL(8)
        for (int j = 0; j < Block; ++j, mask >>= Block, value += Block) {
            const auto present = unsigned(mask) & column_of_bits;
            if (present == 0) {
                continue; // x may end before this column
            }
            const auto factor = hn::Set(tag, x[j]);
            for (int v = 0; v < vectors; ++v) {
                const auto there = hn::RebindMask(
                    tag, hn::TestBit(hn::Set(bits, word(present >> v * lanes)), bit));
                sum[v] = hn::IfThenElse(
                    there,
                    hn::MulAdd(hn::LoadU(tag, value + v * lanes), factor, sum[v]),
                    sum[v]);
            }
        }
    }
    for (int v = 0; v < vectors; ++v) {
        hn::StoreU(sum[v], tag, y + v * lanes);
    }
}

template <int Block, typename T>
HWY_INLINE void multiply_block_rows(const bcrs_layout<T>& a,
                                    const sparse_job<T>& job,
                                    const sparse_piece& piece)
{
    auto top = piece.first;
    if constexpr (!std::is_same_v<T, complex64> && (Block & (Block - 1)) == 0) {
        for (; top < std::min(piece.last, job.rows / Block); ++top) {
            multiply_blocks_by_columns<Block>(a, job, top);
        }
    }
    for (; top < piece.last; ++top) {
        multiply_blocks<Block>(a, job, top);
    }
}

template <typename T>
void multiply(const bcrs_layout<T>& a,
              const sparse_job<T>& job,
              const sparse_piece& piece)
{
    switch (a.block) {
    case 1:
        return multiply_block_rows<1>(a, job, piece);
    case 2:
        return multiply_block_rows<2>(a, job, piece);
    case 3:
        return multiply_block_rows<3>(a, job, piece);
    case 4:
        return multiply_block_rows<4>(a, job, piece);
    case 5:
        return multiply_block_rows<5>(a, job, piece);
    case 6:
        return multiply_block_rows<6>(a, job, piece);
    case 7:
        return multiply_block_rows<7>(a, job, piece);
    default:
        return multiply_block_rows<8>(a, job, piece);
    }
}

//! What the rows of a chunk share; entry j of row i at j * stride + i.
template <typename T>
struct chunk_of_entries {
    const int32_t* column;
    const T* value;
    int stride, entries;
};

//! Rows `row` and on of a chunk, Vectors vectors of them.
template <int Vectors, typename T>
HWY_INLINE void multiply_chunk_rows(
    const chunk_of_entries<T>& a, int row, const T* x, T* y, bool accumulate)
{
    using lane = lanes<T>;
    typename lane::vector sum[Vectors];
    for (int v = 0; v < Vectors; ++v) {
        sum[v] = accumulate ? lane::load(y + row + v * lane::count) : lane::zero();
    }
    const auto* column = a.column + row;
    const auto* value = a.value + row;
    for (int j = 0; j < a.entries; ++j) {
        for (int v = 0; v < Vectors; ++v) {
            sum[v] = lane::fused(lane::load_factor(value + v * lane::count),
                                 lane::gather(x, column + v * lane::count),
                                 sum[v]);
        }
        column += a.stride;
        value += a.stride;
    }
    for (int v = 0; v < Vectors; ++v) {
        lane::store(sum[v], y + row + v * lane::count);
    }
}

template <typename T>
HWY_INLINE void
multiply_chunk(const chunk_of_entries<T>& a, const T* x, T* y, bool accumulate)
{
    constexpr int step = lanes<T>::count;
    int row = 0;
    if (a.stride == sparse_chunk::most_rows) {
        constexpr int vectors = std::min(8, sparse_chunk::most_rows / step);
        for (; row < a.stride; row += vectors * step) {
            multiply_chunk_rows<vectors>(a, row, x, y, accumulate);
        }
        return;
    }
    for (; row + step <= a.stride; row += step) {
        multiply_chunk_rows<1>(a, row, x, y, accumulate);
    }
    for (; row < a.stride; ++row) {
        T sum = accumulate ? y[row] : T(0);
        for (int64_t e = row; e < int64_t(a.entries) * a.stride; e += a.stride) {
            sum = fused(a.value[e], x[a.column[e]], sum);
        }
        y[row] = sum;
    }
}

//! Rows that follow each other, each entry's columns, too; the last ones by halves of a
//! vector.
template <size_t Lanes, typename T>
HWY_INLINE void multiply_straight_rows(
    const chunk_of_entries<T>& a, int row, const T* x, T* y, bool accumulate)
{
    const hn::CappedTag<T, Lanes> tag;
    const int step = int(hn::Lanes(tag));
    for (; row + step <= a.stride; row += step) {
        auto sum = accumulate ? hn::LoadU(tag, y + row) : hn::Zero(tag);
        const auto* value = a.value + row;
        for (int j = 0; j < a.entries; ++j, value += a.stride) {
            sum = hn::MulAdd(
                hn::LoadU(tag, value), hn::LoadU(tag, x + a.column[j] + row), sum);
        }
        hn::StoreU(sum, tag, y + row);
    }
    if constexpr (Lanes > 1) {
        if (row < a.stride) {
            multiply_straight_rows<Lanes / 2>(a, row, x, y, accumulate);
        }
    }
}

template <typename T>
HWY_INLINE void
multiply_straight(const chunk_of_entries<T>& a, const T* x, T* y, bool accumulate)
{
    if constexpr (std::is_same_v<T, complex64>) {
        using lane = lanes<T>;
        int row = 0;
        for (; row + lane::count <= a.stride; row += lane::count) {
            auto sum = accumulate ? lane::load(y + row) : lane::zero();
            for (int j = 0; j < a.entries; ++j) {
                sum =
                    lane::fused(lane::load_factor(a.value + int64_t(j) * a.stride + row),
                                lane::load(x + a.column[j] + row),
                                sum);
            }
            lane::store(sum, y + row);
        }
        for (; row < a.stride; ++row) {
            T sum = accumulate ? y[row] : T(0);
            for (int j = 0; j < a.entries; ++j) {
                sum = fused(
                    a.value[int64_t(j) * a.stride + row], x[a.column[j] + row], sum);
            }
            y[row] = sum;
        }
    } else {
        multiply_straight_rows<hn::MaxLanes(hn::ScalableTag<T>())>(
            a, 0, x, y, accumulate);
    }
}

template <typename T>
void multiply(const subdivided_layout<T>& a,
              const sparse_job<T>& job,
              const sparse_piece& piece)
{
    if (piece.part == 1) {
        const auto* const columns_at = a.columns_at.data() + a.chunks.size();
        for (auto first = piece.first; first < piece.last; first += 4) {
            const int count = int(std::min<int64_t>(4, piece.last - first));
            row_of_entries<T> rows[4];
            for (int i = 0; i < count; ++i) {
                const auto& row = a.long_rows[first + i];
                rows[i] = { a.column.data() + columns_at[first + i],
                            a.value.data() + row.entry,
                            row.entries,
                            job.y + row.row };
            }
            multiply_rows(rows, count, job);
        }
        return;
    }
    for (auto c = piece.first; c < piece.last; ++c) {
        const auto& chunk = a.chunks[c];
        const int rows = chunk.rows();
        const auto at = a.columns_at[c];
        const chunk_of_entries<T> entries{ a.column.data() + (at < 0 ? ~at : at),
                                           a.value.data() + chunk.entry,
                                           rows,
                                           chunk.entries() };
        if (at < 0) {
            multiply_straight(entries, job.x, job.y + chunk.row, job.accumulate);
            continue;
        }
        if (chunk.row >= 0) {
            multiply_chunk(entries, job.x, job.y + chunk.row, job.accumulate);
            continue;
        }
        const auto* list = a.row_list.data() + ~chunk.row;
        T y[sparse_chunk::most_rows];
        for (int i = 0; i < rows; ++i) {
            y[i] = job.accumulate ? job.y[list[i]] : T(0);
        }
        multiply_chunk(entries, job.x, y, job.accumulate);
        for (int i = 0; i < rows; ++i) {
            job.y[list[i]] = y[i];
        }
    }
}

//! Rows of one pattern from `row` on, Vectors vectors of them.
template <int Vectors, typename T>
HWY_INLINE void multiply_pattern(const row_patterns<T>& a,
                                 int32_t first,
                                 int32_t last,
                                 int64_t row,
                                 const sparse_job<T>& job)
{
    using lane = lanes<T>;
    typename lane::vector sum[Vectors];
    for (int v = 0; v < Vectors; ++v) {
        sum[v] =
            job.accumulate ? lane::load(job.y + row + v * lane::count) : lane::zero();
    }
    for (auto e = first; e < last; ++e) {
        const auto factor = lane::constant(a.value[e]);
        const auto* x = job.x + (row + a.offset[e]);
        for (int v = 0; v < Vectors; ++v) {
            sum[v] = lane::fused(factor, lane::load(x + v * lane::count), sum[v]);
        }
    }
    for (int v = 0; v < Vectors; ++v) {
        lane::store(sum[v], job.y + row + v * lane::count);
    }
}

template <typename T>
void multiply(const dictionary_layout<T>& a,
              const sparse_job<T>& job,
              const sparse_piece& piece)
{
    if (piece.part != 2) {
        multiply(a.others, job, piece);
        return;
    }
    const auto& known = a.patterns;
    auto run = std::upper_bound(
        known.runs.begin(),
        known.runs.end(),
        piece.first,
        [](int64_t row, const auto& other) { return row < other.first; });
    --run;
    for (; run != known.runs.end() && run->first < piece.last; ++run) {
        if (run->pattern == known.none) {
            continue;
        }
        const auto first = known.start[run->pattern];
        const auto last = known.start[run->pattern + 1];
        auto row = std::max<int64_t>(run->first, piece.first);
        const auto end = std::min(int64_t(run->first) + run->count, piece.last);
        constexpr int step = lanes<T>::count;
        for (; row + 4 * step <= end; row += 4 * step) {
            multiply_pattern<4>(known, first, last, row, job);
        }
        for (; row + step <= end; row += step) {
            multiply_pattern<1>(known, first, last, row, job);
        }
        for (; row < end; ++row) {
            T sum = job.accumulate ? job.y[row] : T(0);
            for (auto e = first; e < last; ++e) {
                sum = fused(known.value[e], job.x[row + known.offset[e]], sum);
            }
            job.y[row] = sum;
        }
    }
}

template <typename T>
void multiply(const diagonal_layout<T>& a,
              const sparse_job<T>& job,
              const sparse_piece& piece)
{
    using lane = lanes<T>;
    constexpr int step = lane::count; // divides 32, so that a word has a vector's bits
    constexpr int height = 64;
    constexpr uint32_t all = ~uint32_t(0) >> (32 - step);
    for (auto top = piece.first; top < piece.last; top += height) {
        const auto bottom = std::min<int64_t>(top + height, job.rows);
        T sum[height] = {};
        if (job.accumulate) {
            std::copy_n(job.y + top, bottom - top, sum);
        }
        for (size_t d = 0; d < a.diagonals.size(); ++d) {
            const auto& one = a.diagonals[d];
            const auto* value = a.value.data() + d * a.rows;
            const auto* bits =
                one.holes < 0 ? nullptr : a.present.data() + one.holes * a.words();
            for (auto row = top; row < bottom; row += step) {
                const auto here = bits ? bits[row / 32] >> row % 32 & all : all;
                T* const sums = sum + (row - top);
                if (here == all && one.first <= row && row + step <= one.end) {
                    lane::store(lane::fused(lane::load_factor(value + row),
                                            lane::load(job.x + (row + one.offset)),
                                            lane::load(sums)),
                                sums);
                } else if (here != 0) {
                    for (int i = 0; i < step; ++i) {
                        if (here >> i & 1 && one.first <= row + i && row + i < one.end) {
                            sums[i] = fused(
                                value[row + i], job.x[row + i + one.offset], sums[i]);
                        }
                    }
                }
            }
        }
        std::copy_n(sum, bottom - top, job.y + top);
    }
}
