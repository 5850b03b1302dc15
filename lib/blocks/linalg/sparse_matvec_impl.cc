/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/linalg/sparse_matvec_impl.h"
#include <gnuradio/io_signature.h>
#include <limits>

namespace gr::cudaphy {
namespace {

//! Bytes of a vector. The check of the size must come before GNU Radio makes ports,
//! because it can not make ports of that width.
template <typename T>
int item_bytes(const char* what, int64_t elements)
{
    constexpr int64_t most = std::numeric_limits<int>::max() / 2 / int64_t(sizeof(T));
    if (elements < 1 || elements > most) {
        throw std::invalid_argument("sparse_matvec: a matrix of " +
                                    std::to_string(elements) + " " + what +
                                    ", allowed are 1 to " + std::to_string(most));
    }
    return int(elements * int64_t(sizeof(T)));
}

template <typename T>
class product_job : public batch_job
{
public:
    explicit product_job(std::shared_ptr<kernels::sparse_product<T>> product)
        : d_product(std::move(product))
    {
    }
    void run(const batch& work, queue& work_queue) override
    {
        d_product->run(work.input<T>(0, d_product->columns()),
                       work.output<T>(0, d_product->rows()),
                       work_queue);
    }

private:
    const std::shared_ptr<kernels::sparse_product<T>> d_product;
};

} // namespace

#define CUDAPHY_MAKE(T)                                                                \
    sparse_matvec::sptr sparse_matvec::make(const kernels::sparse_matrix<T>& a,        \
                                            const std::string& format,                 \
                                            int block,                                 \
                                            const std::string& length_tag_key,         \
                                            const std::string& backend,                \
                                            int device,                                \
                                            int max_batch,                             \
                                            double max_latency)                        \
    {                                                                                  \
        return gnuradio::make_block_sptr<sparse_matvec_impl<T>>(                       \
            a,                                                                         \
            format,                                                                    \
            block,                                                                     \
            batch_options{ length_tag_key, backend, device, max_batch, max_latency }); \
    }
CUDAPHY_MAKE(complex64)
CUDAPHY_MAKE(float)
#undef CUDAPHY_MAKE

template <typename T>
sparse_matvec_impl<T>::sparse_matvec_impl(const kernels::sparse_matrix<T>& a,
                                          const std::string& format,
                                          int block,
                                          const batch_options& options)
    : gr::block("sparse_matvec",
                gr::io_signature::make(1, 1, item_bytes<T>("columns", a.columns)),
                gr::io_signature::make(1, 1, item_bytes<T>("rows", a.rows))),
      batch_block(options,
                  { { size_t(item_bytes<T>("columns", a.columns)), 1 } },
                  { { size_t(item_bytes<T>("rows", a.rows)), 1 } },
                  0),
      d_matrix(&a), d_parameters{ kernels::sparse_format_from_name(format), false, block }
{
    make_jobs();
    d_matrix = nullptr;
}

template <typename T>
std::unique_ptr<batch_job> sparse_matvec_impl<T>::make_job(queue& work_queue)
{
    if (!d_product) {
        d_product = product::make(
            *d_matrix, d_parameters, work_queue.where(), work_queue.device());
    }
    return std::make_unique<product_job<T>>(d_product);
}

} // namespace gr::cudaphy
