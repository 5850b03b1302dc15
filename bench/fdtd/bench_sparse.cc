/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include "bench/fdtd/bench_sparse_host.h"
#ifdef CUDAPHY_HAVE_CUDA
#include "bench/fdtd/bench_sparse_cuda.h"
#endif
#ifdef CUDAPHY_HAVE_CUSPARSE
#include "bench/fdtd/bench_sparse_cusparse.h"
#endif
#include <algorithm>
#include <cstdio>
#include <gnuradio/cudaphy/kernels/sparse_product.h>
#include <random>
#include <string>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

using matrix = sparse_matrix<float>;

//! A square matrix, its rows one after another. (Triplets of the large ones would take
//! longer to sort than all products together.)
class row_by_row
{
public:
    explicit row_by_row(int64_t n)
    {
        d_made.rows = d_made.columns = n;
        d_made.row_start.assign(1, 0);
    }
    void add(int64_t column, float value)
    {
        if (column >= 0 && column < d_made.columns) {
            d_row.emplace_back(int32_t(column), value);
        }
    }
    void end_row()
    {
        std::sort(d_row.begin(), d_row.end());
        for (const auto& [column, value] : d_row) {
            d_made.column.push_back(column);
            d_made.value.push_back(value);
        }
        d_made.row_start.push_back(int64_t(d_made.column.size()));
        d_row.clear();
    }
    matrix made() { return std::move(d_made); }

private:
    matrix d_made;
    std::vector<std::pair<int32_t, float>> d_row;
};

//! Source 5's matrix: one sub-diagonal, diagonal and super-diagonal. Small values, so
//! that y stays finite however often A x is added.
matrix tri_diagonal(int64_t n, bool constant)
{
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    std::vector<float> drawn(99991); // the same again and again: drawing is slow
    for (auto& each : drawn) {
        each = normal(engine);
    }
    row_by_row all(n);
    for (int64_t row = 0; row < n; ++row) {
        for (int64_t j = -1; j < 2; ++j) {
            const float value =
                constant ? float(j) + 2 : drawn[size_t(3 * row + j + 1) % drawn.size()];
            all.add(row + j, 1e-6f * value);
        }
        all.end_row();
    }
    return all.made();
}

//! As many rows as a grid of cells³ cells has field components, with a curl's four
//! entries, fewer at the edges of the grid.
matrix curl(int64_t cells)
{
    const int64_t plane = cells * cells, volume = cells * plane, n = 3 * volume;
    row_by_row all(n);
    for (int64_t row = 0; row < n; ++row) {
        const int64_t component = row / volume, cell = row % volume;
        const int64_t place[3] = { cell / plane, cell / cells % cells, cell % cells };
        const int64_t step[3] = { plane, cells, 1 };
        for (int64_t other = 1; other < 3; ++other) {
            const auto across = (component + other) % 3,
                       along = (component + 3 - other) % 3;
            const float sign = other == 1 ? 1e-6f : -1e-6f;
            const auto base = across * volume + cell;
            all.add(base, sign);
            if (place[along] > 0) {
                all.add(base - step[along], -sign);
            }
        }
        all.end_row();
    }
    return all.made();
}

struct table {
    queue& q;
    const char* what;
    const matrix& a;
    double
        bandwidth; //!< of a copy, bytes a second, of as many bytes as the product moves
};

//! One product's row of the table: y += A x, queued one behind another. The bound is the
//! matrix and x once, y once in and once out.
void print_row(const table& t,
               const char* name,
               size_t matrix_bytes,
               double seconds,
               bool is_peer = false)
{
    const double bytes =
        double(matrix_bytes) + sizeof(float) * double(t.a.columns + 2 * t.a.rows);
    const double bound = bytes / t.bandwidth;
    std::printf("%-10s %-22s %10.2f %8.2f %10.2f %8.2f %9.2f %7.0f %%\n",
                name_of(t.q.where()).c_str(),
                name,
                1e-6 * bytes,
                double(matrix_bytes) / double(std::max<int64_t>(t.a.entries(), 1)),
                1e6 * seconds,
                2e-9 * t.a.entries() / seconds,
                1e6 * bound,
                100 * bound / seconds);
    benchmarks::record_sparse(
        { "Sparse product",
          name_of(t.q.where()) + ", " + t.what + ", n = " + std::to_string(t.a.rows),
          1e6 * seconds,
          "us",
          { 1e6 * bound, "bytes at a copy's bandwidth" } },
        name,
        is_peer ? t.q.where() : backend::automatic);
}

