/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/symbol_sync/carrier_search.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/symbol_stream.h>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

constexpr int pieces_at_a_time = 2; // after which the carrier is looked for
constexpr int pieces_at_once = 8;   // whose spectra are compared at the same time
constexpr int fewest_pieces = 8;    // that a carrier is found in
// On end in which there is a carrier: a part of a piece shows a strong signal, but not
// how far it is off.
constexpr int looks = 3;
// Blocks on end with a weak line, in windows, and at least: more than those that are
// under way when a search ends, which are half a window and those of the gain.
constexpr size_t weak_windows = 4, weak_blocks = 24;
// Samples after which a lost signal is noticed, however many a call brings.
constexpr size_t watched_at_a_time = 1 << 18;

std::shared_ptr<void> ordinary_memory(size_t bytes)
{
    return { ::operator new(bytes), [](void* memory) { ::operator delete(memory); } };
}

} // namespace

symbol_stream::symbol_stream(const symbol_sync_parameters& p,
                             double most_offset,
                             const resolved_backend& on,
                             allocator memory)
    : d_parameters(p), d_queue(queue::make(on.where, on.device)),
      d_kernel(symbol_sync::make(p, on.where, on.device)),
      d_allocator(memory ? std::move(memory) : ordinary_memory),
      d_sample_bytes(bytes_of(p.format)),
      d_pieces_between(on.where == backend::cuda ? 63 : 15)
{
    if (!(most_offset >= 0 && most_offset <= 0.5)) {
        throw std::invalid_argument("symbol_sync: most_offset is " +
                                    std::to_string(most_offset) + ", must be 0..0.5");
    }
    if (on.where == backend::cuda) {
        d_samples = array<unsigned char>(*d_queue, p.most_samples * d_sample_bytes);
    }
    if (most_offset > 0) {
        d_search = std::make_unique<carrier_search>(p, most_offset);
    }
    restart();
}

symbol_stream::~symbol_stream() = default;

void symbol_stream::restart()
{
    d_kernel->restart();
    d_holds = d_search != nullptr;
    d_weak = 0;
    d_held.clear();
    d_searched = d_ahead = 0;
    d_found = 0;
    d_piece.clear();
    d_skip = d_watched = 0;
    d_frequency = 0;
    d_computed = 0;
    d_changes.clear();
    if (d_search) {
        d_search->clear();
    }
    d_blocks = {};
    d_symbols = {};
}

void symbol_stream::feed(const void* samples, size_t count, bool end)
{
    if (count > d_parameters.most_samples) {
        throw std::invalid_argument(
            "symbol_stream: " + std::to_string(count) + " samples, allowed are " +
            std::to_string(d_parameters.most_samples) + " at once");
    }
    d_changes.clear();
    const auto* from = static_cast<const unsigned char*>(samples);
    if (!d_search || (!d_holds && count <= watched_at_a_time)) {
        const auto got = follow(from, count, end);
        d_blocks = got.blocks;
        d_symbols = got.symbols;
        return;
    }
    d_held_blocks.clear();
    d_held_symbols.clear();
    bool ended = false;
    while (!d_holds && count > 0) { // where they are, because copies take time
        const size_t now = std::min(count, watched_at_a_time);
        ended = end && now == count;
        keep(follow(from, now, ended));
        from += now * d_sample_bytes;
        count -= now;
    }
    if (count) {
        d_held.insert(d_held.end(), from, from + count * d_sample_bytes);
    }
    while (!ended && (d_holds ? has_pieces(end) : !d_held.empty())) {
        ended = d_holds ? search_held(end) : follow_held(end);
    }
    d_blocks = d_held_blocks;
    d_symbols = d_held_symbols;
}

//! Whether there are pieces to search among what is held.
bool symbol_stream::has_pieces(bool end) const
{
    const size_t piece = d_search->piece_samples() * d_sample_bytes;
    return end || d_held.size() >= (d_searched + pieces_at_a_time) * piece;
}

