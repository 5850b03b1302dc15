/* SPDX-License-Identifier: GPL-3.0-or-later */
// Shapes and thresholds of the CUDA kernels of symmetric, found by measuring: a struct,
// as CUB's policies, a GPU generation. Some of them change the order of additions, so
// that results differ by rounding. Limits that the accuracy needs stand beside the
// algorithms.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cuda_runtime.h>
#include <type_traits>

namespace gr::cudaphy::kernels {

//! The tile of a block and that of a warp. `Stages` parts of the inner index are under
//! way at once.
template <int Rows, int Columns, int WarpRows, int WarpColumns, int Stages>
struct tensor_tile {
    static constexpr int rows = Rows, columns = Columns;
    static constexpr int warp_rows = WarpRows, warp_columns = WarpColumns;
    static constexpr int stages = Stages;
    static constexpr int step = 16; //!< of the inner index, a stage's
    static constexpr int threads = Rows / WarpRows * (Columns / WarpColumns) * 32;
    static constexpr int shared_bytes = Stages * (Rows + Columns) * step * 8;
};

//! Measured on the H100 and the H200.
struct symmetric_tuning_sm90 {
    struct steps {
        //! Up to this order, one launch takes a step for all matrices of a batch.
        static constexpr int many_order = 1024;
        //! The largest block of unknown definiteness that one thread block inverts, if
        //! the matrix belongs to such a batch.
        static constexpr int unknown_leaf = 64;
        //! Panels of a group. The whole matrix is read and written once for a group.
        static constexpr int panels_a_group = 2;
        //! Rows of the squares on the diagonal with which an update covers a triangle.
        //! Smaller squares waste less arithmetic, but their products are slow.
        static constexpr int smallest_square(int order)
        {
            return std::max(512, order / 16);
        }
    };
    struct block { // block.cuh and corner.cuh
        //! Threads of a block that multiply, beside one warp that inverts the corner.
        static constexpr int threads = 256;
        //! Columns of a panel, if the shared memory has room for its rows.
        template <typename W>
        static constexpr int most_columns = sizeof(W) == 16 ? 128 : 256;
        //! Elements of the pivot's column that a thread reads before it uses the first:
        //! half of its registers.
        template <typename W>
        static constexpr int elements_at_once = sizeof(W) > sizeof(double) ? 8 : 32;
    };
    struct small { // small.cuh and small_unknown.cuh
        //! Rows and columns of a block's threads.
        static constexpr int side = 16;
        //! A thread holds up to so many rows and columns of elements in its registers.
        template <typename E>
        static constexpr int most_parts = std::is_same_v<E, double2> ? 4 : 8;
        //! Blocks a multiprocessor, for which the registers suffice.
        template <typename E>
        static constexpr int unknown_blocks(int parts)
        {
            return sizeof(E) * parts * parts <= 256 ? 2 : 1;
        }
        //! Rows of L^-1 that one pass of square_unknown() takes.
        static constexpr int rows_together = 8;
    };
    struct passes {
        //! Rows of threads of a block that handles a tile of 32 x 32.
        static constexpr int tile_threads_down = 8;
        //! examine_symmetric(): rows of a block, a warp each, and loads under way.
        static constexpr int examine_rows = 8, examine_loads = 8;
        //! Blocks of scramble() a multiprocessor.
        static constexpr int scramble_blocks = 2;
        //! largest_symmetric_sum(): rows of threads of a block.
        static constexpr int sum_threads_down = 8;
    };
    struct probes {
        static constexpr int threads = 256;
        //! From this order on a warp takes two rows. Smaller matrices would have too few
        //! warps.
        static constexpr int order_for_two_rows = 6000;
    };
    struct tensor {
        using triangle_tile = tensor_tile<128, 64, 64, 32, 4>;
        using strip_tile = tensor_tile<64, 64, 32, 32, 4>;
        using corner_tile = tensor_tile<32, 32, 16, 16, 8>;
        //! Tile rows of a triangle that blocks of successive numbers take together.
        static constexpr int band = 8;
    };
    struct bordering { // as_published/bordering_cuda.cu
        static constexpr int threads = 128;
        //! Rows of a warp, for which it loads u and r once.
        static constexpr int rows_a_warp = 2;
        //! Loads of 16 bytes of a row before its first store.
        static constexpr int groups_at_once = 2;
        static constexpr int most_blocks = 2048;
    };
};

//! Every GPU, until another generation has a column of its own.
using symmetric_tuning = symmetric_tuning_sm90;

} // namespace gr::cudaphy::kernels
