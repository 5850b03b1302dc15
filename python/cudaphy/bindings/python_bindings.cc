/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "arrays.h"
#include "block_statistics_binding.h"

PYBIND11_MODULE(cudaphy_python, m)
{
    namespace py = pybind11;
    using namespace gr::cudaphy::bindings;
    m.attr("__version__") = CUDAPHY_VERSION;
    gr::cudaphy::resolve(
        gr::cudaphy::backend::reference); // or this CPU runs nothing here
    py::module::import("gnuradio.gr");    // the base classes of the blocks,
    py::module::import("gnuradio.fec");   // and of the coders for FEC blocks
    bind_backends(m);
    bind_bch(m);
    bind_dvb(m);
    bind_dvbs2_frame_sync(m);
    bind_fdtd(m);
    bind_gpu_memory(m);
    bind_linalg(m);
    bind_symbols(m);
    bind_symmetric(m);
    bind_mimo(m);
    bind_ldpc(m);
    bind_linalg_blocks(m);
    bind_mimo_blocks(m);
    bind_ofdm(m);
    bind_fdtd_blocks(m);
    bind_ldpc_blocks(m);
    bind_ldpc_fec(m);
    bind_ldpc_functions(m);
    bind_ldpc_pdu(m);
    bind_nr(m);
    bind_nr_receiver(m);
    bind_nr_cell(m);
    bind_nr5g(m);
    bind_packets(m);
    bind_receiver(m);
    bind_self_test(m);
    bind_soft_demapper(m);
    bind_sparse(m);
    bind_statistics(m); // last: of every block that is bound by then
}
