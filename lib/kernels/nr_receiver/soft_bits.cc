/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/soft_bits.h"
#include "kernels/nr_receiver/common_phase.h"
#include "kernels/nr_receiver/planes.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/gold_sequence.h>

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr float steps = 6;
//! What is known of a symbol's phase before PT-RS: within about 0.3 of DM-RS's (the
//! concentration of von Mises' distribution).
constexpr double expected_phase = 10;

const char* constellation_of(int order)
{
    static const char* const names[] = { "qpsk", "qam16", "qam64", "qam256", "qam1024" };
    return order == 1 ? "bpsk" : names[order / 2 - 1];
}

} // namespace

soft_bits::soft_bits(shared_channel::sptr channel,
                     int codeword,
                     backend where,
                     int device)
    : d_channel(std::move(channel)), d_codeword(codeword)
{
    const auto& of = d_channel->codewords()[codeword];
    soft_demapper::parameters p;
    p.points = constellation::make(constellation_of(of.coding.order));
    p.llr_steps = steps;
    d_demapper = soft_demapper::make(p, where, device);
    if (d_channel->parameters().transform_precoding) {
        d_transform = std::make_unique<fourier_transform>(
            12 * d_channel->map().blocks.size(), false);
    }
    // The sequence is the same in every slot.
    std::vector<uint8_t> bits(of.coded);
    gold_sequence(d_channel->scrambling_c_init(codeword)).next(bits);
    for (const auto bit : bits) {
        d_signs.push_back(static_cast<int8_t>(-bit));
    }
}

void soft_bits::run(const layer_separation& from,
                    int slot,
                    const std::vector<double>& dmrs_times,
                    queue& queue)
{
    const auto& of = d_channel->codewords()[d_codeword];
    const size_t layers = of.layers, all = from.layers();
    const size_t n = from.symbols.size() / all;
    // As they come, unless only some layers are the codeword's, or they are changed.
    const bool as_is = layers == all && !d_transform && of.coding.order > 1;
    if (!as_is) {
        d_symbols.resize(n * layers);
        d_noise.resize(n * layers);
        for (size_t i = 0; i < n; ++i) {
            for (size_t l = 0; l < layers; ++l) {
                d_symbols[i * layers + l] = from.symbols[i * all + of.first_layer + l];
                d_noise[i * layers + l] = from.noise[i * all + of.first_layer + l];
            }
        }
    }
    if (d_transform) {
        undo_transform();
        if (!d_channel->map().precoded_ptrs_places.empty()) {
            track_phase(slot, dmrs_times);
        }
    }
    const auto& symbols = as_is ? from.symbols : d_symbols;
    const auto& noise = as_is ? from.noise : d_noise;
    find_sinr(noise);
    if (of.coding.order == 1) {
        // pi/2-BPSK lies on one diagonal and on the other one by turns (38.211, 5.1.1).
        const float part = static_cast<float>(std::sqrt(0.5));
        for (size_t i = 0; i < d_symbols.size(); ++i) {
            d_symbols[i] = product(d_symbols[i], { i % 2 ? -part : part, -part });
        }
    }
    llr.resize(symbols.size() * of.coding.order);
    d_demapper->run(view<const complex64>(symbols),
                    view<const float>(noise),
                    view<int8_t>(llr),
                    queue);
    int8_t* const bits = llr.data();
    const int8_t* const signs = d_signs.data();
    for (size_t i = 0, count = llr.size(); i < count; ++i) {
        bits[i] = static_cast<int8_t>((bits[i] ^ signs[i]) - signs[i]);
    }
}

// A symbol is spread over all tones, and so is its noise. Of tones the biased MMSE
// estimate b s + noise of variance b (1 - b) is best to add; b = 1 / (1 + noise of the
// unbiased one). The sum has the mean of b (Benvenuto et al., Proc. IEEE 98(1), 2010).
void soft_bits::undo_transform()
{
    const size_t size = d_transform->size();
    const float scale = 1 / std::sqrt(static_cast<float>(size));
    for (size_t first = 0; first < d_symbols.size(); first += size) {
        double sum = 0;
        for (size_t i = first; i < first + size; ++i) {
            const float b = 1 / (1 + d_noise[i]); // 0 of an erased tone
            d_symbols[i] *= b;
            sum += b;
        }
        const float mean = static_cast<float>(sum / double(size));
        d_transform->run(d_symbols.data() + first);
        for (size_t i = first; i < first + size; ++i) {
            d_symbols[i] = mean > 0 ? d_symbols[i] * (scale / mean) : 0;
            d_noise[i] = mean > 0 ? std::max(1 / mean - 1, 1e-9f) : INFINITY;
        }
    }
}

// The likeliest phase of each symbol by PT-RS among its samples and what is expected;
// PT-RS is then left out (TS 38.211, section 6.4.1.2.2.2).
void soft_bits::track_phase(int slot, const std::vector<double>& dmrs_times)
{
    const auto& map = d_channel->map();
    const auto& places = map.precoded_ptrs_places;
    const auto& tracked = map.precoded_ptrs_symbols;
    const auto values = precoded_ptrs_values(d_channel->parameters(), map, slot);
    const size_t size = d_transform->size();
    const auto symbol_of = [&](size_t first) {
        return static_cast<int>(map.data[first] / map.subcarriers);
    };
    const auto has_ptrs = [&](int symbol) {
        return std::binary_search(tracked.begin(), tracked.end(), symbol);
    };
    std::vector<complex128> sums(map.symbols);
    for (size_t first = 0; first < d_symbols.size(); first += size) {
        const int symbol = symbol_of(first);
        complex64 sum = 0;
        for (size_t i = 0; i < places.size(); ++i) {
            sum += product_conj(d_symbols[first + places[i]], values[i]);
        }
        const float noise = d_noise[first];
        if (has_ptrs(symbol) && std::isfinite(noise) && std::isfinite(std::norm(sum))) {
            sums[symbol] = 2.0 / noise * complex128(sum) + expected_phase;
        }
    }
    const auto phases = phases_between(sums, dmrs_times);
    size_t to = 0;
    for (size_t first = 0; first < d_symbols.size(); first += size) {
        const int symbol = symbol_of(first);
        size_t next = has_ptrs(symbol) ? 0 : places.size();
        for (size_t i = 0; i < size; ++i) {
            if (next < places.size() && places[next] == static_cast<int>(i)) {
                ++next;
                continue;
            }
            d_symbols[to] = product_conj(d_symbols[first + i], phases[symbol]);
            d_noise[to++] = d_noise[first + i];
        }
    }
    d_symbols.resize(to);
    d_noise.resize(to);
}

void soft_bits::find_sinr(const std::vector<float>& noise)
{
    // Products of a few terms, each below 1e12, need one logarithm.
    constexpr size_t few = 16;
    double sum = 0;
    for (size_t first = 0; first < noise.size(); first += few) {
        double all = 1;
        for (size_t i = first; i < std::min(first + few, noise.size()); ++i) {
            all *= 1 + 1 / std::max(noise[i], 1e-12f);
        }
        sum += std::log2(all);
    }
    const double mean = sum / double(noise.size());
    sinr_db = 10 * std::log10(std::max(std::exp2(mean) - 1, 1e-10));
}

} // namespace gr::cudaphy::kernels::nr
