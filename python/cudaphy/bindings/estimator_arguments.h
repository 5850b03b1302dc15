/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "arrays.h"
#include <gnuradio/cudaphy/kernels/pilot_pattern.h>

namespace gr::cudaphy::bindings {

//! What describes pilots and estimates in Python, beside antennas and tones: every
//! argument of a channel estimator, in this order.
struct estimator_arguments {
    py::object
        pilots; //!< a pilot_pattern, or an array (symbols, Nt) or (symbols, tones, Nt)
    std::string method;
    double delay_spread, first_delay, snr_db;
    int window;
    std::vector<double> pilot_times, times;
    double doppler;
    std::vector<int> tone_numbers;
    int group_symbols;
    bool errors_as_noise;
};

//! \throws std::invalid_argument if pilots have another number of layers or tones
kernels::channel_estimator::parameters estimator_parameters(int receive_antennas,
                                                            int layers,
                                                            int tones,
                                                            const estimator_arguments&);

void bind_pilots(py::module& m);

} // namespace gr::cudaphy::bindings
