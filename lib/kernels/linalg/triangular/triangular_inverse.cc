/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/dispatch.h"
#include "kernels/common/run_checks.h"
#include "kernels/linalg/triangular/inverse_makers.h"

namespace gr::cudaphy::kernels {

triangular_algorithm triangular_algorithm_from_name(const std::string& name)
{
    if (name == "fastest") {
        return triangular_algorithm::fastest;
    }
    if (name == "recursive_blocks") {
        return triangular_algorithm::recursive_blocks;
    }
    if (name == "columns") {
        return triangular_algorithm::columns;
    }
    throw std::invalid_argument("algorithm is '" + name +
                                "', must be 'fastest', 'recursive_blocks' or 'columns'");
}

size_t triangular_inverse_batch(
    int order, size_t a, size_t x, size_t status, const queue& queue, backend where)
{
    const size_t elements = size_t(order) * order;
    if (a % elements != 0 || x != a || status != a / elements) {
        throw std::invalid_argument(
            "triangular_inverse: a has " + std::to_string(a) + " elements, x " +
            std::to_string(x) + ", status " + std::to_string(status) +
            "; batch matrices of order " + std::to_string(order) + " take batch * " +
            std::to_string(elements) + " in a and in x, and batch in status");
    }
    check_queue("triangular_inverse", queue, where);
    return status;
}

template <typename T>
std::unique_ptr<triangular_inverse<T>>
triangular_inverse<T>::make(const parameters& p, backend where, int device)
{
    if (p.order < 1 || p.order > max_order) {
        throw std::invalid_argument("order is " + std::to_string(p.order) +
                                    ", must be 1.." + std::to_string(max_order));
    }
    if (p.algorithm != triangular_algorithm::fastest &&
        p.algorithm != triangular_algorithm::recursive_blocks &&
        p.algorithm != triangular_algorithm::columns) {
        throw std::invalid_argument("algorithm is " + std::to_string(int(p.algorithm)) +
                                    ", must be triangular_algorithm::fastest, "
                                    "recursive_blocks or columns");
    }
    const bool blocked = p.order > triangular_inverse_warp_order;
    return dispatch(
        where,
        device,
        [&] { return make_triangular_inverse_reference<T>(p); },
        [&] {
            return blocked ? make_triangular_inverse_blocked_cpu<T>(p)
                           : make_triangular_inverse_cpu<T>(p);
        },
        [&](int index) {
            return blocked ? make_triangular_inverse_blocked_cuda<T>(p, index)
                           : make_triangular_inverse_cuda<T>(p, index);
        });
}

template class triangular_inverse<float>;
template class triangular_inverse<double>;
template class triangular_inverse<std::complex<float>>;
template class triangular_inverse<std::complex<double>>;

} // namespace gr::cudaphy::kernels