void measure(queue& q, const char* what, const matrix& a, bool small)
{
    const size_t bytes = a.entries() * 8 + 12 * size_t(a.rows);
    // A product that fits the caches is compared with a copy that fits them, too.
    const table t{
        q, what, a, benchmarks::copy_bandwidth(q, small ? bytes / 2 : 1 << 29)
    };
    std::printf("\n%s: n = %lld, %lld entries; a copy moves %.1f GB/s\n"
                "%-10s %-22s %10s %8s %10s %8s %9s %9s\n",
                what,
                static_cast<long long>(a.rows),
                static_cast<long long>(a.entries()),
                1e-9 * t.bandwidth,
                "backend",
                "format",
                "MB",
                "B/entry",
                "us",
                "GFLOP/s",
                "bound us",
                "of bound");
    std::vector<float> host(a.columns);
    std::mt19937 engine(2);
    for (auto& each : host) {
        each = std::normal_distribution<float>()(engine);
    }
    array<float> x(q, view<const float>(host)), y(q, view<const float>(host));
    for (const auto format : { sparse_format::crs,
                               sparse_format::ccs,
                               sparse_format::bcrs,
                               sparse_format::subdivided_crs,
                               sparse_format::dictionary,
                               sparse_format::diagonal }) {
        std::unique_ptr<sparse_product<float>> product;
        try {
            product =
                sparse_product<float>::make(a, { format, true }, q.where(), q.device());
        } catch (const std::invalid_argument&) {
            continue; // too many diagonals
        }
        const auto run = [&] { product->run(x, y, q); };
        print_row(t,
                  name_of(format).c_str(),
                  product->matrix_bytes(),
                  benchmarks::seconds_per_call(q, run));
#ifdef CUDAPHY_HAVE_CUDA
        if (q.where() == backend::cuda) {
            print_row(t,
                      (name_of(format) + ", graph").c_str(),
                      product->matrix_bytes(),
                      benchmarks::seconds_in_graph(q, run));
        }
#endif
    }
    if (q.where() == backend::cpu) {
        const benchmarks::scipy_product peer(a);
        print_row(t,
                  "scipy's loop, one core",
                  peer.matrix_bytes(),
                  benchmarks::seconds_per_call(q, [&] { peer.run(x.data(), y.data()); }),
                  true);
    }
#ifdef CUDAPHY_HAVE_CUSPARSE
    if (q.where() == backend::cuda) {
        for (const bool sliced : { false, true }) {
            benchmarks::cusparse_product peer(q, a, x, y, sliced);
            print_row(t,
                      sliced ? "cuSPARSE SELL, graph" : "cuSPARSE CSR, graph",
                      peer.matrix_bytes(),
                      benchmarks::seconds_in_graph(q, [&] { peer.run(); }),
                      true);
        }
    }
#endif
}

//! A kind of matrix, and of what size: rows, or a grid's cells along an edge.
struct chosen {
    std::string kind;
    int64_t size = 0; //!< 0: those of the figures in docs/figures
};

//! Takes the names of matrices out of the arguments: "curls", "tri_diagonal=98304".
std::vector<chosen> take_cases(int& argc, char** argv)
{
    std::vector<chosen> cases;
    int kept = 1;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const auto equals = argument.find('=');
        const auto kind = argument.substr(0, equals);
        if (kind == "tri_diagonal" || kind == "constant" || kind == "curls") {
            const auto size =
                equals == std::string::npos ? 0 : std::stoll(argument.substr(equals + 1));
            cases.push_back({ kind, size });
        } else {
            argv[kept++] = argv[i];
        }
    }
    argc = kept;
    if (cases.empty()) {
        cases = { { "tri_diagonal" }, { "constant" }, { "curls" } };
    }
    return cases;
}

void measure(queue& q, const chosen& which)
{
    const bool cuda = q.where() == backend::cuda;
    const auto sizes = [&](std::vector<int64_t> usual) {
        return which.size > 0 ? std::vector<int64_t>{ which.size } : usual;
    };
    // Up to so many rows everything stays in caches.
    const auto is_small = [](int64_t rows) { return rows <= 400000; };
    if (which.kind == "curls") {
        for (const auto cells : sizes({ cuda ? 192 : 128 })) {
            measure(
                q, "curls of a grid", curl(cells), is_small(3 * cells * cells * cells));
        }
    } else if (which.kind == "constant") {
        for (const auto n : sizes({ 98304 })) {
            measure(q, "tri-diagonal, constant", tri_diagonal(n, true), is_small(n));
        }
    } else { // source 5's tables 1 (formats; CPU and GPU) and 2 (crs and subdivided_crs)
        for (const auto n : sizes({ 98304, cuda ? 20000000 : 5000000 })) {
            measure(q, "tri-diagonal", tri_diagonal(n, false), is_small(n));
        }
    }
}

} // namespace

//! Arguments: backends, matrices, cores=N, in any order.
int main(int argc, char** argv)
{
    const auto limit = benchmarks::take_cores(argc, argv);
    const auto cases = take_cases(argc, argv);
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf("y += A x, float; bound: matrix, x and y in and y out, once each, at the "
                "bandwidth of a copy of about as many bytes\n");
    for (const backend where : measured) {
        const auto q = queue::make(where);
        for (const auto& each : cases) {
            measure(*q, each);
        }
    }
}
