/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/frame_sync/vl_snr_headers.h"
#include "kernels/common/parallel.h"
#include "kernels/dvb/frame_sync/clean_symbols.h"
#include <numeric>

namespace gr::cudaphy::kernels {
namespace {

constexpr float least_score = 45;        //!< of any header, at any frequency
constexpr float least_known_vl_snr = 25; //!< at the place and frequency that it must have
constexpr double difference = 4e-3;      //!< of frequencies, at most, in cycles a symbol
//! Of a window's places, those whose likelihood is computed: at -9.9 dB headers are among
//! them but for 2 times out of 1000.
constexpr size_t most_vl_snr_candidates = 32;

} // namespace

frame_header vl_snr_headers::header_of(uint64_t at, const vl_snr_found& found)
{
    frame_header out;
    out.at = at;
    out.pls = found.pls;
    out.length = dvb_mode::of(found.pls).value().length();
    out.frequency = found.frequency;
    out.score = found.score;
    return out;
}

float vl_snr_headers::score_of_90(const frame_header& header)
{
    constexpr float other = pl_header_symbols - 1, own = symbols - 1;
    return 1 + std::max(header.score - 1, 0.0f) * other / own;
}

std::optional<frame_header>
vl_snr_headers::at_place(const symbol_buffer& from, uint64_t at, double frequency) const
{
    const auto* const first = from.at(at - 1);
    std::vector<std::complex<float>> clean(first, first + symbols + 2);
    clean_up(clean);
    vl_snr_found best;
    uint64_t best_at = at;
    for (const uint64_t beside : { 1, 0, 2 }) {
        const auto found = d_search.near(
            clean.data() + beside, frequency, difference, least_known_vl_snr);
        if (found.score > best.score) {
            best = found;
            best_at = at - 1 + beside;
        }
    }
    return best.score >= least_known_vl_snr ? std::optional(header_of(best_at, best))
                                            : std::nullopt;
}

std::optional<frame_header>
vl_snr_headers::scan(const symbol_buffer& from, uint64_t first, uint64_t places) const
{
    const auto* const in = from.at(first);
    std::vector<std::complex<float>> clean(in, in + places + symbols - 1);
    clean_up(clean);
    std::vector<float> metric(places);
    constexpr size_t grain = 512;
    for_each_part((places + grain - 1) / grain, 1, [&](size_t begin, size_t end) {
        const size_t at = begin * grain;
        const size_t here = std::min<size_t>(end * grain, places) - at;
        d_search.differences(clean.data() + at, here + symbols - 1, metric.data() + at);
    });
    std::vector<size_t> order(places);
    std::iota(order.begin(), order.end(), size_t{ 0 });
    const size_t count = std::min<size_t>(most_vl_snr_candidates, places);
    std::partial_sort(order.begin(),
                      order.begin() + static_cast<std::ptrdiff_t>(count),
                      order.end(),
                      [&](size_t a, size_t b) { return metric[a] > metric[b]; });
    std::vector<vl_snr_found> found(count);
    for_each_part(count, 4, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            found[i] = d_search.at(clean.data() + order[i], least_score);
        }
    });
    size_t best = count;
    for (size_t i = 0; i < count; ++i) {
        if (found[i].score >= least_score && (best == count || order[i] < order[best])) {
            best = i;
        }
    }
    // A strong header's neighbours may be likely too.
    for (size_t i = 0; i < count && best < count; ++i) {
        if (order[i] < order[best] + symbols && found[i].score > found[best].score) {
            best = i;
        }
    }
    return best < count ? std::optional(header_of(first + order[best], found[best]))
                        : std::nullopt;
}

} // namespace gr::cudaphy::kernels