//! Looks for the carrier in the next pieces of what is held, and gives what need not be
//! held any more. Whether the stream has ended.
bool symbol_stream::search_held(bool end)
{
    const size_t piece = d_search->piece_samples() * d_sample_bytes;
    if (d_ahead == 0) {
        d_ahead = std::min<size_t>(pieces_at_once, d_held.size() / piece - d_searched);
        if (!end) {
            d_ahead -= d_ahead % pieces_at_a_time;
        }
        d_search->add(d_held.data() + d_searched * piece, static_cast<int>(d_ahead));
    }
    const size_t more = std::min<size_t>(pieces_at_a_time, d_ahead);
    d_searched += more;
    d_ahead -= more;
    // A strong signal shows itself in a few pieces.
    std::optional<double> offset;
    for (int last = fewest_pieces; !offset && last <= carrier_search::pieces; last *= 2) {
        offset = d_search->find(last, static_cast<int>(d_ahead));
    }
    const bool all = end && d_held.size() < (d_searched + 1) * piece;
    d_found = offset ? d_found + 1 : 0;
    if (d_found < looks && !all) {
        offset.reset();
    }
    if (!offset && !all && d_ahead > 0) {
        return false; // pieces are given together
    }
    // Those which no search will look at any more keep the frequency of noise.
    const size_t kept =
        carrier_search::pieces + (looks - (offset ? 1 : 2)) * size_t{ pieces_at_a_time };
    const size_t old = d_searched > kept ? d_searched - kept : 0;
    if (!offset) {
        run_held(all ? d_held.size() : old * piece, true, all);
        d_searched = all ? 0 : d_searched - old;
        return all;
    }
    run_held(old * piece, true, false);
    d_holds = false;
    remove(*offset, least_change());
    run_held(all ? d_held.size() : (d_searched - old) * piece, true, all);
    d_searched = d_ahead = 0;
    d_found = 0;
    d_search->clear();
    return all;
}

//! Gives samples that have come behind those in which the carrier was found.
bool symbol_stream::follow_held(bool end)
{
    const size_t bytes = std::min(d_held.size(), watched_at_a_time * d_sample_bytes);
    const bool all = end && bytes == d_held.size();
    run_held(bytes, false, all);
    return all;
}

//! Samples of a signal whose carrier is known, or is not looked for.
symbol_stream::result
symbol_stream::follow(const unsigned char* samples, size_t count, bool end)
{
    if (d_search) {
        watch(samples, count);
    }
    const auto got = run(samples, count, end);
    if (d_search) {
        watch_line(got.blocks);
    }
    return got;
}

//! Appends what a run gave, which the next run overwrites.
void symbol_stream::keep(const result& got)
{
    d_held_blocks.insert(d_held_blocks.end(), got.blocks.begin(), got.blocks.end());
    d_held_symbols.insert(d_held_symbols.end(), got.symbols.begin(), got.symbols.end());
}

//! The first bytes of what is held. If they were searched, they need not be watched.
void symbol_stream::run_held(size_t bytes, bool searched, bool end)
{
    const size_t most = d_parameters.most_samples * d_sample_bytes;
    size_t at = 0;
    do {
        const size_t now = std::min(bytes - at, most);
        const auto* const from = d_held.data() + at;
        at += now;
        const size_t count = now / d_sample_bytes;
        const bool last = end && at == bytes;
        keep(searched ? run(from, count, last) : follow(from, count, last));
    } while (at < bytes);
    d_held.erase(d_held.begin(), d_held.begin() + static_cast<int64_t>(bytes));
}

//! Offsets that differ by less stay, in cycles a sample.
double symbol_stream::least_change() const
{
    return d_parameters.roll_off / (8 * d_parameters.samples_per_symbol);
}

