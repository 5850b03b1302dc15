/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/sparse/product_makers.h"

namespace gr::cudaphy::kernels {
namespace {

constexpr std::pair<sparse_format, const char*> names[] = {
    { sparse_format::crs, "crs" },
    { sparse_format::ccs, "ccs" },
    { sparse_format::bcrs, "bcrs" },
    { sparse_format::subdivided_crs, "subdivided_crs" },
    { sparse_format::dictionary, "dictionary" },
    { sparse_format::diagonal, "diagonal" },
};

std::string all_names()
{
    std::string all;
    for (const auto& each : names) {
        all += std::string(all.empty() ? "\"" : ", \"") + each.second + "\"";
    }
    return all;
}

} // namespace

sparse_format sparse_format_from_name(const std::string& name)
{
    for (const auto& each : names) {
        if (name == each.second) {
            return each.first;
        }
    }
    throw std::invalid_argument("sparse format \"" + name + "\" is none of " +
                                all_names());
}

std::string name_of(sparse_format format)
{
    for (const auto& each : names) {
        if (format == each.first) {
            return each.second;
        }
    }
    throw std::invalid_argument("sparse format " + std::to_string(int(format)) +
                                " is none of " + all_names());
}

template <typename T>
size_t sparse_product_batch(const sparse_product<T>& kernel,
                            view<const T> x,
                            view<T> y,
                            const queue& queue,
                            backend where)
{
    const size_t rows = kernel.rows(), columns = kernel.columns();
    const size_t batch = columns ? x.size() / columns : rows ? y.size() / rows : 0;
    if (x.size() != batch * columns || y.size() != batch * rows) {
        throw std::invalid_argument(
            "sparse_product: x has " + std::to_string(x.size()) + " elements and y " +
            std::to_string(y.size()) + "; a matrix of " + std::to_string(rows) + " x " +
            std::to_string(columns) + " takes " + std::to_string(columns) + " and " +
            std::to_string(rows) + " for each vector");
    }
    check_queue("sparse_product", queue, where);
    return batch;
}

template <typename T>
std::unique_ptr<sparse_product<T>> sparse_product<T>::make(const sparse_matrix<T>& a,
                                                           const parameters& p,
                                                           backend where,
                                                           int device)
{
    name_of(p.format); // throws for what is none
    if (p.block < 1 || p.block > 8) {
        throw std::invalid_argument("sparse_product: block is " +
                                    std::to_string(p.block) + ", allowed are 1 to 8");
    }
    return make_kernel<sparse_product<T>>(where, device, a, p);
}

#define CUDAPHY_INSTANTIATE(T)               \
    template class sparse_product<T>;        \
    template size_t sparse_product_batch<T>( \
        const sparse_product<T>&, view<const T>, view<T>, const queue&, backend);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
CUDAPHY_INSTANTIATE(complex64)
#undef CUDAPHY_INSTANTIATE

} // namespace gr::cudaphy::kernels
