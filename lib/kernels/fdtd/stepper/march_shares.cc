/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/stepper/march.h"
#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

namespace gr::cudaphy::kernels {
namespace {

//! What a plane of a tile costs whose cells have psi, if others cost 1 (H200, 256^3).
constexpr double cost_with_psi = 2.5;
constexpr int least_planes = 8; //!< of a part

//! The cost of a plane of each tile: (tiles, nx).
template <typename T>
std::vector<float> costs(const fdtd_march_plan<T>& plan,
                         const fdtd_march_shares& s,
                         int tile_height,
                         int tile_width)
{
    const auto& g = plan.grid;
    std::vector<float> cost(size_t(s.tiles_y) * s.tiles_z * g.nx, 1.0f);
    if (!plan.layers) {
        return cost;
    }
    const auto* word = plan.tables.classes.data();
    for (int x = 0; x < g.nx; ++x) {
        for (int y = 0; y < g.ny; ++y) {
            const int row = y / tile_height * s.tiles_z;
            for (int z = 0; z < g.nz; ++z, ++word) {
                if ((*word & ~fdtd_march_formed) >> fdtd_march_psi_shift) {
                    cost[size_t(row + z / tile_width) * g.nx + x] = cost_with_psi;
                }
            }
        }
    }
    return cost;
}

//! The time of the last of `slots`, each of which takes the next block when it is free.
double
time_of(const std::vector<double>& work, const std::vector<int32_t>& order, int64_t slots)
{
    std::priority_queue<double, std::vector<double>, std::greater<>> busy;
    double last = 0;
    for (const auto block : order) {
        double begin = 0;
        if (int64_t(busy.size()) == slots) {
            begin = busy.top();
            busy.pop();
        }
        busy.push(begin + work[size_t(block)]);
        last = std::max(last, begin + work[size_t(block)]);
    }
    return last;
}

} // namespace

// The longest blocks first: R. L. Graham, SIAM J. Appl. Math. 17(2), 1969. More parts
// share the work more evenly, fewer compute fewer planes twice.
template <typename T>
fdtd_march_shares fdtd_march_shares::find(const fdtd_march_plan<T>& plan,
                                          int height,
                                          int width,
                                          int64_t slots)
{
    const auto& g = plan.grid;
    const int tile_height = height - 2 * halo, tile_width = width - 2 * halo;
    fdtd_march_shares best;
    best.tiles_y = (g.ny + tile_height - 1) / tile_height;
    best.tiles_z = (g.nz + tile_width - 1) / tile_width;
    const int tiles = best.tiles_y * best.tiles_z;
    const auto cost = costs(plan, best, tile_height, tile_width);
    double least = 0;
    for (int parts = 1, before = 0; parts <= std::max(1, g.nx / least_planes); ++parts) {
        const int planes = (g.nx + parts - 1) / parts;
        if (planes == before) {
            continue;
        }
        before = planes;
        const int used = (g.nx + planes - 1) / planes;
        std::vector<double> work(size_t(tiles) * used);
        for (int part = 0; part < used; ++part) {
            const int begin = std::max(0, part * planes - halo);
            const int end = std::min(g.nx, (part + 1) * planes + halo);
            for (int tile = 0; tile < tiles; ++tile) {
                const auto from = cost.begin() + int64_t(tile) * g.nx;
                // A block's beginning costs about a plane.
                work[size_t(part) * tiles + tile] =
                    std::accumulate(from + begin, from + end, 1.0);
            }
        }
        std::vector<int32_t> order(work.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
            return work[size_t(a)] > work[size_t(b)];
        });
        const double time = time_of(work, order, std::max<int64_t>(1, slots));
        if (best.order.empty() || time < least) {
            least = time;
            best.planes = planes;
            best.order = std::move(order);
        }
    }
    return best;
}

template fdtd_march_shares
fdtd_march_shares::find(const fdtd_march_plan<float>&, int, int, int64_t);
template fdtd_march_shares
fdtd_march_shares::find(const fdtd_march_plan<double>&, int, int, int64_t);

} // namespace gr::cudaphy::kernels
