/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/sparse/product_makers.h"

// How the CPU cuts a product into tasks.

namespace gr::cudaphy::kernels {

//! Units first ... last - 1 of one part of a layout; what a unit is, sparse_pieces()
//! says.
struct sparse_piece {
    static constexpr int64_t work = 16384; //!< rows and entries, about

    int part;
    int64_t first, last;
};

//! One vector of a call of run().
template <typename T>
struct sparse_job {
    const sparse_layout<T>& layout;
    const T* x;
    T* y;
    int64_t rows, columns;
    bool accumulate;
};

//! Multiplies one piece.
template <typename T>
void multiply_sparse_piece(const sparse_job<T>& job, const sparse_piece& piece);
template <>
void multiply_sparse_piece(const sparse_job<float>& job, const sparse_piece& piece);
template <>
void multiply_sparse_piece(const sparse_job<double>& job, const sparse_piece& piece);
template <>
void multiply_sparse_piece(const sparse_job<complex64>& job, const sparse_piece& piece);

// A unit is a tile of compressed rows; all of compressed columns, whose sums meet in any
// row; a block row.
template <typename T>
std::vector<sparse_piece> sparse_pieces(const crs_layout<T>&, int64_t rows);
template <typename T>
std::vector<sparse_piece> sparse_pieces(const ccs_layout<T>&, int64_t rows);
template <typename T>
std::vector<sparse_piece> sparse_pieces(const bcrs_layout<T>&, int64_t rows);
// Part 0: a chunk. Part 1: a long row.
template <typename T>
std::vector<sparse_piece> sparse_pieces(const subdivided_layout<T>&, int64_t rows);
// These, and part 2 + i: a row of run i.
template <typename T>
std::vector<sparse_piece> sparse_pieces(const dictionary_layout<T>&, int64_t rows);
// A row; pieces begin at multiples of 64.
template <typename T>
std::vector<sparse_piece> sparse_pieces(const diagonal_layout<T>&, int64_t rows);

} // namespace gr::cudaphy::kernels
