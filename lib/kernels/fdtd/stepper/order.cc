/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/stepper/plan.h"
#include <algorithm>

namespace gr::cudaphy::kernels {

// Breadth-first search (Cuthill and McKee, 1969) over tiles and the stretches of the
// state that they read. On a grid whose components lie one behind the other, the search
// is a front, a few MB wide, that runs through all components at once.
template <typename T>
std::vector<int32_t> fdtd_tile_order(const sparse_matrix<T>& a, int32_t tile_rows)
{
    const auto tiles = int32_t((a.rows + tile_rows - 1) / tile_rows);
    const auto stretches = int32_t((a.columns + tile_rows - 1) / tile_rows);
    // The stretches that each tile reads, and the tiles that read each stretch.
    std::vector<int64_t> start{ 0 };
    std::vector<int32_t> read;
    std::vector<int32_t> last(stretches, -1);
    for (int32_t tile = 0; tile < tiles; ++tile) {
        const auto rows = std::min<int64_t>(a.rows, int64_t(tile + 1) * tile_rows);
        for (auto e = a.row_start[int64_t(tile) * tile_rows]; e < a.row_start[rows];
             ++e) {
            const auto stretch = a.column[e] / tile_rows;
            if (last[stretch] != tile) {
                last[stretch] = tile;
                read.push_back(stretch);
            }
        }
        start.push_back(int64_t(read.size()));
    }
    std::vector<int64_t> reader_start(stretches + 1);
    for (const auto stretch : read) {
        ++reader_start[stretch + 1];
    }
    for (int32_t stretch = 0; stretch < stretches; ++stretch) {
        reader_start[stretch + 1] += reader_start[stretch];
    }
    std::vector<int32_t> readers(read.size());
    auto next = reader_start;
    for (int32_t tile = 0; tile < tiles; ++tile) {
        for (auto i = start[tile]; i < start[tile + 1]; ++i) {
            readers[next[read[i]]++] = tile;
        }
    }

    std::vector<int32_t> order;
    std::vector<char> tile_seen(tiles), stretch_seen(stretches);
    const auto see = [&](int32_t tile) {
        if (!tile_seen[tile]) {
            tile_seen[tile] = 1;
            order.push_back(tile);
        }
    };
    for (int32_t begin = 0; begin < tiles; ++begin) {
        auto position = order.size();
        see(begin);
        for (; position < order.size(); ++position) {
            const auto tile = order[position];
            for (auto i = start[tile]; i < start[tile + 1]; ++i) {
                const auto stretch = read[i];
                if (!stretch_seen[stretch]) {
                    stretch_seen[stretch] = 1;
                    std::for_each(readers.begin() + reader_start[stretch],
                                  readers.begin() + reader_start[stretch + 1],
                                  see);
                }
            }
        }
    }
    return order;
}

template <typename T>
fdtd_neighbours fdtd_neighbours::find(const fdtd_system<T>& system,
                                      const fdtd_plan<T>& plan,
                                      int32_t blocks)
{
    const auto& tables = plan.tables;
    // The worker of each tile, by its rows, of the phases that are updates.
    std::vector<std::vector<int32_t>> worker;
    bool all_wait_for_first = false;
    for (const auto& phase : tables.phases) {
        if (phase.between) {
            all_wait_for_first = true;
            continue;
        }
        worker.emplace_back(phase.tiles_end - phase.tiles);
        for (auto tile = phase.tiles; tile < phase.tiles_end; ++tile) {
            const auto row = tables.tiles[tile].first - phase.first;
            worker.back()[row / plan.tile_rows] = (tile - phase.tiles) % blocks;
        }
    }
    std::vector<char> linked(size_t(blocks) * blocks);
    const auto link = [&](int32_t one, int32_t other) {
        linked[size_t(one) * blocks + other] = linked[size_t(other) * blocks + one] = 1;
    };
    for (int32_t block = 0; all_wait_for_first && block < blocks; ++block) {
        link(0, block);
    }
    const auto& updates = system.updates;
    for (size_t u = 0; u < updates.size(); ++u) {
        const auto& matrix = updates[u].matrix;
        for (int64_t row = 0; row < matrix.rows; ++row) {
            const auto here = worker[u][row / plan.tile_rows];
            const auto link_changers = [&](int64_t element) {
                for (size_t v = 0; v < updates.size(); ++v) {
                    const auto there = element - updates[v].first;
                    if (there >= 0 && there < updates[v].matrix.rows) {
                        link(here, worker[v][there / plan.tile_rows]);
                    }
                }
            };
            link_changers(updates[u].first + row);
            for (auto e = matrix.row_start[row]; e < matrix.row_start[row + 1]; ++e) {
                link_changers(matrix.column[e]);
            }
        }
    }
    fdtd_neighbours found;
    found.start.push_back(0);
    for (int32_t one = 0; one < blocks; ++one) {
        for (int32_t other = 0; other < blocks; ++other) {
            if (one != other && linked[size_t(one) * blocks + other]) {
                found.neighbours.push_back(other);
            }
        }
        found.start.push_back(int32_t(found.neighbours.size()));
    }
    return found;
}

#define CUDAPHY_INSTANTIATE(T)                                                          \
    template std::vector<int32_t> fdtd_tile_order<T>(const sparse_matrix<T>&, int32_t); \
    template fdtd_neighbours fdtd_neighbours::find<T>(                                  \
        const fdtd_system<T>&, const fdtd_plan<T>&, int32_t);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
#undef CUDAPHY_INSTANTIATE

} // namespace gr::cudaphy::kernels
