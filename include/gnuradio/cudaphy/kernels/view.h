/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace gr::cudaphy {

using complex64 = std::complex<float>;   //!< 8 bytes, as numpy counts
using complex128 = std::complex<double>; //!< 16 bytes

//! A contiguous run of items in memory that somebody else owns. Shapes are written as
//! (rows, columns), the last index running fastest.
template <typename T>
class view
{
public:
    view() = default;
    view(T* data, size_t size) : d_data(data), d_size(size) {}
    view(std::vector<std::remove_const_t<T>>& items) : view(items.data(), items.size()) {}
    template <typename U = T, typename = std::enable_if_t<std::is_const_v<U>>>
    view(const std::vector<std::remove_const_t<T>>& items)
        : view(items.data(), items.size())
    {
    }
    template <typename U,
              typename = std::enable_if_t<std::is_const_v<T> &&
                                          std::is_same_v<U, std::remove_const_t<T>>>>
    view(view<U> other) : view(other.data(), other.size())
    {
    }

    T* data() const { return d_data; }
    size_t size() const { return d_size; }
    bool empty() const { return d_size == 0; }
    T& operator[](size_t index) const { return d_data[index]; }
    T* begin() const { return d_data; }
    T* end() const { return d_data + d_size; }
    view part(size_t first, size_t count) const { return { d_data + first, count }; }

private:
    T* d_data = nullptr;
    size_t d_size = 0;
};

} // namespace gr::cudaphy
