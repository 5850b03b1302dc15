/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/sparse/layout.h"
#include "kernels/fdtd/sparse/number.cuh"
#include "kernels/fdtd/tuning.cuh"

// A thread sums a row, columns ascending, in every format but compressed columns. Where
// neighbouring rows' entries are not neighbours in memory (compressed rows, long rows) a
// block fetches them together and the threads find them in shared memory.
//
// The vectors are read by plain loads: kernels that begin ahead of time must not see them
// through the read-only cache.

namespace gr::cudaphy::kernels::sparse {

constexpr int threads = fdtd_tuning::product::threads;
constexpr int warp = 32;
constexpr int ahead =
    fdtd_tuning::product::ahead; //!< entries that a thread has under way at once

//! A batch of vectors, an item each blockIdx.y.
template <typename T>
struct vectors {
    const T* x_of_all;
    T* y_of_all;
    size_t rows, columns;
    bool accumulate;

    __device__ const T* x() const { return x_of_all + blockIdx.y * columns; }
    __device__ T* y() const { return y_of_all + blockIdx.y * rows; }
};

// Sources of a row's entries: get(j, column, value) tells whether there is one.

template <typename T>
struct chunk_source {
    const int32_t* column;
    const T* value;
    int stride;

    __device__ bool get(int j, int& c, T& v) const
    {
        c = __ldg(column + int64_t(j) * stride);
        v = __ldg(value + int64_t(j) * stride);
        return true;
    }
};

template <typename T>
struct diagonal_source {
    const sparse_diagonal* diagonals;
    const T* value;
    const uint32_t* present;
    int64_t rows;
    int row;

    __device__ bool get(int j, int& c, T& v) const
    {
        const auto one = constant_record(diagonals + j);
        if (row < one.first || row >= one.end ||
            (one.holes >= 0 &&
             !(__ldg(present + one.holes * ((rows + 31) / 32) + row / 32) >> row % 32 &
               1))) {
            return false;
        }
        c = row + one.offset;
        v = __ldg(value + j * rows + row);
        return true;
    }
};

//! Sums a row, or none where it is below 0. Every thread of a block calls it.
template <typename T, typename Source>
__device__ __forceinline__ void
multiply_row(const Source& source, int entries, int row, const vectors<T>& v)
{
    constexpr int none = -1;
    int column[ahead];
    T value[ahead], taken[ahead];
    const auto fetch = [&](int first) {
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
            if (first + u >= entries || !source.get(first + u, column[u], value[u])) {
                column[u] = none;
            }
        }
    };
    fetch(0); // while the kernel before still works
    wait_for_previous();
    const T* x = v.x();
    T* y = v.y() + row;
    T sum = v.accumulate && row >= 0 ? *y : zero<T>();
    for (int first = 0; first < entries;) {
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
            if (column[u] != none) {
                taken[u] = x[column[u]];
            }
        }
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
            if (column[u] != none) {
                sum = fused(value[u], taken[u], sum);
            }
        }
        first += ahead;
        if (first < entries) {
            fetch(first);
        }
    }
    if (row >= 0) {
        *y = sum;
    }
}

//! What a block has fetched for its threads to sum.
template <typename T>
struct staged {
    T value[entries_of_tile];
    T x[entries_of_tile];
};

template <typename T>
__device__ __forceinline__ T sum_of(const staged<T>& all, int first, int end, T sum)
{
#pragma unroll 4
    for (int e = first; e < end; ++e) {
        sum = fused(all.value[e], all.x[e], sum);
    }
    return sum;
}

//! The threads' shares of a tile, on their way to shared memory.
template <typename T>
struct share_of_tile {
    static constexpr int each = entries_of_tile / threads;
    int column[each];
    T value[each];

    __device__ void fetch(const int32_t* columns, const T* values, int64_t count)
    {
#pragma unroll
        for (int u = 0; u < each; ++u) {
            const int e = int(threadIdx.x) + u * threads;
            if (e < count) {
                column[u] = __ldg(columns + e);
                value[u] = __ldg(values + e);
            }
        }
    }
    __device__ void fetch_x(const T* x, int64_t count, T (&taken)[each]) const
    {
#pragma unroll
        for (int u = 0; u < each; ++u) {
            if (int(threadIdx.x) + u * threads < count) {
                taken[u] = x[column[u]];
            }
        }
    }
    __device__ void store(staged<T>& all, const T (&taken)[each], int64_t count) const
    {
#pragma unroll
        for (int u = 0; u < each; ++u) {
            const int e = int(threadIdx.x) + u * threads;
            if (e < count) {
                all.value[e] = value[u];
                all.x[e] = taken[u];
            }
        }
    }
};

