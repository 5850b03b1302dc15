/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#ifdef CUDAPHY_HAVE_OPENBLAS
#include "bench/symmetric/bench_symmetric_lapack.h"
#endif
#include <gnuradio/cudaphy/kernels/inverse_update.h>
#include <gnuradio/cudaphy/kernels/symmetric_inverse.h>
#include <limits>
#include <random>
#include <string>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

template <typename T>
using real_of = decltype(std::abs(T()));

template <typename T>
std::vector<T> random_hermitian(int n, real_of<T> diagonal)
{
    constexpr bool is_complex = sizeof(T) != sizeof(real_of<T>);
    std::mt19937 engine(1);
    std::normal_distribution<real_of<T>> normal(0, 1 / std::sqrt(real_of<T>(n)));
    std::vector<T> a(size_t(n) * n);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            T value = normal(engine);
            T mirrored = value;
            if constexpr (is_complex) {
                const auto imaginary = i == j ? 0 : normal(engine);
                value.imag(imaginary);
                mirrored.imag(-imaginary);
            }
            a[size_t(i) * n + j] = value;
            a[size_t(j) * n + i] = mirrored;
        }
        a[size_t(i) * n + i] += diagonal;
    }
    return a;
}

template <typename T>
class bench
{
public:
    bench(queue& q, const char* type, int order, size_t batch)
        : d_queue(q), d_type(type), n(order), d_batch(batch)
    {
    }

    void measure()
    {
        own("definite", 5, definiteness::positive, symmetric_algorithm::blocked);
        own("indefinite", 0, definiteness::unknown, symmetric_algorithm::blocked);
        if (d_batch == 1 && n <= 2000) {
            own("bordering", 5, definiteness::positive, symmetric_algorithm::bordering);
        }
#ifdef CUDAPHY_HAVE_OPENBLAS
        if (d_queue.where() != backend::cuda) {
            using namespace benchmarks;
            peer("OpenBLAS potrf+potri", 5, [&](T* a) { return potri(n, a); });
            peer("OpenBLAS getrf+getri", 0, [&](T* a) { return getri(n, a); });
            peer("OpenBLAS sytrf+sytri", 0, [&](T* a) { return sytri(n, a); });
        }
#endif
    }

private:
    void own(const char* name,
             real_of<T> diagonal,
             definiteness definite,
             symmetric_algorithm algorithm)
    {
        const auto one = random_hermitian<T>(n, diagonal);
        std::vector<T> host;
        for (size_t item = 0; item < d_batch; ++item) {
            host.insert(host.end(), one.begin(), one.end());
        }
        array<T> a(d_queue, view<const T>(host)), x(d_queue, host.size());
        array<int> status(d_queue, d_batch);
        auto plan = symmetric_inverse<T>::make(
            { n, d_batch, algorithm, definite }, d_queue.where(), d_queue.device());
        array<unsigned char> workspace(d_queue, plan->workspace_bytes());
        const double seconds = benchmarks::seconds_per_call(d_queue, [&] {
            plan->run(a, { x, status }, workspace, d_queue);
        });
        row(name, seconds, status.to_host()[0]);
        benchmarks::record({ "Symmetric inverse", case_of(name), 1e3 * seconds, "ms" });
    }

    std::string case_of(const std::string& name) const
    {
        return name_of(d_queue.where()) + ", " + d_type + ", order " + std::to_string(n) +
               ", " + std::to_string(d_batch) + " at once, " + name;
    }

