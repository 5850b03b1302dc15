/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/memory/device_memory.cuh"
#include "kernels/symbol_sync/makers.h"
#include "kernels/symbol_sync/steps.cuh"
#include "kernels/symbol_sync/steps.h"
#include <algorithm>
#include <utility>

namespace gr::cudaphy::kernels {
namespace {

std::vector<float2> pairs_of(const std::vector<complex64>& values)
{
    std::vector<float2> pairs;
    for (const auto& value : values) {
        pairs.push_back({ value.real(), value.imag() });
    }
    return pairs;
}

std::vector<float2> taps_of(const symbol_sync_plan& plan)
{
    std::vector<float2> taps;
    for (int k = 0; k < plan.edge_taps; ++k) {
        taps.push_back({ plan.edge_real[k], plan.edge_imag[k] });
    }
    return taps;
}

//! Tables and state on the current device.
struct device_state {
    device_state(const symbol_sync_plan& plan, size_t capacity, size_t ring)
        : edge(taps_of(plan)), rotations(pairs_of(plan.rotations)),
          turns(pairs_of(plan.turns)), filters(plan.filters), lines(ring), timings(ring),
          phases(ring), segments(ring),
          symbols(ring * static_cast<size_t>(plan.most_symbols)), places(ring),
          samples(capacity), others(capacity)
    {
    }

    device_memory<float2> edge, rotations, turns;
    device_memory<float> filters;
    device_memory<double2> lines;
    device_memory<block_timing> timings;
    device_memory<uint64_t> phases;
    device_memory<cuda_segment> segments;
    device_memory<float2> symbols;
    device_memory<int64_t> places;
    device_memory<float2> samples, others;
};

class symbol_sync_cuda : public symbol_sync_steps
{
public:
    symbol_sync_cuda(const symbol_sync_parameters& p, int device)
        : symbol_sync_steps(p, backend::cuda), d_device(device)
    {
        const cuda_device_scope scope(d_device);
        d_state = std::make_unique<device_state>(plan(), capacity(), ring());
        d_samples = d_state->samples.data();
        d_others = d_state->others.data();
        const auto& from = plan();
        d_call.stride = from.stride;
        d_call.points = from.points;
        d_call.block_samples = from.block_samples;
        d_call.edge_half = from.edge_half;
        d_call.edge_taps = from.edge_taps;
        d_call.half_window = from.half_window;
        d_call.candidates = from.candidates;
        d_call.filter_half = from.filter_half;
        d_call.filter_taps = from.filter_taps;
        d_call.phase_bits = from.phase_bits;
        d_call.most_symbols = from.most_symbols;
        d_call.gain_blocks = from.gain_blocks;
        d_call.advance = from.advance;
        d_call.centre = from.centre;
        d_call.samples_per_symbol = from.samples_per_symbol;
        d_call.candidate_step = from.candidate_step;
        d_call.most_clock_error = from.most_clock_error;
        d_call.largest_sample = from.largest_sample;
        d_call.edge = d_state->edge.data();
        d_call.rotations = d_state->rotations.data();
        d_call.turns = d_state->turns.data();
        d_call.filters = d_state->filters.data();
        d_call.ring = static_cast<int64_t>(ring());
        d_call.lines = d_state->lines.data();
        d_call.timings = d_state->timings.data();
        d_call.phases = d_state->phases.data();
        d_call.segments = d_state->segments.data();
        d_call.symbols = d_state->symbols.data();
        d_call.places = d_state->places.data();
    }
    ~symbol_sync_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_state.reset();
    }

