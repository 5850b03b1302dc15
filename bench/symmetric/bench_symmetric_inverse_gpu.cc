/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include "kernels/common/parallel.h"
#include <chrono>
#include <cmath>
#include <gnuradio/cudaphy/kernels/inverse_update.h>
#include <gnuradio/cudaphy/kernels/symmetric_inverse.h>
#include <limits>
#include <random>
#include <string>
#ifdef CUDAPHY_HAVE_CUSOLVER
#include "bench/symmetric/bench_symmetric_inverse_cusolver.h"
#endif

// bench_symmetric_inverse_gpu [small|large|largest|complex|bordering|batch|update|all]:
// on a GPU, beside cuSOLVER and the bounds.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using benchmarks::seconds_per_call;

namespace {

template <typename T>
constexpr bool is_complex = std::is_same_v<T, complex64> || std::is_same_v<T, complex128>;

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr double multiply_rate = 60e12; //!< float64's, measured on an H200
constexpr double float_rate = 48e12;    //!< float32's

//! Symmetric (Hermitian) and random; definite ones have a heavier diagonal.
template <typename T>
std::vector<T> random_symmetric(size_t n, bool definite, unsigned seed = 1)
{
    std::mt19937 engine(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<T> a(n * n);
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j <= i; ++j) {
            a[i * n + j] = a[j * n + i] = uniform(engine);
            if constexpr (is_complex<T>) {
                const auto imaginary = i == j ? 0 : uniform(engine);
                a[i * n + j].imag(imaginary);
                a[j * n + i].imag(-imaginary);
            }
        }
        if (definite) {
            a[i * n + i] += 2 * std::sqrt(float(n));
        }
    }
    return a;
}

template <typename T>
double seconds(queue& q,
               view<T> a,
               view<T> x,
               size_t batch,
               int n,
               definiteness definite,
               symmetric_algorithm algorithm,
               const char* what)
{
    typename symmetric_inverse<T>::parameters p;
    p.order = n;
    p.batch = batch;
    p.definite = definite;
    p.algorithm = algorithm;
    const auto plan = symmetric_inverse<T>::make(p, q.where(), q.device());
    array<unsigned char> workspace(q, plan->workspace_bytes());
    array<int> status(q, batch);
    const double taken = seconds_per_call(q, [&] {
        plan->run(a, { x, status }, workspace, q);
    });
    for (const int code : status.to_host()) {
        if (code) {
            std::printf("%s: status %d\n", what, code);
            break;
        }
    }
    return taken;
}

template <typename T>
void one_matrix(queue& q, const char* type, int n)
{
    array<T> x(q, size_t(n) * n);
    double ours[2], potri = none, lu = none, sytrf = none;
    for (const bool definite : { true, false }) {
        array<T> a(q, view<const T>(random_symmetric<T>(n, definite)));
        ours[definite] =
            seconds<T>(q,
                       a,
                       x,
                       1,
                       n,
                       definite ? definiteness::positive : definiteness::unknown,
                       symmetric_algorithm::blocked,
                       definite ? "definite" : "indefinite");
#ifdef CUDAPHY_HAVE_CUSOLVER
        benchmarks::cusolver_symmetric_inverse<T> peer(q, n, a, x);
        if (definite) {
            potri = seconds_per_call(q, [&] { peer.potrf_potri(); });
        } else {
            lu = seconds_per_call(q, [&] { peer.getrf_getrs(); });
            sytrf = seconds_per_call(q, [&] { peer.sytrf(); });
        }
#endif
    }
    std::printf("%-8s %6d %10.2f %10.2f %8.2f %12.2f %12.2f %12.2f %10.2f\n",
                type,
                n,
                1e3 * ours[1],
                1e3 * ours[0],
                ours[0] / ours[1],
                1e3 * potri,
                1e3 * lu,
                1e3 * sytrf,
                1e3 * (is_complex<T> ? 4 : 1) * std::pow(double(n), 3) / multiply_rate);
    const benchmarks::compared flops{ 1e3 * (is_complex<T> ? 4 : 1) *
                                          std::pow(double(n), 3) / multiply_rate,
                                      "n^3 flops at float64's 60 Tflop/s" };
    const auto note = [&](const char* which, double taken, double peer, const char* by) {
        benchmarks::record({ "Symmetric inverse",
                             std::string("cuda, ") + type + ", order " +
                                 std::to_string(n) + ", " + which,
                             1e3 * taken,
                             "ms",
                             flops,
                             { 1e3 * peer, by, benchmarks::cuda_version() } });
    };
    note("definite", ours[1], potri, "cuSOLVER potrf + potri");
    note("unknown", ours[0], lu, "cuSOLVER getrf + getrs");
}