    template <typename Run>
    void peer(const char* name, real_of<T> diagonal, const Run& run)
    {
        const auto a = random_hermitian<T>(n, diagonal);
        double best = 1e9;
        int info = 0;
        for (int round = 0; round < (n > 2000 ? 1 : 3); ++round) {
            // Kernels of OpenBLAS read past a matrix's end (0.3.21, cgemv for SSE3).
            std::vector<T> copies(d_batch * a.size() + n);
            for (size_t item = 0; item < d_batch; ++item) {
                std::copy(a.begin(), a.end(), copies.data() + item * a.size());
            }
            const auto start = std::chrono::steady_clock::now();
            for (size_t item = 0; item < d_batch; ++item) {
                info = run(copies.data() + item * a.size());
            }
            const std::chrono::duration<double> took =
                std::chrono::steady_clock::now() - start;
            best = std::min(best, took.count());
        }
        row(name, best, info);
#ifdef CUDAPHY_HAVE_OPENBLAS
        benchmarks::record({ "Symmetric inverse",
                             case_of(diagonal > 0 ? "definite" : "indefinite"),
                             std::numeric_limits<double>::quiet_NaN(),
                             "ms",
                             {},
                             { 1e3 * best, name, openblas_get_config() } });
#endif
    }

    void row(const char* name, double seconds, int status)
    {
        const double flops = (sizeof(T) == sizeof(real_of<T>) ? 1.0 : 4.0) * n * n * n;
        std::printf("%-10s %-10s %6d %6zu  %-22s %11.3f ms %9.1f GFLOP/s%s\n",
                    name_of(d_queue.where()).c_str(),
                    d_type,
                    n,
                    d_batch,
                    name,
                    1e3 * seconds,
                    1e-9 * flops * d_batch / seconds,
                    status ? "  (failed)" : "");
    }

    queue& d_queue;
    const char* d_type;
    int n;
    size_t d_batch;
};

//! A rank-one update beside the copy of its inverse.
void measure_update(queue& q, int n)
{
    const double bound = 2.0 * sizeof(float) * n * n / benchmarks::copy_bandwidth(q);
    std::vector<float> v(n, 0.01f), host(size_t(n) * n);
    for (int i = 0; i < n; ++i) {
        host[size_t(i) * (n + 1)] = 1;
    }
    array<float> x(q, view<const float>(host)), columns(q, view<const float>(v));
    const std::vector<float> up{ 1 };
    array<float> d(q, view<const float>(up));
    array<int> status(q, 1);
    auto plan = inverse_update<float>::make({ n }, q.where(), q.device());
    array<unsigned char> workspace(q, plan->workspace_bytes());
    const double seconds = benchmarks::seconds_per_call(
        q, [&] { plan->run(x, columns, d, 1, status, workspace, q); });
    std::printf("%-10s float rank-one update of order %d: %.3f ms; a copy of the inverse "
                "%.3f ms, %.0f %%\n",
                name_of(q.where()).c_str(),
                n,
                1e3 * seconds,
                1e3 * bound,
                100 * bound / seconds);
    benchmarks::record(
        { "Symmetric inverse",
          name_of(q.where()) + ", float, update of rank 1, order " + std::to_string(n),
          1e6 * seconds,
          "us",
          { 1e6 * bound, "a copy of the inverse" } });
}

} // namespace

int main(int argc, char** argv)
{
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf(
        "inverses of symmetric matrices; flops counted as n^3 (complex: 4 n^3)\n");
#ifdef CUDAPHY_HAVE_OPENBLAS
    // For a processor that it does not know it takes kernels far too slow for a peer.
    std::printf(
        "OpenBLAS: kernels for %s (OPENBLAS_CORETYPE chooses others), %d threads\n",
        openblas_get_corename(),
        openblas_get_num_threads());
#else
    std::printf(
        "built without OpenBLAS (libopenblas-dev), so without peers on the CPU\n");
#endif
    for (const backend where : measured) {
        const auto q = queue::make(where);
        const bool gpu = where == backend::cuda;
        measure_update(*q, 4096);
        for (const int n : gpu ? std::vector<int>{ 1000, 4000, 8000, 16000 }
                               : std::vector<int>{ 1000, 2000, 4000 }) {
            bench<float>(*q, "float", n, 1).measure();
            bench<double>(*q, "double", n, 1).measure();
            if (n < 16000) {
                bench<complex64>(*q, "complex64", n, 1).measure();
                bench<complex128>(*q, "complex128", n, 1).measure();
            }
        }
        for (const int n : { 64, 128, 512 }) {
            bench<float>(*q, "float", n, 256).measure();
            bench<complex64>(*q, "complex64", n, 256).measure();
        }
    }
}
