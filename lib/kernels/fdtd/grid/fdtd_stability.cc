/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/parallel.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/fdtd_stability.h>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

using vector = std::vector<double>;
using complex = std::complex<double>;

//! Single precision's matrices have eigenvalues that are rounded too.
constexpr double rounding = 1e-6;

double dot(const vector& a, const vector& b)
{
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

vector random_vector(size_t n)
{
    std::mt19937 generator(1); // the same answer every time
    std::normal_distribution<double> normal;
    vector x(n);
    std::generate(x.begin(), x.end(), [&] { return normal(generator); });
    return x;
}

template <typename T>
void add_product(const sparse_matrix<T>& a, double factor, const vector& x, vector& y)
{
    for_each_part(a.rows, 4096, [&](size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) {
            double sum = 0;
            for (auto k = a.row_start[i]; k < a.row_start[i + 1]; ++k) {
                sum += double(a.value[k]) * x[a.column[k]];
            }
            y[i] += factor * sum;
        }
    });
}

template <typename T>
class pair_of_matrices
{
public:
    pair_of_matrices(const sparse_matrix<T>& rh, const sparse_matrix<T>& re)
        : rh(rh), re(re), d_half(re.rows)
    {
    }

    //! -RH RE x
    vector operator()(const vector& x)
    {
        vector y(rh.rows);
        std::fill(d_half.begin(), d_half.end(), 0.0);
        add_product(re, 1, x, d_half);
        add_product(rh, -1, d_half, y);
        return y;
    }

    //! Weights w, v > 0 with v[i] RE[i][j] = -w[j] RH[j][i]; -RH RE is then self-adjoint
    //! in the inner product with w. Empty if there are none. Elements that never change,
    //! whose row is empty, do not count.
    vector weights() const;

    const sparse_matrix<T>& rh;
    const sparse_matrix<T>& re;

private:
    vector d_half;
};

template <typename T>
vector pair_of_matrices<T>::weights() const
{
    const auto moves = [](const auto& a, int64_t row) {
        return std::any_of(a.value.begin() + a.row_start[row],
                           a.value.begin() + a.row_start[row + 1],
                           [](T value) { return value != T(0); });
    };
    std::vector<char> e_moves(rh.rows), h_moves(re.rows);
    for (int64_t j = 0; j < rh.rows; ++j) {
        e_moves[j] = moves(rh, j);
    }
    for (int64_t i = 0; i < re.rows; ++i) {
        h_moves[i] = moves(re, i);
    }
    const auto find = [](const auto& a, int64_t row, int64_t column) -> double {
        const auto from = a.column.begin() + a.row_start[row],
                   to = a.column.begin() + a.row_start[row + 1];
        const auto place = std::lower_bound(from, to, column);
        return place != to && *place == column ? a.value[place - a.column.begin()] : T(0);
    };
    const double tolerance = 1e3 * std::numeric_limits<T>::epsilon() + 1e-10;
    vector w(rh.rows, 0.0), v(re.rows, 0.0);
    std::vector<std::pair<bool, int64_t>> open;
    // From one element to the next: the ratio of two weights is that of two entries.
    const auto follow = [&](const auto& a,
                            const auto& back,
                            const vector& from,
                            vector& to,
                            const std::vector<char>& to_moves,
                            int64_t row,
                            bool to_e) {
        for (auto k = a.row_start[row]; k < a.row_start[row + 1]; ++k) {
            const int64_t next = a.column[k];
            const double entry = a.value[k];
            if (entry == 0 || !to_moves[next]) {
                continue;
            }
            const double weight = -from[row] * entry / find(back, next, row);
            if (!(weight > 0) || !std::isfinite(weight)) {
                return false;
            }
            if (to[next] == 0) {
                to[next] = weight;
                open.emplace_back(to_e, next);
            } else if (std::abs(weight / to[next] - 1) > tolerance) {
                return false;
            }
        }
        return true;
    };
    for (int64_t start = 0; start < rh.rows; ++start) {
        if (!e_moves[start] || w[start] != 0) {
            continue;
        }
        w[start] = 1;
        open.emplace_back(true, start);
        while (!open.empty()) {
            const auto [is_e, row] = open.back();
            open.pop_back();
            if (is_e ? !follow(rh, re, w, v, h_moves, row, false)
                     : !follow(re, rh, v, w, e_moves, row, true)) {
                return {};
            }
        }
    }
    // An h that no moving e drives may still be driven by one: then entries have no
    // partner.
    for (int64_t i = 0; i < re.rows; ++i) {
        for (auto k = re.row_start[i]; k < re.row_start[i + 1]; ++k) {
            if (v[i] == 0 && re.value[k] != T(0) && e_moves[re.column[k]]) {
                return {};
            }
        }
    }
    return w;
}

