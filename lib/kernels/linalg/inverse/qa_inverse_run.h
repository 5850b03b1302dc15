/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/qa_inverse_checks.h"
#include <gnuradio/cudaphy/kernels/inverse.h>

// Runs the batched inverse, and checks what it writes.

namespace gr::cudaphy::testing {

using kernels::inverse;
using kernels::matrix_layout;
using kernels::pivoting;

template <typename T>
using parameters = typename inverse<T>::parameters;

constexpr pivoting pivotings[] = { pivoting::full, pivoting::partial, pivoting::none };

inline std::string name_of(pivoting pivot)
{
    return pivot == pivoting::full      ? "full"
           : pivot == pivoting::partial ? "partial"
                                        : "none";
}

struct how {
    backend where = tested_backend();
    bool in_place = false;
    bool measured = false; //!< with determinant and rcond
};

//! An array on the queue between two guards that nothing may write to.
template <typename T>
class guarded
{
public:
    guarded(queue& q, size_t size)
        : d_size(size), d_array(poisoned<T>(q, size + 2 * guard))
    {
    }
    view<T> all() { return d_array.all().part(guard, d_size); }
    //! The array. Checks the guards.
    std::vector<T> to_host() const
    {
        const auto host = d_array.to_host();
        const auto* first = reinterpret_cast<const unsigned char*>(host.data());
        const size_t bytes = guard * sizeof(T), behind = bytes + d_size * sizeof(T);
        BOOST_TEST(std::count(first, first + bytes, 0xBD) == long(bytes));
        BOOST_TEST(std::count(first + behind, first + behind + bytes, 0xBD) ==
                   long(bytes));
        return { host.begin() + guard, host.end() - guard };
    }

private:
    static constexpr size_t guard = 256; // keeps the alignment
    size_t d_size;
    array<T> d_array;
};

//! Inverts matrices in the layout of p. All results are poisoned before.
template <typename T>
inverted<T> invert(const parameters<T>& p, const std::vector<T>& a, const how& h = {})
{
    const size_t batch = a.size() / (p.order * p.order);
    auto q = queue::make(h.where);
    auto kernel = inverse<T>::make(p, h.where);
    array<T> from(*q, view<const T>(a));
    guarded<T> to(*q, a.size()), determinant(*q, h.measured ? batch : 0);
    guarded<int> status(*q, batch);
    guarded<real_of<T>> rcond(*q, h.measured ? batch : 0);
    guarded<unsigned char> workspace(*q, kernel->workspace_bytes(batch));
    kernel->run(from,
                { h.in_place ? from.all() : to.all(),
                  status.all(),
                  determinant.all(),
                  rcond.all() },
                workspace.all(),
                *q);
    workspace.to_host();
    const auto x = to.to_host(), input = from.to_host();
    if (!h.in_place && !a.empty()) {
        BOOST_TEST(std::memcmp(input.data(), a.data(), a.size() * sizeof(T)) == 0,
                   "a was written to");
    }
    return {
        h.in_place ? input : x, status.to_host(), determinant.to_host(), rcond.to_host()
    };
}

//! Row-major matrices as a structure of arrays.
template <typename T>
std::vector<T> interleave(int n, const std::vector<T>& a)
{
    const size_t elements = size_t(n) * n, batch = a.size() / elements;
    std::vector<T> out(a.size());
    for (size_t e = 0; e < a.size(); ++e) {
        out[e % elements * batch + e / elements] = a[e];
    }
    return out;
}

//! Items first, first + 1 ... of a result.
template <typename T>
inverted<T> from_item(int n, const inverted<T>& all, size_t first)
{
    const auto tail = [first](const auto& values, size_t each) {
        return std::decay_t<decltype(values)>(
            values.begin() + std::min(values.size(), first * each), values.end());
    };
    return { tail(all.x, size_t(n) * n),
             tail(all.status, 1),
             tail(all.determinant, 1),
             tail(all.rcond, 1) };
}

} // namespace gr::cudaphy::testing
