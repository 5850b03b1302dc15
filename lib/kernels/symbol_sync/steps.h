/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symbol_sync/block_timing.h"
#include "kernels/symbol_sync/plan.h"

namespace gr::cudaphy::kernels {

/*!
 * \brief What all backends share: which blocks a call computes, and where the samples
 * lie. A backend computes the steps.
 *
 * The backend keeps `capacity` samples. The first of them is sample `d_origin` of the
 * stream, which may be negative: samples before the stream are zeros. What a backend
 * keeps of block b or of segment s lies at index b or s modulo ring().
 */
class symbol_sync_steps : public symbol_sync
{
public:
    size_t blocks(size_t samples, bool end) const override;
    size_t most_symbols() const override { return d_plan.most_symbols; }
    size_t window_blocks() const override { return d_plan.window; }
    double line_of_noise() const override;
    void run(view<const unsigned char> samples,
             bool end,
             view<complex64> symbols,
             view<symbol_block> blocks,
             queue& queue) override;
    void set_frequency(double cycles_per_sample) override;
    void restart() override;

protected:
    symbol_sync_steps(const symbol_sync_parameters& p, backend where);

    //! From, to: blocks or segments.
    struct range {
        int64_t first, last;
        size_t size() const { return static_cast<size_t>(last - first); }
        bool empty() const { return first == last; }
    };

    //! A segment's place, in samples. Its symbols are counted from block `at`, whose
    //! centre is `reference`, if it is no segment between two blocks.
    struct span {
        double begin, end, reference;
        int64_t at;
        bool between;
    };
    span span_of(int64_t segment) const;

    const symbol_sync_plan& plan() const { return d_plan; }
    size_t capacity() const { return d_capacity; }
    size_t ring() const { return d_ring; }
    int64_t origin() const { return d_origin; }
    //! Blocks of which lines and timings are computed, since the stream began.
    int64_t lines_done() const { return d_done.lines; }
    //! First block of the window of a block.
    int64_t window_of(int64_t block) const;
    int window_size() const;
    //! 1, or less for a last block that the stream does not fill.
    double share_of(int64_t block) const;

    // The steps, in order. `at` is a place in the backend's samples.
    virtual void clear(queue& queue) = 0;
    virtual void move(size_t from, size_t count, queue& queue) = 0; //!< to the front
    virtual void append(view<const unsigned char> samples,
                        size_t at,
                        size_t count,
                        const carrier_turns& carrier,
                        queue& queue) = 0;
    virtual void append_zeros(size_t at, size_t count, queue& queue) = 0;
    virtual void find_lines(range blocks, queue& queue) = 0;
    virtual void find_timings(range blocks, queue& queue) = 0;
    virtual void filter(range segments, queue& queue) = 0;
    //! \param known  segments that are filtered
    virtual void give(range segments,
                      int64_t known,
                      view<complex64> symbols,
                      view<symbol_block> blocks,
                      queue& queue) = 0;

private:
    struct progress {
        int64_t samples = 0;
        bool ended = false;
        int64_t lines = 0, timings = 0, filtered = 0, given = 0;
    };
    carrier_turns carrier_now() const;
    void begin_stream();
    progress after(size_t samples, bool end) const;
    int64_t first_needed() const;

    symbol_sync_plan d_plan;
    const backend d_where;
    int d_margin; //!< samples that a filter reaches beyond a point or an instant
    size_t d_capacity, d_ring;
    int64_t d_origin = 0;
    progress d_done;
    carrier_turns d_carrier{ 0, 0 };
    int64_t d_carrier_since = 0; //!< sample of the stream
    bool d_fresh = false; //!< the backend's samples are those of a stream's beginning
};

} // namespace gr::cudaphy::kernels
