/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/bch/galois_field.h"
#include "kernels/ldpc/codes/dvb_information_bits.h"
#include <gnuradio/cudaphy/kernels/bch_code.h>
#include <string>

namespace gr::cudaphy::kernels {
namespace {

constexpr int least_m = 3, most_m = 16, most_t = 64;

//! Primitive polynomials of degree 3 to 16 with few terms (Lin and Costello, Error
//! Control Coding, table 2.7).
constexpr uint32_t usual[] = { 0xb,   0x13,  0x25,   0x43,   0x89,   0x11d,  0x211,
                               0x409, 0x805, 0x1053, 0x201b, 0x4443, 0x8003, 0x1100b };

//! The product of (x + alpha^c) over the conjugates c = power, 2 power, 4 power ...:
//! coefficient i is that of x^i. `seen` marks the conjugates.
std::vector<uint8_t>
minimal_polynomial(const galois_field& field, uint32_t power, std::vector<char>& seen)
{
    std::vector<uint32_t> product{ 1 };
    for (uint32_t c = power; !seen[c]; c = 2 * c % field.order()) {
        seen[c] = 1;
        product.insert(product.begin(), 0);
        for (size_t i = 0; i + 1 < product.size(); ++i) {
            product[i] ^= field.multiply(product[i + 1], field.exp(c));
        }
    }
    return { product.begin(), product.end() };
}

std::vector<uint8_t> product_of(const std::vector<uint8_t>& a,
                                const std::vector<uint8_t>& b)
{
    std::vector<uint8_t> product(a.size() + b.size() - 1);
    for (size_t i = 0; i < a.size(); ++i) {
        for (size_t j = 0; j < b.size(); ++j) {
            product[i + j] ^= a[i] & b[j];
        }
    }
    return product;
}

void check_range(const char* what, int value, int least, int most)
{
    if (value < least || value > most) {
        throw std::invalid_argument(
            "bch_code: " + std::string(what) + " is " + std::to_string(value) +
            ", allowed are " + std::to_string(least) + " to " + std::to_string(most));
    }
}

} // namespace

bch_code::sptr bch_code::primitive(int m, int t, int shortened, uint32_t polynomial)
{
    check_range("m", m, least_m, most_m);
    check_range("t", t, 1, most_t);
    if (polynomial == 0) {
        polynomial = usual[m - least_m];
    }
    const galois_field field(m, polynomial);
    std::vector<uint8_t> generator{ 1 };
    std::vector<char> seen(field.order());
    for (uint32_t power = 1; power < 2 * static_cast<uint32_t>(t); power += 2) {
        generator =
            product_of(generator, minimal_polynomial(field, power % field.order(), seen));
    }
    const int parity = static_cast<int>(generator.size()) - 1;
    const int order = static_cast<int>(field.order());
    if (parity >= order) {
        throw std::invalid_argument("bch_code: m = " + std::to_string(m) + " and t = " +
                                    std::to_string(t) + " leave no information bits");
    }
    check_range("shortened", shortened, 0, order - parity - 1);
    const std::shared_ptr<bch_code> code(new bch_code);
    code->d_n = order - shortened;
    code->d_k = code->d_n - parity;
    code->d_t = t;
    code->d_m = m;
    code->d_polynomial = polynomial;
    code->d_generator.assign(generator.rbegin(), generator.rend());
    return code;
}

//! `bits`: information bits of the LDPC code.
bch_code::sptr bch_code::dvb(const std::string& frame, int bits, int t)
{
    constexpr uint32_t of_normal = 0x1002d, of_medium = 0x802d, of_short = 0x402b;
    const int m = frame == "normal" ? 16 : frame == "medium" ? 15 : 14;
    const auto polynomial = m == 16 ? of_normal : m == 15 ? of_medium : of_short;
    return primitive(m, t, (1 << m) - 1 - bits, polynomial);
}

bch_code::sptr bch_code::dvbs2(const std::string& frame, const std::string& rate)
{
    const int bits = dvbs2_information_bits(frame, rate);
    const bool normal = frame == "normal";
    const int t = normal && (rate == "8/9" || rate == "9/10")  ? 8
                  : normal && (rate == "2/3" || rate == "5/6") ? 10
                                                               : 12;
    return dvb(frame, bits, t);
}

bch_code::sptr bch_code::dvbs2x(const std::string& frame, const std::string& rate)
{
    return dvb(frame, dvbs2x_information_bits(frame, rate), 12);
}

bch_code::sptr bch_code::dvbt2(const std::string& frame, const std::string& rate)
{
    const int bits = dvbt2_information_bits(frame, rate);
    return dvb(
        frame, bits, frame == "normal" && (rate == "2/3" || rate == "5/6") ? 10 : 12);
}

std::string bch_code::name() const
{
    return "BCH (" + std::to_string(d_n) + ", " + std::to_string(d_k) + ", " +
           std::to_string(d_t) + ")";
}

} // namespace gr::cudaphy::kernels
