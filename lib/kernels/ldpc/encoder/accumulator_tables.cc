/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/encoder/accumulator_tables.h"

namespace gr::cudaphy::kernels {
namespace {

//! Whether the columns are the information's strings, then the parity bits, all sent.
bool has_plain_columns(const ldpc_code& code, int inputs, int rows)
{
    const auto& blocks = code.circulants();
    const int z = blocks.lifting_size;
    const int k = inputs * z;
    if (code.k() != k || code.n() != code.variables() || !code.shortened().empty()) {
        return false;
    }
    const auto& sent = code.transmitted();
    for (int i = 0; i < code.n(); ++i) {
        if (!sent.empty() && sent[size_t(i)] != i) {
            return false;
        }
    }
    for (int i = 0; i < k; ++i) {
        if (code.info_positions()[size_t(i)] != i) {
            return false;
        }
    }
    for (int b = 0; b < blocks.block_columns; ++b) {
        for (int j = 0; j < z; ++j) {
            const int place = b * z + j;
            const int column = blocks.bits.empty() ? place : blocks.bits[size_t(place)];
            if (column != (b < inputs ? place : k + j * rows + b - inputs)) {
                return false;
            }
        }
    }
    return true;
}

} // namespace

std::optional<ldpc_accumulator_tables>
ldpc_accumulator_tables::make(const ldpc_code& code)
{
    const auto& blocks = code.circulants();
    ldpc_accumulator_tables t;
    t.z = blocks.lifting_size;
    t.k = code.k();
    t.n = code.n();
    t.rows = blocks.block_rows;
    t.inputs = blocks.block_columns - blocks.block_rows;
    if (t.z < 32 || t.z > 512 || t.z % 8 || t.rows < 2 || t.inputs < 1 ||
        !has_plain_columns(code, t.inputs, t.rows)) {
        return {};
    }
    // A check has its own parity bit and the one before; the first has its own only.
    std::vector<int> own(size_t(t.rows), -1), others(size_t(t.rows), 0);
    for (const auto& c : blocks.all) {
        if (c.column >= t.inputs && c.shift == 0 && c.missing < 0) {
            const int r = c.column - t.inputs;
            // The later of two is its own.
            own[size_t(c.row)] = std::max(own[size_t(c.row)], r);
        }
    }
    // Row 0 has parity bits of the first and the last block column.
    for (const auto& c : blocks.all) {
        if (c.column < t.inputs) {
            if (c.missing >= 0) {
                return {};
            }
            continue;
        }
        const int r = c.column - t.inputs, mine = own[size_t(c.row)];
        const bool is_own = r == mine && c.shift == 0 && c.missing < 0;
        const bool is_before =
            mine > 0 ? r == mine - 1 && c.shift == 0 && c.missing < 0
                     : r == t.rows - 1 && c.shift == t.z - 1 && c.missing == 0;
        if (mine < 0 || !(is_own || is_before)) {
            return {};
        }
        ++others[size_t(c.row)];
    }
    std::vector<int> row_of(size_t(t.rows), -1);
    for (int row = 0; row < t.rows; ++row) {
        if (others[size_t(row)] != 2 || own[size_t(row)] < 0) {
            return {};
        }
        row_of[size_t(own[size_t(row)])] = row;
    }
    for (int r = 0; r < t.rows; ++r) {
        t.starts.push_back(int32_t(t.terms.size()));
        for (const auto& c : blocks.all) {
            if (c.row == row_of[size_t(r)] && c.column < t.inputs) {
                t.terms.push_back({ c.column, c.shift });
            }
        }
    }
    t.starts.push_back(int32_t(t.terms.size()));
    for (const int row : row_of) {
        if (row < 0) {
            return {};
        }
    }
    return t;
}

} // namespace gr::cudaphy::kernels