//! Removes a carrier offset from the next sample on if it differs by more than `least`
//! from what is removed; in cycles a sample.
void symbol_stream::remove(double offset, double least)
{
    if (std::abs(offset - d_frequency) > least) {
        d_frequency = offset;
        d_kernel->set_frequency(d_frequency);
        d_changes.push_back({ d_computed, d_frequency });
    }
}

//! A GPU is so fast that the host can look at less.
void symbol_stream::watch(const unsigned char* samples, size_t count)
{
    const size_t size = d_search->piece_samples() * d_sample_bytes;
    for (size_t at = 0; at < count;) {
        if (d_skip > 0) {
            const size_t now = std::min(d_skip, count - at);
            d_skip -= now;
            at += now;
            continue;
        }
        const size_t now = std::min(size - d_piece.size(), (count - at) * d_sample_bytes);
        const auto* const from = samples + at * d_sample_bytes;
        d_piece.insert(d_piece.end(), from, from + now);
        at += now / d_sample_bytes;
        if (d_piece.size() < size) {
            continue;
        }
        d_search->add(d_piece.data(), 1);
        d_piece.clear();
        d_skip = d_pieces_between * d_search->piece_samples();
        ++d_watched;
        // Few pieces tell a carrier to half of three times as much at the lowest Es/N0.
        const bool many = d_watched % carrier_search::pieces == 0;
        if (many || d_watched % fewest_pieces == 0) {
            const int last = many ? carrier_search::pieces : fewest_pieces;
            if (const auto offset = d_search->find(last, 0)) {
                remove(*offset, (many ? 1 : 3) * least_change());
            }
        }
    }
}

//! Holds samples back from the next feed on, if the signal has gone.
void symbol_stream::watch_line(view<const symbol_block> blocks)
{
    const auto strong = static_cast<float>(line_of_signal());
    for (const auto& block : blocks) {
        d_weak = block.line < strong ? d_weak + 1 : 0;
    }
    if (d_weak > std::max(weak_blocks, weak_windows * d_kernel->window_blocks())) {
        d_holds = true;
        d_weak = 0;
        d_watched = 0;
        d_piece.clear();
        d_skip = 0;
        d_search->clear();
    }
}

symbol_stream::result
symbol_stream::run(const unsigned char* samples, size_t count, bool end)
{
    const bool on_device = d_samples.size() > 0;
    const size_t given = d_kernel->blocks(count, end);
    const size_t room = given * d_kernel->most_symbols();
    const size_t head = given * sizeof(symbol_block);
    const size_t bytes = head + room * sizeof(complex64);
    if (bytes > d_results.size()) {
        // Half as much again, because a later call may give a block more.
        d_results = array<unsigned char>(*d_queue, bytes + bytes / 2);
        if (on_device) {
            d_memory = d_allocator(d_results.size());
        }
    }
    auto* const results = d_results.data();
    view<const unsigned char> from(samples, count * d_sample_bytes);
    if (on_device && count) {
        d_queue->copy_in(d_samples.data(), from.data(), from.size());
        from = { d_samples.data(), from.size() };
    }
    d_kernel->run(from,
                  end,
                  { reinterpret_cast<complex64*>(results + head), room },
                  { reinterpret_cast<symbol_block*>(results), given },
                  *d_queue);
    d_computed = end ? 0 : d_computed + static_cast<int64_t>(count);
    auto* const host = on_device ? static_cast<unsigned char*>(d_memory.get()) : results;
    if (on_device && bytes) {
        d_queue->copy_out(host, results, bytes);
    }
    d_queue->synchronize();
    result found;
    found.blocks = { reinterpret_cast<const symbol_block*>(host), given };
    size_t symbols = 0;
    for (const auto& block : found.blocks) {
        symbols += static_cast<size_t>(block.symbols);
    }
    found.symbols = { reinterpret_cast<const complex64*>(host + head), symbols };
    return found;
}

} // namespace gr::cudaphy::kernels
