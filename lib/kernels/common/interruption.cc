/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/interruptible_piece.h"
#include <algorithm>
#include <chrono>

namespace gr::cudaphy {
namespace {

thread_local const interruption* current_of_this_thread = nullptr;

constexpr double seconds_a_slice = 0.02;

double now()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

} // namespace

const interruption* interruption::current() { return current_of_this_thread; }

interruption::scope::scope(const interruption* under) : d_before(current_of_this_thread)
{
    current_of_this_thread = under;
}
interruption::scope::~scope() { current_of_this_thread = d_before; }

interruptible_piece::interruptible_piece(const interruption* under,
                                         size_t first,
                                         size_t last,
                                         size_t grain)
    : d_under(under), d_scope(under), d_last(last), d_end(first), d_grain(grain),
      d_items(under ? grain : last - first), d_began(under ? now() : 0)
{
}

size_t interruptible_piece::next()
{
    if (d_under) {
        d_under->check();
        if (d_done) {
            const double seconds = std::max(now() - d_began, 1e-9);
            const double most = d_done / seconds * seconds_a_slice / d_grain;
            // At most 8 times the items so far, because the first items may be the
            // cheapest.
            const size_t grains = std::min(most, 8.0 * d_done / d_grain);
            d_items = std::max<size_t>(1, grains) * d_grain;
        }
    }
    const size_t begin = d_end;
    d_end = d_items < d_last - begin ? begin + d_items : d_last;
    d_done += d_end - begin;
    return d_end;
}

} // namespace gr::cudaphy