//! One row of any length by a block, tile after tile: the next one is on its way while
//! the first thread sums.
template <typename T>
__device__ void multiply_long_row(const int32_t* column,
                                  const T* value,
                                  int64_t count,
                                  int row,
                                  const vectors<T>& v,
                                  staged<T>& all)
{
    share_of_tile<T> share;
    share.fetch(column, value, count);
    wait_for_previous();
    const T* x = v.x();
    T* y = v.y() + row;
    T sum = threadIdx.x == 0 && v.accumulate ? *y : zero<T>();
    T taken[share.each];
    share.fetch_x(x, count, taken);
    for (int64_t first = 0; first < count; first += entries_of_tile) {
        const int64_t left = count - first, next = first + entries_of_tile;
        share.store(all, taken, left);
        __syncthreads();
        share.fetch(column + next, value + next, count - next);
        share.fetch_x(x, count - next, taken);
        if (threadIdx.x == 0) {
            sum =
                sum_of(all, 0, left < entries_of_tile ? int(left) : entries_of_tile, sum);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *y = sum;
    }
}

template <typename T>
struct compressed_arrays {
    const uint32_t* start;
    const sparse_tile* tiles;
    const int32_t* column;
    const T* value;
};

//! Compressed rows, a tile a block.
template <typename T>
__global__ void __launch_bounds__(threads)
    multiply_compressed_rows(compressed_arrays<T> a, vectors<T> v)
{
    __shared__ staged<T> all;
    let_next_begin();
    const auto begin = constant_record(a.tiles + blockIdx.x);
    const auto end = constant_record(a.tiles + blockIdx.x + 1);
    const int64_t count = end.entry - begin.entry;
    const auto* column = a.column + begin.entry;
    const auto* value = a.value + begin.entry;
    if (count > entries_of_tile) {
        multiply_long_row(column, value, count, begin.row, v, all);
        return;
    }
    const int row = begin.row + int(threadIdx.x);
    int first = 0, last = 0;
    if (row < end.row) {
        first = int(__ldg(a.start + row) - uint32_t(begin.entry));
        last = int(__ldg(a.start + row + 1) - uint32_t(begin.entry));
    }
    share_of_tile<T> share;
    share.fetch(column, value, count);
    wait_for_previous();
    T taken[share.each];
    share.fetch_x(v.x(), count, taken);
    T* y = v.y() + row;
    const T sum = v.accumulate && row < end.row ? *y : zero<T>();
    share.store(all, taken, count);
    __syncthreads();
    if (row < end.row) {
        *y = sum_of(all, first, last, sum);
    }
}

//! Compressed columns, a tile of columns a block: each entry adds to its row on its own.
template <typename T>
__global__ void __launch_bounds__(threads)
    add_compressed_columns(compressed_arrays<T> a, vectors<T> v)
{
    const auto begin = constant_record(a.tiles + blockIdx.x);
    const auto end = constant_record(a.tiles + blockIdx.x + 1);
    // A single column is everyone's work; of several, each thread has one.
    const bool single = end.row - begin.row == 1;
    const int column = begin.row + (single ? 0 : int(threadIdx.x));
    if (column >= end.row) {
        return;
    }
    const auto start = uint32_t(begin.entry);
    const int64_t first = begin.entry + (__ldg(a.start + column) - start);
    const int64_t last = begin.entry + (__ldg(a.start + column + 1) - start);
    const T x = v.x()[column];
    T* y = v.y();
    for (int64_t e = first + (single ? threadIdx.x : 0); e < last;
         e += single ? threads : 1) {
        atomic_sum(y + __ldg(a.column + e), product(__ldg(a.value + e), x));
    }
}

template <typename T>
struct block_arrays {
    int block, mask_bytes;
    const int64_t* start;
    const int32_t* column;
    const T* value;
    const uint8_t* mask;
};

//! Compressed rows of blocks, a thread a row: a block's rows are neighbours in memory.
template <typename T>
__global__ void __launch_bounds__(threads)
    multiply_block_rows(block_arrays<T> a, vectors<T> v)
{
    let_next_begin();
    const size_t row = size_t(blockIdx.x) * threads + threadIdx.x;
    wait_for_previous();
    if (row >= v.rows) {
        return;
    }
    const int64_t top = int64_t(row) / a.block;
    const int i = int(int64_t(row) % a.block);
    const int64_t first = __ldg(a.start + top), last = __ldg(a.start + top + 1);
    T* y = v.y() + row;
    T sum = v.accumulate ? *y : zero<T>();
    for (int64_t b = first; b < last; ++b) {
        const T* x = v.x() + int64_t(__ldg(a.column + b)) * a.block;
        for (int j = 0; j < a.block; ++j) {
            const int bit = j * a.block + i;
            if (__ldg(a.mask + b * a.mask_bytes + bit / 8) >> bit % 8 & 1) {
                sum = fused(__ldg(a.value + b * a.block * a.block + bit), x[j], sum);
            }
        }
    }
    *y = sum;
}

template <typename T>
struct subdivided_arrays {
    const sparse_chunk* chunks;
    const sparse_long_row* long_rows;
    const int32_t* row_list;
    const int32_t* column;
    const T* value;
    int chunk_count, long_count;
};

//! A chunk, a row a lane.
template <typename T>
__device__ __forceinline__ void
multiply_chunk(const subdivided_arrays<T>& a, int64_t number, const vectors<T>& v)
{
    const int lane = threadIdx.x % warp;
    chunk_source<T> source{};
    int entries = 0, row = -1;
    if (number < a.chunk_count) {
        const auto chunk = constant_record(a.chunks + number);
        if (lane < chunk.rows()) {
            row =
                chunk.row >= 0 ? chunk.row + lane : __ldg(a.row_list + ~chunk.row + lane);
            entries = chunk.entries();
            source = { a.column + chunk.entry + lane,
                       a.value + chunk.entry + lane,
                       chunk.rows() };
        }
    }
    multiply_row(source, entries, row, v);
}

//! Full chunks of the same number of entries, all that they need under way at once.
template <int Entries, int Chunks, typename T>
__device__ __forceinline__ void multiply_full_chunks(const subdivided_arrays<T>& a,
                                                     const sparse_chunk (&chunk)[Chunks],
                                                     const vectors<T>& v)
{
    const int lane = threadIdx.x % warp;
    int column[Chunks][Entries], row[Chunks];
    T value[Chunks][Entries], taken[Chunks][Entries], sum[Chunks];
#pragma unroll
    for (int k = 0; k < Chunks; ++k) {
        const auto* columns = a.column + chunk[k].entry + lane;
        const auto* values = a.value + chunk[k].entry + lane;
        // Read once: the caches are for the vectors.
#pragma unroll
        for (int j = 0; j < Entries; ++j) {
            column[k][j] = __ldcs(columns + j * warp);
        }
#pragma unroll
        for (int j = 0; j < Entries; ++j) {
            value[k][j] = __ldcs(values + j * warp);
        }
        row[k] = chunk[k].row >= 0 ? chunk[k].row + lane
                                   : __ldg(a.row_list + ~chunk[k].row + lane);
    }
    wait_for_previous();
    const T* x = v.x();
    T* y = v.y();
#pragma unroll
    for (int k = 0; k < Chunks; ++k) {
        sum[k] = v.accumulate ? y[row[k]] : zero<T>();
#pragma unroll
        for (int j = 0; j < Entries; ++j) {
            taken[k][j] = x[column[k][j]];
        }
    }
#pragma unroll
    for (int k = 0; k < Chunks; ++k) {
#pragma unroll
        for (int j = 0; j < Entries; ++j) {
            sum[k] = fused(value[k][j], taken[k][j], sum[k]);
        }
        y[row[k]] = sum[k];
    }
}

//! How many chunks a warp takes together where there are many: 16 bytes of values a lane
//! and entry.
template <typename T>
constexpr int chunks_together = fdtd_tuning::product::bytes_together / sizeof(T);

//! Whether multiply_several_chunks() is made for a chunk.
inline bool is_for_several(const sparse_chunk& chunk)
{
    return chunk.rows() == warp && chunk.entries() >= 2 && chunk.entries() <= 4;
}

template <int Chunks, typename T>
__device__ __forceinline__ void
multiply_several_chunks(const subdivided_arrays<T>& a, int64_t first, const vectors<T>& v)
{
    sparse_chunk chunk[Chunks];
    bool alike = first + Chunks <= a.chunk_count;
    if (alike) {
#pragma unroll
        for (int k = 0; k < Chunks; ++k) {
            chunk[k] = constant_record(a.chunks + first + k);
            alike = alike && chunk[k].shape == chunk[0].shape;
        }
    }
    switch (alike ? chunk[0].shape : 0) {
    case 2 * warp + warp - 1:
        return multiply_full_chunks<2>(a, chunk, v);
    case 3 * warp + warp - 1:
        return multiply_full_chunks<3>(a, chunk, v);
    case 4 * warp + warp - 1:
        return multiply_full_chunks<4>(a, chunk, v);
    }
#pragma unroll 1
    for (int k = 0; k < Chunks; ++k) {
        multiply_chunk(a, first + k, v);
    }
}

//! The long rows by the first blocks, one each, so that they begin early; then the
//! chunks, `Chunks` a warp. Without long rows no shared memory is set aside.
template <int Chunks, bool Long, typename T>
__device__ __forceinline__ void
multiply_groups(const subdivided_arrays<T>& a, int64_t block, const vectors<T>& v)
{
    if constexpr (Long) {
        __shared__ staged<T> all;
        if (block < a.long_count) {
            const auto row = constant_record(a.long_rows + block);
            multiply_long_row(
                a.column + row.entry, a.value + row.entry, row.entries, row.row, v, all);
            return;
        }
        block -= a.long_count;
    }
    const int64_t first = (block * (threads / warp) + threadIdx.x / warp) * Chunks;
    if constexpr (Chunks == 1) {
        multiply_chunk(a, first, v);
    } else {
        multiply_several_chunks<Chunks>(a, first, v);
    }
}

template <int Chunks, bool Long, typename T>
__global__ void __launch_bounds__(threads, Chunks == 1 ? 1 : 4)
    multiply_subdivided(subdivided_arrays<T> a, vectors<T> v)
{
    let_next_begin();
    multiply_groups<Chunks, Long>(a, blockIdx.x, v);
}

template <typename T>
struct dictionary_arrays {
    const uint8_t* small; //!< pattern numbers of the rows, or null
    const uint16_t* large;
    const int32_t* start;
    const int32_t* offset;
    const T* value;
};

//! Rows of known patterns, Rows a thread, so that their few bytes are under way together;
//! `first` is this thread's first, the others follow `threads` rows apart.
template <int Rows, typename T>
__device__ __forceinline__ void
multiply_patterns(const dictionary_arrays<T>& a, size_t first, const vectors<T>& v)
{
    int number[Rows], start[Rows], entries[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        const size_t row = first + r * threads;
        number[r] = -1;
        if (row < v.rows) {
            const int read = a.small ? __ldg(a.small + row) : __ldg(a.large + row);
            number[r] = read == (a.small ? 0xFF : 0xFFFF) ? -1 : read;
        }
    }
    int most = 0;
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        start[r] = entries[r] = 0;
        if (number[r] >= 0) {
            start[r] = __ldg(a.start + number[r]);
            entries[r] = __ldg(a.start + number[r] + 1) - start[r];
        }
        most = max(most, entries[r]);
    }
    wait_for_previous();
    const T* x = v.x() + first;
    T* y = v.y() + first;
    T sum[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        sum[r] = v.accumulate && number[r] >= 0 ? y[r * threads] : zero<T>();
    }
    for (int j = 0; j < most; j += ahead) {
        T taken[Rows][ahead];
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
#pragma unroll
            for (int u = 0; u < ahead; ++u) {
                if (j + u < entries[r]) {
                    taken[r][u] = x[r * threads + __ldg(a.offset + start[r] + j + u)];
                }
            }
        }
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
#pragma unroll
            for (int u = 0; u < ahead; ++u) {
                if (j + u < entries[r]) {
                    sum[r] =
                        fused(__ldg(a.value + start[r] + j + u), taken[r][u], sum[r]);
                }
            }
        }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        if (number[r] >= 0) {
            y[r * threads] = sum[r];
        }
    }
}

//! The explicit rows by the first `other_blocks` blocks, then those whose patterns stand
//! in the dictionary.
template <int Rows, bool Long, typename T>
__global__ void __launch_bounds__(threads)
    multiply_dictionary(dictionary_arrays<T> a,
                        subdivided_arrays<T> others,
                        unsigned other_blocks,
                        vectors<T> v)
{
    let_next_begin();
    if (blockIdx.x < other_blocks) {
        multiply_groups<1, Long>(others, blockIdx.x, v);
    } else {
        multiply_patterns<Rows>(
            a, size_t(blockIdx.x - other_blocks) * (threads * Rows) + threadIdx.x, v);
    }
}

template <typename T>
__global__ void __launch_bounds__(threads)
    multiply_diagonals(const sparse_diagonal* diagonals,
                       int count,
                       const T* value,
                       const uint32_t* present,
                       vectors<T> v)
{
    let_next_begin();
    const size_t place = size_t(blockIdx.x) * threads + threadIdx.x;
    const int row = place < v.rows ? int(place) : -1;
    const diagonal_source<T> source{ diagonals, value, present, int64_t(v.rows), row };
    multiply_row(source, row < 0 ? 0 : count, row, v);
}

} // namespace gr::cudaphy::kernels::sparse
