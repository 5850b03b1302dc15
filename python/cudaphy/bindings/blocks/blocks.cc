/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "block_arguments.h"
#include "statistics.h"

namespace gr::cudaphy::bindings {

void bind_blocks(py::module& m)
{
    py::module::import("gnuradio.gr");  // the base classes of the blocks,
    py::module::import("gnuradio.fec"); // and of the coders for FEC blocks
    bind_bch_blocks(m);
    bind_dvb_blocks(m);
    bind_fdtd_blocks(m);
    bind_ldpc_blocks(m);
    bind_ldpc_fec(m);
    bind_ldpc_pdu(m);
    bind_linalg_blocks(m);
    bind_mimo_blocks(m);
    bind_nr_blocks(m);
    bind_nr_ofdm_blocks(m);
    bind_ofdm(m);
    bind_packets(m);
    bind_receiver_blocks(m);
    bind_soft_demapper(m);
    bind_sparse_blocks(m);
    bind_symbols_blocks(m);
    bind_statistics(m); // last: of every block that is bound by then
}

} // namespace gr::cudaphy::bindings
