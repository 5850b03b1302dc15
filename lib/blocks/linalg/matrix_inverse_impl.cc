/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/linalg/matrix_inverse_impl.h"
#include "blocks/linalg/matrix_items.h"
#include "blocks/linalg/matrix_job.h"
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

constexpr int most_rows = kernels::inverse<float>::max_order;

} // namespace

matrix_inverse::sptr matrix_inverse::make(int order,
                                          const std::string& pivoting,
                                          const std::string& type,
                                          const std::string& length_tag_key,
                                          const std::string& backend,
                                          int device,
                                          int max_batch,
                                          double max_latency)
{
    return gnuradio::make_block_sptr<matrix_inverse_impl>(
        order,
        pivoting,
        type,
        batch_options{ length_tag_key, backend, device, max_batch, max_latency });
}

matrix_inverse_impl::matrix_inverse_impl(int order,
                                         const std::string& pivoting,
                                         const std::string& type,
                                         const batch_options& options)
    : gr::block("matrix_inverse",
                gr::io_signature::make(1, 1, matrix_bytes(order, most_rows, type)),
                gr::io_signature::make(1, 1, matrix_bytes(order, most_rows, type))),
      batch_block(options,
                  { { matrix_bytes(order, most_rows, type), 1 } },
                  { { matrix_bytes(order, most_rows, type), 1 } },
                  1),
      d_order(order), d_pivoting(kernels::pivoting_from_name(pivoting)),
      d_complex(is_complex(type))
{
    make_jobs();
}

std::unique_ptr<batch_job> matrix_inverse_impl::make_job(queue& work_queue)
{
    return make_matrix_job<kernels::inverse>(d_complex, work_queue, d_order, d_pivoting);
}

void matrix_inverse_impl::report(const batch_status& status, int frame, uint64_t item)
{
    const int step = status.words[frame];
    if (step != 0) {
        ++d_failures;
        add_item_tag(0, item, pmt::mp("singular"), pmt::from_long(step), alias_pmt());
        const std::string scaling =
            d_pivoting == kernels::pivoting::full
                ? "; if it is not, but its rows or columns differ much in size, take "
                  "pivoting \"partial\" or scale them"
                : "";
        warn_sometimes(
            "matrix " + std::to_string(item) +
            (step < 0 ? " or its inverse is not finite"
                      : " is singular (step " + std::to_string(step) + ")" + scaling));
    }
}

} // namespace gr::cudaphy
