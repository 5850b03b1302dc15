/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/dispatch.h"
#include "kernels/linalg/inverse_makers.h"

namespace gr::cudaphy::kernels {

pivoting pivoting_from_name(const std::string& name)
{
    if (name == "full") {
        return pivoting::full;
    }
    if (name == "partial") {
        return pivoting::partial;
    }
    throw std::invalid_argument("pivoting is '" + name +
                                "', must be 'full' or 'partial'");
}

size_t inverse_batch(
    int order, size_t a, size_t x, size_t status, const queue& queue, backend where)
{
    const size_t elements = size_t(order) * order;
    if (a % elements != 0 || x != a || status != a / elements) {
        throw std::invalid_argument(
            "inverse: a has " + std::to_string(a) + " elements, x " + std::to_string(x) +
            ", status " + std::to_string(status) + "; batch matrices of order " +
            std::to_string(order) + " take batch * " + std::to_string(elements) +
            " in a and in x, and batch in status");
    }
    if ((queue.where() == backend::cuda) != (where == backend::cuda)) {
        throw std::invalid_argument("inverse: made for " + name_of(where) +
                                    ", but the queue is on " + name_of(queue.where()));
    }
    return status;
}

template <typename T>
std::unique_ptr<inverse<T>>
inverse<T>::make(const parameters& p, backend where, int device)
{
    if (p.order < 1 || p.order > max_order) {
        throw std::invalid_argument("order is " + std::to_string(p.order) +
                                    ", must be 1.." + std::to_string(max_order));
    }
    if (p.pivot != pivoting::full && p.pivot != pivoting::partial) {
        throw std::invalid_argument("pivoting is " + std::to_string(int(p.pivot)) +
                                    ", must be pivoting::full or pivoting::partial");
    }
    return dispatch(
        where,
        device,
        [&] { return make_inverse_reference<T>(p); },
        [&] { return make_inverse_cpu<T>(p); },
        [&](int index) { return make_inverse_cuda<T>(p, index); });
}

template class inverse<float>;
template class inverse<complex64>;

} // namespace gr::cudaphy::kernels
