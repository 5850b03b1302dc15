/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <algorithm>
#include <cstdint>
#include <gnuradio/cudaphy/kernels/nr/transport_block_size.h>
#include <iterator>
#include <stdexcept>

namespace gr::cudaphy::kernels::nr {
namespace {

// Table 5.1.3.2-1.
constexpr int short_sizes[] = {
    24,   32,   40,   48,   56,   64,   72,   80,   88,   96,   104,  112,  120,  128,
    136,  144,  152,  160,  168,  176,  184,  192,  208,  224,  240,  256,  272,  288,
    304,  320,  336,  352,  368,  384,  408,  432,  456,  480,  504,  528,  552,  576,
    608,  640,  672,  704,  736,  768,  808,  848,  888,  928,  984,  1032, 1064, 1128,
    1160, 1192, 1224, 1256, 1288, 1320, 1352, 1416, 1480, 1544, 1608, 1672, 1736, 1800,
    1864, 1928, 2024, 2088, 2152, 2216, 2280, 2408, 2472, 2536, 2600, 2664, 2728, 2792,
    2856, 2976, 3104, 3240, 3368, 3496, 3624, 3752, 3824
};

int floor_log2(int64_t value)
{
    int log = -1;
    for (; value; value >>= 1) {
        ++log;
    }
    return log;
}

int64_t ceil_ratio(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

int transport_block_size(int elements, const modulation_and_coding& how, int layers)
{
    if (elements < 1 || layers < 1 || how.order < 1 || how.rate_by_2048 < 1) {
        throw std::invalid_argument(
            "nr: a transport block needs at least one resource element and one layer (TS "
            "38.214, 5.1.3.2)");
    }
    // N_info times 2048, which is an integer.
    const int64_t scaled = int64_t(elements) * how.rate_by_2048 * how.order * layers;
    constexpr int64_t one = 2048;
    if (scaled <= 3824 * one) {
        const int n = std::max(3, floor_log2(scaled / one) - 6);
        const int64_t quantum = int64_t(1) << n;
        const int64_t wanted =
            std::max<int64_t>(24, quantum * (scaled / (quantum * one)));
        return *std::lower_bound(std::begin(short_sizes), std::end(short_sizes), wanted);
    }
    const int64_t less = scaled - 24 * one;
    const int64_t quantum = int64_t(1) << (floor_log2(less / one) - 5);
    // Rounded, a half upwards.
    const int64_t rounded = (2 * less + quantum * one) / (2 * quantum * one);
    const int64_t wanted = std::max<int64_t>(3840, quantum * rounded);
    int64_t blocks = 1;
    if (4 * how.rate_by_2048 <= 2048) {
        blocks = ceil_ratio(wanted + 24, 3816);
    } else if (wanted > 8424) {
        blocks = ceil_ratio(wanted + 24, 8424);
    }
    return static_cast<int>(8 * blocks * ceil_ratio(wanted + 24, 8 * blocks) - 24);
}

int limited_buffer_block_size(int prbs, int layers, int order)
{
    if (prbs < 1 || prbs > 275 || layers < 1 || layers > 4 ||
        (order != 6 && order != 8 && order != 10)) {
        throw std::invalid_argument(
            "nr: a limited buffer is of 1 to 275 resource blocks, 1 to 4 layers and "
            "modulation order 6, 8 or 10 (TS 38.212, 5.4.2.1)");
    }
    // Table 5.4.2.1-1.
    constexpr int sizes[] = { 32, 66, 107, 135, 162, 217 };
    const auto* const size = std::lower_bound(std::begin(sizes), std::end(sizes), prbs);
    const int counted = size == std::end(sizes) ? 273 : *size;
    return transport_block_size(156 * counted, { order, 948 * 2 }, layers);
}

} // namespace gr::cudaphy::kernels::nr
