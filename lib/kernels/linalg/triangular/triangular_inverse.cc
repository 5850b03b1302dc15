/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/triangular/inverse_makers.h"

namespace gr::cudaphy::kernels {

triangular_algorithm triangular_algorithm_from_name(const std::string& name)
{
    return value_of_name<triangular_algorithm>(
        "algorithm",
        name,
        { { "fastest", triangular_algorithm::fastest },
          { "recursive_blocks", triangular_algorithm::recursive_blocks },
          { "columns", triangular_algorithm::columns } });
}

size_t triangular_inverse_batch(
    int order, size_t a, size_t x, size_t status, const queue& queue, backend where)
{
    const size_t elements = size_t(order) * order;
    check_sizes("triangular_inverse",
                a % elements == 0 && x == a && status == a / elements,
                { { "a", a }, { "x", x }, { "status", status } },
                "batch matrices of order " + std::to_string(order) + " take batch * " +
                    std::to_string(elements) + " in a and in x, and batch in status");
    check_queue("triangular_inverse", queue, where);
    return status;
}

template <typename T>
std::unique_ptr<triangular_inverse<T>>
triangular_inverse<T>::make(const parameters& p, backend where, int device)
{
    check_range("order", p.order, max_order);
    check_enum("algorithm",
               "triangular_algorithm",
               p.algorithm,
               triangular_algorithm::fastest,
               triangular_algorithm::columns);
    if (p.order > triangular_inverse_warp_order) {
        using made = std::unique_ptr<triangular_inverse<T>>;
        using blocked = triangular_inverse_blocked<T>;
        return dispatch(
            where,
            device,
            [&] { return make_on_reference<triangular_inverse<T>>(p); },
            [&]() -> made { return make_on_cpu<blocked>(p); },
            [&](int index) -> made { return make_on_cuda<blocked>(index, p); });
    }
    return make_kernel<triangular_inverse<T>>(where, device, p);
}

#define CUDAPHY_INSTANTIATE(T) template class triangular_inverse<T>;
CUDAPHY_FOR_NUMBER_TYPES(CUDAPHY_INSTANTIATE)
#undef CUDAPHY_INSTANTIATE

} // namespace gr::cudaphy::kernels
