/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/frame_sync/header_tracker.h"
#include "kernels/common/parallel.h"
#include "kernels/dvb/frame_sync/clean_symbols.h"
#include "kernels/dvb/frame_sync/header_scores.h"
#include "kernels/dvb/vl_snr_table.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace gr::cudaphy::kernels {
namespace {

constexpr size_t window = 4096; //!< places that are looked at together
//! Of these, those whose likelihood is computed: at -2.35 dB a header is among them three
//! times out of four.
constexpr size_t most_candidates = 75;
constexpr uint64_t history = 1 << 19; //!< symbols that are searched backwards
//! Symbols after which a lock is lost in which no header is found.
constexpr uint64_t patience = 150'000;
constexpr int dummy_pls = 0; //!< of dummy frames, which any signal may have

// Scores of pl_search. Those of headers at -2.35 dB are 33 on the average, and above 14
// all but once in 10^4 times.
constexpr float least_candidate = 18; //!< of any code, at any frequency
constexpr float least_pair = 42;      //!< of two headers together
constexpr float least_second = 14; //!< of the second one, near the first one's frequency
constexpr float least_alone = 30;  //!< of a header that ends with the stream
constexpr float least_known = 12;  //!< at the place and frequency that it must have
constexpr float least_beside = 16; //!< one symbol beside
constexpr float least_behind = 16; //!< by a frame of a known length whose own is missed
constexpr float least_before = 13; //!< by a frame of any length before a known header
//! The same of a code that no frame behind has: with 13, noise had one of all codes once
//! in 500 starts at -2.35 dB.
constexpr float least_before_other = 17;
//! Of the score of headers near by: those of a strong signal are all strong.
constexpr float least_part = 0.35f;
//! By which a code that was not sent before must be likelier than those that were: of 256
//! codes noise makes one likely now and then at -2 dB.
constexpr float least_lead = 5;

//! Two headers' frequencies differ by less, in cycles a symbol.
constexpr double most_difference = 0.004;

//! The codes of known modes, and those of VL-SNR frames, lest they be taken for others.
pl_codes searched_codes()
{
    auto codes = known_pl_codes();
    for (const auto& set : vl_snr_sets) {
        codes[static_cast<size_t>(set.pls)] = true;
    }
    return codes;
}

//! pl_search::near() without clicks.
pl_found look(const pl_search& search,
              const std::complex<float>* symbols,
              double frequency,
              float least)
{
    float sum = 0, most = 0;
    for (int i = 0; i < pl_header_symbols; ++i) {
        sum += std::norm(symbols[i]);
        most = std::max(most, std::norm(symbols[i]));
    }
    constexpr float click = 16; // times the mean energy, which noise does not reach
    if (pl_header_symbols * most < click * sum) {
        return search.near(symbols, frequency, most_difference, least);
    }
    std::vector<std::complex<float>> clean(symbols, symbols + pl_header_symbols);
    clean_up(clean);
    return search.near(clean.data(), frequency, most_difference, least);
}

//! One of two headers at a place: `other`, whose code was not sent before, if it leads by
//! enough.
const pl_found& likelier(const pl_found& other, const pl_found& known)
{
    return known.score + least_lead >= other.score ? known : other;
}

//! The score of a header of 90 symbols that is as strong.
float strength_of(const frame_header& header)
{
    return header.pls < first_vl_snr ? header.score : vl_snr_headers::score_of_90(header);
}

} // namespace

header_tracker::header_tracker(double most_frequency, bool vl_snr)
    : d_search(static_cast<float>(most_frequency), searched_codes()),
      d_most_frequency(most_frequency), d_length_of_pls(256)
{
    std::map<int, pl_codes> codes;
    for (int pls = 0; pls < 256; ++pls) {
        if (const auto mode = dvb_mode::of(pls)) {
            const int length = mode->length();
            d_length_of_pls[pls] = length;
            codes.try_emplace(length, pl_codes{}).first->second[pls] = true;
        }
    }
    for (const auto& [length, allowed] : codes) {
        d_search_of_length.emplace(
            length, pl_search(static_cast<float>(most_frequency), allowed));
    }
    if (vl_snr) {
        d_vl_snr.emplace(most_frequency);
    }
}

void header_tracker::restart(uint64_t at)
{
    d_locked = d_holds = false;
    d_floor = d_scanned = d_scanned_for_vl_snr = at;
    d_candidates.clear();
}

void header_tracker::set_frequency(double frequency)
{
    d_frequency = frequency;
    d_weight = 1000;
}

