/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/symmetric/bench_symmetric_inverse_cusolver.h"
#include "kernels/common/cuda_check.cuh"
#include <algorithm>
#include <cusolverDn.h>

namespace gr::cudaphy::benchmarks {
namespace {

void check(cusolverStatus_t code, const char* call)
{
    if (code != CUSOLVER_STATUS_SUCCESS) {
        throw cuda_error(std::string(call) + " failed: " + std::to_string(int(code)));
    }
}

// cuSOLVER's names of a type's functions, and of the type.
template <typename T>
struct names;
#define CUDAPHY_NAMES(T, Letter, Element)                                         \
    template <>                                                                   \
    struct names<T> {                                                             \
        using element = Element;                                                  \
        static constexpr auto potrf = cusolverDn##Letter##potrf;                  \
        static constexpr auto potrf_space = cusolverDn##Letter##potrf_bufferSize; \
        static constexpr auto potri = cusolverDn##Letter##potri;                  \
        static constexpr auto potri_space = cusolverDn##Letter##potri_bufferSize; \
        static constexpr auto getrf = cusolverDn##Letter##getrf;                  \
        static constexpr auto getrf_space = cusolverDn##Letter##getrf_bufferSize; \
        static constexpr auto getrs = cusolverDn##Letter##getrs;                  \
        static constexpr auto sytrf = cusolverDn##Letter##sytrf;                  \
        static constexpr auto sytrf_space = cusolverDn##Letter##sytrf_bufferSize; \
    }
CUDAPHY_NAMES(float, S, float);
CUDAPHY_NAMES(double, D, double);
CUDAPHY_NAMES(complex64, C, cuComplex);
CUDAPHY_NAMES(complex128, Z, cuDoubleComplex);

template <typename T>
using real_part =
    std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, complex64>,
                       float,
                       double>;

template <typename T>
__global__ void set_diagonal_to_one(T* x, int n)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n) {
        reinterpret_cast<real_part<T>*>(x + size_t(j) * (n + 1))[0] = 1;
    }
}

constexpr auto lower = CUBLAS_FILL_MODE_LOWER;

} // namespace

template <typename T>
struct cusolver_symmetric_inverse<T>::state {
    state(queue& where, int order, view<T> from, view<T> to)
        : q(where), n(order), a(from), x(to), factors(q, from.size()), pivots(q, order),
          info(q, 1)
    {
        check(cusolverDnCreate(&handle), "cusolverDnCreate");
        check(cusolverDnSetStream(handle, stream_of(q)), "cusolverDnSetStream");
        int sizes[4] = {};
        check(names<T>::potrf_space(handle, lower, n, inverse(), n, &sizes[0]), "potrf");
        check(names<T>::potri_space(handle, lower, n, inverse(), n, &sizes[1]), "potri");
        check(names<T>::getrf_space(handle, n, n, inverse(), n, &sizes[2]), "getrf");
        check(names<T>::sytrf_space(handle, n, inverse(), n, &sizes[3]), "sytrf");
        elements = *std::max_element(sizes, sizes + 4);
        space = array<T>(q, elements);
    }
    ~state() { cusolverDnDestroy(handle); }

    void copy(T* to)
    {
        cuda_check(cudaMemcpyAsync(to,
                                   a.data(),
                                   a.size() * sizeof(T),
                                   cudaMemcpyDeviceToDevice,
                                   stream_of(q)),
                   "cudaMemcpyAsync");
    }

    // As cuSOLVER names the type.
    using element = typename names<T>::element;
    element* inverse() { return reinterpret_cast<element*>(x.data()); }
    element* factored() { return reinterpret_cast<element*>(factors.data()); }
    element* scratch() { return reinterpret_cast<element*>(space.data()); }

    queue& q;
    int n;
    view<T> a;
    view<T> x;
    array<T> factors;
    array<int> pivots;
    array<int> info;
    array<T> space;
    int elements = 0;
    cusolverDnHandle_t handle = nullptr;
};

template <typename T>
cusolver_symmetric_inverse<T>::cusolver_symmetric_inverse(queue& q,
                                                          int order,
                                                          view<T> a,
                                                          view<T> x)
    : d_state(std::make_unique<state>(q, order, a, x))
{
}

template <typename T>
cusolver_symmetric_inverse<T>::~cusolver_symmetric_inverse() = default;

template <typename T>
void cusolver_symmetric_inverse<T>::potrf_potri()
{
    auto& s = *d_state;
    s.copy(s.x.data());
    check(names<T>::potrf(s.handle,
                          lower,
                          s.n,
                          s.inverse(),
                          s.n,
                          s.scratch(),
                          s.elements,
                          s.info.data()),
          "potrf");
    check(names<T>::potri(s.handle,
                          lower,
                          s.n,
                          s.inverse(),
                          s.n,
                          s.scratch(),
                          s.elements,
                          s.info.data()),
          "potri");
}

template <typename T>
void cusolver_symmetric_inverse<T>::getrf_getrs()
{
    auto& s = *d_state;
    s.copy(s.factors.data());
    cuda_check(cudaMemsetAsync(s.x.data(), 0, s.x.size() * sizeof(T), stream_of(s.q)),
               "cudaMemsetAsync");
    set_diagonal_to_one<<<(s.n + 255) / 256, 256, 0, stream_of(s.q)>>>(s.x.data(), s.n);
    cuda_check_launch("set_diagonal_to_one");
    check(names<T>::getrf(s.handle,
                          s.n,
                          s.n,
                          s.factored(),
                          s.n,
                          s.scratch(),
                          s.pivots.data(),
                          s.info.data()),
          "getrf");
    check(names<T>::getrs(s.handle,
                          CUBLAS_OP_N,
                          s.n,
                          s.n,
                          s.factored(),
                          s.n,
                          s.pivots.data(),
                          s.inverse(),
                          s.n,
                          s.info.data()),
          "getrs");
}

template <typename T>
void cusolver_symmetric_inverse<T>::sytrf()
{
    auto& s = *d_state;
    s.copy(s.factors.data());
    check(names<T>::sytrf(s.handle,
                          lower,
                          s.n,
                          s.factored(),
                          s.n,
                          s.pivots.data(),
                          s.scratch(),
                          s.elements,
                          s.info.data()),
          "sytrf");
}

template class cusolver_symmetric_inverse<float>;
template class cusolver_symmetric_inverse<double>;
template class cusolver_symmetric_inverse<complex64>;
template class cusolver_symmetric_inverse<complex128>;

} // namespace gr::cudaphy::benchmarks