//! Of unknown definiteness, where the time depends on how many pivots are shifted.
void seeds(queue& q, int n)
{
    array<double> x(q, size_t(n) * n);
    double least = 0, most = 0;
    for (unsigned seed = 1; seed <= 10; ++seed) {
        array<double> a(q, view<const double>(random_symmetric<double>(n, false, seed)));
        const double taken = seconds<double>(
            q, a, x, 1, n, definiteness::unknown, symmetric_algorithm::blocked, "seeds");
        least = seed > 1 ? std::min(least, taken) : taken;
        most = std::max(most, taken);
    }
    std::printf("float64 %d unknown, ten matrices: %.2f to %.2f ms\n",
                n,
                1e3 * least,
                1e3 * most);
}

//! Symmetric, numbers of -1 to 1 from a hash of their place, so that a matrix of many
//! gigabytes is there soon.
void fill_symmetric(std::vector<double>& a, size_t n, bool definite)
{
    for_each_part(n, 64, [&](size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) {
            for (size_t j = 0; j < n; ++j) {
                uint64_t h = (std::max(i, j) << 32 | std::min(i, j)) + 1;
                h *= 0x9e3779b97f4a7c15u;
                h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
                h = (h ^ h >> 27) * 0x94d049bb133111ebu;
                a[i * n + j] = double(h >> 11) * 0x1p-52 - 1;
            }
            a[i * n + i] += definite ? 2 * std::sqrt(double(n)) : 0;
        }
    });
}

//! Once after a warm-up, for what takes a second or more.
template <typename Run>
double seconds_once(queue& q, const Run& run)
{
    run();
    q.synchronize();
    const auto start = std::chrono::steady_clock::now();
    run();
    q.synchronize();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
        .count();
}

//! As large as float64 goes on an H200, with what it takes of memory and the residual.
void largest(queue& q, int n)
{
    std::vector<double> host(size_t(n) * n);
    array<double> a(q, host.size()), x(q, host.size());
    array<double> residual(q, 1);
    array<int> status(q, 1), refinements(q, 1);
    for (const bool definite : { true, false }) {
        fill_symmetric(host, n, definite);
        a = array<double>();
        a = array<double>(q, view<const double>(host));
        double taken = 0, gigabytes = 0;
        {
            symmetric_inverse<double>::parameters p;
            p.order = n;
            p.definite = definite ? definiteness::positive : definiteness::unknown;
            const auto plan = symmetric_inverse<double>::make(p, q.where(), q.device());
            array<unsigned char> workspace(q, plan->workspace_bytes());
            gigabytes = 1e-9 * workspace.size();
            taken = seconds_once(q, [&] { plan->run(a, { x, status }, workspace, q); });
            plan->run(a, { x, status, residual, refinements }, workspace, q);
        }
        double peer_taken = none;
#ifdef CUDAPHY_HAVE_CUSOLVER
        if (definite) {
            benchmarks::cusolver_symmetric_inverse<double> peer(q, n, a, x);
            peer_taken = seconds_once(q, [&] { peer.potrf_potri(); });
        }
#endif
        std::printf("float64 %d %s: %.3f s, potrf+potri %.3f s; workspace %.1f GB beside "
                    "two matrices of %.1f; status %d, residual %.3f, refinements %d\n",
                    n,
                    definite ? "definite" : "unknown",
                    taken,
                    peer_taken,
                    gigabytes,
                    8e-9 * host.size(),
                    status.to_host()[0],
                    residual.to_host()[0],
                    refinements.to_host()[0]);
    }
}

void bordering(queue& q)
{
    const double bandwidth = benchmarks::copy_bandwidth(q);
    for (const int n : { 1000, 2000, 4000, 8000 }) {
        array<float> a(q, view<const float>(random_symmetric<float>(n, true)));
        array<float> x(q, a.size());
        const double taken = seconds<float>(q,
                                            a,
                                            x,
                                            1,
                                            n,
                                            definiteness::positive,
                                            symmetric_algorithm::bordering,
                                            "bordering");
        const double bound = 2 * sizeof(float) * std::pow(double(n), 3) / 3 / bandwidth;
        std::printf("bordering float32 %d: %.1f ms, bound by memory %.1f ms: %.0f %%%s\n",
                    n,
                    1e3 * taken,
                    1e3 * bound,
                    100 * bound / taken,
                    n == 8000 ? "; the paper, GTX 780: 19030 ms" : "");
        benchmarks::record({ "Symmetric inverse",
                             "cuda, float32, order " + std::to_string(n) + ", bordering",
                             1e3 * taken,
                             "ms",
                             { 1e3 * bound, "bytes at a copy's bandwidth" } });
    }
}

