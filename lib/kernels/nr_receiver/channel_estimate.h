/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_receiver/delay_statistics.h"
#include "kernels/nr_receiver/noise_covariance.h"
#include "kernels/nr_receiver/time_weights.h"
#include "kernels/nr_receiver/wiener_table.h"

namespace gr::cudaphy::kernels::nr {

//! How channel_estimate works.
struct estimation {
    bool mmse = true;
    double spread = -1;  //!< rms delay spread in useful symbols; below 0: from the data
    double doppler = -1; //!< in turns a symbol; below 0: from the data
    bool track_frequency = true;
    bool always_colored = false; //!< noise, for noise_covariance
};

/*!
 * \brief The channel of one shared channel's layers from its DM-RS in a slot.
 */
class channel_estimate
{
public:
    channel_estimate(shared_channel::sptr, int antennas, const estimation&);

    //! A layer of another channel in the same slot, on a port of the same DM-RS.
    void add_known_port(const resource_map::port&);
    //! Another channel's DM-RS stands in a group where this one has none.
    void leave_out(int group);

    //! \param grid  (antennas, symbols, subcarriers)
    void run(view<const complex64> grid, int slot);

    const shared_channel& channel() const { return *d_channel; }
    const pilot_layout& layout() const { return d_layout; }

    //! Whether the samples of DM-RS were finite; if not, nothing else is set.
    bool usable() const { return d_usable; }
    //! DM-RS is above the noise.
    bool present() const { return d_present; }
    //! Energy of a layer at an antenna.
    double energy() const { return d_energy; }
    //! Mean square error of a layer's estimate at an antenna, over the data.
    double error() const { return d_error; }
    double delay() const { return d_delay; }   //!< in useful symbols
    double spread() const { return d_spread; } //!< in useful symbols
    const time_weights& in_time() const { return d_in_time; }
    const noise_covariance& noise() const { return d_noise; }

    // For a receiver that takes these steps itself.
    const estimation& how() const { return d_how; }
    const std::vector<uint8_t>& own_sets() const { return d_own; }
    const std::vector<uint8_t>& known_ports() const { return d_known; }
    const std::vector<uint8_t>& silent_sets() const { return d_silence; }

    //! The channel at a symbol, for all layers, antennas and tones of the allocation:
    //! rows (layers, antennas).
    void at_symbol(int symbol, complex64 turn, planes& out) const;

private:
    bool known(int set) const { return d_known[set] && d_observed.finite[set]; }
    bool silent(int set) const { return d_silence[set] && d_observed.finite[set]; }
    void estimate_at_positions(const delay_statistics&);
    //! The spread with the least prediction_error().
    double best_spread(const delay_statistics&);
    //! Both combs of a set and antenna on all tones, (parity, tones).
    void smooth(double spread, double snr, size_t row, int group, planes& combs);
    void take_port(int position, int layer, int antenna, const planes& combs);
    void draw_lines(int position, int layer, int antenna);
    //! Leaves residuals of the observations.
    void take_off(size_t row, int set, const planes& combs);
    //! The part of a residual's noise that the estimate has not taken with it.
    double freedom(const wiener_table&,
                   const pilot_layout::run&,
                   int set,
                   int parity,
                   int pilot) const;
    void add_residuals(double spread,
                       double snr,
                       int position,
                       int set,
                       int bundle_tones,
                       residual_sums& sums);
    void find_errors(const delay_statistics&);
    void restore_delay(const std::vector<complex64>& phases);

    shared_channel::sptr d_channel;
    pilot_layout d_layout;
    int d_antennas;
    estimation d_how;
    wiener_tables d_tables;

    std::vector<uint8_t> d_own;     // sets with an own layer
    std::vector<uint8_t> d_known;   // ports of each set whose estimate is taken off
    std::vector<uint8_t> d_silence; // sets that tell of noise

    pilot_observations d_observed;
    planes d_h; // rows (positions, layers, antennas), columns tones
    time_weights d_in_time;
    noise_covariance d_noise;
    bool d_usable = false, d_present = false;
    double d_energy = 0, d_error = 0, d_delay = 0, d_spread = 0;
    double d_position_error = 0, d_position_noise = 0;
};

} // namespace gr::cudaphy::kernels::nr