uint64_t header_tracker::needed(const symbol_buffer& symbols) const
{
    if (d_locked) {
        return d_next - 1;
    }
    const uint64_t end = symbols.end();
    return std::max(d_floor > 0 ? d_floor - 1 : 0, end > history ? end - history : 0);
}

frame_header header_tracker::header_of(uint64_t at, const pl_found& found) const
{
    frame_header out;
    out.at = at;
    out.pls = found.pls;
    out.length = d_length_of_pls[found.pls];
    out.frequency = found.frequency;
    out.score = found.score;
    return out;
}

void header_tracker::update(const symbol_buffer& symbols,
                            bool ended,
                            std::deque<frame_header>& to)
{
    do {
        if (d_locked) {
            follow(symbols, ended, to);
        }
    } while (!d_locked && search(symbols, ended, to));
    if (ended && !to.empty()) {
        to.back().is_last = true;
    }
}

//! The header at this place or one symbol beside.
pl_found header_tracker::near_place(const symbol_buffer& symbols, uint64_t& at) const
{
    const float least = std::max(least_known, least_part * d_score);
    auto best = look(d_search, symbols.at(at), d_frequency, least);
    if (d_search_sent && !d_sent[best.pls]) {
        const auto known = look(*d_search_sent, symbols.at(at), d_frequency, least);
        best = likelier(best, known);
    }
    const uint64_t middle = at;
    if (best.score < least) {
        best = {};
        const float least_there = std::max(least, least_beside);
        for (const uint64_t place : { middle - 1, middle + 1 }) {
            const auto beside =
                look(d_search, symbols.at(place), d_frequency, least_there);
            if (beside.score >= least_there && beside.score > best.score) {
                best = beside;
                at = place;
            }
        }
    }
    return is_known(best) ? best : pl_found();
}

//! The headers of a VL-SNR frame at a place or one symbol beside, if their symbols are
//! there.
std::optional<frame_header> header_tracker::vl_snr_at(const symbol_buffer& symbols,
                                                      uint64_t at,
                                                      double frequency) const
{
    return d_vl_snr && at > symbols.first() &&
                   at + vl_snr_headers::symbols + 1 <= symbols.end()
               ? d_vl_snr->at_place(symbols, at, frequency)
               : std::nullopt;
}

//! With lock: the header where it must be, or one symbol beside.
std::optional<frame_header> header_tracker::known_header(const symbol_buffer& symbols,
                                                         uint64_t at) const
{
    auto found = vl_snr_at(symbols, at, d_frequency);
    if (!found) {
        const auto other = near_place(symbols, at);
        if (other.score >= least_known) {
            found = header_of(at, other);
        }
    }
    return found;
}

void header_tracker::follow(const symbol_buffer& symbols,
                            bool ended,
                            std::deque<frame_header>& to)
{
    const uint64_t wanted =
        (d_vl_snr && !ended ? vl_snr_headers::symbols : pl_header_symbols) + 1;
    while (symbols.end() >= d_next + wanted) {
        const auto found = known_header(symbols, d_next);
        if (!found) {
            d_locked = false;
            d_holds = true;
            d_candidates.clear();
            // Symbols may have got lost within the last frame.
            d_floor = d_scanned = d_scanned_for_vl_snr = d_last + pl_header_symbols;
            if (!to.empty()) {
                to.back().is_last = true;
            }
            return;
        }
        constexpr float part = 0.2f; // of the score's mean that the last header makes
        d_score += part * (strength_of(*found) - d_score);
        d_weight = std::min(d_weight + 1, 1000);
        if (d_weight < 1000) {
            d_frequency += (found->frequency - d_frequency) / d_weight;
        }
        to.push_back(*found);
        note(to.back());
        d_last = found->at;
        d_next = d_last + static_cast<uint64_t>(found->length);
    }
}

//! Remembers what frames the signal has.
void header_tracker::note(const frame_header& header)
{
    d_seen.insert(header.length);
    if (header.pls < first_vl_snr && !d_sent[header.pls]) {
        d_sent[header.pls] = true;
        d_search_sent.emplace(static_cast<float>(d_most_frequency), d_sent);
    }
}

//! Whether there is a lock now.
bool header_tracker::search(const symbol_buffer& symbols,
                            bool ended,
                            std::deque<frame_header>& to)
{
    constexpr uint64_t more = pl_header_symbols - 1;
    d_scanned = std::max(d_scanned, symbols.first());
    while (true) {
        if (bridge(symbols, to) || try_candidates(symbols, ended, to)) {
            return true;
        }
        const uint64_t places = symbols.end() > more ? symbols.end() - more : 0;
        const uint64_t last = std::min(places, d_scanned + window);
        if (last <= d_scanned || (last < d_scanned + window && !ended)) {
            break;
        }
        scan(symbols, last);
        d_scanned = last;
    }
    if (d_vl_snr && search_vl_snr(symbols, ended, to)) {
        return true;
    }
    if (ended || d_scanned > d_next + patience) {
        give_up();
    }
    return false;
}

