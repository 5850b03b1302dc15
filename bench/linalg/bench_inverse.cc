/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include <cmath>
#include <gnuradio/cudaphy/kernels/inverse.h>
#include <limits>
#include <optional>
#include <random>
#include <string>
#ifdef CUDAPHY_HAVE_CUDA
#include "bench/linalg/bench_inverse_cuda.h"
#endif
#ifdef CUDAPHY_HAVE_CUBLAS
#include "bench/linalg/bench_inverse_cublas.h"
#endif

// bench_inverse [BACKEND...] [small|large|types|definite|all]

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using benchmarks::seconds_per_call;

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

template <typename T>
std::vector<T> random_matrices(size_t elements)
{
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    std::vector<T> host(elements);
    // A few thousand different matrices, repeated, because random numbers take longer
    // than everything else.
    const size_t drawn = std::min(elements, size_t{ 1 } << 18);
    std::generate_n(host.begin(), drawn, [&]() -> T {
        if constexpr (std::is_floating_point_v<T>) {
            return normal(engine);
        } else {
            return T(normal(engine), normal(engine));
        }
    });
    for (size_t e = drawn; e < elements; ++e) {
        host[e] = host[e - drawn];
    }
    return host;
}

//! The same made Hermitian and positive definite.
template <typename T>
std::vector<T> definite_matrices(size_t batch, int order)
{
    const size_t n = order;
    auto a = random_matrices<T>(batch * n * n);
    for (size_t item = 0; item < batch; ++item) {
        T* const m = &a[item * n * n];
        for (size_t i = 0; i < n; ++i) {
            m[i * n + i] = T(std::real(m[i * n + i]) + 4.0f * n);
            for (size_t j = 0; j < i; ++j) {
                if constexpr (std::is_floating_point_v<T>) {
                    m[j * n + i] = m[i * n + j];
                } else {
                    m[j * n + i] = std::conj(m[i * n + j]);
                }
            }
        }
    }
    return a;
}

const char* name_of(pivoting pivot)
{
    return pivot == pivoting::full      ? "full"
           : pivot == pivoting::partial ? "partial"
                                        : "none";
}

//! A batch, the kernel that inverts it, and its peers in cuBLAS.
template <typename T>
class candidates
{
public:
    candidates(queue& q, int order, size_t batch, bool definite = false)
        : d_queue(q), d_order(order),
          a(q,
            view<const T>(definite ? definite_matrices<T>(batch, order)
                                   : random_matrices<T>(batch * order * order))),
          x(q, a.size()), status(q, batch)
    {
#ifdef CUDAPHY_HAVE_CUBLAS
        if (q.where() == backend::cuda) {
            d_scratch = array<T>(q, a.size());
            d_peer.emplace(q, order, a, x, d_scratch);
        }
#endif
    }

    //! Seconds of our kernel, by a function that measures a run.
    template <typename Measure>
    double ours(pivoting pivot, inverse_algorithm algorithm, const Measure& seconds)
    {
        typename inverse<T>::parameters p{ d_order };
        p.pivot = pivot;
        p.algorithm = algorithm;
        const auto plan = inverse<T>::make(p, d_queue.where(), d_queue.device());
        array<unsigned char> workspace(d_queue, plan->workspace_bytes(status.size()));
        return seconds([&] { plan->run(a, { x, status }, workspace, d_queue); });
    }
    //! Seconds of cuBLAS; NaN if cuBLAS has no such function.
    template <typename Measure>
    double matinv([[maybe_unused]] const Measure& seconds)
    {
#ifdef CUDAPHY_HAVE_CUBLAS
        if (d_peer && d_order <= benchmarks::cublas_inverse<T>::matinv_max_order) {
            return seconds([&] { d_peer->matinv(); });
        }
#endif
        return none;
    }
    //! Seconds with the copy that it needs, because it overwrites its input.
    template <typename Measure>
    double getrf_getri([[maybe_unused]] const Measure& seconds)
    {
#ifdef CUDAPHY_HAVE_CUBLAS
        if (d_peer) {
            return seconds([&] { d_peer->getrf_getri(); });
        }
#endif
        return none;
    }

private:
    queue& d_queue;
    int d_order;

public:
    array<T> a;
    array<T> x;
    array<int> status;

private:
#ifdef CUDAPHY_HAVE_CUBLAS
    array<T> d_scratch;
    std::optional<benchmarks::cublas_inverse<T>> d_peer;
#endif
};

const char* name_of_type(float) { return "float"; }
const char* name_of_type(double) { return "double"; }
const char* name_of_type(complex64) { return "complex64"; }
const char* name_of_type(complex128) { return "complex128"; }

//! A number or, for NaN, a dash.
std::string cell(const char* format, double value)
{
    char text[32];
    std::snprintf(text, sizeof(text), format, value);
    return std::isnan(value) ? "-" : text;
}

