/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/qa_inverse_run.h"
#include <numeric>

// Matrices to invert, row by row.

namespace gr::cudaphy::testing {

//! Gaussian numbers of unit variance; circular if complex.
template <typename T>
T normal()
{
    static std::normal_distribution<real_of<T>> distribution;
    if constexpr (is_complex<T>) {
        const auto re = distribution(generator());
        return T(re, distribution(generator())) * real_of<T>(std::sqrt(0.5));
    } else {
        return distribution(generator());
    }
}

template <typename T>
std::vector<T> gaussian_matrices(size_t batch, int n)
{
    std::vector<T> a(batch * n * n);
    std::generate(a.begin(), a.end(), normal<T>);
    return a;
}

template <typename T>
inline T conjugate(T value)
{
    if constexpr (is_complex<T>) {
        return std::conj(value);
    } else {
        return value;
    }
}

//! 1 or -1, and i or -i if complex, so that products with it are exact.
template <typename T>
T random_quarter_turn()
{
    const int turn = generator()() >> 30;
    const real_of<T> sign = turn & 1 ? -1 : 1;
    if constexpr (is_complex<T>) {
        return turn & 2 ? T(0, sign) : T(sign, 0);
    } else {
        return sign;
    }
}

inline std::vector<int> random_permutation(int n)
{
    std::vector<int> to(n);
    std::iota(to.begin(), to.end(), 0);
    std::shuffle(to.begin(), to.end(), generator());
    return to;
}

inline bool is_odd(std::vector<int> permutation)
{
    bool odd = false;
    for (int i = 0; i < int(permutation.size()); ++i) {
        while (permutation[i] != i) {
            std::swap(permutation[i], permutation[permutation[i]]);
            odd = !odd;
        }
    }
    return odd;
}

//! Hermitian positive definite matrices of a condition number of some tens.
template <typename T>
std::vector<T> definite_matrices(size_t batch, int n)
{
    auto a = gaussian_matrices<T>(batch, n);
    for (size_t item = 0; item < batch; ++item) {
        T* const m = &a[item * n * n];
        const std::vector<T> g(m, m + n * n);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j <= i; ++j) {
                T sum = i == j ? T(real_of<T>(0.2) * n) : T(0);
                for (int k = 0; k < n; ++k) {
                    sum += g[i * n + k] * conjugate(g[j * n + k]);
                }
                m[i * n + j] = i == j ? T(std::real(sum)) : sum;
                m[j * n + i] = conjugate(m[i * n + j]);
            }
        }
    }
    return a;
}

//! Gaussian matrices, or positive definite matrices for pivoting::none.
template <typename T>
std::vector<T> matrices_for(pivoting pivot, size_t batch, int n)
{
    return pivot == pivoting::none ? definite_matrices<T>(batch, n)
                                   : gaussian_matrices<T>(batch, n);
}

//! A matrix of exact rank r: blocks of ones on the diagonal. The last block fills the
//! rest.
template <typename T>
std::vector<T> blocks_of_ones(int n, int rank)
{
    std::vector<T> a(n * n);
    for (int e = 0; e < n * n; ++e) {
        const bool same = std::min(e / n, rank - 1) == std::min(e % n, rank - 1);
        a[e] = T(rank > 0 && same ? 1 : 0);
    }
    return a;
}

//! r ones on the diagonal, and everywhere else random numbers of modulus `noise` at most.
template <typename T>
std::vector<T> ones_in_noise(int n, int rank, real_of<T> noise)
{
    std::uniform_real_distribution<real_of<T>> modulus(0, noise);
    std::vector<T> a(n * n);
    for (int e = 0; e < n * n; ++e) {
        const bool one = e / n == e % n && e % n < rank;
        a[e] = one ? T(1) : modulus(generator()) * random_quarter_turn<T>();
    }
    return a;
}

//! A with permuted rows and columns, each multiplied by a unit (1, -1, i or -i).
template <typename T>
std::vector<T> shuffled(int n, const std::vector<T>& a)
{
    const auto rows = random_permutation(n), columns = random_permutation(n);
    std::vector<T> out(n * n), turns(n);
    std::generate(turns.begin(), turns.end(), random_quarter_turn<T>);
    for (int i = 0; i < n; ++i) {
        const T turn = random_quarter_turn<T>();
        for (int j = 0; j < n; ++j) {
            out[i * n + j] = a[rows[i] * n + columns[j]] * turn * turns[j];
        }
    }
    return out;
}

//! Puts a NaN or an infinity into every fourth matrix. Some of these matrices get a first
//! column of zeros too.
template <typename T>
void spoil_every_fourth(int n, std::vector<T>& a)
{
    using limits = std::numeric_limits<real_of<T>>;
    for (size_t item = 0; item < a.size() / (n * n); item += 4) {
        T* const m = &a[item * n * n];
        if (item % 8 == 0) {
            for (int i = 0; i < n; ++i) {
                m[i * n] = T(0);
            }
        }
        const auto value = item % 3 == 0   ? limits::quiet_NaN()
                           : item % 3 == 1 ? limits::infinity()
                                           : -limits::infinity();
        T& element = m[generator()() % (n * n)];
        if constexpr (is_complex<T>) {
            element = item % 5 < 2 ? T(1, value) : T(value, 1);
        } else {
            element = value;
        }
    }
}