template <typename T>
void many(queue& q, const char* type, int n, size_t batch)
{
    auto one = random_symmetric<T>(n, true);
    std::vector<T> all;
    for (size_t item = 0; item < batch; ++item) {
        all.insert(all.end(), one.begin(), one.end());
    }
    array<T> a(q, view<const T>(all));
    array<T> x(q, a.size());
    for (const auto definite : { definiteness::positive, definiteness::unknown }) {
        const double taken = seconds<T>(
            q, a, x, batch, n, definite, symmetric_algorithm::blocked, "batch");
        std::printf("%zu of order %d, %s, %s: %.3f ms\n",
                    batch,
                    n,
                    type,
                    definite == definiteness::positive ? "definite" : "unknown",
                    1e3 * taken);
        benchmarks::record(
            { "Symmetric inverse",
              std::string("cuda, ") + type + ", order " + std::to_string(n) + ", " +
                  std::to_string(batch) + " at once, " +
                  (definite == definiteness::positive ? "definite" : "unknown"),
              1e3 * taken,
              "ms" });
    }
}

void update(queue& q, int n, int k)
{
    const size_t elements = size_t(n) * n;
    // A copy's n^2 words in and n^2 out; n^2 k multiply-adds for X V and half of that for
    // the triangle that changes.
    const double copy =
        2.0 * elements * sizeof(float) / benchmarks::copy_bandwidth(q, elements * 4);
    const double flops = k > 1 ? 3.0 * elements * k / float_rate : 0;
    const double bound = std::max(copy, flops);
    array<float> x(q, view<const float>(random_symmetric<float>(n, true)));
    array<float> v(q, view<const float>(std::vector<float>(size_t(n) * k, 1e-3f)));
    array<float> d(q, view<const float>(std::vector<float>(k, 1e-6f)));
    array<int> status(q, 1);
    typename inverse_update<float>::parameters p;
    p.order = n;
    p.rank = k;
    const auto plan = inverse_update<float>::make(p, q.where(), q.device());
    array<unsigned char> workspace(q, plan->workspace_bytes());
    const double taken =
        seconds_per_call(q, [&] { plan->run(x, v, d, 1, status, workspace, q); });
    std::printf("update of rank %d, float32 %d: %.1f us, a copy %.1f us, flops %.1f us: "
                "%.0f %% of the bound\n",
                k,
                n,
                1e6 * taken,
                1e6 * copy,
                1e6 * flops,
                100 * bound / taken);
    benchmarks::record(
        { "Symmetric inverse",
          "cuda, float32, update of rank " + std::to_string(k) + ", order " +
              std::to_string(n),
          1e6 * taken,
          "us",
          { 1e6 * bound, copy < flops ? "flops" : "a copy of the inverse" } });
}

} // namespace

int main(int argc, char** argv)
{
    const std::string what = argc > 1 ? argv[1] : "all";
    const auto wanted = [&](const char* name) { return what == "all" || what == name; };
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    const auto q = queue::make(backend::cuda);
    std::printf("%-8s %6s %10s %10s %8s %12s %12s %12s %10s (ms)\n",
                "type",
                "n",
                "definite",
                "unknown",
                "ratio",
                "potrf+potri",
                "getrf+getrs",
                "sytrf alone",
                "n^3 flops");
    for (const int n : { 1000, 2000, 4000, 8000, 16000 }) {
        if (wanted(n <= 2000 ? "small" : "large")) {
            one_matrix<float>(*q, "float32", n);
            one_matrix<double>(*q, "float64", n);
        }
    }
    if (wanted("large")) {
        seeds(*q, 4000);
    }
    if (what == "largest") { // takes 70 GB
        largest(*q, 32768);
    }
    if (wanted("complex")) {
        for (const int n : { 4000, 8000 }) {
            one_matrix<complex64>(*q, "complex64", n);
            one_matrix<complex128>(*q, "complex128", n);
        }
    }
    if (wanted("bordering")) {
        bordering(*q);
    }
    if (wanted("batch")) {
        for (const int n : { 64, 128, 256, 512 }) {
            many<float>(*q, "float32", n, 256);
            many<complex64>(*q, "complex64", n, 256);
        }
    }
    if (wanted("update")) {
        for (const int k : { 1, 4, 16, 64 }) {
            update(*q, 4096, k);
        }
        update(*q, 1024, 1);
    }
}
