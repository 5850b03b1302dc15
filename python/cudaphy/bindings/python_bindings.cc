/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "arrays.h"

PYBIND11_MODULE(cudaphy_python, m)
{
    using namespace gr::cudaphy::bindings;
    m.attr("__version__") = CUDAPHY_VERSION;
    gr::cudaphy::resolve(
        gr::cudaphy::backend::reference); // or this CPU runs nothing here
    bind_backends(m);
    bind_bch(m);
    bind_dvb(m);
    bind_dvbs2_frames(m);
    bind_fdtd(m);
    bind_gpu_memory(m);
    bind_linalg(m);
    bind_symbols(m);
    bind_symmetric(m);
    bind_mimo(m);
    bind_ldpc(m);
    bind_ldpc_functions(m);
    bind_nr(m);
    bind_nr_receiver(m);
    bind_nr_cell(m);
    bind_nr5g(m);
    bind_receiver(m);
    bind_self_test(m);
    bind_sparse(m);
#ifdef CUDAPHY_WITH_GNURADIO
    m.attr("_with_gnuradio") = true;
    bind_blocks(m);
#else
    m.attr("_with_gnuradio") = false;
#endif
}