//! Matrices of given singular values, as LAPACK's xLATMS makes them, in the wider type.
template <typename T>
class with_singular_values
{
public:
    using number = std::conditional_t<is_complex<T>, wide<T>, wide_real<T>>;
    using numbers = std::vector<number>;

    //! norm, norm / condition^(1 / (n - 1)), ..., norm / condition: mode 3 of xLATMS
    with_singular_values(int order, wide_real<T> condition, wide_real<T> norm = 1)
        : n(order)
    {
        for (int i = 0; i < n; ++i) {
            d_values.push_back(
                norm * std::pow(condition, n > 1 ? wide_real<T>(-i) / (n - 1) : 0));
        }
    }

    numbers diagonal() const
    {
        numbers a(n * n);
        for (int i = 0; i < n; ++i) {
            a[i * n + i] = d_values[i];
        }
        return a;
    }

    //! U S V^H with U and V random
    numbers general() const { return turned(adjoint(turned(diagonal()))); }

    //! U S U^H
    numbers definite() const
    {
        const auto basis = turned(identity());
        numbers a(n * n);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j <= i; ++j) {
                number sum = 0;
                for (int k = 0; k < n; ++k) {
                    sum += times(basis[i * n + k], conjugate(basis[j * n + k])) *
                           d_values[k];
                }
                a[i * n + j] = i == j ? number(std::real(sum)) : sum;
                a[j * n + i] = conjugate(a[i * n + j]);
            }
        }
        return a;
    }

    //! The triangle R of a general one, A = Q R
    numbers upper() const
    {
        auto a = general();
        for (int k = 0; k < n; ++k) {
            numbers v(n);
            for (int i = k; i < n; ++i) {
                v[i] = a[i * n + k];
            }
            const auto length = norm_of(v);
            const auto modulus = std::abs(v[k]);
            v[k] += modulus == 0 ? number(length) : v[k] / modulus * length;
            reflect(a, v);
            for (int i = k + 1; i < n; ++i) {
                a[i * n + k] = 0;
            }
        }
        return a;
    }

    numbers lower() const { return adjoint(upper()); }

    static std::vector<T> narrowed(const numbers& a)
    {
        std::vector<T> out(a.size());
        std::transform(a.begin(), a.end(), out.begin(), [](const number& value) {
            return T(value);
        });
        return out;
    }

private:
    static number times(const number& a, const number& b)
    {
        if constexpr (is_complex<T>) {
            return product(a, b);
        } else {
            return a * b;
        }
    }

    numbers identity() const
    {
        numbers a(n * n);
        for (int i = 0; i < n; ++i) {
            a[i * n + i] = 1;
        }
        return a;
    }

    numbers adjoint(const numbers& a) const
    {
        numbers out(n * n);
        for (int e = 0; e < n * n; ++e) {
            out[e % n * n + e / n] = conjugate(a[e]);
        }
        return out;
    }

    static wide_real<T> norm_of(const numbers& v)
    {
        wide_real<T> sum = 0;
        for (const auto& value : v) {
            sum += std::norm(value);
        }
        return std::sqrt(sum);
    }

    //! (I - 2 v v^H / v^H v) A
    void reflect(numbers& a, const numbers& v) const
    {
        const auto length = norm_of(v);
        if (length == 0) {
            return;
        }
        numbers unit(n);
        int first = n; // zeros come before it
        for (int i = n - 1; i >= 0; --i) {
            unit[i] = v[i] / length;
            first = unit[i] == number(0) ? first : i;
        }
        for (int j = 0; j < n; ++j) {
            number along = 0;
            for (int i = first; i < n; ++i) {
                along += times(conjugate(unit[i]), a[i * n + j]);
            }
            along *= wide_real<T>(2);
            for (int i = first; i < n; ++i) {
                a[i * n + j] -= times(unit[i], along);
            }
        }
    }

    //! A random unitary (orthogonal) matrix of the Haar measure times A. The matrix is a
    //! product of reflections in random directions of n, n - 1 ... 1 dimensions (G. W.
    //! Stewart, 1980) and of random phases.
    numbers turned(numbers a) const
    {
        for (int k = 0; k < n; ++k) {
            const auto phase = number(random_quarter_turn<T>());
            for (int j = 0; j < n; ++j) {
                a[k * n + j] = times(phase, a[k * n + j]);
            }
        }
        for (int k = n - 1; k >= 0; --k) {
            numbers v(n);
            for (int i = k; i < n; ++i) {
                v[i] = number(normal<T>());
            }
            reflect(a, v);
        }
        return a;
    }

    int n;
    std::vector<wide_real<T>> d_values;
};

} // namespace gr::cudaphy::testing
