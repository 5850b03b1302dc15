/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldpc_arguments.h"

namespace gr::cudaphy::bindings {

void keywords::take_decoding(ldpc_decoder_options& to)
{
    take("max_iterations", to.max_iterations);
    take("scale", to.scale);
    take("early_stop", to.early_stop);
    take("output", to.output);
    take("llr_positive", to.llr_positive);
    take_more_decoding(to);
}

void keywords::take_more_decoding(ldpc_decoder_options& to)
{
    take("algorithm", to.algorithm);
    take("offset", to.offset);
    take("schedule", to.schedule);
    take("arithmetic", to.arithmetic);
    take("llr_steps", to.llr_steps);
    take("llr_scale", to.llr_scale);
    take("packed", to.packed);
    take("stop_crc", to.stop_crc);
}

void keywords::finish() const
{
    if (!d_left.empty()) {
        throw py::type_error("unexpected keyword argument " +
                             py::str(py::list(d_left)).cast<std::string>());
    }
}

} // namespace gr::cudaphy::bindings
