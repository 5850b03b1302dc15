/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/bch/error_locator.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

void trim(error_locator::polynomial& a)
{
    while (!a.empty() && a.back() == 0) {
        a.pop_back();
    }
}

} // namespace

//! sigma(x) of least degree L with S_i = sum_j sigma_j S_(i - j), i = L + 1 .. 2 t; empty
//! if its degree is not L, or more than t. Every second discrepancy of a binary code is
//! 0.
error_locator::polynomial
error_locator::locator(const std::vector<uint32_t>& syndromes) const
{
    polynomial sigma{ 1 }, before{ 1 };
    int length = 0;
    uint32_t scale = 1;
    size_t shift = 1;
    for (int i = 1; i < 2 * d_t; i += 2, shift += 2) {
        uint32_t discrepancy = syndromes[i];
        for (size_t j = 1; j < sigma.size() && static_cast<int>(j) < i; ++j) {
            discrepancy ^= d_field.multiply(sigma[j], syndromes[i - j]);
        }
        if (discrepancy == 0) {
            continue;
        }
        const auto old = sigma;
        const auto factor = d_field.divide(discrepancy, scale);
        sigma.resize(std::max(sigma.size(), before.size() + shift));
        for (size_t j = 0; j < before.size(); ++j) {
            sigma[j + shift] ^= d_field.multiply(factor, before[j]);
        }
        if (2 * length <= i - 1) {
            length = i - length;
            before = old;
            scale = discrepancy;
            shift = 0;
        }
    }
    trim(sigma);
    if (length > d_t || static_cast<int>(sigma.size()) != length + 1) {
        return {};
    }
    return sigma;
}

//! a mod f; f is monic.
void error_locator::reduce(polynomial& a, const polynomial& f) const
{
    const size_t degree = f.size() - 1;
    while (a.size() > degree) {
        const uint32_t lead = a.back();
        a.pop_back();
        if (lead) {
            for (size_t j = 0; j < degree; ++j) {
                a[a.size() - degree + j] ^= d_field.multiply(lead, f[j]);
            }
        }
    }
    trim(a);
}

//! a / b without remainder; both are monic.
error_locator::polynomial error_locator::quotient(polynomial a, const polynomial& b) const
{
    polynomial out(a.size() - b.size() + 1);
    for (size_t i = out.size(); i-- > 0;) {
        out[i] = a[i + b.size() - 1];
        if (out[i]) {
            for (size_t j = 0; j < b.size(); ++j) {
                a[i + j] ^= d_field.multiply(out[i], b[j]);
            }
        }
    }
    return out;
}

//! Monic; a is.
error_locator::polynomial error_locator::common_divisor(polynomial a, polynomial b) const
{
    while (!b.empty()) {
        const uint32_t lead = b.back();
        for (auto& one : b) {
            one = d_field.divide(one, lead);
        }
        reduce(a, b);
        std::swap(a, b);
    }
    return a;
}

/*!
 * The logarithms of the roots of f, which is monic and has only single roots in the
 * field. Tr(beta x) = sum_k (beta x)^(2^k) is 0 or 1 at each root, so that gcd(f, Tr(beta
 * x)) has about half of them; two roots differ in the trace for some beta of a basis
 * alpha^0 .. alpha^(m - 1). `squares`: x^(2^k) modulo f or a multiple of f.
 */
void error_locator::roots(const polynomial& f,
                          const std::vector<polynomial>& squares,
                          uint32_t basis,
                          std::vector<uint32_t>& out) const
{
    if (f.size() == 2) {
        out.push_back(d_field.log(f[0]));
        return;
    }
    for (; basis < static_cast<uint32_t>(d_m); ++basis) {
        polynomial trace(squares[0].size());
        uint32_t beta = d_field.exp(basis);
        for (const auto& square : squares) {
            trace.resize(std::max(trace.size(), square.size()));
            for (size_t j = 0; j < square.size(); ++j) {
                trace[j] ^= d_field.multiply(beta, square[j]);
            }
            beta = d_field.square(beta);
        }
        reduce(trace, f);
        const auto part = common_divisor(f, trace);
        if (part.size() > 1 && part.size() < f.size()) {
            roots(part, squares, basis + 1, out);
            roots(quotient(f, part), squares, basis + 1, out);
            return;
        }
    }
}

std::vector<uint32_t> error_locator::errors(const std::vector<uint32_t>& syndromes) const
{
    polynomial f = locator(syndromes);
    if (f.size() < 2) {
        return {};
    }
    // The errors X are the roots of the reversed locator.
    std::reverse(f.begin(), f.end());
    const uint32_t lead = f.back(); // 1: sigma(0)
    if (lead != 1 || f[0] == 0) {
        return {};
    }
    std::vector<polynomial> squares(1, polynomial{ 0, 1 });
    for (int k = 0; k < d_m; ++k) {
        const auto& last = squares.back();
        polynomial next(2 * last.size());
        for (size_t j = 0; j < last.size(); ++j) {
            next[2 * j] = d_field.square(last[j]);
        }
        trim(next);
        reduce(next, f);
        squares.push_back(std::move(next));
    }
    // All roots are single and in the field if f divides x^(2^m) - x.
    polynomial x{ 0, 1 };
    reduce(x, f);
    if (squares.back() != x) {
        return {};
    }
    squares.pop_back();
    std::vector<uint32_t> out;
    roots(f, squares, 0, out);
    return out;
}

} // namespace gr::cudaphy::kernels
