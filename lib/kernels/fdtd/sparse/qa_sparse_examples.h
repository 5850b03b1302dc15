/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Matrices for the tests of the sparse product, and the products that are expected.

#include "kernels/common/testing.h"
#include "kernels/fdtd/sparse/row_patterns.h"
#include <boost/mpl/list.hpp>
#include <cmath>
#include <gnuradio/cudaphy/kernels/sparse_product.h>
#include <limits>

namespace gr::cudaphy::testing {

using namespace gr::cudaphy::kernels;

using number_types = boost::mpl::list<float, double, complex64>;
template <typename T>
using real_of = decltype(std::real(T()));

constexpr sparse_format all_formats[] = {
    sparse_format::crs,        sparse_format::ccs,
    sparse_format::bcrs,       sparse_format::subdivided_crs,
    sparse_format::dictionary, sparse_format::diagonal
};

inline int64_t below(int64_t limit) { return int64_t(generator()() % uint64_t(limit)); }

template <typename T>
T normal()
{
    static std::normal_distribution<double> distribution;
    using real = real_of<T>;
    if constexpr (std::is_same_v<T, complex64>) {
        return { real(distribution(generator())), real(distribution(generator())) };
    } else {
        return T(distribution(generator()));
    }
}

template <typename T>
std::vector<T> normals(size_t count)
{
    std::vector<T> all(count);
    for (auto& each : all) {
        each = normal<T>();
    }
    return all;
}

//! Entries one by one.
template <typename T>
class entries
{
public:
    entries(int64_t rows, int64_t columns) : d_rows(rows), d_columns(columns) {}
    //! Adds nothing outside of the matrix.
    void add(int64_t row, int64_t column, T value)
    {
        if (row >= 0 && row < d_rows && column >= 0 && column < d_columns) {
            d_row.push_back(row);
            d_column.push_back(column);
            d_value.push_back(value);
        }
    }
    sparse_matrix<T> matrix() const
    {
        return sparse_matrix<T>::from_triplets(
            d_rows, d_columns, d_row, d_column, d_value);
    }

private:
    int64_t d_rows, d_columns;
    std::vector<int64_t> d_row, d_column;
    std::vector<T> d_value;
};

//! Entries anywhere, in no order, some twice; every seventh row and every fifth column
//! empty.
template <typename T>
sparse_matrix<T> scattered(int64_t rows, int64_t columns, int64_t count)
{
    entries<T> out(rows, columns);
    for (int64_t e = 0; e < count && rows * columns > 0; ++e) {
        const auto row = below(rows), column = below(columns);
        if (row % 7 != 3 && column % 5 != 2) {
            out.add(row, column, normal<T>());
            if (e % 10 == 0) {
                out.add(row, column, normal<T>());
            }
        }
    }
    return out.matrix();
}

//! `count` entries in each of the first `rows` rows, one in the others.
template <typename T>
sparse_matrix<T>
with_long_rows(int64_t all_rows, int64_t columns, int64_t rows, int64_t count)
{
    entries<T> out(all_rows, columns);
    for (int64_t row = 0; row < all_rows; ++row) {
        const auto first = below(columns - count + 1);
        for (int64_t j = 0; j < (row < rows ? count : 1); ++j) {
            out.add(row, first + j, normal<T>());
        }
    }
    return out.matrix();
}

//! Diagonals at these offsets, of which a share of `holes` percent is missing.
template <typename T>
sparse_matrix<T>
banded(int64_t rows, int64_t columns, const std::vector<int64_t>& offsets, int holes = 0)
{
    entries<T> out(rows, columns);
    for (int64_t row = 0; row < rows; ++row) {
        for (const auto offset : offsets) {
            if (below(100) >= holes) {
                out.add(row, row + offset, normal<T>());
            }
        }
    }
    return out.matrix();
}

//! Rows of a few patterns in runs of `run` rows, every 50th its own.
template <typename T>
sparse_matrix<T> repeating(int64_t rows, int64_t columns, int64_t run)
{
    entries<T> out(rows, columns);
    for (int64_t row = 0; row < rows; ++row) {
        const auto kind = row / run % 3;
        for (int64_t j = 0; j < 4 + kind; ++j) {
            const T own = row % 50 == 49 ? normal<T>() : T(0);
            out.add(row, row + j * j * 3 - 7, T(float(j) - 1.75f) + own);
        }
    }
    return out.matrix();
}

template <typename T>
T fused_product(T a, T x, T sum)
{
    if constexpr (std::is_same_v<T, complex64>) {
        const float re = std::fma(a.real(), x.real(), sum.real());
        const float im = std::fma(a.real(), x.imag(), sum.imag());
        return { std::fma(-a.imag(), x.imag(), re), std::fma(a.imag(), x.real(), im) };
    } else {
        return std::fma(a, x, sum);
    }
}

//! The header's promise: a chain of fused multiply-adds, columns ascending.
template <typename T>
std::vector<T>
chained(const sparse_matrix<T>& a, const std::vector<T>& x, std::vector<T> y)
{
    for (size_t i = 0; i < y.size(); ++i) {
        const auto row = int64_t(i) % a.rows, item = int64_t(i) / a.rows;
        for (auto e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
            y[i] = fused_product(a.value[e], x[item * a.columns + a.column[e]], y[i]);
        }
    }
    return y;
}

//! The sum of |a| |x| and |y|, by which rounding is measured.
template <typename T>
std::vector<double>
magnitudes(const sparse_matrix<T>& a, const std::vector<T>& x, const std::vector<T>& y)
{
    std::vector<double> sum(y.size());
    for (size_t i = 0; i < y.size(); ++i) {
        const auto row = int64_t(i) % a.rows, item = int64_t(i) / a.rows;
        sum[i] = std::abs(y[i]);
        for (auto e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
            sum[i] += double(std::abs(a.value[e])) *
                      std::abs(x[item * a.columns + a.column[e]]);
        }
    }
    return sum;
}

//! Multiplies on a backend. y begins as given, or poisoned if the product does not read
//! y.
template <typename T>
std::vector<T> multiply(const sparse_matrix<T>& a,
                        const typename sparse_product<T>::parameters& p,
                        const std::vector<T>& x,
                        const std::vector<T>& y,
                        backend where = tested_backend())
{
    auto q = queue::make(where);
    const auto product = sparse_product<T>::make(a, p, where);
    array<T> in(*q, view<const T>(x));
    auto out = p.accumulate ? array<T>(*q, view<const T>(y)) : poisoned<T>(*q, y.size());
    product->run(in, out, *q);
    return out.to_host();
}

} // namespace gr::cudaphy::testing