void print_cells(const std::vector<std::string>& cells)
{
    for (const auto& text : cells) {
        std::printf("%12s", text.c_str());
    }
    std::printf("\n");
}

//! The table of the patent: the tones of an LTE sub-frame at 5, 10, 15 and 20 MHz.
void measure_small(queue& q, double bandwidth)
{
    const auto queued = [&](const auto& run) { return seconds_per_call(q, run); };
    const auto alone = [&](const auto& run) {
        return seconds_per_call(q, [&] {
            run();
            q.synchronize();
        });
    };
    const auto us = [](double seconds) { return cell("%.2f", 1e6 * seconds); };
    std::printf(
        "\nSmall batches, complex64, full pivoting (cuBLAS: partial), us a batch. "
        "By the host's clock, alone: call and\nend of it; queued: a call of many. "
        "By events, one: event, launch, event; graph: each of 200 in a CUDA graph.\n"
        "The source, patent CN102567283, prints no times. Its goal is a batch "
        "within a sub-frame's 500 us.\n");
    print_cells(
        { "order", "batch", "alone", "queued", "ns a matrix", "bound us", "of 500 us" });
#ifdef CUDAPHY_HAVE_CUDA
    const auto one = [&](const auto& run) {
        return benchmarks::seconds_of_one_launch(q, run);
    };
    const auto graph = [&](const auto& run) {
        return benchmarks::seconds_within_graph(q, run);
    };
#endif
    for (const int order : { 2, 4, 8 }) {
        for (const size_t batch : { 300, 600, 900, 1200 }) {
            candidates<complex64> c(q, order, batch);
            const auto fastest = inverse_algorithm::fastest;
            const double busy = c.ours(pivoting::full, fastest, queued);
            const double whole = c.ours(pivoting::full, fastest, alone);
            print_cells({ cell("%.0f", order),
                          cell("%.0f", batch),
                          us(whole),
                          us(busy),
                          cell("%.1f", 1e9 * busy / batch),
                          us(2.0 * sizeof(complex64) * order * order * batch / bandwidth),
                          cell("%.2f %%", 100 * whole / 500e-6) });
            benchmarks::record({ "Batched inverse",
                                 name_of(q.where()) + ", complex64, " +
                                     std::to_string(order) + " x " +
                                     std::to_string(order) + ", full, " +
                                     std::to_string(batch) + " alone",
                                 1e6 * whole,
                                 "us",
                                 { 500, "a sub-frame's 500 us" } });
        }
    }
#ifdef CUDAPHY_HAVE_CUDA
    if (q.where() != backend::cuda) {
        return;
    }
    const auto nothing = [&] { benchmarks::launch_empty_kernel(q); };
    std::printf("\nby events; an empty kernel: one %s us, graph %s us\n",
                us(one(nothing)).c_str(),
                us(graph(nothing)).c_str());
    std::printf("%24s%24s%24s%24s%24s\n",
                "",
                "ours",
                "ours, patent's steps",
                "cuBLAS matinv",
                "cuBLAS getrf + getri");
    print_cells({ "order",
                  "batch",
                  "one",
                  "graph",
                  "one",
                  "graph",
                  "one",
                  "graph",
                  "one",
                  "graph" });
    for (const int order : { 2, 4, 8 }) {
        for (const size_t batch : { 300, 600, 900, 1200 }) {
            candidates<complex64> c(q, order, batch);
            std::vector<std::string> cells{ cell("%.0f", order), cell("%.0f", batch) };
            double ours = none;
            for (const auto algorithm :
                 { inverse_algorithm::fastest, inverse_algorithm::patent }) {
                cells.push_back(us(c.ours(pivoting::full, algorithm, one)));
                const double within = c.ours(pivoting::full, algorithm, graph);
                cells.push_back(us(within));
                if (algorithm == inverse_algorithm::fastest) {
                    ours = within;
                }
            }
            const double matinv = c.matinv(graph);
            cells.push_back(us(c.matinv(one)));
            cells.push_back(us(matinv));
            cells.push_back(us(c.getrf_getri(one)));
            cells.push_back(us(c.getrf_getri(graph)));
            print_cells(cells);
            benchmarks::record(
                { "Batched inverse",
                  "cuda, complex64, " + std::to_string(order) + " x " +
                      std::to_string(order) + ", full, " + std::to_string(batch) +
                      " in a graph",
                  1e6 * ours,
                  "us",
                  {},
                  { 1e6 * matinv, "cuBLAS matinvBatched", benchmarks::cuda_version() } });
        }
    }
#endif
}

void print_head_of_large()
{
    print_cells({ "type",
                  "order",
                  "batch",
                  "pivoting",
                  "us",
                  "ns a matrix",
                  "bound us",
                  "of bound",
                  "matinv us",
                  "getrf+i us",
                  "to better" });
}

