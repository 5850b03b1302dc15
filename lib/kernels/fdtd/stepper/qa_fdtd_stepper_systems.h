/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Random systems, and the steppers' arithmetic written out in the type under test.

#include "kernels/fdtd/stepper/qa_fdtd_run.h"
#include <gnuradio/cudaphy/kernels/fdtd_grid.h>

namespace gr::cudaphy::testing {

inline int64_t any_of(int64_t count)
{
    return std::uniform_int_distribution<int64_t>(0, count - 1)(generator());
}

/*!
 * Updates that overlap each other, or do not. Rows come in runs of one pattern, or change
 * pattern from row to row. Other rows have their own values, are empty, or are long.
 */
template <typename T>
fdtd_system<T> random_system(int64_t size, size_t updates)
{
    std::uniform_real_distribution<double> value(-0.3, 0.3);
    fdtd_system<T> system;
    system.size = size;
    struct entry {
        int64_t offset;
        T value;
    };
    for (size_t u = 0; u < updates; ++u) {
        const int64_t rows = 1 + any_of(size / 2);
        const int64_t first = any_of(size - rows + 1);
        std::vector<int64_t> row, column;
        std::vector<T> values;
        std::vector<std::vector<entry>> patterns(6);
        for (size_t p = 1; p < patterns.size(); ++p) { // the first is empty
            for (auto count = 1 + any_of(p == 5 ? 12 : 5); count > 0; --count) {
                patterns[p].push_back({ any_of(size) - size / 2, T(value(generator())) });
            }
            if (p % 2) {
                patterns[p].push_back({ 0, T(-0.1) });
            }
        }
        const auto add = [&](int64_t i, int64_t to, T v) {
            const bool changed = to >= first && to < first + rows && to != first + i;
            if (to >= 0 && to < size && !changed) {
                row.push_back(i), column.push_back(to), values.push_back(v);
            }
        };
        for (int64_t i = 0; i < rows;) {
            const auto kind = any_of(10);
            if (kind == 0 && rows > 100) { // own values, sometimes very many
                for (auto count = any_of(4) ? any_of(8) : 300; count > 0; --count) {
                    add(i, any_of(size), T(value(generator())) / 8);
                }
                ++i;
                continue;
            }
            const auto p = size_t(any_of(int64_t(patterns.size())));
            const auto length = kind < 3 ? 1 : 1 + any_of(kind < 6 ? 20 : 300);
            for (const auto end = std::min(rows, i + length); i < end; ++i) {
                for (const auto& e : patterns[p]) {
                    add(i, first + i + e.offset, e.value);
                }
            }
        }
        system.updates.push_back(
            { first,
              sparse_matrix<T>::from_triplets(rows,
                                              size,
                                              view<const int64_t>(row),
                                              view<const int64_t>(column),
                                              view<const T>(values)) });
    }
    // Sources and probes stand also at elements that no update, or another one, changes.
    // Some stand twice.
    for (int i = 0; i < 12; ++i) {
        const int64_t element = i % 4 == 3 ? system.sources.back().element : any_of(size);
        system.sources.push_back(
            { element, size_t(any_of(int64_t(updates))), T(0.5 + i), i % 3 == 1 });
    }
    for (int i = 0; i < 14; ++i) {
        system.probes.push_back(
            { i % 2 ? any_of(size) : system.sources[size_t(i) / 2].element, T(1 + i) });
    }
    system.validate();
    return system;
}

template <typename T>
T settled(T value)
{
    return std::abs(value) < std::numeric_limits<T>::min() ? T(0) : value;
}

//! (steps, probes); columns ascending, one fused multiply-add an entry.
template <typename T>
std::vector<T> stepped(const fdtd_system<T>& system,
                       size_t steps,
                       const std::vector<T>& excitation,
                       std::vector<T>& state)
{
    std::vector<T> probes;
    for (size_t s = 0; s < steps; ++s) {
        for (size_t u = 0; u < system.updates.size(); ++u) {
            const auto& [first, a] = system.updates[u];
            const auto before = state;
            for (int64_t i = 0; i < a.rows; ++i) {
                T sum = before[first + i];
                for (auto e = a.row_start[i]; e < a.row_start[i + 1]; ++e) {
                    sum = std::fma(a.value[e], before[a.column[e]], sum);
                }
                state[first + i] = settled(sum);
            }
            for (size_t i = 0; i < system.sources.size(); ++i) {
                const auto& source = system.sources[i];
                if (source.after == u) {
                    const T x = excitation[s * system.sources.size() + i];
                    auto& element = state[source.element];
                    element =
                        settled(source.hard ? source.coefficient * x
                                            : std::fma(source.coefficient, x, element));
                }
            }
        }
        for (const auto& probe : system.probes) {
            probes.push_back(probe.coefficient * state[probe.element]);
        }
    }
    return probes;
}

} // namespace gr::cudaphy::testing
