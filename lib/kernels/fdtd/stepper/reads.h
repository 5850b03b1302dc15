/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/stepper/plan.h"

// Reading a plan's tables, by a lane of a warp or by plain C++.

#ifdef __CUDACC__
#define CUDAPHY_LANE __device__ __forceinline__
#define CUDAPHY_PRAGMA(text) _Pragma(#text)
#define CUDAPHY_UNROLL CUDAPHY_PRAGMA(unroll)
#define CUDAPHY_UNROLL_BY(times) CUDAPHY_PRAGMA(unroll times)
#else
#define CUDAPHY_LANE inline
#define CUDAPHY_UNROLL
#define CUDAPHY_UNROLL_BY(times)
#endif

namespace gr::cudaphy::kernels {

template <typename T>
using fdtd_pointer = const T*;

//! Loads 16 bytes by one instruction.
template <typename To, typename From>
CUDAPHY_LANE To fdtd_load_16(const From* from)
{
    static_assert(sizeof(To) == 16);
#ifdef __CUDACC__
    const int4 bits = *reinterpret_cast<const int4*>(from);
    To out;
    memcpy(&out, &bits, sizeof out);
    return out;
#else
    return *reinterpret_cast<const To*>(from);
#endif
}

//! Loads a value that is read once a time step, past the caches: these are for the state.
template <typename T>
CUDAPHY_LANE T fdtd_load_once(const T* from)
{
#ifdef __CUDACC__
    return __ldcs(from);
#else
    return *from;
#endif
}

//! A block's shape, unpacked.
struct fdtd_block_shape {
    int rows, entries;
    uint32_t distances;

    CUDAPHY_LANE explicit fdtd_block_shape(const fdtd_block& block)
        : rows(int(block.shape & 31) + 1), entries(int(block.shape >> 13)),
          distances(block.shape >> 5 & 255)
    {
    }

    //! Whether entry j's columns have one distance from their rows.
    CUDAPHY_LANE bool has_distance(int j) const { return j < 8 && distances >> j & 1; }
    //! How many numbers entry j takes of the table of columns.
    CUDAPHY_LANE int columns(int j) const { return has_distance(j) ? 1 : rows; }
};

//! A lane's row of a block. Entries are read one after another.
template <typename T>
class fdtd_block_row
{
public:
    //! \param lane  below the block's number of rows
    template <typename Tables>
    CUDAPHY_LANE fdtd_block_row(const Tables& tables,
                                const fdtd_block& block,
                                const fdtd_block_shape& shape,
                                int lane)
        : element(block.rows >= 0
                      ? block.rows + lane
                      : tables.block_rows[size_t(~block.rows) * fdtd_slice + lane]),
          d_shape(shape), d_lane(lane),
          d_columns(tables.columns + block.columns * fdtd_block::columns_apart),
          d_values(tables.values + block.values * fdtd_block::values_apart + lane)
    {
    }

    CUDAPHY_LANE void skip(int entries)
    {
        CUDAPHY_UNROLL_BY(1)
        for (int e = 0; e < entries; ++e) {
            step();
        }
    }
    CUDAPHY_LANE void read(int32_t& column, T& value)
    {
        const bool distance = d_shape.has_distance(d_entry);
        column = fdtd_load_once(d_columns + (distance ? 0 : d_lane)) +
                 (distance ? element : 0);
        value = fdtd_load_once(d_values);
        step();
    }

    const int32_t element;

private:
    CUDAPHY_LANE void step()
    {
        d_columns += d_shape.columns(d_entry++);
        d_values += d_shape.rows;
    }

    const fdtd_block_shape& d_shape;
    const int d_lane;
    int d_entry = 0;
    const int32_t* d_columns;
    const T* d_values;
};

} // namespace gr::cudaphy::kernels
