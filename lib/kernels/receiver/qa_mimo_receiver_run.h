/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Runs a receiver with all outputs poisoned first, or its kernels one by one. Include it
// once, in a test program.

#include "kernels/common/testing.h"
#include "kernels/receiver/mimo_receiver_testing.h"

namespace gr::cudaphy::testing {

using namespace kernels;

struct received_slots {
    std::vector<uint8_t> bits;
    std::vector<int> iterations, ok, status;
    std::vector<complex64> h, x;
    std::vector<float> n0, noise;
    std::vector<unsigned char> llr; //!< as bytes, whatever their type

    size_t failed() const { return std::count(ok.begin(), ok.end(), 0); }
};

inline size_t llr_bytes(const receiver::parameters& p)
{
    return p.decoding.llr == receiver::number::int8      ? 1
           : p.decoding.llr == receiver::number::float16 ? 2
                                                         : 4;
}

inline receiver::soft_view
soft_view_of(const receiver::parameters& p, unsigned char* data, size_t count)
{
    if (p.decoding.llr == receiver::number::int8) {
        return view<int8_t>(reinterpret_cast<int8_t*>(data), count);
    }
    if (p.decoding.llr == receiver::number::float16) {
        return view<float16>(reinterpret_cast<float16*>(data), count);
    }
    return view<float>(reinterpret_cast<float*>(data), count);
}

//! The outputs of one call, on the queue.
struct receiver_arrays {
    receiver_arrays(queue& q, const receiver& plan, size_t slots, size_t llr_size)
        : bits(poisoned<uint8_t>(q, slots * plan.slot().words * plan.slot().word_bytes)),
          iterations(poisoned<int>(q, slots * plan.slot().words)),
          ok(poisoned<int>(q, slots * plan.slot().words)),
          status(poisoned<int>(q, slots)),
          h(poisoned<complex64>(q, slots * plan.slot().channel)),
          n0(poisoned<float>(q, slots * plan.slot().estimates)),
          x(poisoned<complex64>(q, slots * plan.slot().layers)),
          noise(poisoned<float>(q, slots * plan.slot().layers)),
          llr(poisoned<unsigned char>(q, slots * plan.slot().soft_bits * llr_size)),
          workspace(poisoned<unsigned char>(q, plan.workspace_bytes(slots)))
    {
    }
    received_slots to_host() const
    {
        return { bits.to_host(),   iterations.to_host(), ok.to_host(),
                 status.to_host(), h.to_host(),          x.to_host(),
                 n0.to_host(),     noise.to_host(),      llr.to_host() };
    }
    array<uint8_t> bits;
    array<int> iterations, ok, status;
    array<complex64> h;
    array<float> n0;
    array<complex64> x;
    array<float> noise;
    array<unsigned char> llr, workspace;
};

//! \param all  whether to request the intermediate results
inline received_slots receive(const receiver::parameters& p,
                              const std::vector<complex64>& received,
                              backend where = tested_backend(),
                              bool all = true)
{
    auto q = queue::make(where);
    const auto plan = receiver::make(p, where);
    const size_t slots = received.size() / plan->slot().received;
    const array<complex64> there(*q, view<const complex64>(received));
    receiver_arrays to(*q, *plan, slots, llr_bytes(p));
    receiver::results out{ to.bits, to.iterations, to.ok, to.status };
    if (all) {
        out.h = to.h;
        out.n0 = to.n0;
        out.x = to.x;
        out.noise = to.noise;
        out.llr = soft_view_of(p, to.llr.data(), slots * plan->slot().soft_bits);
    }
    plan->run(there, out, to.workspace, *q);
    return to.to_host();
}

//! Runs the kernels one after the other. The host picks the data's samples of the slots.
inline received_slots receive_unfused(const receiver::parameters& p,
                                      const std::vector<complex64>& received,
                                      backend where = tested_backend())
{
    auto q = queue::make(where);
    const auto made = receiver::make(p, where);
    const auto& s = made->slot();
    const size_t slots = received.size() / s.received;
    const int nr = p.pilots.receive_antennas, nt = p.pilots.layers,
              tones = p.pilots.tones;

    std::vector<complex64> pilots, data;
    std::vector<size_t> data_at; // of data, in the grid of symbols that have any
    size_t rows = 0;
    for (size_t slot = 0; slot < slots; ++slot) {
        for (int symbol = 0; symbol < p.symbols; ++symbol) {
            const auto* const row =
                received.data() + (slot * p.symbols + symbol) * tones * nr;
            bool has_pilots = false, has_data = false;
            for (int tone = 0; tone < tones; ++tone) {
                bool silent;
                const bool pilot = pilots_at(p, symbol, tone, silent) != nullptr;
                has_pilots = has_pilots || pilot || silent;
                has_data = has_data || !pilot;
                if (!pilot) {
                    data_at.push_back(rows * tones + tone);
                }
            }
            if (has_pilots) {
                pilots.insert(pilots.end(), row, row + tones * nr);
            }
            if (has_data) {
                data.insert(data.end(), row, row + tones * nr);
                ++rows;
            }
        }
    }
    received_slots out;
    auto estimator = p.pilots;
    if (!estimator.times.empty() && estimator.pilot_times.empty()) {
        estimator.pilot_times.assign(p.pilot_symbols.begin(), p.pilot_symbols.end());
    }
    const array<complex64> pilots_there(*q, view<const complex64>(pilots));
    auto h = poisoned<complex64>(*q, slots * s.channel);
    auto n0 = poisoned<float>(*q, slots * s.estimates);
    auto status = poisoned<int>(*q, slots);
    channel_estimator::make(estimator, where)->run(pilots_there, h, n0, status, *q);
    out.h = h.to_host();
    out.n0 = n0.to_host();
    out.status = status.to_host();

    const int symbols = int(rows / slots / s.estimates);
    const array<complex64> data_there(*q, view<const complex64>(data));
    auto grid_x = poisoned<complex64>(*q, rows * tones * nt);
    auto grid_noise = poisoned<float>(*q, rows * tones * nt);
    auto usable = poisoned<int>(*q, slots * s.estimates * tones);
    equalizer::make({ nr, nt, p.method, p.unbiased, symbols, tones, p.route }, where)
        ->run(data_there, h, n0, grid_x, grid_noise, usable, *q);
    const auto all_x = grid_x.to_host();
    const auto all_noise = grid_noise.to_host();
    for (const size_t at : data_at) {
        for (int t = 0; t < nt; ++t) {
            out.x.push_back(all_x[at * nt + t]);
            out.noise.push_back(all_noise[at * nt + t]);
        }
    }

    const array<complex64> x(*q, view<const complex64>(out.x));
    const array<float> noise(*q, view<const float>(out.noise));
    const size_t bytes = llr_bytes(p);
    const size_t a_slot = s.layers * p.points.bits;
    auto llr = poisoned<unsigned char>(*q, slots * a_slot * bytes);
    const auto to = soft_view_of(p, llr.data(), slots * a_slot);
    auto demapper = soft_demapper::make(
        { p.points, p.max_log, p.decoding.llr_positive, made->llr_steps() }, where);
    if (bytes == 1) {
        demapper->run(x, noise, view<int8_t>(static_cast<int8_t*>(to.data), to.size), *q);
    } else if (bytes == 2) {
        demapper->run(
            x, noise, view<float16>(static_cast<float16*>(to.data), to.size), *q);
    } else {
        demapper->run(x, noise, view<float>(static_cast<float*>(to.data), to.size), *q);
    }
    const auto all_llr = llr.to_host();
    for (size_t slot = 0; slot < slots; ++slot) {
        const auto first = all_llr.begin() + slot * a_slot * bytes;
        out.llr.insert(out.llr.end(), first, first + s.soft_bits * bytes);
    }

    const array<unsigned char> words(*q, view<const unsigned char>(out.llr));
    auto bits = poisoned<uint8_t>(*q, slots * s.words * s.word_bytes);
    auto iterations = poisoned<int>(*q, slots * s.words);
    auto ok = poisoned<int>(*q, slots * s.words);
    auto decoding = p.decoding;
    if (bytes == 1) {
        decoding.llr_scale = 1 / made->llr_steps();
    }
    ldpc_decoder::make(p.code, decoding, where)
        ->run({ words.data(), slots * s.soft_bits, p.decoding.llr },
              { bits, iterations, ok },
              *q);
    out.bits = bits.to_host();
    out.iterations = iterations.to_host();
    out.ok = ok.to_host();
    return out;
}

} // namespace gr::cudaphy::testing
