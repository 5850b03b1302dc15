/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/bch/galois_field.h"

namespace gr::cudaphy::kernels {

/*!
 * Finds a word's errors from its syndromes: the error locator by Berlekamp and Massey,
 * its roots by Berlekamp's trace algorithm. The time depends on t and m, not on the
 * length of the word as a search over all positions would (Chien).
 */
class error_locator
{
public:
    using polynomial = std::vector<uint32_t>; //!< coefficient i is that of x^i

    error_locator(const galois_field& field, int m, int t)
        : d_field(field), d_m(m), d_t(t)
    {
    }

    /*!
     * \param syndromes  S_1 .. S_2t at 1 .. 2 t; not all 0
     * \return the powers p of the errors x^p, each below order(); none if at most t
     * errors do not explain the syndromes
     */
    std::vector<uint32_t> errors(const std::vector<uint32_t>& syndromes) const;

private:
    polynomial locator(const std::vector<uint32_t>& syndromes) const;
    void reduce(polynomial& a, const polynomial& f) const;
    polynomial quotient(polynomial a, const polynomial& b) const;
    polynomial common_divisor(polynomial a, polynomial b) const;
    void roots(const polynomial& f,
               const std::vector<polynomial>& squares,
               uint32_t basis,
               std::vector<uint32_t>& out) const;

    const galois_field& d_field;
    int d_m, d_t;
};

} // namespace gr::cudaphy::kernels
