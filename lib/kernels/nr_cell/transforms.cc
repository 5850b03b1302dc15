/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_cell/transforms.h"
#include <map>
#include <mutex>

namespace gr::cudaphy::kernels::nr_cell {

std::shared_ptr<const nr::fourier_transform> transform_of(size_t size, bool forward)
{
    constexpr size_t most = 64; // recordings of many lengths would make it grow for ever
    static std::mutex turn;
    static std::map<std::pair<size_t, bool>, std::shared_ptr<nr::fourier_transform>> made;
    const std::lock_guard<std::mutex> lock(turn);
    auto found = made.find({ size, forward });
    if (found == made.end()) {
        if (made.size() >= most) {
            made.clear();
        }
        auto one = std::make_shared<nr::fourier_transform>(size, forward);
        found = made.emplace(std::pair(size, forward), std::move(one)).first;
    }
    return found->second;
}

} // namespace gr::cudaphy::kernels::nr_cell
