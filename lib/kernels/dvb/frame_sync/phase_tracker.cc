/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/frame_sync/phase_tracker.h"
#include "kernels/dvb/frame_sync/phase_path.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

constexpr double least_walk = 1e-9, most_walk = 1e-3;
//! By data: beyond, blocks of data do not tell a slip from the phase's walk.
constexpr double most_walk_by_data = 1e-4;
constexpr double least_fit = 0.3;  //!< of data to the path
constexpr double fit_memory = 0.9; //!< of a frame to the next
//! Of the frequency's random walk, in (rad / symbol)^2 a symbol. A drift of 1e-9 cycles /
//! symbol^2 comes to it within some thousand symbols.
constexpr double step_walk = 3e-14;
constexpr double unknown = 10; //!< variance of a phase that may be any
constexpr double most_surprise = 3;
constexpr int settling = 8;                  //!< frames until the drift is known
constexpr double drift_memory = 1e5;         //!< symbols over which it is averaged
constexpr double most_drift = 2 * pi * 1e-8; //!< rad / symbol^2

} // namespace

void phase_tracker::begin(double frequency, double deviation, double walk)
{
    d_phase = 0;
    d_step = 2 * pi * frequency;
    const double step = 2 * pi * deviation;
    d_prior = { 0, 0, unknown, 0, step * step };
    d_drift = 0;
    d_frames = 0;
    d_fit = {};
    d_walk = std::min(d_walk, walk);
}

phase_tracker::state phase_tracker::advance(state from, double t) const
{
    state to = from;
    to.phase += t * (from.step + t * d_drift / 2);
    to.step += t * d_drift;
    to.pp += t * (2 * from.ps + t * from.ss) + d_walk * t + step_walk * t * t * t / 3;
    to.ps += t * from.ss + step_walk * t * t / 2;
    to.ss += step_walk * t;
    return to;
}

void phase_tracker::collect(const phase_marks& marks)
{
    d_marks.clear();
    const double turn = 2 * pi * marks.frequency;
    const double es_n0 = std::max(marks.amplitude * marks.amplitude / marks.noise, 1e-3);
    const size_t harmonics = marks.quarters.size();
    const size_t blocks = harmonics ? marks.blocks.size() / harmonics : 0;
    size_t block = 0;
    const auto block_middle = [&](size_t b) {
        return marks.first_block + (static_cast<double>(b) + 0.5) * marks.block_symbols -
               0.5;
    };
    for (const auto& known : marks.known) {
        for (; block < blocks && block_middle(block) < known.at; ++block) {
            d_marks.push_back({ block_middle(block), false, 0, block, 0 });
        }
        d_marks.push_back({ known.at,
                            true,
                            known.sum * std::polar(1.0, -turn * known.at),
                            0,
                            1 / (2 * known.symbols * es_n0) });
    }
    for (; block < blocks; ++block) {
        d_marks.push_back({ block_middle(block), false, 0, block, 0 });
    }
}

//! The phase of each data block by the most likely path.
void phase_tracker::find_path(const phase_marks& marks, int steps)
{
    // The drift bends the path; the search is for straight ones.
    const auto bend = [&](double at) { return d_drift * at * at / 2; };
    std::vector<phase_likelihood> places;
    for (const auto& one : d_marks) {
        phase_likelihood place;
        place.at = one.at;
        if (one.known) {
            place.first_harmonic = one.sum * (2 * marks.amplitude / marks.noise) *
                                   std::polar(1.0, -bend(one.at));
        } else {
            place.blocks = marks.blocks.data() + one.block * marks.quarters.size();
            place.turn = -2 * pi * marks.frequency * one.at - bend(one.at);
        }
        places.push_back(place);
    }
    const auto start = d_prior.pp < 1 ? std::polar(1 / d_prior.pp, d_prior.phase)
                                      : std::complex<double>(0);
    constexpr double step = 2 * pi * 1e-5;
    const double deviation = std::max(std::sqrt(d_prior.ss), 2 * step);
    const auto path =
        likely_phase_path(places, marks.quarters, start, d_walk, steps, step, deviation);
    // The path is relative to whole turns; those of the filter are the first mark's.
    double first = d_prior.phase + d_prior.step * d_marks[0].at;
    if (d_prior.pp >= 1 && d_marks[0].known) {
        first += std::arg(d_marks[0].sum * std::polar(1.0, -first));
    }
    const double turns = 2 * pi * std::round((first - path[0]) / (2 * pi));
    for (size_t i = 0; i < d_marks.size(); ++i) {
        d_marks[i].reference = path[i] + bend(d_marks[i].at) + turns;
    }
}

