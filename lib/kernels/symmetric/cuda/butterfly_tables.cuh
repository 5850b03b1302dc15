/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/memory/device_memory.cuh"
#include "kernels/symmetric/cuda/butterfly.cuh"
#include <cmath>
#include <memory>
#include <numeric>
#include <random>

namespace gr::cudaphy::kernels {
namespace {

//! The tables of one butterfly transform of order m, a multiple of 8. Groups of 8 rows
//! move together, so that whole sectors of memory are read and written.
class butterfly_tables
{
public:
    butterfly_tables(int m, unsigned draw)
    {
        std::mt19937 engine(draw + 1);
        std::uniform_real_distribution<float> exponent(-0.05f, 0.05f);
        const auto near_one = [&] {
            std::vector<float> numbers(m);
            for (auto& number : numbers) {
                number = std::exp(exponent(engine));
            }
            return std::make_unique<device_memory<float>>(numbers);
        };
        std::vector<int> groups(m / together);
        std::iota(groups.begin(), groups.end(), 0);
        for (int i = int(groups.size()) - 1; i > 0; --i) {
            std::swap(groups[i], groups[engine() % unsigned(i + 1)]);
        }
        std::vector<int> places(m);
        for (int i = 0; i < m; ++i) {
            places[i] = groups[i / together] * together + i % together;
        }
        outer = near_one();
        inner = near_one();
        from = std::make_unique<device_memory<int>>(places);
        quarter = m / butterfly_parts;
    }
    butterfly get() const
    {
        return { outer->data(), inner->data(), from->data(), quarter };
    }

private:
    static constexpr int together = 8;

    std::unique_ptr<device_memory<float>> outer, inner;
    std::unique_ptr<device_memory<int>> from;
    int quarter;
};

} // namespace
} // namespace gr::cudaphy::kernels
