/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/linalg/bench_triangular_inverse_cublas.h"
#include "kernels/common/cuda_check.cuh"
#include <cublas_v2.h>
#include <vector>

namespace gr::cudaphy::benchmarks {
namespace {

void check(cublasStatus_t code, const char* call)
{
    if (code != CUBLAS_STATUS_SUCCESS) {
        throw cuda_error(std::string(call) + " failed: " + cublasGetStatusString(code));
    }
}

array<float*> pointers_to_matrices(queue& q, view<float> matrices, size_t elements)
{
    std::vector<float*> pointers(matrices.size() / elements);
    for (size_t item = 0; item < pointers.size(); ++item) {
        pointers[item] = matrices.data() + item * elements;
    }
    array<float*> there(q, view<float* const>(pointers));
    q.synchronize();
    return there;
}

} // namespace

struct cublas_triangular_inverse::state {
    state(queue& q, int n, view<float> from, view<float> to)
        : order(n), batch(int(from.size() / (size_t(n) * n))),
          each_a(pointers_to_matrices(q, from, size_t(n) * n)),
          each_x(pointers_to_matrices(q, to, size_t(n) * n))
    {
        check(cublasCreate(&handle), "cublasCreate");
        check(cublasSetStream(handle, stream_of(q)), "cublasSetStream");
    }
    ~state() { cublasDestroy(handle); }

    int order;
    int batch;
    array<float*> each_a;
    array<float*> each_x;
    cublasHandle_t handle = nullptr;
};

cublas_triangular_inverse::cublas_triangular_inverse(queue& q,
                                                     int order,
                                                     view<float> a,
                                                     view<float> x)
    : d_state(std::make_unique<state>(q, order, a, x))
{
}

cublas_triangular_inverse::~cublas_triangular_inverse() = default;

void cublas_triangular_inverse::solve()
{
    const auto& s = *d_state;
    const float one = 1;
    check(cublasStrsmBatched(s.handle,
                             CUBLAS_SIDE_LEFT,
                             CUBLAS_FILL_MODE_UPPER,
                             CUBLAS_OP_N,
                             CUBLAS_DIAG_NON_UNIT,
                             s.order,
                             s.order,
                             &one,
                             s.each_a.data(),
                             s.order,
                             s.each_x.data(),
                             s.order,
                             s.batch),
          "cublasStrsmBatched");
}

} // namespace gr::cudaphy::benchmarks
