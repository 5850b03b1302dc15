/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/parallel_items.h"
#include <algorithm>
#include <chrono>
#include <gnuradio/cudaphy/kernels/interruption.h>
#ifdef __SANITIZE_THREAD__
#include <future>
#include <vector>
#else
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace gr::cudaphy {
namespace {

constexpr double seconds_a_slice = 0.02;

double now()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/*!
 * \brief Cuts a piece of work into slices of about 20 ms, in whole grains. An
 * interruption ends the work between two slices. Without an interruption the piece is one
 * slice.
 */
class interruptible_piece
{
public:
    interruptible_piece(const interruption* under,
                        size_t first,
                        size_t last,
                        size_t grain)
        : d_under(under), d_scope(under), d_last(last), d_end(first), d_grain(grain),
          d_items(under ? grain : last - first), d_began(under ? now() : 0)
    {
    }

    //! The end of the next slice. \throws interrupted
    size_t next()
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

private:
    const interruption* const d_under;
    const interruption::scope d_scope;
    const size_t d_last;
    size_t d_end;
    const size_t d_grain;
    size_t d_items; //!< of a slice
    size_t d_done = 0;
    const double d_began;
};

} // namespace

size_t cores()
{
#ifdef __SANITIZE_THREAD__
    return 4;
#else
    return static_cast<size_t>(tbb::this_task_arena::max_concurrency());
#endif
}

void for_each_part_by(size_t count,
                      size_t grain,
                      void (*call)(const void* part, size_t first, size_t last),
                      const void* part)
{
    const auto* const under = interruption::current();
    const auto in_slices = [&](size_t first, size_t last) {
        interruptible_piece piece(under, first, last, grain);
        while (first < last) {
            const size_t end = piece.next();
            call(part, first, end);
            first = end;
        }
    };
    if (count <= grain) {
        in_slices(0, count);
        return;
    }
    // Pieces are whole grains, because a kernel may put the items of a grain into one
    // vector.
#ifdef __SANITIZE_THREAD__ // can't see how TBB, built without it, hands work over
    const size_t grains = (count + grain - 1) / grain,
                 parts = grains < cores() ? grains : cores();
    std::vector<std::future<void>> running;
    for (size_t p = 0; p < parts; ++p) {
        const auto last = grains * (p + 1) / parts * grain;
        running.push_back(std::async(std::launch::async,
                                     in_slices,
                                     grains * p / parts * grain,
                                     last < count ? last : count));
    }
    for (auto& each : running) {
        each.get();
    }
#else
    tbb::parallel_for(tbb::blocked_range<size_t>(0, (count + grain - 1) / grain),
                      [&](const auto& range) {
                          const auto last = range.end() * grain;
                          in_slices(range.begin() * grain, last < count ? last : count);
                      });
#endif
}

void for_each_item_by(size_t count,
                      void (*call)(const void* item, size_t i),
                      const void* item)
{
    for_each_part(count, 1, [&](size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) {
#ifdef __SANITIZE_THREAD__ // its threads take no other item
            call(item, i);
#else
            tbb::this_task_arena::isolate([&] { call(item, i); });
#endif
        }
    });
}

} // namespace gr::cudaphy