//! Whether there is a lock by the headers of a VL-SNR frame now.
bool header_tracker::search_vl_snr(const symbol_buffer& symbols,
                                   bool ended,
                                   std::deque<frame_header>& to)
{
    constexpr uint64_t more = vl_snr_headers::symbols - 1;
    auto& scanned = d_scanned_for_vl_snr;
    scanned = std::max(scanned, symbols.first());
    while (symbols.end() > scanned + more) {
        const uint64_t places =
            std::min(symbols.end() - scanned - more, vl_snr_headers::window);
        if (places < vl_snr_headers::window && !ended) {
            break;
        }
        const auto found = d_vl_snr->scan(symbols, scanned, places);
        scanned += places;
        if (found) {
            lock(symbols, *found, to);
            return true;
        }
    }
    return false;
}

void header_tracker::give_up()
{
    d_lost_locks += d_holds;
    d_holds = false;
}

//! Looks for the header behind a frame whose own was missed, if it is as long as others
//! before.
bool header_tracker::bridge(const symbol_buffer& symbols, std::deque<frame_header>& to)
{
    for (const int length : d_seen) {
        const uint64_t at = d_next + static_cast<uint64_t>(length);
        if (!d_holds || at + pl_header_symbols > symbols.end()) {
            break;
        }
        if (const auto vl_snr = vl_snr_at(symbols, at, d_frequency)) {
            lock(symbols, *vl_snr, to);
            return true;
        }
        const float least = std::max(least_behind, least_part * d_score);
        const auto found = look(d_search, symbols.at(at), d_frequency, least);
        if (found.score >= least && is_known(found)) {
            lock(symbols, header_of(at, found), to);
            return true;
        }
    }
    return false;
}

void header_tracker::scan(const symbol_buffer& symbols, uint64_t last)
{
    const size_t places = last - d_scanned;
    const auto* const first = symbols.at(d_scanned);
    std::vector<std::complex<float>> clean(first, first + places + pl_header_symbols - 1);
    clean_up(clean);
    std::vector<float> metric(places);
    pl_search::differences(clean.data(), clean.size(), metric.data());
    normalise_differences(clean, metric);
    std::vector<size_t> order(places);
    std::iota(order.begin(), order.end(), size_t{ 0 });
    const size_t count = std::min(most_candidates, places);
    std::partial_sort(order.begin(),
                      order.begin() + static_cast<std::ptrdiff_t>(count),
                      order.end(),
                      [&](size_t a, size_t b) { return metric[a] > metric[b]; });
    std::vector<pl_found> found(count);
    constexpr size_t grain = 8;
    for_each_part(count, grain, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            found[i] = candidate(clean.data() + order[i]);
        }
    });
    for (size_t i = 0; i < count; ++i) {
        if (found[i].score >= least_candidate && is_known(found[i])) {
            d_candidates.push_back(header_of(d_scanned + order[i], found[i]));
        }
    }
}

//! The header that may begin at a place.
pl_found header_tracker::candidate(const std::complex<float>* symbols) const
{
    if (d_holds) {
        return d_search.near(symbols, d_frequency, most_difference, least_candidate);
    }
    constexpr double most_error = 0.12; // three deviations at -2.35 dB
    const double rough = pl_search::rough_frequency(symbols);
    const double low = std::max(rough - most_error, -d_most_frequency);
    const double high = std::min(rough + most_error, d_most_frequency);
    return low <= high ? d_search.near(
                             symbols, (low + high) / 2, (high - low) / 2, least_candidate)
                       : pl_found();
}

bool header_tracker::try_candidates(const symbol_buffer& symbols,
                                    bool ended,
                                    std::deque<frame_header>& to)
{
    std::vector<frame_header> waiting;
    for (const auto& one : d_candidates) {
        switch (confirm(symbols, one, ended)) {
        case verdict::right:
            lock(symbols, vl_snr_instead(symbols, one), to);
            return true;
        case verdict::waits:
            waiting.push_back(one);
            break;
        case verdict::wrong:
            break;
        }
    }
    d_candidates = std::move(waiting);
    return false;
}

