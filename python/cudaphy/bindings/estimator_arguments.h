/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "arrays.h"
#include <gnuradio/cudaphy/kernels/pilot_pattern.h>

namespace gr::cudaphy::bindings {

class keywords;

//! The arguments of a channel estimator in Python, beside antennas and tones, in the
//! order of Python.
struct estimator_arguments {
    py::object
        pilots; //!< a pilot_pattern, or an array (symbols, Nt) or (symbols, tones, Nt)
    std::string method = "ls";
    double delay_spread = 0.02, first_delay = 0, snr_db = 20;
    int window = 64;
    std::vector<double> pilot_times = {}, times = {};
    double doppler = 0;
    std::vector<int> tone_numbers = {};
    int group_symbols = 0;
    bool errors_as_noise = false;

    //! Takes all arguments that channel estimator and receiver have in common.
    //! \throws as keywords::take()
    void take(keywords& from);
};

//! \throws std::invalid_argument if pilots have another number of layers or tones
kernels::channel_estimator::parameters estimator_parameters(int receive_antennas,
                                                            int layers,
                                                            int tones,
                                                            const estimator_arguments&);

void bind_pilots(py::module& m);

} // namespace gr::cudaphy::bindings
