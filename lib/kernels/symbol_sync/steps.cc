/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/symbol_sync/steps.h"
#include "kernels/common/kernel_entry.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels {

symbol_sync_steps::symbol_sync_steps(const symbol_sync_parameters& p, backend where)
    : d_plan(p), d_where(where)
{
    d_plan.make_tables();
    d_margin = std::max(d_plan.edge_taps, d_plan.filter_taps) + 2 * d_plan.padding +
               static_cast<int>(d_plan.samples_per_symbol);
    const size_t kept =
        static_cast<size_t>(d_plan.window + 3) * d_plan.block_samples + 2 * d_margin;
    const size_t tail = d_plan.block_samples + 2 * d_margin;
    // Twice what is kept: each sample is moved at most once, in the mean.
    d_capacity = 2 * kept + p.most_samples + tail;
    d_ring = 1;
    const size_t blocks = d_capacity / d_plan.block_samples + d_plan.window +
                          symbol_sync_plan::gain_blocks + 4;
    while (d_ring < blocks) {
        d_ring *= 2;
    }
}

double symbol_sync_steps::line_of_noise() const
{
    // The mean of the largest of some Rayleigh variables: a sum over the points, of which
    // 1 / points_a_bandwidth are independent, for each independent clock error.
    const double independent =
        d_plan.window * d_plan.points / symbol_sync_plan::points_a_bandwidth;
    const double errors = std::max(1.0, d_plan.candidates / 2.0);
    return std::sqrt((0.8 + std::log(errors)) / independent);
}

carrier_turns symbol_sync_steps::carrier_now() const
{
    return d_carrier.from(static_cast<size_t>(d_done.samples - d_carrier_since));
}

void symbol_sync_steps::set_frequency(double cycles)
{
    if (!std::isfinite(cycles)) {
        throw std::invalid_argument("symbol_sync: the frequency is not finite");
    }
    const auto turns = std::llround((cycles - std::rint(cycles)) * fixed_one);
    d_carrier = { carrier_now().phase, static_cast<uint32_t>(turns) };
    d_carrier_since = d_done.samples;
}

void symbol_sync_steps::restart()
{
    begin_stream();
    d_carrier = { 0, 0 };
}

//! The carrier stays as it is.
void symbol_sync_steps::begin_stream()
{
    d_carrier = carrier_now();
    d_carrier_since = 0;
    d_done = {};
    d_fresh = false;
}

symbol_sync_steps::progress symbol_sync_steps::after(size_t samples, bool end) const
{
    auto next = d_done;
    const auto size = d_plan.block_samples;
    next.samples += static_cast<int64_t>(samples);
    next.ended = end;
    if (end) {
        const int64_t all = next.samples == 0
                                ? 0
                                : std::max<int64_t>(1, (next.samples + size / 2) / size);
        next.lines = next.timings = all;
        next.filtered = next.given = all ? all + 1 : 0;
        return next;
    }
    // Samples after a block's first that its last point reaches.
    const int64_t reach = (d_plan.points - 1) * d_plan.stride + d_plan.edge_half + 1;
    next.lines = std::max<int64_t>(0, (next.samples - reach + size) / size);
    next.timings = next.lines < d_plan.window ? 0 : next.lines - d_plan.half_window;
    next.filtered = next.timings;
    next.given = next.filtered < symbol_sync_plan::gain_blocks ? 0 : next.filtered;
    return next;
}

size_t symbol_sync_steps::blocks(size_t samples, bool end) const
{
    return static_cast<size_t>(after(samples, end).given - d_done.given);
}

symbol_sync_steps::span symbol_sync_steps::span_of(int64_t s) const
{
    const int64_t all = d_done.lines;
    const double half = d_plan.samples_per_symbol / 2;
    const double stop = d_done.ended ? static_cast<double>(d_done.samples - 1) + half : 0;
    if (s == 0) {
        const double c = d_plan.centre_of(0);
        return { -half, d_done.ended && all == 1 ? std::min(c, stop) : c, c, 0, false };
    }
    const double c = d_plan.centre_of(s - 1);
    if (d_done.ended && s == all) {
        return { c, stop, c, s - 1, false };
    }
    return { c, d_plan.centre_of(s), c, s - 1, true };
}

int symbol_sync_steps::window_size() const
{
    return static_cast<int>(std::min<int64_t>(d_plan.window, d_done.lines));
}

int64_t symbol_sync_steps::window_of(int64_t block) const
{
    const int64_t last = d_done.lines - window_size();
    return std::clamp<int64_t>(block - d_plan.half_window, 0, last);
}

double symbol_sync_steps::share_of(int64_t block) const
{
    const int64_t there = d_done.samples - block * d_plan.block_samples;
    return there >= d_plan.block_samples
               ? 1.0
               : std::max(0.0, static_cast<double>(there) / d_plan.block_samples);
}

int64_t symbol_sync_steps::first_needed() const
{
    const int64_t size = d_plan.block_samples;
    const int64_t for_lines = d_done.lines * size;
    const int64_t for_filter = (d_done.filtered - 1) * size;
    return std::min(for_lines, for_filter) - d_margin;
}

void symbol_sync_steps::run(view<const unsigned char> samples,
                            bool end,
                            view<complex64> symbols,
                            view<symbol_block> out,
                            queue& queue)
{
    check_queue("symbol_sync", queue, d_where);
    const size_t each = bytes_of(d_plan.given.format);
    const size_t count = samples.size() / each;
    const size_t given = blocks(count, end);
    check_sizes(
        "symbol_sync",
        samples.size() % each == 0 && count <= d_plan.given.most_samples &&
            out.size() == given && symbols.size() >= given * most_symbols(),
        { { "samples", count }, { "blocks", out.size() }, { "symbols", symbols.size() } },
        "samples must be " + std::to_string(d_plan.given.most_samples) +
            " at most, blocks " + std::to_string(given) +
            " as blocks() says, and symbols " + std::to_string(given * most_symbols()) +
            " at least");
    if (!d_fresh) {
        // As much as lies before the first block's first point.
        d_origin = -static_cast<int64_t>(d_margin + d_plan.block_samples);
        clear(queue);
        append_zeros(0, static_cast<size_t>(-d_origin), queue);
        d_fresh = true;
    }
    const size_t tail = end ? d_plan.block_samples + 2 * d_margin : 0;
    size_t at = static_cast<size_t>(d_done.samples - d_origin);
    if (at + count + tail > d_capacity) {
        const auto from = static_cast<size_t>(first_needed() - d_origin);
        move(from, at - from, queue);
        d_origin += static_cast<int64_t>(from);
        at -= from;
    }
    if (count) {
        append(samples, at, count, carrier_now(), queue);
    }
    if (tail) {
        append_zeros(at + count, tail, queue);
    }
    const auto before = d_done;
    d_done = after(count, end);
    const auto part = [](int64_t first, int64_t last, auto step) {
        if (first < last) {
            step(range{ first, last });
        }
    };
    part(before.lines, d_done.lines, [&](range r) { find_lines(r, queue); });
    part(before.timings, d_done.timings, [&](range r) { find_timings(r, queue); });
    part(before.filtered, d_done.filtered, [&](range r) { filter(r, queue); });
    part(before.given, d_done.given, [&](range r) {
        give(r, d_done.filtered, symbols, out, queue);
    });
    if (end) {
        begin_stream();
    }
}

} // namespace gr::cudaphy::kernels
