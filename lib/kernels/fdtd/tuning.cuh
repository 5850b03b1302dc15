/* SPDX-License-Identifier: GPL-3.0-or-later */
// Shapes and thresholds of the CUDA kernels of fdtd, found by measuring: a struct, as
// CUB's policies, a GPU generation. Results do not depend on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gr::cudaphy::kernels {

//! Measured on the H100 and the H200.
struct fdtd_tuning_sm90 {
    struct stepper {
        // run_steps
        static constexpr int threads = 512, blocks_a_multiprocessor = 2;
        //! Bytes of the state that a lane takes at once.
        static constexpr int bytes_a_lane = 8;
        //! Rows of a tile.
        static constexpr int most_tile_rows = 4096, least_tile_rows = 128;
        //! Phases that a block keeps in shared memory.
        static constexpr int shared_phases = 64;

        // run_large_steps
        //! Rows of a tile, at least; with more than that a block, a system in subdivided
        //! rows goes to this kernel. A system in a dictionary must have most_tile_rows.
        static constexpr int least_large_tile_rows = 1024;
        static constexpr int large_warps = 8;
        //! Blocks a multiprocessor, by what a row holds: its own values, a sequence's
        //! entries, or a pattern's entries in a type of so many bytes.
        static constexpr int own_values_blocks = 4, sequences_blocks = 4;
        static constexpr int runs_blocks(std::size_t bytes) { return bytes == 4 ? 5 : 4; }
        //! Tiles a block from which on tiles become smaller, and twice as large if wide.
        static constexpr int least_tiles = 4, tiles_for_wide = 16;

        // run_march: cells of a tile, a thread each, halo included
        template <int Height, int Width, int Blocks>
        struct march_tile {
            static constexpr int height = Height, width = Width,
                                 blocks_a_multiprocessor = Blocks;
        };
        template <std::size_t Bytes>
        using march =
            std::conditional_t<Bytes == 4, march_tile<16, 32, 2>, march_tile<16, 32, 1>>;
        template <std::size_t Bytes>
        using march_layers =
            std::conditional_t<Bytes == 4, march_tile<20, 32, 1>, march_tile<12, 32, 1>>;
        //! Of cells alike, at least.
        static constexpr double march_share = 0.5;
        //! Of the second-level cache, which serves a smaller state in any order.
        static constexpr double march_caches(bool layers) { return layers ? 3 : 1.1; }

        // run_onchip_steps
        static constexpr int onchip_threads(std::size_t bytes)
        {
            return bytes == 4 ? 640 : 512;
        }
        //! Rows and imports of a thread in a phase, in its registers.
        static constexpr int onchip_rows = 2, onchip_imports = 2;
        //! Rows of a block, at least: fewer only make more neighbours.
        static constexpr int64_t onchip_block_rows = 64;

        // get, set, gather
        static constexpr int scan_threads = 256, scan_blocks = 1024;
    };
    struct product {
        static constexpr int threads = 256;
        //! Entries that a thread has under way at once.
        static constexpr int ahead = 4;
        //! Rows of the dictionary from which on a thread does four: the device is full,
        //! and their loads overlap.
        static constexpr std::size_t rows_for_four = std::size_t{ 1 } << 20;
        //! Chunks from which on a warp does several: two blocks a multiprocessor.
        static constexpr std::size_t chunks_for_several = std::size_t{ 1 } << 13;
        //! Bytes of values that a lane then takes an entry.
        static constexpr std::size_t bytes_together = 16;
    };
};

//! Every GPU, until another generation has a column of its own.
using fdtd_tuning = fdtd_tuning_sm90;

} // namespace gr::cudaphy::kernels
