/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/linalg/bench_inverse_cublas.h"
#include "kernels/common/cuda_check.cuh"
#include <cublas_v2.h>

namespace gr::cudaphy::benchmarks {
namespace {

void check(cublasStatus_t code, const char* call)
{
    if (code != CUBLAS_STATUS_SUCCESS) {
        throw cuda_error(std::string(call) + " failed: " + cublasGetStatusString(code));
    }
}

// The names that cuBLAS has for a type and for three of its functions.
template <typename T>
struct names;
#define CUDAPHY_NAMES(T, Element, Letter)                             \
    template <>                                                       \
    struct names<T> {                                                 \
        using element = Element;                                      \
        static constexpr auto matinv = cublas##Letter##matinvBatched; \
        static constexpr auto getrf = cublas##Letter##getrfBatched;   \
        static constexpr auto getri = cublas##Letter##getriBatched;   \
    }
CUDAPHY_NAMES(float, float, S);
CUDAPHY_NAMES(double, double, D);
CUDAPHY_NAMES(complex64, cuComplex, C);
CUDAPHY_NAMES(complex128, cuDoubleComplex, Z);

template <typename T>
using element_of = typename names<T>::element;

template <typename T>
array<element_of<T>*> pointers_to_matrices(queue& q, view<T> matrices, size_t elements)
{
    using pointer = element_of<T>*;
    std::vector<pointer> pointers(matrices.size() / elements);
    for (size_t item = 0; item < pointers.size(); ++item) {
        pointers[item] = reinterpret_cast<pointer>(matrices.data() + item * elements);
    }
    array<pointer> there(q, view<const pointer>(pointers));
    q.synchronize();
    return there;
}

} // namespace

template <typename T>
struct cublas_inverse<T>::state {
    state(queue& where, int n, view<T> from, view<T> to, view<T> between)
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
    view<T> a;
    view<T> scratch;
    array<element_of<T>*> each_a;
    array<element_of<T>*> each_x;
    array<element_of<T>*> each_scratch;
    array<int> pivots;
    array<int> info;
    cublasHandle_t handle = nullptr;
};

template <typename T>
cublas_inverse<T>::cublas_inverse(
    queue& q, int order, view<T> a, view<T> x, view<T> scratch)
    : d_state(std::make_unique<state>(q, order, a, x, scratch))
{
}

template <typename T>
cublas_inverse<T>::~cublas_inverse() = default;

template <typename T>
void cublas_inverse<T>::matinv()
{
    const auto& s = *d_state;
    check(names<T>::matinv(s.handle,
                           s.order,
                           s.each_a.data(),
                           s.order,
                           s.each_x.data(),
                           s.order,
                           s.info.data(),
                           s.batch),
          "cublas matinvBatched");
}

template <typename T>
void cublas_inverse<T>::copy()
{
    const auto& s = *d_state;
    cuda_check(cudaMemcpyAsync(s.scratch.data(),
                               s.a.data(),
                               s.a.size() * sizeof(T),
                               cudaMemcpyDeviceToDevice,
                               stream_of(s.q)),
               "cudaMemcpyAsync");
}

template <typename T>
void cublas_inverse<T>::getrf_getri()
{
    copy();
    const auto& s = *d_state;
    check(names<T>::getrf(s.handle,
                          s.order,
                          s.each_scratch.data(),
                          s.order,
                          s.pivots.data(),
                          s.info.data(),
                          s.batch),
          "cublas getrfBatched");
    check(names<T>::getri(s.handle,
                          s.order,
                          s.each_scratch.data(),
                          s.order,
                          s.pivots.data(),
                          s.each_x.data(),
                          s.order,
                          s.info.data(),
                          s.batch),
          "cublas getriBatched");
}

template class cublas_inverse<float>;
template class cublas_inverse<double>;
template class cublas_inverse<complex64>;
template class cublas_inverse<complex128>;

} // namespace gr::cudaphy::benchmarks
