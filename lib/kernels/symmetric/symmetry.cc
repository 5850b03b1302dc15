/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/parallel.h"
#include "kernels/symmetric/numbers.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/symmetry.h>
#include <limits>
#include <mutex>

namespace gr::cudaphy::kernels {
namespace {

//! Rows and columns of a tile. It stays in the first-level cache with its mirror image.
constexpr size_t tile = 32;

} // namespace

template <typename T>
std::optional<std::pair<int, int>> first_asymmetry(view<const T> a, int order)
{
    using real = decltype(std::abs(T()));
    const size_t n = order;
    std::vector<real> most(n); // the root of the largest modulus in each row
    for_each_part(n, tile, [&](size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) {
            real largest = 0;
            for (const T& x : a.part(i * n, n)) {
                largest = std::max(largest, std::abs(x)); // a NaN does not change it
            }
            most[i] = std::sqrt(largest);
        }
    });
    constexpr real eps = std::numeric_limits<real>::epsilon();
    std::mutex found_one;
    std::pair<size_t, size_t> found{ n, n };
    for_each_part(n, tile, [&](size_t first, size_t last) {
        std::pair<size_t, size_t> in_piece{ n, n };
        for (size_t left = 0; left < last; left += tile) {
            for (size_t i = first; i < last; ++i) {
                const size_t right = std::min(i + 1, left + tile);
                for (size_t j = left; j < right; ++j) {
                    const auto apart = std::abs(a[i * n + j] - adjoint(a[j * n + i]));
                    if (apart > 64 * eps * most[i] * most[j]) {
                        in_piece = std::min(in_piece, { i, j });
                    }
                }
            }
        }
        std::lock_guard<std::mutex> lock(found_one);
        found = std::min(found, in_piece);
    });
    if (found.first == n) {
        return {};
    }
    return std::pair<int, int>(found);
}

#define CUDAPHY_INSTANTIATE(T) \
    template std::optional<std::pair<int, int>> first_asymmetry<T>(view<const T>, int);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
CUDAPHY_INSTANTIATE(complex64)
CUDAPHY_INSTANTIATE(complex128)
#undef CUDAPHY_INSTANTIATE

} // namespace gr::cudaphy::kernels
