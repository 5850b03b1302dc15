/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/symbol_sync.h>

namespace gr::cudaphy::kernels {

std::unique_ptr<symbol_sync> make_symbol_sync_reference(const symbol_sync_parameters& p);
std::unique_ptr<symbol_sync> make_symbol_sync_cpu(const symbol_sync_parameters& p);
std::unique_ptr<symbol_sync> make_symbol_sync_cuda(const symbol_sync_parameters& p,
                                                   int device);

} // namespace gr::cudaphy::kernels