template <typename T>
void measure_large(queue& q,
                   double bandwidth,
                   std::initializer_list<int> orders,
                   std::initializer_list<pivoting> ways)
{
    const bool definite = *ways.begin() == pivoting::none; // only these need no pivoting
    const auto queued = [&](const auto& run) { return seconds_per_call(q, run); };
    const auto us = [](double seconds) { return cell("%.1f", 1e6 * seconds); };
    // A batch far larger than the caches, if the backend is fast enough.
    const size_t bytes = size_t{ 1 } << (q.where() == backend::cuda  ? 28
                                         : q.where() == backend::cpu ? 25
                                                                     : 19);
    const size_t elements = bytes / sizeof(T);
    for (const int order : orders) {
        const size_t batch = elements / (size_t(order) * order);
        candidates<T> c(q, order, batch, definite);
        const double bound = 2.0 * sizeof(T) * order * order * batch / bandwidth;
        const double matinv = c.matinv(queued);
        const double getrf_getri = c.getrf_getri(queued) - bound; // without the copy
        for (const auto pivot : ways) {
            const double ours = c.ours(pivot, inverse_algorithm::fastest, queued);
            print_cells({ name_of_type(T()),
                          cell("%.0f", order),
                          cell("%.0f", batch),
                          name_of(pivot),
                          us(ours),
                          cell("%.2f", 1e9 * ours / batch),
                          us(bound),
                          cell("%.1f %%", 100 * bound / ours),
                          us(matinv),
                          us(getrf_getri),
                          cell("%.1f x", std::fmin(matinv, getrf_getri) / ours) });
            const double matrices = 1e-6 * batch;
            benchmarks::record(
                { "Batched inverse",
                  name_of(q.where()) + ", " + name_of_type(T()) + ", " +
                      std::to_string(order) + " x " + std::to_string(order) + ", " +
                      name_of(pivot),
                  matrices / ours,
                  "M/s",
                  { matrices / bound, "bytes at a copy's bandwidth" },
                  { matrices / std::fmin(matinv, getrf_getri),
                    matinv < getrf_getri ? "cuBLAS matinvBatched"
                                         : "cuBLAS getrfBatched + getriBatched",
                    benchmarks::cuda_version() } });
        }
    }
}

} // namespace

int main(int argc, char** argv)
{
    std::string part = "all";
    for (const auto known : { "small", "large", "types", "definite", "all" }) {
        if (argc > 1 && !std::strcmp(argv[argc - 1], known)) {
            part = known;
            --argc;
            break;
        }
    }
    const auto is_chosen = [&](const char* name) {
        return part == "all" || part == name;
    };
    for (const backend where : benchmarks::measured_backends(argc, argv)) {
        const auto q = queue::make(where);
        const auto found = resolve(where);
        std::printf("%s: %s\n", name_of(where).c_str(), found.reason.c_str());
        const double bandwidth = benchmarks::copy_bandwidth(*q);
        std::printf("bound: a matrix in and out at the bandwidth of a copy, %.1f GB/s\n",
                    1e-9 * bandwidth);
        if (is_chosen("small")) {
            measure_small(*q, bandwidth);
        }
        if (part == "small") {
            continue;
        }
        std::printf("\nLarge batches. cuBLAS pivots partially; getrf+i is less the copy "
                    "that it needs. To better: the better of cuBLAS,\nin our times.\n");
        print_head_of_large();
        const auto full = pivoting::full;
        if (is_chosen("large")) {
            measure_large<complex64>(*q,
                                     bandwidth,
                                     { 2,  3,  4,  5,  6,  7,  8,  10, 12,
                                       14, 16, 20, 24, 28, 32, 33, 36, 37,
                                       40, 41, 44, 48, 49, 52, 56, 57, 64 },
                                     { full, pivoting::partial });
        }
        if (is_chosen("types")) {
            measure_large<float>(*q, bandwidth, { 2, 4, 8 }, { full });
            measure_large<double>(*q, bandwidth, { 2, 4, 8 }, { full });
            measure_large<complex128>(*q, bandwidth, { 2, 4, 8 }, { full });
            const auto above_32 = { 33, 36, 37, 40, 41, 44, 48, 49, 52, 56, 57, 64 };
            measure_large<float>(*q, bandwidth, above_32, { full, pivoting::partial });
            measure_large<double>(*q, bandwidth, above_32, { full, pivoting::partial });
            measure_large<complex128>(
                *q, bandwidth, above_32, { full, pivoting::partial });
        }
        if (is_chosen("definite")) {
            const auto orders = { 4,  8,  12, 16, 20, 24, 32, 33,
                                  36, 40, 44, 48, 52, 56, 57, 64 };
            measure_large<complex64>(*q, bandwidth, orders, { pivoting::none });
            measure_large<float>(*q, bandwidth, orders, { pivoting::none });
        }
    }
}
