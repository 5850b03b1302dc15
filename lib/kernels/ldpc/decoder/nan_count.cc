/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/parallel.h"
#include "kernels/ldpc/decoder/nan_count_cuda.h"
#include <cmath>
#include <stdexcept>

namespace gr::cudaphy::kernels {

namespace {

bool is_nan(float value) { return std::isnan(value); }
bool is_nan(float16 value) { return (value.bits & 0x7fff) > 0x7c00; }

template <typename T>
size_t count_in(view<const T> values)
{
    size_t found = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        found += is_nan(values[i]);
    }
    return found;
}

template <typename T>
void count_each(view<const T> values, view<int> count, queue& queue)
{
    if (count.empty() ? !values.empty() : values.size() % count.size() != 0) {
        throw std::invalid_argument("count_nan: " + std::to_string(values.size()) +
                                    " values are no whole number for each of " +
                                    std::to_string(count.size()) + " groups");
    }
    if (count.empty()) {
        return;
    }
    const size_t width = values.size() / count.size();
#ifdef CUDAPHY_HAVE_CUDA
    if (queue.where() == backend::cuda) {
        count_nan_on_cuda(values.data(), width, count, queue);
        return;
    }
#endif
    const auto part = [&](size_t first, size_t last) {
        for (size_t g = first; g < last; ++g) {
            const view<const T> group{ values.data() + g * width, width };
            count[g] = static_cast<int>(count_in(group));
        }
    };
    if (queue.where() == backend::reference) {
        part(0, count.size());
        return;
    }
    constexpr size_t worth_a_core = 65536; // values
    for_each_part(count.size(), 1 + worth_a_core / (width + 1), part);
}

} // namespace

size_t count_nan(view<const float> values) { return count_in(values); }

void count_nan(view<const float> values, view<int> count, queue& queue)
{
    count_each(values, count, queue);
}

void count_nan(view<const float16> values, view<int> count, queue& queue)
{
    count_each(values, count, queue);
}

} // namespace gr::cudaphy::kernels
