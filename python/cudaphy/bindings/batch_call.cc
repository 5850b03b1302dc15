/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "batch_call.h"
#include "copy_ahead.h"
#include "interruptible.h"
#include <algorithm>

namespace gr::cudaphy::bindings {
namespace {

constexpr size_t megabyte = 1 << 20;
constexpr size_t worth_pieces = 16 * megabyte; // of a call's arrays
constexpr size_t piece_bytes = 8 * megabyte;   // of a piece's inputs or outputs
constexpr size_t part_of_first = 4;            // how much smaller the first and last are
// An array below this is copied whole, so that all that goes by pieces is page-locked.
constexpr size_t least_array = megabyte;

//! A number of items that fills vectors and warps, at least 1.
size_t in_whole_warps(size_t items)
{
    constexpr size_t warp = 32;
    return items < warp ? std::max<size_t>(items, 1) : items / warp * warp;
}

//! How a batch is cut. Pieces grow at first and shrink at the end, because nothing else
//! happens while the first is copied to the GPU and while the last comes back.
std::vector<copy_ahead::piece> cut(size_t batch, size_t largest)
{
    const size_t smallest = in_whole_warps(largest / part_of_first);
    std::vector<copy_ahead::piece> pieces;
    for (size_t first = 0, now = 0; first < batch; first += now) {
        const size_t left = batch - first;
        const size_t grown = pieces.size() < 8 ? smallest << pieces.size() : largest;
        const size_t shrunk = std::max(smallest, in_whole_warps(left / 2));
        now = std::min({ largest, grown, shrunk, left });
        pieces.push_back({ first, now });
    }
    return pieces;
}

} // namespace

batch_call::batch_call(const placement& at, py::ssize_t batch)
    : d_at(at), d_batch(batch), d_copies(!at.library() && at->where() == backend::cuda)
{
}

void* batch_call::add(void* host, size_t bytes, std::vector<copied>& to)
{
    to.push_back({ static_cast<char*>(host),
                   d_batch ? bytes / d_batch : 0,
                   bytes ? device_memory(d_at->device(), bytes) : nullptr });
    return to.back().device.get();
}

bool batch_call::goes_by_piece(const copied& one) const
{
    return one.item_bytes * d_batch >= least_array;
}

size_t batch_call::bytes_of(const std::vector<copied>& all, bool by_piece) const
{
    size_t bytes = 0;
    for (const auto& one : all) {
        bytes += !by_piece || goes_by_piece(one) ? one.item_bytes : 0;
    }
    return bytes;
}

void batch_call::run(double operations,
                     size_t most,
                     const std::function<void(size_t, size_t)>& work)
{
    if (d_at.library()) {
        const py::gil_scoped_release others_may_run;
        run_whole(most, work);
        return;
    }
    run_interruptibly(operations, [&] {
        const size_t bytes =
            (bytes_of(d_inputs, false) + bytes_of(d_outputs, false)) * d_batch;
        try {
            if (bytes >= worth_pieces && !d_whole) {
                run_in_pieces(most, work);
            } else {
                run_whole(most, work);
            }
            d_at->synchronize();
        } catch (const interrupted&) {
            d_at->synchronize(); // before its memory returns to a pool
            throw;
        }
    });
}

void batch_call::run_whole(size_t most, const std::function<void(size_t, size_t)>& work)
{
    for (const auto& one : d_inputs) {
        if (one.device) {
            d_at->copy_in(one.device.get(), one.host, one.item_bytes * d_batch);
        }
    }
    size_t first = 0;
    do { // once for an empty batch, whose parameters are checked
        const size_t count = std::min(most, d_batch - first);
        interruption::check_current();
        work(first, count);
        first += count;
        if (first < d_batch) {
            d_at.finish();
        }
    } while (first < d_batch);
    for (const auto& one : d_outputs) {
        if (one.device) {
            d_at->copy_out(one.host, one.device.get(), one.item_bytes * d_batch);
        }
    }
}

void batch_call::run_in_pieces(size_t most,
                               const std::function<void(size_t, size_t)>& work)
{
    const size_t an_item =
        std::max({ bytes_of(d_inputs, true), bytes_of(d_outputs, true), size_t{ 1 } });
    const auto pieces =
        cut(d_batch, std::min(most, in_whole_warps(piece_bytes / an_item)));
    std::vector<copied> cut_inputs;
    std::vector<copy_ahead::input> to_copy;
    for (const auto& one : d_inputs) {
        if (goes_by_piece(one)) {
            cut_inputs.push_back(one);
            to_copy.push_back({ one.host, one.item_bytes });
        } else if (one.device) {
            d_at->copy_in(one.device.get(), one.host, one.item_bytes * d_batch);
        }
    }
    copy_ahead ahead(std::move(to_copy), pieces, d_at->device());
    own_queue out(d_at->device());
    for (size_t piece = 0; piece < pieces.size(); ++piece) {
        interruption::check_current();
        ahead.wait(piece);
        const auto [first, now] = pieces[piece];
        auto& way = ahead.way(piece);
        for (size_t i = 0; i < cut_inputs.size(); ++i) {
            const auto& one = cut_inputs[i];
            way.copy_in(static_cast<char*>(one.device.get()) + first * one.item_bytes,
                        ahead.source(piece, i),
                        now * one.item_bytes);
        }
        run_after(*d_at, way);
        work(first, now);
        run_after(*out, *d_at);
        run_after(way, *d_at); // so that the GPU is not many pieces behind
        ahead.submitted(piece);
        for (const auto& one : d_outputs) {
            if (goes_by_piece(one)) {
                const size_t at = first * one.item_bytes;
                out->copy_out(one.host + at,
                              static_cast<char*>(one.device.get()) + at,
                              now * one.item_bytes);
            }
        }
    }
    for (const auto& one : d_outputs) {
        if (!goes_by_piece(one) && one.device) {
            d_at->copy_out(one.host, one.device.get(), one.item_bytes * d_batch);
        }
    }
    out->synchronize();
}

} // namespace gr::cudaphy::bindings