//! The largest eigenvalue of a symmetric tri-diagonal matrix, by bisection.
double largest_of(const vector& diagonal, const vector& beside)
{
    double from = 0, to = 0;
    for (size_t i = 0; i < diagonal.size(); ++i) {
        to = std::max(to,
                      std::abs(diagonal[i]) + (i ? std::abs(beside[i - 1]) : 0) +
                          (i < beside.size() ? std::abs(beside[i]) : 0));
    }
    for (int round = 0; round < 60; ++round) {
        const double x = (from + to) / 2;
        double pivot = -1;
        for (size_t i = 0; i < diagonal.size() && pivot < 0; ++i) {
            pivot = diagonal[i] - x - (i ? beside[i - 1] * beside[i - 1] / pivot : 0);
        }
        (pivot < 0 ? to : from) = x;
    }
    return to;
}

template <typename T>
double by_lanczos(pair_of_matrices<T>& product, const vector& weights)
{
    const auto inner = [&](const vector& a, const vector& b) {
        double sum = 0;
        for (size_t i = 0; i < a.size(); ++i) {
            sum += weights[i] * a[i] * b[i];
        }
        return sum;
    };
    const size_t n = weights.size();
    auto x = random_vector(n);
    for (size_t i = 0; i < n; ++i) {
        x[i] = weights[i] > 0 ? x[i] / std::sqrt(weights[i]) : 0;
    }
    vector before(n, 0.0), diagonal, beside;
    double norm = std::sqrt(inner(x, x)), last = -1, largest = 0;
    if (norm == 0) {
        return 0;
    }
    for (auto& value : x) {
        value /= norm;
    }
    for (int round = 1; round <= 1000; ++round) {
        auto next = product(x);
        const double along = inner(next, x);
        for (size_t i = 0; i < n; ++i) {
            next[i] -= along * x[i] + (beside.empty() ? 0 : beside.back()) * before[i];
            next[i] = weights[i] > 0 ? next[i] : 0;
        }
        diagonal.push_back(along);
        norm = std::sqrt(inner(next, next));
        if (round % 20 == 0 || norm <= 1e-14 * largest || norm == 0) {
            largest = largest_of(diagonal, beside);
            if (norm <= 1e-14 * largest || std::abs(largest - last) <= 1e-11 * largest) {
                return largest;
            }
            last = largest;
        }
        largest = std::max(largest, along);
        beside.push_back(norm);
        before = std::move(x);
        for (auto& value : next) {
            value /= norm;
        }
        x = std::move(next);
    }
    return largest_of(diagonal, vector(beside.begin(), beside.end() - 1));
}

//! The eigenvalue that x, nearly in the space of one or of a conjugate pair, belongs to:
//! the root farther from [0, inf) of z^2 - s z + p, with M M x - s M x + p x the
//! smallest.
template <typename T>
complex eigenvalue_near(pair_of_matrices<T>& product, const vector& x)
{
    const auto y = product(x), z = product(y);
    const double xx = dot(x, x), yy = dot(y, y), xy = dot(x, y), xz = dot(x, z),
                 yz = dot(y, z);
    if (xx == 0 || yy == 0) {
        return 0;
    }
    const double one = xy / xx; // alone
    double off = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        off += (y[i] - one * x[i]) * (y[i] - one * x[i]);
    }
    const double determinant = xx * yy - xy * xy;
    if (off <= 1e-12 * yy || determinant <= 1e-14 * xx * yy) {
        return one;
    }
    const double s = (xx * yz - xy * xz) / determinant,
                 p = (xy * yz - yy * xz) / determinant;
    const auto root = std::sqrt(complex(s * s / 4 - p));
    const complex a = s / 2 + root, b = s / 2 - root;
    return std::abs(a) >= std::abs(b) ? a : b;
}

template <typename T>
complex by_powers(pair_of_matrices<T>& product)
{
    auto x = random_vector(product.rh.rows);
    complex last = -1;
    for (int round = 0; round < 1000; ++round) {
        auto y = product(x);
        const double norm = std::sqrt(dot(y, y));
        if (norm == 0) {
            return 0;
        }
        for (auto& value : y) {
            value /= norm;
        }
        x = std::move(y);
        if (round % 25 == 24) {
            const auto now = eigenvalue_near(product, x);
            if (std::abs(now - last) <= 1e-9 * std::abs(now)) {
                return now;
            }
            last = now;
        }
    }
    return last;
}

