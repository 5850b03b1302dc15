/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/benchmark.h"
#include "kernels/linalg/bench_inverse_cuda.h"
#include "kernels/linalg/inverse_launch.cuh"

namespace gr::cudaphy::benchmarks {

using kernels::pivoting;

namespace {

template <typename T>
dealt_seconds measure(
    queue& q, int order, pivoting pivot, const void* a, void* x, int* status, size_t n)
{
    int processors = 0;
    cuda_check(
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, q.device()),
        "cudaDeviceGetAttribute");
    const kernels::batch_of<T> batch{
        static_cast<const T*>(a), static_cast<T*>(x), status, nullptr, n, true
    };
    const kernels::inverse_launch how{ order, pivot, false, processors, stream_of(q) };
    return { seconds_per_call(q, [&] { kernels::launch_inverse_split(batch, how); }),
             seconds_per_call(q, [&] { kernels::launch_inverse_rows(batch, how); }) };
}

} // namespace

dealt_seconds seconds_by_deal(queue& q,
                              int order,
                              pivoting pivot,
                              view<const complex64> a,
                              view<complex64> x,
                              view<int> status)
{
    return measure<float2>(
        q, order, pivot, a.data(), x.data(), status.data(), status.size());
}

dealt_seconds seconds_by_deal(queue& q,
                              int order,
                              pivoting pivot,
                              view<const std::complex<double>> a,
                              view<std::complex<double>> x,
                              view<int> status)
{
    return measure<double2>(
        q, order, pivot, a.data(), x.data(), status.data(), status.size());
}

} // namespace gr::cudaphy::benchmarks
