/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/symmetric/bench_symmetric_inverse_cusolver.h"
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

// cuSOLVER's names of a type's functions.
template <typename T>
struct names;
#define CUDAPHY_NAMES(T, Letter)                                                  \
    template <>                                                                   \
    struct names<T> {                                                             \
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
CUDAPHY_NAMES(float, S);
CUDAPHY_NAMES(double, D);

template <typename T>
__global__ void set_identity(T* x, int n)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n) {
        x[size_t(blockIdx.y) * n + j] = T(int(blockIdx.y) == j);
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
        check(names<T>::potrf_space(handle, lower, n, x.data(), n, &sizes[0]), "potrf");
        check(names<T>::potri_space(handle, lower, n, x.data(), n, &sizes[1]), "potri");
        check(names<T>::getrf_space(handle, n, n, x.data(), n, &sizes[2]), "getrf");
        check(names<T>::sytrf_space(handle, n, x.data(), n, &sizes[3]), "sytrf");
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
                          s.x.data(),
                          s.n,
                          s.space.data(),
                          s.elements,
                          s.info.data()),
          "potrf");
    check(names<T>::potri(s.handle,
                          lower,
                          s.n,
                          s.x.data(),
                          s.n,
                          s.space.data(),
                          s.elements,
                          s.info.data()),
          "potri");
}

template <typename T>
void cusolver_symmetric_inverse<T>::getrf_getrs()
{
    auto& s = *d_state;
    s.copy(s.factors.data());
    set_identity<<<dim3((s.n + 255) / 256, s.n), 256, 0, stream_of(s.q)>>>(s.x.data(),
                                                                           s.n);
    cuda_check_launch("set_identity");
    check(names<T>::getrf(s.handle,
                          s.n,
                          s.n,
                          s.factors.data(),
                          s.n,
                          s.space.data(),
                          s.pivots.data(),
                          s.info.data()),
          "getrf");
    check(names<T>::getrs(s.handle,
                          CUBLAS_OP_N,
                          s.n,
                          s.n,
                          s.factors.data(),
                          s.n,
                          s.pivots.data(),
                          s.x.data(),
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
                          s.factors.data(),
                          s.n,
                          s.pivots.data(),
                          s.space.data(),
                          s.elements,
                          s.info.data()),
          "sytrf");
}

template class cusolver_symmetric_inverse<float>;
template class cusolver_symmetric_inverse<double>;

} // namespace gr::cudaphy::benchmarks
