/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// LAPACK's routines for an inverse, by their Fortran names: the peers on the CPU.

#include <complex>
#include <stdexcept>
#include <vector>

extern "C" { // of OpenBLAS alone
const char* openblas_get_config();
const char* openblas_get_corename();
int openblas_get_num_threads();
}

#define CUDAPHY_LAPACK(T, p, sy)                                                     \
    extern "C" {                                                                     \
    void p##potrf_(const char*, const int*, T*, const int*, int*);                   \
    void p##potri_(const char*, const int*, T*, const int*, int*);                   \
    void p##sy##trf_(                                                                \
        const char*, const int*, T*, const int*, int*, T*, const int*, int*);        \
    void p##sy##tri_(const char*, const int*, T*, const int*, const int*, T*, int*); \
    void p##getrf_(const int*, const int*, T*, const int*, int*, int*);              \
    void p##getri_(const int*, T*, const int*, const int*, T*, const int*, int*);    \
    }                                                                                \
    namespace gr::cudaphy::benchmarks {                                              \
    inline int potri(int n, T* a)                                                    \
    {                                                                                \
        int info = 0;                                                                \
        p##potrf_("U", &n, a, &n, &info);                                            \
        if (info == 0) {                                                             \
            p##potri_("U", &n, a, &n, &info);                                        \
        }                                                                            \
        return info;                                                                 \
    }                                                                                \
    inline int sytri(int n, T* a)                                                    \
    {                                                                                \
        int info = 0;                                                                \
        const int size = 64 * n;                                                     \
        std::vector<int> pivots(n);                                                  \
        std::vector<T> work(size);                                                   \
        p##sy##trf_("U", &n, a, &n, pivots.data(), work.data(), &size, &info);       \
        if (info == 0) {                                                             \
            p##sy##tri_("U", &n, a, &n, pivots.data(), work.data(), &info);          \
        }                                                                            \
        return info;                                                                 \
    }                                                                                \
    inline int getri(int n, T* a)                                                    \
    {                                                                                \
        int info = 0;                                                                \
        const int size = 64 * n;                                                     \
        std::vector<int> pivots(n);                                                  \
        std::vector<T> work(size);                                                   \
        p##getrf_(&n, &n, a, &n, pivots.data(), &info);                              \
        if (info == 0) {                                                             \
            p##getri_(&n, a, &n, pivots.data(), work.data(), &size, &info);          \
        }                                                                            \
        return info;                                                                 \
    }                                                                                \
    }
CUDAPHY_LAPACK(float, s, sy)
CUDAPHY_LAPACK(double, d, sy)
CUDAPHY_LAPACK(std::complex<float>, c, he)
CUDAPHY_LAPACK(std::complex<double>, z, he)
#undef CUDAPHY_LAPACK
