/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/codes/builder.h"
#include <array>

namespace gr::cudaphy::kernels {
namespace {

//! The field of 64 elements: polynomials in a modulo a^6 + a + 1, bit i the factor of
//! a^i.
class field
{
public:
    static constexpr int order = 64;

    field()
    {
        for (int e = 0, x = 1; e < order - 1; ++e) {
            d_power[e] = x;
            d_log[x] = e;
            x = x << 1 & order ? x << 1 ^ 0b1000011 : x << 1;
        }
    }
    int power(int e) const { return d_power[e % (order - 1)]; }
    int log(int x) const { return d_log[x]; }
    int product(int x, int y) const
    {
        return x == 0 || y == 0 ? 0 : power(d_log[x] + d_log[y]);
    }
    int quotient(int x, int y) const
    {
        return x == 0 ? 0 : power(d_log[x] + order - 1 - d_log[y]);
    }

private:
    std::array<int, order> d_power{}, d_log{};
};

constexpr int positions = 32; // of the Reed-Solomon code, and ones of each check
constexpr int subsets = 6;    // of its words, and checks of each bit

//! The factors of (X - a)(X - a^2) ... (X - a^30), the highest power's first.
std::vector<int> generator_polynomial(const field& gf)
{
    std::vector<int> g{ 1 };
    for (int root = 1; root <= positions - 2; ++root) {
        g.push_back(0);
        for (size_t i = g.size() - 1; i > 0; --i) {
            g[i] ^= gf.product(g[i - 1], gf.power(root));
        }
    }
    return g;
}

} // namespace

/*
 * Djurdjevic, Xu, Abdel-Ghaffar and Lin, "A class of low-density parity-check codes
 * constructed based on Reed-Solomon codes with two information symbols", IEEE Commun.
 * Lett. 7(7), 2003. The words u (g + X g) + b X g of a shortened Reed-Solomon code agree
 * in one of their 32 symbols at most. Those of one b differ from each other everywhere:
 * they are 64 checks, the symbol at position j saying which of the 64 bits j is in the
 * check. With symbols divided by the one of g + X g, that is u + b x_j.
 */
ldpc_code::sptr ldpc_code::ten_gbase_t()
{
    const field gf;
    auto g = generator_polynomial(gf);
    g.insert(g.begin(), 0);
    g.push_back(0);
    std::array<int, positions> x;
    for (int j = 0; j < positions; ++j) {
        x[j] = gf.quotient(g[j], g[j] ^ g[j + 1]);
    }
    // The elements in the order 0, a^0, a^1 ... a^62.
    const auto element = [&](int i) { return i == 0 ? 0 : gf.power(i - 1); };
    const auto place = [&](int e) { return e == 0 ? 0 : gf.log(e) + 1; };

    ldpc_code_description code;
    code.name = "10gbase-t";
    code.n = positions * field::order;
    code.factor = default_factor("10gbase-t");
    for (int s = 0; s < subsets; ++s) {
        const int b = element(s);
        auto& group = code.groups.emplace_back();
        for (int i = 0; i < field::order; ++i) {
            std::vector<int> row;
            for (int j = 0; j < positions; ++j) {
                const int symbol = element(i) ^ gf.product(b, x[j]);
                row.push_back(j * field::order + place(symbol));
            }
            group.push_back(s * field::order + i);
            code.add_row(std::move(row));
        }
    }
    return ldpc_code_builder::build(std::move(code));
}

} // namespace gr::cudaphy::kernels
