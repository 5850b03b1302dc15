/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// The little linear algebra that a filter's weights take, in double precision, at make().

#include <complex>
#include <vector>

namespace gr::cudaphy::kernels {

//! A dense matrix, row by row.
struct dense_matrix {
    using complex = std::complex<double>;

    dense_matrix(int rows, int columns)
        : rows(rows), columns(columns), values(size_t(rows) * columns)
    {
    }
    complex& operator()(int r, int c) { return values[size_t(r) * columns + c]; }
    complex operator()(int r, int c) const { return values[size_t(r) * columns + c]; }
    bool operator==(const dense_matrix& other) const
    {
        return rows == other.rows && columns == other.columns && values == other.values;
    }

    int rows, columns;
    std::vector<complex> values;
};

//! P = Q R: Q unitary, its first `rank` columns a basis of P's columns.
struct unitary_factors {
    dense_matrix q, r; //!< r: (rank, columns of P)
    int rank;
};

//! By Gram-Schmidt, each vector orthogonalised twice; a column within 1e-5 of its length
//! in the span of those before adds nothing to the rank.
unitary_factors factorize(const dense_matrix& p);

//! Cholesky's factor L of a Hermitian positive definite A = L L^H, in place.
void cholesky(dense_matrix& a);

//! x := A^-1 x from L.
void solve_cholesky(const dense_matrix& l, std::vector<std::complex<double>>& x);

//! (A^H A)^-1 A^H of a matrix of full column rank.
dense_matrix pseudo_inverse(const dense_matrix& a);

//! The rank of a matrix's columns, as factorize() sees it.
int column_rank(const dense_matrix& a);

} // namespace gr::cudaphy::kernels
