/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/ldpc_code_builder.h"

namespace gr::cudaphy::kernels {

ldpc_code::sptr ldpc_code::nr5g(int, int, int, int)
{
    throw std::invalid_argument("5G NR: the tables of the base graphs are missing");
}

} // namespace gr::cudaphy::kernels