/*!
 * What data blocks say about their reference phase: Fisher's scoring. The variance is
 * that of the slopes, because the table's noise is not quite the true one. Returns how
 * the information compares with that variance.
 */
phase_tracker::fitness phase_tracker::refer_to(const phase_marks& marks)
{
    const size_t harmonics = marks.quarters.size();
    double information = 0, spread = 0, squares = 0;
    size_t blocks = 0;
    for (auto& one : d_marks) {
        if (one.known) {
            continue;
        }
        double slope = 0, own = 0;
        for (size_t h = 0; h < harmonics; ++h) {
            const double order = 4.0 * marks.quarters[h];
            const double phase =
                order * (one.reference + 2 * pi * marks.frequency * one.at);
            const auto term =
                std::complex<double>(marks.blocks[one.block * harmonics + h]) *
                std::polar(1.0, -phase);
            slope += order * term.imag();
            own += order * order * term.real();
        }
        information += own;
        spread += own * own;
        one.sum = slope;
        squares += slope * slope;
        ++blocks;
    }
    const double number = static_cast<double>(std::max<size_t>(blocks, 1));
    squares = std::max(squares / number, 1e-6);
    const fitness fit{ information, spread, squares * number };
    // Blocks that contradict one another say little.
    information = std::max(information / number, 0.05 * squares);
    for (auto& one : d_marks) {
        if (!one.known) {
            one.sum /= information; // the phase that is missing at the reference
            one.variance =
                std::max(squares / (information * information), 0.5 / information);
        }
    }
    return fit;
}

void phase_tracker::filter(const phase_marks& marks)
{
    d_foreseen.clear();
    d_filtered.clear();
    d_products = d_squares = 0;
    state now = d_prior;
    double at = 0, before = 0;
    for (const auto& one : d_marks) {
        now = advance(now, one.at - at);
        at = one.at;
        d_foreseen.push_back(now);
        const double missing = one.known ? std::arg(one.sum * std::polar(1.0, -now.phase))
                                         : one.reference + one.sum.real() - now.phase;
        const double total = now.pp + one.variance;
        if (now.pp < 1) {
            const double surprise =
                std::clamp(missing / std::sqrt(total), -most_surprise, most_surprise);
            d_products += surprise * before;
            d_squares += surprise * surprise;
            before = surprise;
        }
        const double phase_gain = now.pp / total, step_gain = now.ps / total;
        now.phase += phase_gain * missing;
        now.step += step_gain * missing;
        now.ss -= step_gain * now.ps;
        now.ps *= 1 - phase_gain;
        now.pp *= 1 - phase_gain;
        d_filtered.push_back(now);
    }
    // The next frame begins with what came before its own header.
    size_t own = d_marks.size();
    while (own > 0 && d_marks[own - 1].at > marks.length) {
        --own;
    }
    state last = own ? advance(d_filtered[own - 1], marks.length - d_marks[own - 1].at)
                     : advance(d_prior, marks.length);
    d_next_prior = last;
}

