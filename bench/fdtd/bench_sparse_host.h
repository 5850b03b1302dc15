/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Peers on the CPU for the benchmarks of sparse products and of the stepper.

#include "bench/records.h"
#include <algorithm>
#include <cstdlib>
#include <gnuradio/cudaphy/kernels/backend.h>
#include <gnuradio/cudaphy/kernels/sparse_matrix.h>
#include <limits>
#include <memory>
#include <string>
#include <tbb/global_control.h>
#include <vector>

namespace gr::cudaphy::benchmarks {

//! Takes "cores=2" out of the arguments: limits the threads as long as the returned
//! object lives. Null: all cores.
inline std::unique_ptr<tbb::global_control> take_cores(int& argc, char** argv)
{
    std::unique_ptr<tbb::global_control> limit;
    int kept = 1;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i], name = "cores=";
        if (argument.compare(0, name.size(), name) == 0) {
            limit = std::make_unique<tbb::global_control>(
                tbb::global_control::max_allowed_parallelism,
                std::max(1, std::atoi(argument.c_str() + name.size())));
        } else {
            argv[kept++] = argv[i];
        }
    }
    argc = kept;
    return limit;
}

//! Records what was measured as a format's or, if `peer` is a backend, as that of its
//! peer there: cuSPARSE, or on a CPU the loop below.
inline void record_sparse(figure measured, const std::string& how, backend peer)
{
    if (peer == backend::automatic) {
        measured.what += ", " + how;
    } else {
        measured.peer = { measured.ours,
                          how,
                          peer == backend::cuda ? cuda_version() : "compiled here" };
        measured.bound = {};
        measured.ours = std::numeric_limits<double>::quiet_NaN();
    }
    record(measured);
}

//! y += A x as scipy.sparse does it, on one core: csr_matvec() of its sparsetools/csr.h,
//! with indices of 32 bits. scipy's own `y + A @ x` allocates and adds besides.
class scipy_product
{
public:
    explicit scipy_product(const kernels::sparse_matrix<float>& a)
        : d_a(a), d_start(a.row_start.begin(), a.row_start.end())
    {
    }
    size_t matrix_bytes() const { return 8 * size_t(d_a.entries()) + 4 * d_start.size(); }
    void run(const float* x, float* y) const
    {
        const int *const start = d_start.data(), *const column = d_a.column.data();
        const float* const value = d_a.value.data();
        for (int i = 0; i < int(d_a.rows); ++i) {
            float sum = y[i];
            for (int j = start[i]; j < start[i + 1]; ++j) {
                sum += value[j] * x[column[j]];
            }
            y[i] = sum;
        }
    }

private:
    const kernels::sparse_matrix<float>& d_a;
    const std::vector<int> d_start;
};

} // namespace gr::cudaphy::benchmarks
