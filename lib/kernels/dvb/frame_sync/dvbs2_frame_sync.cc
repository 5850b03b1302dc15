/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/frame_sync/frame_carrier.h"
#include "kernels/dvb/frame_sync/vl_snr_straightener.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <gnuradio/cudaphy/kernels/dvbs2_frame_sync.h>
#include <gnuradio/cudaphy/kernels/page_locked.h>
#include <new>
#include <stdexcept>
#include <string>

namespace gr::cudaphy::kernels {
namespace {

constexpr size_t most_waiting = 40; //!< frames, until the frequency must do as it is

//! That a GPU reads by itself.
std::shared_ptr<void> locked_memory(size_t bytes)
{
    if (void* const memory = page_locked_memory(bytes)) {
        return { memory, release_page_locked };
    }
    throw std::bad_alloc();
}

bool looks_for_vl_snr(const dvbs2_frame_sync::parameters& p)
{
    return p.vl_snr || std::any_of(p.pls.begin(), p.pls.end(), [](int pls) {
               return pls >= first_vl_snr;
           });
}

class frame_sync_impl : public dvbs2_frame_sync
{
public:
    frame_sync_impl(const parameters& p, const resolved_backend& on)
        : d_queue(queue::make(on.where, on.device)),
          d_corrector(carrier_corrector::make(
              { p.gold_code, most_frame_symbols }, on.where, on.device)),
          d_symbols(on.where == backend::cuda ? locked_memory
                                              : symbol_buffer::ordinary_memory,
                    [this] { d_corrector->wait(); }),
          d_headers(p.most_frequency, looks_for_vl_snr(p)), d_carrier(p.gold_code),
          d_gold_code(p.gold_code)
    {
        d_passes.fill(p.pls.empty());
        for (const int pls : p.pls) {
            if (pls < 0 || !dvb_mode::of(pls)) {
                throw std::invalid_argument("dvbs2_frame_sync: pls has " +
                                            std::to_string(pls) +
                                            ", which is no PLS code of a frame");
            }
            d_passes[static_cast<size_t>(pls)] = true;
        }
    }

    ~frame_sync_impl() override
    {
        try {
            d_corrector->wait(); // before d_symbols goes
        } catch (const cuda_error&) {
        }
    }

    void take(const std::complex<float>* symbols, size_t count) override
    {
        // A bounded number at once, so that memory is bounded without a signal.
        constexpr size_t most = 1 << 17;
        while (count > 0) {
            const size_t part = std::min(count, most);
            d_symbols.append(symbols, part, d_removed);
            update(false);
            symbols += part;
            count -= part;
        }
    }

    void removed(double offset, double turns) override
    {
        d_removed.change(offset, turns);
        if (!d_headers.is_locked()) { // what comes may be another signal
            d_headers.give_up();
            process(false);
            if (d_chain.empty()) {
                d_removed.begin_anew();
            }
        }
    }

    void gap() override
    {
        update(true);
        d_counts.cut += d_headers.is_locked() && d_symbols.end() != d_headers.next();
        begin_anew();
    }

    void finish() override
    {
        update(true);
        begin_anew();
    }

    bool next(dvbs2_frame& frame) override
    {
        if (!next_without_symbols(frame)) {
            return false;
        }
        const auto count = static_cast<size_t>(frame.mode.symbols());
        frame.symbols.resize(count);
        if (d_queue->where() != backend::cuda) {
            symbols(frame.symbols, *d_queue);
            return true;
        }
        if (d_on_device.size() < count) {
            d_on_device = array<std::complex<float>>(*d_queue, count);
        }
        symbols(d_on_device.all().part(0, count), *d_queue);
        d_queue->copy_out(
            frame.symbols.data(), d_on_device.data(), count * sizeof(frame.symbols[0]));
        d_queue->synchronize();
        return true;
    }

    bool next_without_symbols(dvbs2_frame& frame) override
    {
        if (d_given == d_frames.size()) {
            return false;
        }
        frame = d_frames[d_given].frame;
        d_symbols_given += static_cast<size_t>(frame.mode.symbols());
        ++d_given;
        return true;
    }

