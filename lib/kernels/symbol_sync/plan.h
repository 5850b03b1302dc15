/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/symbol_sync.h>

namespace gr::cudaphy::kernels {

//! Sample `index`; 0 if it counts as 0.
complex64 sample_at(const unsigned char* samples, size_t index, sample_format format);

//! The root-raised-cosine pulse of unit energy at t symbols.
double root_raised_cosine(double t, double roll_off);

/*!
 * The sizes and tables of a symbol_sync. Positions are in samples.
 *
 *     block b, its points, and its centre c     |.x...x...x...x.|.x...x...x...x.|
 *     segments: symbols that are filtered         0      |       1       |     2
 *
 * The timing is known at the centres of the blocks. Segment s is from the centre of block
 * s - 1 to that of block s. The first segment begins half a symbol before sample 0; the
 * last one, behind the last block's centre, ends half a symbol after the last sample.
 */
struct symbol_sync_plan {
    explicit symbol_sync_plan(const symbol_sync_parameters& p);

    symbol_sync_parameters given;
    double samples_per_symbol;

    // Lines.
    int stride;        //!< from point to point
    int points;        //!< of a block
    int block_samples; //!< points * stride
    double advance;    //!< symbols of a block
    double centre;     //!< of a block, from its first sample
    int edge_half;     //!< samples before a point, and after it, that are filtered
    int edge_taps;     //!< 2 edge_half + 1, and zeros to a multiple of `padding`

    // Timing.
    int half_window; //!< blocks
    int window;      //!< 2 half_window + 1
    int candidates;  //!< clock errors, an odd number, the middle one 0
    double candidate_step;

    // Matched filter.
    int filter_half; //!< samples before an instant, and after it
    int filter_taps; //!< 2 filter_half + 2, and zeros to a multiple of `padding`
    int phase_bits;  //!< 2^phase_bits phases a sample

    int most_symbols; //!< of a segment

    //! At 1 there is no margin for the filters' skirts.
    static constexpr double points_a_bandwidth = 1.6;
    static constexpr int padding = 16;
    static constexpr int gain_blocks = 17;
    static constexpr float largest_sample = 1e15f;
    static constexpr double most_clock_error = 300e-6; //!< beside the candidates' 250

    double candidate(int index) const
    {
        return (index - candidates / 2) * candidate_step;
    }
    double centre_of(int64_t block) const
    {
        return static_cast<double>(block * block_samples) + centre;
    }
    size_t phases() const { return size_t(1) << phase_bits; }

    //! Impulse response of the filter of the upper edge at `sample` from its middle; that
    //! of the lower edge is the conjugate.
    complex128 edge(double sample) const;
    double filter(double sample) const; //!< the matched filter's, 0 beyond its span

    // Tables.
    std::vector<float> edge_real, edge_imag; //!< edge_taps each
    std::vector<complex64> rotations;        //!< of a point to the block's centre
    std::vector<complex64> turns;            //!< (window, candidates)
    std::vector<float> filters;              //!< (phases, filter_taps)
    void make_tables();
    //! What turns the line of a block `from` blocks after a window's middle to the
    //! middle.
    complex128 turn(double from, double clock_error) const;
    complex128 rotation(int point) const;
};

} // namespace gr::cudaphy::kernels