//! Steps e += f RH h; h += f RE e until it is clear whether anything grows. \returns
//! whether, and the eigenvalue that makes it grow.
template <typename T>
std::pair<bool, complex> growing(pair_of_matrices<T>& product, double factor)
{
    auto e = random_vector(product.rh.rows);
    vector h(product.re.rows, 0.0);
    constexpr int look = 4000, most = 10 * look;
    const double start = std::sqrt(dot(e, e));
    double half_way = 0;
    bool grows = false;
    for (int n = 1; n <= (grows ? most : look); ++n) {
        add_product(product.rh, factor, h, e);
        add_product(product.re, factor, e, h);
        if (n % 50 == 0) {
            const double norm = std::sqrt(dot(e, e));
            half_way = n == look / 2 ? norm : half_way;
            grows = grows || (n == look && norm > 10 * half_way);
            if (!(norm < 1e12 * start)) {
                // By now this eigenvalue dominates.
                return { true, eigenvalue_near(product, e) };
            }
        }
    }
    return { grows, eigenvalue_near(product, e) };
}

template <typename T>
void check(const sparse_matrix<T>& rh, const sparse_matrix<T>& re)
{
    if (rh.rows != re.columns || rh.columns != re.rows) {
        std::ostringstream text;
        text << "fdtd: RH is " << rh.rows << " x " << rh.columns << ", RE " << re.rows
             << " x " << re.columns << "; RE must be " << rh.columns << " x " << rh.rows;
        throw std::invalid_argument(text.str());
    }
    for (const auto* a : { &rh, &re }) {
        if (!std::all_of(a->value.begin(), a->value.end(), [](T value) {
                return std::isfinite(value);
            })) {
            throw std::invalid_argument(std::string("fdtd: ") + (a == &rh ? "RH" : "RE") +
                                        " has a value that is not finite");
        }
    }
}

} // namespace

bool fdtd_stability::oscillates() const
{
    const double size = std::max(std::abs(eigenvalue), 1e-300);
    return eigenvalue.real() >= -rounding * size &&
           std::abs(eigenvalue.imag()) <= rounding * size;
}

bool fdtd_stability::stable() const
{
    return bounded && oscillates() && eigenvalue.real() <= 4 * (1 + rounding);
}

double fdtd_stability::largest_factor() const { return 2 / std::sqrt(eigenvalue.real()); }

template <typename T>
fdtd_stability fdtd_stability_of(const sparse_matrix<T>& rh, const sparse_matrix<T>& re)
{
    check(rh, re);
    pair_of_matrices<T> product(rh, re);
    fdtd_stability found;
    const auto weights = product.weights();
    if (!weights.empty() || rh.rows == 0) {
        found.adjoint = true;
        found.eigenvalue = weights.empty() ? 0 : by_lanczos(product, weights);
        return found;
    }
    found.eigenvalue = by_powers(product);
    if (found.oscillates()) {
        const double least = std::max(std::abs(found.eigenvalue), 3.9);
        const auto [grows, worse] = growing(product, std::sqrt(3.9 / least));
        if (grows) {
            found.bounded = false;
            found.eigenvalue = worse;
        }
    }
    return found;
}

template <typename T>
fdtd_system<T> fdtd_from_matrices(const sparse_matrix<T>& rh,
                                  const sparse_matrix<T>& re,
                                  double time_step)
{
    const auto found = fdtd_stability_of(rh, re);
    if (!found.stable()) {
        std::ostringstream text;
        const auto& z = found.eigenvalue;
        text << "fdtd: the fields grow without bound, because -RH RE has ";
        if (found.bounded && found.oscillates()) {
            text << "the eigenvalue " << z.real() << ", above 4; the largest stable time "
                 << "step is " << found.largest_factor()
                 << " times this one: multiply RH and RE with that or less";
        } else {
            const bool complex_one = std::abs(z.imag()) > rounding * std::abs(z);
            if (found.oscillates()) {
                text << "an eigenvalue near " << z.real() << " that is complex";
            } else if (complex_one) {
                text << "the complex eigenvalue " << z.real()
                     << (z.imag() < 0 ? " - " : " + ") << std::abs(z.imag()) << "i";
            } else {
                text << "the negative eigenvalue " << z.real();
            }
            text << ": no time step is stable. RE must be minus RH's transpose, but for "
                    "positive factors of rows and columns";
        }
        throw std::invalid_argument(text.str());
    }
    fdtd_system<T> system;
    system.size = rh.rows + re.rows;
    system.time_step = time_step;
    if (std::isfinite(found.largest_factor())) {
        system.largest_time_step = time_step * found.largest_factor();
    }
    system.updates = { { 0, rh }, { rh.rows, re } };
    for (auto& update : system.updates) {
        update.matrix.columns = system.size;
    }
    for (auto& column : system.updates[0].matrix.column) {
        column += int32_t(rh.rows);
    }
    system.validate();
    return system;
}

#define CUDAPHY_INSTANTIATE(T)                                          \
    template fdtd_stability fdtd_stability_of(const sparse_matrix<T>&,  \
                                              const sparse_matrix<T>&); \
    template fdtd_system<T> fdtd_from_matrices(                         \
        const sparse_matrix<T>&, const sparse_matrix<T>&, double);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
#undef CUDAPHY_INSTANTIATE

} // namespace gr::cudaphy::kernels