    void symbols(view<std::complex<float>> out, queue& work_queue) override
    {
        if (out.size() > d_symbols_given) {
            throw std::invalid_argument(
                "dvbs2_frame_sync: " + std::to_string(out.size()) +
                " symbols are asked for, and the frames that were given have " +
                std::to_string(d_symbols_given));
        }
        if (work_queue.where() != d_queue->where() ||
            work_queue.device() != d_queue->device()) {
            throw std::invalid_argument("dvbs2_frame_sync: the queue is of backend " +
                                        name_of(work_queue.where()) + ", device " +
                                        std::to_string(work_queue.device()) +
                                        ", must be of " + name_of(d_queue->where()) +
                                        ", device " + std::to_string(d_queue->device()));
        }
        if (out.size() == 0) {
            return;
        }
        const uint64_t from = d_frames.front().frame.first;
        d_segments.clear();
        for (size_t done = 0; done < out.size();) {
            auto& ready = d_frames.front();
            done += ready.straight.empty()
                        ? ready.take(out.size() - done, from, done, d_segments)
                        : ready.copy(out.part(done, out.size() - done), work_queue);
            if (ready.is_written()) {
                d_frames.pop_front();
                --d_given;
            }
        }
        d_symbols_given -= out.size();
        d_corrector->run(d_symbols.at(from),
                         out.data(),
                         d_segments.data(),
                         d_segments.size(),
                         work_queue);
        drop_to(d_symbols.first());
    }

    uint64_t oldest() const override
    {
        return d_given == d_frames.size() ? d_symbols.first()
                                          : d_frames[d_given].frame.first;
    }

    counts so_far() const override
    {
        auto all = d_counts;
        all.lost_locks = d_headers.lost_locks();
        return all;
    }
    bool is_locked() const override { return d_headers.is_locked(); }
    double frequency() const override { return d_frequency; }
    double es_n0() const override { return d_es_n0; }

private:
    //! A frame whose symbols were not all written yet.
    struct ready_frame {
        dvbs2_frame frame;
        std::vector<carrier_segment> segments; //!< from the frame's first symbol
        //! Symbols that the host has corrected already. There are no segments then.
        std::vector<std::complex<float>> straight;
        size_t written = 0; //!< of the segments, or of the straight symbols

        bool is_written() const
        {
            return written == (straight.empty() ? segments.size() : straight.size());
        }

        //! Copies up to out.size() straight symbols; how many.
        size_t copy(view<std::complex<float>> out, queue& work_queue)
        {
            const size_t count = std::min(out.size(), straight.size() - written);
            work_queue.copy_in(
                out.data(), straight.data() + written, count * sizeof(straight[0]));
            written += count;
            return count;
        }

        //! Moves up to `most` symbols to a list for symbols from `from` on and outputs
        //! from `out` on; how many.
        size_t
        take(size_t most, uint64_t from, size_t out, std::vector<carrier_segment>& to)
        {
            size_t taken = 0;
            while (taken < most && !is_written()) {
                auto& rest = segments[written];
                auto one = rest;
                one.count =
                    static_cast<uint32_t>(std::min<size_t>(rest.count, most - taken));
                one.in += frame.first - from;
                one.out = out + taken;
                to.push_back(one);
                taken += one.count;
                rest.in += one.count;
                rest.place += one.count;
                rest.count -= one.count;
                rest.phase = std::remainder(rest.phase + rest.frequency * one.count, 1.0);
                written += rest.count == 0;
            }
            return taken;
        }
    };

    void update(bool ended)
    {
        d_headers.update(d_symbols, ended, d_chain);
        process(ended);
        const uint64_t needed = d_headers.needed(d_symbols);
        drop_to(d_chain.empty() ? needed : std::min(needed, d_chain.front().at));
    }

    //! Symbols of frames that were not written stay.
    void drop_to(uint64_t symbol)
    {
        d_symbols.drop_to(
            symbol,
            d_frames.empty() ? symbol : std::min(symbol, d_frames.front().frame.first));
    }

    void begin_anew()
    {
        d_chain.clear();
        d_learnt = 0;
        d_carrier.restart();
        d_headers.restart(d_symbols.end());
        drop_to(d_symbols.end());
        d_removed.begin_anew();
    }

    //! The header behind frame i; null if none is known.
    const frame_header* behind(size_t i) const
    {
        return !d_chain[i].is_last && i + 1 < d_chain.size() ? &d_chain[i + 1] : nullptr;
    }
    //! Whether nothing more can be known of frame i, and all of its symbols are there.
    bool is_whole(size_t i) const
    {
        const auto& one = d_chain[i];
        return behind(i) || (one.is_last && one.at + static_cast<uint64_t>(one.length) <=
                                                d_symbols.end());
    }

