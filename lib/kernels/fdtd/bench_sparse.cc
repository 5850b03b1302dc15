/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/benchmark.h"
#ifdef CUDAPHY_HAVE_CUDA
#include "kernels/fdtd/bench_sparse_cuda.h"
#endif
#ifdef CUDAPHY_HAVE_CUSPARSE
#include "kernels/fdtd/bench_sparse_cusparse.h"
#endif
#include <cstdio>
#include <gnuradio/cudaphy/kernels/sparse_product.h>
#include <random>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

using matrix = sparse_matrix<float>;

class entries
{
public:
    explicit entries(int64_t n) : d_n(n) {}
    void add(int64_t row, int64_t column, float value)
    {
        if (column >= 0 && column < d_n) {
            d_row.push_back(row);
            d_column.push_back(column);
            d_value.push_back(value);
        }
    }
    matrix made() const
    {
        return matrix::from_triplets(d_n, d_n, d_row, d_column, d_value);
    }

private:
    int64_t d_n;
    std::vector<int64_t> d_row, d_column;
    std::vector<float> d_value;
};

//! Source 5's matrix: one sub-diagonal, diagonal and super-diagonal. Small values, so
//! that y stays finite however often A x is added.
matrix tri_diagonal(int64_t n, bool constant)
{
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    entries all(n);
    for (int64_t row = 0; row < n; ++row) {
        for (int64_t j = -1; j < 2; ++j) {
            all.add(row, row + j, 1e-6f * (constant ? float(j) + 2 : normal(engine)));
        }
    }
    return all.made();
}

//! As many rows as a grid of cells³ cells has field components, with a curl's four
//! entries, fewer at the edges of the grid.
matrix curl(int64_t cells)
{
    const int64_t plane = cells * cells, volume = cells * plane, n = 3 * volume;
    entries all(n);
    for (int64_t row = 0; row < n; ++row) {
        const int64_t component = row / volume, cell = row % volume;
        const int64_t place[3] = { cell / plane, cell / cells % cells, cell % cells };
        const int64_t step[3] = { plane, cells, 1 };
        for (int64_t other = 1; other < 3; ++other) {
            const auto across = (component + other) % 3,
                       along = (component + 3 - other) % 3;
            const float sign = other == 1 ? 1e-6f : -1e-6f;
            const auto base = across * volume + cell;
            all.add(row, base, sign);
            if (place[along] > 0) {
                all.add(row, base - step[along], -sign);
            }
        }
    }
    return all.made();
}

struct table {
    queue& q;
    const matrix& a;
    double
        bandwidth; //!< of a copy, bytes a second, of as many bytes as the product moves
};

//! One product's row: y += A x, queued one behind another, the bound being the matrix and
//! x once, y once in and once out.
void print_row(const table& t, const char* name, size_t matrix_bytes, double seconds)
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
}

void measure(queue& q, const char* what, const matrix& a, bool small)
{
    const size_t bytes = a.entries() * 8 + 12 * size_t(a.rows);
    // What fits the caches is compared with a copy that does, too.
    const table t{ q, a, benchmarks::copy_bandwidth(q, small ? bytes / 2 : 1 << 29) };
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
                      ("  in a CUDA graph: " + name_of(format).substr(0, 3)).c_str(),
                      product->matrix_bytes(),
                      benchmarks::seconds_in_graph(q, run));
        }
#endif
    }
#ifdef CUDAPHY_HAVE_CUSPARSE
    if (q.where() == backend::cuda) {
        for (const bool sliced : { false, true }) {
            benchmarks::cusparse_product peer(q, a, x, y, sliced);
            print_row(t,
                      sliced ? "cuSPARSE SELL, graph" : "cuSPARSE CSR, graph",
                      peer.matrix_bytes(),
                      benchmarks::seconds_in_graph(q, [&] { peer.run(); }));
        }
    }
#endif
}

} // namespace

int main(int argc, char** argv)
{
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf("y += A x, float; bound: matrix, x and y in and y out, once each, at the "
                "bandwidth of a copy of about as many bytes\n");
    for (const backend where : measured) {
        const auto q = queue::make(where);
        // Source 5's tables 1 (formats; CPU and GPU) and 2 (crs and subdivided_crs).
        measure(*q, "tri-diagonal", tri_diagonal(98304, false), true);
        measure(*q, "tri-diagonal, constant", tri_diagonal(98304, true), true);
        if (where != backend::reference) {
            const bool large = where == backend::cuda;
            measure(
                *q, "tri-diagonal", tri_diagonal(large ? 20000000 : 5000000, false), 0);
            measure(*q, "curls of a grid", curl(large ? 192 : 128), false);
        }
    }
}
