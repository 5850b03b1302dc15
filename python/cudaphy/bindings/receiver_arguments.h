/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "estimator_arguments.h"
#include "ldpc_arguments.h"
#include <gnuradio/cudaphy/kernels/mimo_receiver.h>

namespace gr::cudaphy::bindings {

//! The parameters of a receiver, of arrays or a block; takes its keywords from `left`.
//! \throws as keywords::take(), std::invalid_argument
kernels::mimo_receiver::parameters
receiver_parameters(int receive_antennas,
                    int layers,
                    int tones,
                    int symbols,
                    const py::object& pilots,
                    const std::vector<int>& pilot_symbols,
                    const std::string& constellation,
                    code_ptr code,
                    keywords& left);

} // namespace gr::cudaphy::bindings