    void run(view<const unsigned char> samples,
             bool end,
             view<complex64> symbols,
             view<symbol_block> blocks,
             queue& queue) override
    {
        const cuda_device_scope scope(d_device);
        symbol_sync_steps::run(samples, end, symbols, blocks, queue);
    }

private:
    void clear(queue& queue) override
    {
        zero(d_samples, capacity(), queue);
        zero(d_others, capacity(), queue);
    }
    void move(size_t from, size_t count, queue& queue) override
    {
        cuda_check(cudaMemcpyAsync(d_others,
                                   d_samples + from,
                                   count * sizeof(float2),
                                   cudaMemcpyDeviceToDevice,
                                   stream_of(queue)),
                   "copy of symbol_sync's samples");
        std::swap(d_samples, d_others);
    }
    void append(view<const unsigned char> samples,
                size_t at,
                size_t count,
                const carrier_turns& carrier,
                queue& queue) override
    {
        const auto format = plan().given.format;
        if (format == sample_format::complex64) {
            split<float2>(samples, 1, at, count, carrier, queue);
        } else if (format == sample_format::sc16) {
            split<short2>(samples, 1 / 32768.0f, at, count, carrier, queue);
        } else {
            split<char2>(samples, 1 / 128.0f, at, count, carrier, queue);
        }
    }
    template <typename Pair>
    void split(view<const unsigned char> samples,
               float scale,
               size_t at,
               size_t count,
               const carrier_turns& carrier,
               queue& queue)
    {
        const auto grid =
            static_cast<unsigned>(std::min<size_t>((count + 255) / 256, 4096));
        split_samples<<<grid, 256, 0, stream_of(queue)>>>(
            reinterpret_cast<const Pair*>(samples.data()),
            scale,
            plan().largest_sample,
            carrier,
            d_samples + at,
            count);
        cuda_check_launch("symbol_sync split_samples");
    }
    void append_zeros(size_t at, size_t count, queue& queue) override
    {
        zero(d_samples + at, count, queue);
    }
    static void zero(float2* at, size_t count, queue& queue)
    {
        cuda_check(cudaMemsetAsync(at, 0, count * sizeof(float2), stream_of(queue)),
                   "cudaMemsetAsync");
    }

    cuda_end end_of(int64_t segment) const
    {
        const auto at = span_of(segment);
        return at.between ? cuda_end{ -1, 0, 0, 0, 0 }
                          : cuda_end{ segment, at.begin, at.end, at.reference, at.at };
    }
    //! What kernels of this call take.
    const cuda_symbol_sync& call()
    {
        d_call.samples = d_samples;
        d_call.origin = origin();
        d_call.window = window_size();
        d_call.last_window = lines_done() - window_size();
        d_call.short_block = lines_done() - 1;
        d_call.share = share_of(d_call.short_block);
        d_call.front = end_of(0);
        d_call.back = end_of(lines_done());
        return d_call;
    }
    static unsigned grid(range all) { return static_cast<unsigned>(all.size()); }

    void find_lines(range blocks, queue& queue) override
    {
        kernels::find_lines<<<grid(blocks), symbol_sync_threads, 0, stream_of(queue)>>>(
            call(), blocks.first);
        cuda_check_launch("symbol_sync find_lines");
    }
    void find_timings(range blocks, queue& queue) override
    {
        kernels::find_timings<<<grid(blocks), 32, 0, stream_of(queue)>>>(call(),
                                                                         blocks.first);
        cuda_check_launch("symbol_sync find_timings");
        count_symbols<<<1, symbol_sync_scan_threads, 0, stream_of(queue)>>>(
            call(), blocks.first, blocks.last);
        cuda_check_launch("symbol_sync count_symbols");
    }
    void filter(range segments, queue& queue) override
    {
        filter_segments<<<grid(segments), symbol_sync_threads, 0, stream_of(queue)>>>(
            call(), segments.first);
        cuda_check_launch("symbol_sync filter_segments");
    }
    void give(range segments,
              int64_t known,
              view<complex64> symbols,
              view<symbol_block> blocks,
              queue& queue) override
    {
        describe_segments<<<1, symbol_sync_scan_threads, 0, stream_of(queue)>>>(
            call(), segments.first, segments.last, known, blocks.data());
        cuda_check_launch("symbol_sync describe_segments");
        give_symbols<<<grid(segments), symbol_sync_threads, 0, stream_of(queue)>>>(
            call(),
            segments.first,
            blocks.data(),
            reinterpret_cast<float2*>(symbols.data()));
        cuda_check_launch("symbol_sync give_symbols");
    }

    const int d_device;
    std::unique_ptr<device_state> d_state;
    cuda_symbol_sync d_call{};
    float2 *d_samples = nullptr, *d_others = nullptr;
};

} // namespace

std::unique_ptr<symbol_sync> make_symbol_sync_cuda(const symbol_sync_parameters& p,
                                                   int device)
{
    return std::make_unique<symbol_sync_cuda>(p, device);
}

} // namespace gr::cudaphy::kernels
