/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/pi.h"
#include <complex>
#include <vector>

namespace gr::cudaphy::kernels {

//! What known symbols side by side say of the carrier's phase.
struct known_mark {
    double at;   //!< their middle, in symbols from the frame's first one
    int symbols; //!< how many
    //! Sum of the symbols, their values taken off, and the frequency about the middle.
    std::complex<double> sum;
};

//! What a frame's symbols say of the carrier's phase.
struct phase_marks {
    double frequency; //!< that was taken off, in cycles a symbol
    double amplitude; //!< of the symbols
    double noise;     //!< E|n|^2 of the symbols
    double length;    //!< of the frame, in symbols
    //! In order of time. The next frame's header may be the last one: then it lies behind
    //! the frame's length.
    std::vector<known_mark> known;

    //! Of data blocks: phase_sums(). None if the known symbols are enough.
    std::vector<int> quarters;
    double first_block = 0, block_symbols = 0; //!< first symbol; symbols of each
    std::vector<std::complex<float>> blocks;   //!< blocks * harmonics
};

//! The carrier at a place of a frame.
struct phase_point {
    double at;    //!< in symbols from the frame's first one
    double phase; //!< in radians, without 2 pi frequency at
    double step;  //!< in radians a symbol, without 2 pi frequency
};

/*!
 * \brief Follows the carrier's phase and frequency from frame to frame.
 *
 * A Kalman filter of phase and frequency runs over the marks of a frame, and a
 * Rauch-Tung-Striebel smoother back. Blocks of data symbols leave the phase open by
 * multiples of a part of a turn: before, the most likely path through all phases is found
 * from header to header (Viterbi's algorithm in both directions), so that a cycle slip
 * must not contradict the headers. The phase noise's strength is estimated from what the
 * filter did not foresee.
 */
class phase_tracker
{
public:
    //! A new carrier. `deviation`: of the frequency, in cycles a symbol. `walk`: variance
    //! of the phase's steps at most, in rad^2 a symbol, until frames tell it.
    void begin(double frequency, double deviation, double walk);

    //! At the next frame's first symbol, in cycles a symbol: what marks should take off.
    double frequency() const { return d_step / (2 * pi); }

    //! The carrier at each mark and at the middle of each data block.
    const std::vector<phase_point>& follow(const phase_marks& marks);

    //! Whether the data of the last frames are where the path says that they are.
    bool fits() const;

private:
    struct state {
        double phase, step;
        double pp, ps, ss; //!< covariance
    };
    //! One mark, for the filter.
    struct mark {
        double at;
        bool known;
        std::complex<double> sum; //!< of a known one, at phase 0
        size_t block;             //!< of data
        double variance;
        double reference = 0; //!< of data: the phase about which they tell the rest
    };
    //! Sums over data blocks: of the information about the phase, of its squares, and of
    //! the slopes' squares. Those and the information are the same in the mean if the
    //! references are right; if they are arbitrary, the information is about 0.
    struct fitness {
        double information = 0, spread = 0, squares = 0;
    };
    state advance(state from, double symbols) const;
    void collect(const phase_marks& marks);
    void find_path(const phase_marks& marks, int steps);
    fitness refer_to(const phase_marks& marks);
    void filter(const phase_marks& marks);
    void smooth();
    void adapt(const phase_marks& marks);
    void learn_drift(const phase_marks& marks);

    double d_phase = 0, d_step = 0; //!< at the next frame's first symbol
    state d_prior{};                //!< there
    state d_next_prior{};
    double d_walk = 1;  //!< variance of the phase's steps, in rad^2 a symbol
    fitness d_fit;      //!< of the last frames
    double d_drift = 0; //!< in rad / symbol^2
    int d_frames = 0;   //!< that were followed
    double d_frame_step = 0, d_to_middle = 0; //!< of the last frame
    std::vector<mark> d_marks;
    std::vector<state> d_foreseen, d_filtered;
    std::vector<phase_point> d_points;
    //! Of what the filter did not foresee, by its deviation: products of neighbours and
    //! squares, summed over the marks.
    double d_products = 0, d_squares = 0;
};

} // namespace gr::cudaphy::kernels
