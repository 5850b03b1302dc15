/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/frame_sync/frame_carrier.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <gnuradio/cudaphy/kernels/dvbs2_frame_sync.h>
#include <stdexcept>
#include <string>

namespace gr::cudaphy::kernels {
namespace {

constexpr size_t most_waiting = 40; //!< frames, until the frequency must do as it is
constexpr size_t most_length = 1 << 16;

class frame_sync_impl : public dvbs2_frame_sync
{
public:
    explicit frame_sync_impl(const parameters& p)
        : d_headers(p.most_frequency), d_carrier(p.gold_code)
    {
        const carrier_corrector::parameters how{ p.gold_code, most_length };
        d_corrector = p.reference ? carrier_corrector::make_reference(how)
                                  : carrier_corrector::make_cpu(how);
        d_passes.fill(p.pls.empty());
        for (const int pls : p.pls) {
            if (pls < 0 || pls > 255 || !dvb_mode::of(pls)) {
                throw std::invalid_argument("dvbs2_frame_sync: pls has " +
                                            std::to_string(pls) +
                                            ", which is no PLS code of a frame");
            }
            d_passes[static_cast<size_t>(pls)] = true;
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
        if (d_ready.empty()) {
            return false;
        }
        frame = std::move(d_ready.front());
        d_ready.pop_front();
        return true;
    }

    uint64_t oldest() const override
    {
        return d_ready.empty() ? d_symbols.first() : d_ready.front().first;
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
    void update(bool ended)
    {
        d_headers.update(d_symbols, ended, d_chain);
        process(ended);
        const uint64_t needed = d_headers.needed(d_symbols);
        d_symbols.drop_to(d_chain.empty() ? needed
                                          : std::min(needed, d_chain.front().at));
    }

    void begin_anew()
    {
        d_chain.clear();
        d_learnt = 0;
        d_carrier.restart();
        d_headers.restart(d_symbols.end());
        d_symbols.drop_to(d_symbols.end());
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
        dvbs2_frame frame;
        frame.mode = mode;
        frame.first = header.at;
        frame.frequency = d_frequency;
        frame.noise_variance = found.noise_variance;
        frame.symbols.resize(static_cast<size_t>(mode.symbols()));
        d_corrector->run(d_symbols.at(header.at),
                         frame.symbols.data(),
                         found.segments.data(),
                         found.segments.size());
        d_ready.push_back(std::move(frame));
    }

    removed_carrier d_removed;
    symbol_buffer d_symbols;
    header_tracker d_headers;
    frame_carrier d_carrier;
    std::unique_ptr<carrier_corrector> d_corrector;
    std::array<bool, 256> d_passes;
    std::deque<frame_header> d_chain; //!< of frames that were not put out yet
    size_t d_learnt = 0;              //!< of these, those that the frequency is known by
    std::deque<dvbs2_frame> d_ready;
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
    return std::make_unique<frame_sync_impl>(p);
}

} // namespace gr::cudaphy::kernels