//! The header of a VL-SNR frame, if that is what was taken for one of 90 symbols: at
//! another frequency, its PLS code looks like others.
frame_header header_tracker::vl_snr_instead(const symbol_buffer& symbols,
                                            const frame_header& one) const
{
    const bool is_whole = d_vl_snr && one.at + vl_snr_headers::symbols <= symbols.end();
    const auto found = is_whole ? d_vl_snr->scan(symbols, one.at, 1) : std::nullopt;
    return found ? *found : one;
}

header_tracker::verdict header_tracker::confirm(const symbol_buffer& symbols,
                                                const frame_header& one,
                                                bool ended) const
{
    const uint64_t next = one.at + static_cast<uint64_t>(one.length);
    if (one.at < symbols.first()) {
        return verdict::wrong;
    }
    const auto is_tone = [&] { return tone_score(symbols.at(one.at)) > one.score; };
    if (next + pl_header_symbols + 1 > symbols.end()) {
        if (!ended) {
            return verdict::waits;
        }
        return next <= symbols.end() && one.score >= least_alone && !is_tone()
                   ? verdict::right
                   : verdict::wrong;
    }
    float best = 0;
    for (const uint64_t place : { next - 1, next, next + 1 }) {
        const auto found = look(d_search, symbols.at(place), one.frequency, least_second);
        best = is_known(found) ? std::max(best, found.score) : best;
    }
    if (best >= least_second && best + one.score >= least_pair && !is_tone()) {
        return verdict::right;
    }
    if (d_vl_snr && next + vl_snr_headers::symbols + 1 > symbols.end() && !ended) {
        return verdict::waits;
    }
    return vl_snr_at(symbols, next, one.frequency) && !is_tone() ? verdict::right
                                                                 : verdict::wrong;
}

void header_tracker::lock(const symbol_buffer& symbols,
                          const frame_header& found,
                          std::deque<frame_header>& to)
{
    std::deque<frame_header> chain{ found };
    d_floor = std::max(d_floor, symbols.first());
    pl_codes sent = d_holds ? d_sent : pl_codes{};
    sent[dummy_pls] = true;
    while (!(d_holds && chain.front().at == d_next)) {
        if (chain.front().pls < first_vl_snr) {
            sent[chain.front().pls] = true;
        }
        const auto one = before(symbols, chain.front(), sent);
        if (!one) {
            break;
        }
        chain.push_front(*one);
    }
    if (!d_holds || chain.front().at != d_next) {
        d_lost_locks += d_holds;
        chain.front().is_first = true;
        d_seen.clear();
        d_sent.fill(false);
        d_weight = 0;
        d_frequency = 0;
        for (const auto& one : chain) {
            d_frequency += (one.frequency - d_frequency) / ++d_weight;
        }
    }
    for (const auto& one : chain) {
        note(one);
    }
    d_locked = true;
    d_holds = false;
    d_score = strength_of(found);
    d_last = found.at;
    d_next = found.at + static_cast<uint64_t>(found.length);
    d_candidates.clear();
    to.insert(to.end(), chain.begin(), chain.end());
}

//! The header of the frame that ends where a known one begins.
//! \param sent  codes of frames behind it; others must be likelier
std::optional<frame_header> header_tracker::before(const symbol_buffer& symbols,
                                                   const frame_header& known,
                                                   const pl_codes& sent) const
{
    std::optional<frame_header> best;
    const pl_search sent_before(static_cast<float>(d_most_frequency), sent);
    for (const auto& [length, search] : d_search_of_length) {
        const auto symbols_before = static_cast<uint64_t>(length);
        if (known.at < d_floor + symbols_before) {
            continue;
        }
        const uint64_t at = known.at - symbols_before;
        if (const auto vl_snr = vl_snr_at(symbols, at, known.frequency)) {
            if (vl_snr->at + static_cast<uint64_t>(vl_snr->length) == known.at) {
                return vl_snr;
            }
        }
        auto found = look(search, symbols.at(at), known.frequency, least_before);
        if (!sent[found.pls]) {
            const auto other =
                look(sent_before, symbols.at(at), known.frequency, least_before);
            if (d_length_of_pls[other.pls] == length) {
                found = likelier(found, other);
            }
        }
        if (d_holds && at == d_next) {
            return header_of(at, found);
        }
        const float least = sent[found.pls] ? least_before : least_before_other;
        if (found.score >= std::max(least, least_part * strength_of(known)) &&
            std::abs(found.frequency - known.frequency) <= most_difference &&
            (!best || found.score > best->score)) {
            best = header_of(at, found);
        }
    }
    return best;
}

} // namespace gr::cudaphy::kernels
