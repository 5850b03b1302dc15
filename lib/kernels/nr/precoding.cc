/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/precoding.h>
#include <stdexcept>
#include <string>

namespace gr::cudaphy::kernels::nr {
namespace {

//! Matrices of one table by TPMI, row after row: n stands for -1, j for j, k for -j.
using matrix_table = std::vector<const char*>;

const matrix_table one_of_two{ "10", "01", "11", "1n", "1j", "1k" }; // table 6.3.1.5-1
// clang-format off
const matrix_table one_of_four_transform{ // table 6.3.1.5-2
    "1000", "0100", "0010", "0001", "1010", "10n0", "10j0", "10k0", "0101", "010n",
    "010j", "010k", "111n", "11jj", "11n1", "11kk", "1j1j", "1jj1", "1jnk", "1jkn",
    "1n11", "1njk", "1nnn", "1nkj", "1k1k", "1kjn", "1knj", "1kk1" };
const matrix_table one_of_four{ // table 6.3.1.5-3
    "1000", "0100", "0010", "0001", "1010", "10n0", "10j0", "10k0", "0101", "010n",
    "010j", "010k", "1111", "11jj", "11nn", "11kk", "1j1j", "1jjn", "1jnk", "1jk1",
    "1n1n", "1njk", "1nn1", "1nkj", "1k1k", "1kj1", "1knj", "1kkn" };
const matrix_table two_of_two{ "1001", "111n", "11jk" }; // table 6.3.1.5-4
const matrix_table two_of_four{ // table 6.3.1.5-5
    "10010000", "10000100", "10000001", "00100100", "00100001", "00001001",
    "1001100k", "1001100j", "1001k001", "1001k00n", "1001n00k", "1001n00j", "1001j001",
    "1001j00n", "11111n1n", "1111jkjk", "11jj1njk", "11jjjkn1", "11nn1nn1", "11nnjkkj",
    "11kk1nkj", "11kkjk1n" };
const matrix_table three_of_four{ // table 6.3.1.5-6
    "100010001000", "100010100001", "100010n00001", "1111n111n1nn", "1111n1jjkjkk",
    "111n1n11nn11", "111n1njjkkjj" };
const matrix_table four_of_four{ // table 6.3.1.5-7
    "1000010000100001", "110000111n00001n", "11000011jk0000jk", "11111n1n11nn1nn1",
    "11111n1njjkkjkkj" };
// clang-format on

const matrix_table* table_of(int ports, int layers, bool transform)
{
    switch (10 * ports + layers) {
    case 21:
        return &one_of_two;
    case 41:
        return transform ? &one_of_four_transform : &one_of_four;
    case 22:
        return &two_of_two;
    case 42:
        return &two_of_four;
    case 43:
        return &three_of_four;
    case 44:
        return &four_of_four;
    default:
        return nullptr;
    }
}

//! 1 / the table's factor, squared.
int factor(int ports, int layers, int tpmi)
{
    if (layers == 1) {
        return ports;
    }
    if (ports == 2) {
        return tpmi ? 4 : 2;
    }
    // Full coherence takes the place of the selections of ports at these columns.
    const int coherent = layers == 2 ? 14 : 3;
    if (layers == 4) {
        return tpmi == 0 ? 4 : tpmi < coherent ? 8 : 16;
    }
    return tpmi < coherent ? 4 : 4 * layers;
}

complex64 entry(char letter, float scale)
{
    switch (letter) {
    case '1':
        return { scale, 0 };
    case 'n':
        return { -scale, 0 };
    case 'j':
        return { 0, scale };
    case 'k':
        return { 0, -scale };
    default:
        return { 0, 0 };
    }
}

} // namespace

std::vector<complex64>
precoding_matrix(int ports, int layers, int tpmi, bool transform_precoding)
{
    if (ports == 1 && layers == 1 && tpmi == 0) {
        return { 1 };
    }
    const auto* const matrices = table_of(ports, layers, transform_precoding);
    if (!matrices) {
        throw std::invalid_argument(
            "nr: no codebook for " + std::to_string(layers) + " layers on " +
            std::to_string(ports) +
            " antenna ports; they are 1, 2 or 4 (TS 38.211, 6.3.1.5)");
    }
    if (tpmi < 0 || tpmi >= static_cast<int>(matrices->size())) {
        throw std::invalid_argument(
            "nr: TPMI " + std::to_string(tpmi) + "; allowed: 0 to " +
            std::to_string(matrices->size() - 1) +
            " for these layers and antenna ports (TS 38.211, tables 6.3.1.5-1 to -7)");
    }
    const float scale =
        static_cast<float>(1 / std::sqrt(double(factor(ports, layers, tpmi))));
    std::vector<complex64> out;
    for (const char* letter = (*matrices)[tpmi]; *letter; ++letter) {
        out.push_back(entry(*letter, scale));
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr
