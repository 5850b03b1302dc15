/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <gnuradio/cudaphy/api.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief A binary narrow-sense BCH code, shortened or not: corrects t errors in n bits.
 *
 * The generator g(x) is the least common multiple of the minimal polynomials of alpha,
 * alpha^3, ... alpha^(2 t - 1), where alpha is a root of the primitive polynomial of
 * GF(2^m). A codeword is systematic: k information bits, then n - k parity bits, the
 * remainder of m(x) x^(n - k) by g(x). The first bit is the highest power's coefficient.
 * Immutable once made, and cheap to share.
 */
class CUDAPHY_API bch_code
{
public:
    using sptr = std::shared_ptr<const bch_code>;

    /*!
     * \param m           3 to 16: the field is GF(2^m)
     * \param t           errors that are corrected, 1 to 64
     * \param shortened   information bits that are 0 and not sent: n = 2^m - 1 -
     *                    shortened
     * \param polynomial  primitive, with its terms x^i in bit i; 0 takes a usual one
     * \throws std::invalid_argument if a number is out of range, the polynomial is not
     * primitive, or no information bit is left.
     */
    static sptr primitive(int m, int t, int shortened = 0, uint32_t polynomial = 0);

    //! The outer code of an LDPC code of DVB-S2, named as ldpc_code::dvbs2() does. (ETSI
    //! EN 302 307-1, tables 5a, 5b, 6a and 6b.) \throws std::invalid_argument
    static sptr dvbs2(const std::string& frame, const std::string& rate);
    //! The same of DVB-S2X. (ETSI EN 302 307-2.) \throws std::invalid_argument
    static sptr dvbs2x(const std::string& frame, const std::string& rate);
    //! The same of DVB-T2. (ETSI EN 302 755, tables 6a and 6b.)
    //! \throws std::invalid_argument
    static sptr dvbt2(const std::string& frame, const std::string& rate);

    int n() const { return d_n; }                        //!< bits of a codeword
    int k() const { return d_k; }                        //!< information bits
    int t() const { return d_t; }                        //!< errors that are corrected
    int m() const { return d_m; }                        //!< the field is GF(2^m)
    uint32_t polynomial() const { return d_polynomial; } //!< of the field
    //! The n - k + 1 coefficients of g(x), the highest power's first.
    const std::vector<uint8_t>& generator() const { return d_generator; }
    //! As "BCH (n, k, t)".
    std::string name() const;

private:
    bch_code() = default;
    static sptr dvb(const std::string& frame, int bits, int t);

    int d_n = 0, d_k = 0, d_t = 0, d_m = 0;
    uint32_t d_polynomial = 0;
    std::vector<uint8_t> d_generator;
};

} // namespace gr::cudaphy::kernels
