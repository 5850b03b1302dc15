/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/timing.h"
#include "self_test/self_test_kernels.h"
#include <cmath>
#include <limits>

namespace gr::cudaphy {
namespace {

const tested_row& row_named(const std::string& name)
{
    std::string known;
    for (const auto& row : tested_rows()) {
        if (row.name == name) {
            return row;
        }
        known += (known.empty() ? "\"" : ", \"") + std::string(row.name) + "\"";
    }
    throw std::invalid_argument("self-test \"" + name + "\" is none of " + known);
}

//! Items of a batch: far more than caches hold, but for the slow reference.
size_t items_of(const tested_row& row, backend where)
{
    if (where == backend::reference) {
        return row.pattern;
    }
    const double bytes = where == backend::cuda ? 512e6 : 64e6;
    // A decoder's time lies in arithmetic: a few hundred words fill every core.
    const double most = row.truth ? bytes / 16 : bytes;
    return row.pattern * std::max<size_t>(2, most / row.bytes / row.pattern);
}

double difference(const std::vector<float>& got, const std::vector<float>& expected)
{
    if (got.size() != expected.size()) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    double largest = 0, worst = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        largest = std::max<double>(largest, std::abs(expected[i]));
        const double off = std::abs(double{ got[i] } - expected[i]);
        if (!(off <= worst)) {
            worst = off; // a NaN stays
        }
        if (std::isnan(worst)) {
            return worst;
        }
    }
    return worst / std::max(largest, 1e-30);
}

//! The worse of two errors, where one that is no number is worst.
double worse(double a, double b) { return a > b || std::isnan(a) ? a : b; }

} // namespace

std::vector<std::string> self_test_names()
{
    std::vector<std::string> names;
    for (const auto& row : tested_rows()) {
        names.emplace_back(row.name);
    }
    return names;
}

self_test_result self_test(const std::string& name,
                           const machine_rates& machine,
                           backend wanted,
                           int device,
                           bool damage)
{
    const auto& row = row_named(name);
    const auto resolved = resolve(wanted, device);
    const auto line = queue::make(resolved.where, resolved.device);
    const size_t items = items_of(row, resolved.where);
    const auto kernel = row.make(*line, items);
    const double seconds = seconds_per_call(
                               *line, [&] { kernel->run(); }, short_series) /
                           items;

    std::vector<float> expected;
    if (row.truth) {
        expected = row.truth();
    } else {
        const auto plain = queue::make(backend::reference);
        const auto oracle = row.make(*plain, row.pattern);
        oracle->run();
        expected = oracle->outputs(false);
    }
    double error = 0;
    for (const bool last : { false, true }) {
        auto got = kernel->outputs(last);
        if (damage && last) {
            got.back() += 1;
        }
        error = worse(difference(got, expected), error);
    }

    self_test_result found{ row.name, row.unit,      row.units / seconds,   0, true,
                            error,    row.tolerance, error <= row.tolerance };
    const double in_memory = machine.copied_bytes / row.bytes;
    const double arithmetic =
        (row.in_bytes ? machine.byte_operations : machine.multiply_adds) / row.operations;
    found.memory_bound = in_memory <= arithmetic;
    found.bound = row.units * std::min(in_memory, arithmetic);
    return found;
}

} // namespace gr::cudaphy
