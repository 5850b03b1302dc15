/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace gr::cudaphy::kernels {

//! GF(2^m) by tables: alpha is a root of the primitive polynomial.
class galois_field
{
public:
    //! \throws std::invalid_argument if the polynomial, whose term x^i is bit i, is not
    //! primitive of degree m.
    galois_field(int m, uint32_t polynomial)
        : d_order((1u << m) - 1), d_exp(2 * size_t{ d_order }), d_log(d_order + 1)
    {
        uint32_t value = 1;
        bool primitive = polynomial >> m == 1;
        for (uint32_t i = 0; i < d_order && primitive; ++i) {
            primitive = i == 0 || value > 1;
            d_exp[i] = d_exp[i + d_order] = static_cast<uint16_t>(value);
            d_log[value] = static_cast<uint16_t>(i);
            value <<= 1;
            if (value > d_order) {
                value ^= polynomial;
            }
        }
        if (!primitive || value != 1) {
            throw std::invalid_argument(
                "bch_code: the polynomial " + std::to_string(polynomial) +
                " is not primitive of degree " + std::to_string(m));
        }
    }

    uint32_t order() const { return d_order; } //!< 2^m - 1
    //! alpha^power, power < 2 order()
    uint32_t exp(uint32_t power) const { return d_exp[power]; }
    //! value != 0
    uint32_t log(uint32_t value) const { return d_log[value]; }
    uint32_t multiply(uint32_t a, uint32_t b) const
    {
        return a && b ? exp(log(a) + log(b)) : 0;
    }
    uint32_t divide(uint32_t a, uint32_t b) const
    {
        return a ? exp(log(a) + d_order - log(b)) : 0;
    }
    uint32_t square(uint32_t a) const { return multiply(a, a); }

    const std::vector<uint16_t>& exp_table() const { return d_exp; } //!< two periods
    const std::vector<uint16_t>& log_table() const { return d_log; }

private:
    uint32_t d_order;
    std::vector<uint16_t> d_exp, d_log;
};

} // namespace gr::cudaphy::kernels
