/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <cmath>
#include <gnuradio/cudaphy/kernels/fdtd_system.h>
#include <limits>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

template <typename... Parts>
[[noreturn]] void refuse(const Parts&... parts)
{
    const auto text = [](const auto& part) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>) {
            return std::to_string(part);
        } else {
            return std::string(part);
        }
    };
    throw std::invalid_argument("fdtd_system: " + (text(parts) + ...));
}

template <typename T>
void check_update(const fdtd_system<T>& system, size_t index)
{
    const auto& [first, matrix] = system.updates[index];
    const auto name = "update " + std::to_string(index);
    if (first < 0 || matrix.rows < 0 || first > system.size - matrix.rows) {
        refuse(name,
               " changes elements ",
               first,
               " ... ",
               first + matrix.rows - 1,
               " of a state of ",
               system.size);
    }
    if (matrix.columns != system.size) {
        refuse(
            name, "'s matrix has ", matrix.columns, " columns, the state ", system.size);
    }
    if (int64_t(matrix.row_start.size()) != matrix.rows + 1 || matrix.row_start[0] != 0 ||
        matrix.column.size() != matrix.value.size() ||
        int64_t(matrix.column.size()) != matrix.row_start.back()) {
        refuse(name, "'s matrix has arrays that do not fit each other");
    }
    for (int64_t row = 0; row < matrix.rows; ++row) {
        const auto from = matrix.row_start[row], to = matrix.row_start[row + 1];
        if (to < from || to > int64_t(matrix.column.size())) {
            refuse(
                name, "'s matrix: the beginnings of its rows do not ascend at row ", row);
        }
        for (auto entry = from; entry < to; ++entry) {
            const int64_t column = matrix.column[entry];
            if (column < 0 || column >= system.size ||
                (entry > from && column <= matrix.column[entry - 1])) {
                refuse(name,
                       "'s matrix: row ",
                       row,
                       " has column ",
                       column,
                       " out of range or not in ascending order");
            }
            if (column >= first && column < first + matrix.rows &&
                column != first + row) {
                refuse(name,
                       ": row ",
                       row,
                       " takes element ",
                       column,
                       ", which row ",
                       column - first,
                       " of the same update changes");
            }
            if (!std::isfinite(matrix.value[entry])) {
                refuse(name, ": row ", row, " has a coefficient that is not finite");
            }
        }
    }
}

} // namespace

template <typename T>
void fdtd_system<T>::validate() const
{
    if (size < 0 || size > std::numeric_limits<int32_t>::max()) {
        refuse("the state has ", size, " elements, must be 0 ... 2^31 - 1");
    }
    for (size_t i = 0; i < updates.size(); ++i) {
        check_update(*this, i);
    }
    const auto check_element = [&](const char* what, size_t i, const auto& place) {
        if (place.element < 0 || place.element >= size) {
            refuse(what, i, " is element ", place.element, " of a state of ", size);
        }
        if (!std::isfinite(place.coefficient)) {
            refuse(what, i, " has a coefficient that is not finite");
        }
    };
    for (size_t i = 0; i < sources.size(); ++i) {
        check_element("source ", i, sources[i]);
        if (sources[i].after >= updates.size()) {
            refuse("source ",
                   i,
                   " comes after update ",
                   sources[i].after,
                   ", but there are ",
                   updates.size());
        }
    }
    for (size_t i = 0; i < probes.size(); ++i) {
        check_element("probe ", i, probes[i]);
    }
}

template struct fdtd_system<float>;
template struct fdtd_system<double>;

} // namespace gr::cudaphy::kernels