void phase_tracker::smooth()
{
    d_points.assign(d_marks.size(), {});
    if (d_marks.empty()) {
        return;
    }
    state later = d_filtered.back();
    d_points.back() = { d_marks.back().at, later.phase, later.step };
    for (size_t i = d_marks.size() - 1; i-- > 0;) {
        const auto& now = d_filtered[i];
        const auto& next = d_foreseen[i + 1];
        const double t = d_marks[i + 1].at - d_marks[i].at;
        // C = P F' inverse(P of the next), of 2 x 2.
        const double a = now.pp + t * now.ps, b = now.ps, c = now.ps + t * now.ss,
                     d = now.ss;
        const double determinant = next.pp * next.ss - next.ps * next.ps;
        const double inverse = determinant > 0 ? 1 / determinant : 0;
        const double c00 = (a * next.ss - b * next.ps) * inverse;
        const double c01 = (b * next.pp - a * next.ps) * inverse;
        const double c10 = (c * next.ss - d * next.ps) * inverse;
        const double c11 = (d * next.pp - c * next.ps) * inverse;
        const double phase = later.phase - next.phase, step = later.step - next.step;
        later.phase = now.phase + c00 * phase + c01 * step;
        later.step = now.step + c10 * phase + c11 * step;
        d_points[i] = { d_marks[i].at, later.phase, later.step };
    }
}

/*!
 * What the filter did not foresee must be white: if it is of the same sign from mark to
 * mark, the phase moves more than the filter believes. (Mehra, IEEE Trans. Automatic
 * Control 15(2), 1970)
 */
void phase_tracker::adapt(const phase_marks& marks)
{
    if (d_squares > 0 && fits()) {
        const double correlation = std::clamp(d_products / d_squares, -0.5, 0.5);
        const double weight = std::min(1.0, static_cast<double>(d_marks.size()) / 30);
        d_walk *= std::exp(2 * weight * correlation);
        d_walk = std::clamp(
            d_walk, least_walk, marks.quarters.empty() ? most_walk : most_walk_by_data);
    }
}

//! By how the frame's frequency differs from that of the frame before.
void phase_tracker::learn_drift(const phase_marks& marks)
{
    const auto &first = d_points.front(), &last = d_points.back();
    const double span = last.at - first.at;
    if (!(span > 0)) {
        return;
    }
    const double step = 2 * pi * marks.frequency + (last.phase - first.phase) / span;
    const double middle = (first.at + last.at) / 2;
    if (d_frames > 0) {
        const double time = d_to_middle + middle;
        const double weight =
            std::max(std::min(0.5, time / drift_memory), 1.0 / (d_frames + 1));
        d_drift += weight * ((step - d_frame_step) / time - d_drift);
        d_drift = std::clamp(d_drift, -most_drift, most_drift);
    }
    d_frame_step = step;
    d_to_middle = marks.length - middle;
    ++d_frames;
}

//! If a few frames' data tell too little, they fit.
bool phase_tracker::fits() const
{
    constexpr double sure = 2; // standard deviations
    return d_fit.information + sure * std::sqrt(d_fit.spread) >=
           2 * least_fit * d_fit.squares;
}

const std::vector<phase_point>& phase_tracker::follow(const phase_marks& marks)
{
    // States are relative to the frequency that was taken off.
    d_prior.phase = d_phase;
    d_prior.step = d_step - 2 * pi * marks.frequency;
    collect(marks);
    if (marks.quarters.empty() || d_marks.empty()) {
        filter(marks);
        smooth();
    } else {
        constexpr int few = 0, some = 4, many = 9; // steps of the frequency
        find_path(marks, d_frames == 0 ? many : d_frames < settling ? some : few);
        auto fit = refer_to(marks);
        if (fit.information < least_fit * fit.squares) {
            find_path(marks, many);
        }
        constexpr int rounds = 2;
        for (int round = 0; round < rounds; ++round) {
            fit = refer_to(marks);
            filter(marks);
            smooth();
            for (size_t i = 0; i < d_marks.size(); ++i) {
                d_marks[i].reference = d_points[i].phase;
            }
        }
        d_fit.information = fit_memory * d_fit.information + fit.information;
        d_fit.spread = fit_memory * d_fit.spread + fit.spread;
        d_fit.squares = fit_memory * d_fit.squares + fit.squares;
    }
    adapt(marks);
    learn_drift(marks);
    d_prior = d_next_prior;
    d_phase = std::remainder(
        d_prior.phase + 2 * pi * std::remainder(marks.frequency * marks.length, 1.0),
        2 * pi);
    d_step = d_prior.step + 2 * pi * marks.frequency;
    return d_points;
}

} // namespace gr::cudaphy::kernels
