/* SPDX-License-Identifier: GPL-3.0-or-later */
// Shapes and thresholds of the CUDA kernels of mimo, found by measuring: a struct, as
// CUB's policies, a GPU generation. Results do not depend on them.
#pragma once

#include <cstddef>

namespace gr::cudaphy::kernels {

//! Measured on the H100 and the H200.
struct mimo_tuning_sm90 {
    struct equalizer {
        //! Threads of a block that holds each item in one thread's registers.
        static constexpr int register_threads = 128;
        //! Threads of a block in which groups of threads hold an item.
        static constexpr int group_threads = 64;
        //! Matrices of up to so many antennas and layers go to kernels that hold them in
        //! registers and in a thread's shared memory; larger ones to groups of threads.
        static constexpr int most_for_threads = 8;
        //! With several vectors a matrix, weights pay up to so many antennas.
        static constexpr int most_for_register_weights = 4;
        //! With more layers the code exceeds the instruction caches: warps go in step.
        static constexpr int most_layers_without_step = 4;
        //! Warps of a block in step: more do not find their registers.
        static constexpr int step_warps = 8;
        //! Blocks a multiprocessor of solve_many where warps do not go in step.
        static constexpr int many_blocks = 10;
        //! Warps of a block and blocks a multiprocessor of weights_many.
        static constexpr int weights_warps = 4, weights_blocks = 2;
        //! Warps that a multiprocessor should have before items become larger, and the
        //! least vectors of an item: fewer take no time beside the elimination.
        static constexpr int wanted_warps = 4;
        static constexpr std::size_t least_vectors = 4;
        //! solve_each: warps of a block, of items up to `small_item` elements and above,
        //! where 24 KB of shared memory hold no more.
        static constexpr int small_item = 20, small_warps = 4, large_warps = 1;
        //! Threads of a block of the route `inverse`.
        static constexpr int inverse_threads = 128;
        //! Of more than 16 antennas: most threads of a block, which has one item, and
        //! workspace for factors of covariances.
        static constexpr int gram_threads = 128;
        static constexpr std::size_t gram_workspace_bytes = std::size_t{ 64 } << 20;
    };
    struct demapper {
        //! Threads of a block of demapper_of_any: a multiple of 32 and of the bits.
        static constexpr int any_threads(int bits)
        {
            return bits % 3 == 0 ? 192 : bits % 5 == 0 ? 320 : bits % 7 == 0 ? 224 : 256;
        }
        static constexpr int run_threads = 128;
        //! Symbols that a thread of demapper_of_runs has under way.
        static constexpr int symbols_under_way(bool max_log, std::size_t llr_bytes)
        {
            return !max_log ? 2 : llr_bytes < 4 ? 8 : 4;
        }
    };
    struct estimator {
        //! Segments whose sums the workspace holds; a larger batch takes more launches.
        static constexpr std::size_t most_pieces = 65536;
        //! Workspace of the channel filter, and slots that it serves at once.
        static constexpr std::size_t workspace_bytes = std::size_t{ 64 } << 20;
        static constexpr std::size_t most_slots = 4096;
    };
};

//! Every GPU, until another generation has a column of its own.
using mimo_tuning = mimo_tuning_sm90;

} // namespace gr::cudaphy::kernels