    void process(bool ended)
    {
        while (!d_chain.empty()) {
            if (d_chain.front().is_first) {
                d_carrier.restart();
                d_learnt = 0;
                d_chain.front().is_first = false;
            }
            learn(ended);
            if (!d_carrier.is_certain() || !is_whole(0)) {
                break;
            }
            put_out(d_chain.front(), behind(0));
            pop();
            d_learnt = d_carrier.is_certain() ? d_learnt : 0;
        }
        if (!d_chain.empty() && d_chain.front().is_last && !is_whole(0)) {
            pop(); // the stream ended before the frame
        }
    }

    void pop()
    {
        d_chain.pop_front();
        d_learnt -= d_learnt > 0;
    }

    //! Learns the frequency from the frames of one lock.
    void learn(bool ended)
    {
        while (!d_carrier.is_certain() && d_learnt < d_chain.size()) {
            if (d_chain[d_learnt].is_first) {
                d_carrier.settle(); // another signal begins
                break;
            } else if (is_whole(d_learnt)) {
                d_carrier.learn(d_symbols, d_chain[d_learnt], behind(d_learnt));
                if (++d_learnt >= most_waiting) {
                    d_carrier.settle();
                }
            } else {
                break;
            }
        }
        const bool all = d_learnt > 0 && d_learnt == d_chain.size();
        if (ended || (all && d_headers.is_lost())) {
            d_carrier.settle();
        }
    }

    void put_out(const frame_header& header, const frame_header* next)
    {
        const auto found = d_carrier.follow(d_symbols, header, next);
        d_headers.set_frequency(d_carrier.frequency());
        d_frequency = found.frequency + d_removed.base();
        d_es_n0 = 1 / found.noise_variance;
        const auto mode = dvb_mode::of(header.pls).value();
        if (mode.dummy) {
            ++d_counts.dummy_frames;
            return;
        }
        if (!d_passes[static_cast<size_t>(header.pls)]) {
            ++d_counts.filtered;
            return;
        }
        ++d_counts.frames;
        ready_frame ready;
        ready.frame.mode = mode;
        ready.frame.first = header.at;
        ready.frame.frequency = d_frequency;
        ready.frame.noise_variance = found.noise_variance / mode.repeats;
        if (mode.bits_a_symbol == 1) { // other VL-SNR frames are scrambled as usual
            if (!d_straightener) {
                d_straightener = std::make_unique<vl_snr_straightener>(d_gold_code);
            }
            ready.straight =
                d_straightener->run(mode, d_symbols.at(header.at), found.segments);
        } else {
            ready.segments = found.segments;
        }
        d_frames.push_back(std::move(ready));
    }

    const std::unique_ptr<queue> d_queue; //!< of next()
    array<std::complex<float>> d_on_device;
    std::unique_ptr<carrier_corrector> d_corrector;
    removed_carrier d_removed;
    symbol_buffer d_symbols;
    header_tracker d_headers;
    frame_carrier d_carrier;
    const int d_gold_code;
    std::unique_ptr<vl_snr_straightener> d_straightener; //!< once there is BPSK
    std::array<bool, mode_numbers> d_passes;
    std::deque<frame_header> d_chain; //!< of frames that were not put out yet
    size_t d_learnt = 0;              //!< of these, those that the frequency is known by
    std::deque<ready_frame> d_frames;
    size_t d_given = 0;         //!< of these, by next_without_symbols()
    size_t d_symbols_given = 0; //!< of these frames, not written yet
    std::vector<carrier_segment> d_segments;
    counts d_counts;
    double d_frequency = 0, d_es_n0 = 0;
};

} // namespace

std::unique_ptr<dvbs2_frame_sync> dvbs2_frame_sync::make(const parameters& p)
{
    if (!(p.most_frequency >= 0 && p.most_frequency <= 0.25)) {
        throw std::invalid_argument("dvbs2_frame_sync: most_frequency is " +
                                    std::to_string(p.most_frequency) +
                                    ", allowed are 0 to 0.25 cycles a symbol");
    }
    return std::make_unique<frame_sync_impl>(p, resolve(p.where, p.device));
}

} // namespace gr::cudaphy::kernels
