/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/linalg/bench_inverse_cublas.h"
#include <cublas_v2.h>

namespace gr::cudaphy::benchmarks {
namespace {

void check(cublasStatus_t code, const char* call)
{
    if (code != CUBLAS_STATUS_SUCCESS) {
        throw cuda_error(std::string(call) + " failed: " + cublasGetStatusString(code));
    }
}

array<cuComplex*>
pointers_to_matrices(queue& q, view<complex64> matrices, size_t elements)
{
    std::vector<cuComplex*> pointers(matrices.size() / elements);
    for (size_t item = 0; item < pointers.size(); ++item) {
        pointers[item] = reinterpret_cast<cuComplex*>(matrices.data() + item * elements);
    }
    array<cuComplex*> there(q, view<cuComplex* const>(pointers));
    q.synchronize();
    return there;
}

} // namespace

struct cublas_inverse::state {
    state(queue& where,
          int n,
          view<complex64> from,
          view<complex64> to,
          view<complex64> between)
        : q(where), order(n), batch(int(from.size() / (size_t(n) * n))), a(from),
          scratch(between), each_a(pointers_to_matrices(q, from, size_t(n) * n)),
          each_x(pointers_to_matrices(q, to, size_t(n) * n)),
          each_scratch(pointers_to_matrices(q, between, size_t(n) * n)),
          pivots(q, size_t(n) * batch), info(q, batch)
    {
        check(cublasCreate(&handle), "cublasCreate");
        check(cublasSetStream(handle, stream_of(q)), "cublasSetStream");
    }
    ~state() { cublasDestroy(handle); }

    queue& q;
    int order;
    int batch;
    view<complex64> a;
    view<complex64> scratch;
    array<cuComplex*> each_a;
    array<cuComplex*> each_x;
    array<cuComplex*> each_scratch;
    array<int> pivots;
    array<int> info;
    cublasHandle_t handle = nullptr;
};

cublas_inverse::cublas_inverse(
    queue& q, int order, view<complex64> a, view<complex64> x, view<complex64> scratch)
    : d_state(std::make_unique<state>(q, order, a, x, scratch))
{
}

cublas_inverse::~cublas_inverse() = default;

void cublas_inverse::matinv()
{
    const auto& s = *d_state;
    check(cublasCmatinvBatched(s.handle,
                               s.order,
                               s.each_a.data(),
                               s.order,
                               s.each_x.data(),
                               s.order,
                               s.info.data(),
                               s.batch),
          "cublasCmatinvBatched");
}

void cublas_inverse::copy()
{
    const auto& s = *d_state;
    cuda_check(cudaMemcpyAsync(s.scratch.data(),
                               s.a.data(),
                               s.a.size() * sizeof(complex64),
                               cudaMemcpyDeviceToDevice,
                               stream_of(s.q)),
               "cudaMemcpyAsync");
}

void cublas_inverse::getrf_getri()
{
    copy();
    const auto& s = *d_state;
    check(cublasCgetrfBatched(s.handle,
                              s.order,
                              s.each_scratch.data(),
                              s.order,
                              s.pivots.data(),
                              s.info.data(),
                              s.batch),
          "cublasCgetrfBatched");
    check(cublasCgetriBatched(s.handle,
                              s.order,
                              s.each_scratch.data(),
                              s.order,
                              s.pivots.data(),
                              s.each_x.data(),
                              s.order,
                              s.info.data(),
                              s.batch),
          "cublasCgetriBatched");
}

} // namespace gr::cudaphy::benchmarks
