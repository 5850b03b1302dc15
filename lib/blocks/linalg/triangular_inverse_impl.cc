/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/linalg/triangular_inverse_impl.h"
#include "blocks/linalg/matrix_items.h"
#include "blocks/linalg/matrix_job.h"
#include <gnuradio/cudaphy/kernels/triangular_inverse.h>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

constexpr int most_rows = triangular_inverse::max_order;

} // namespace

triangular_inverse::sptr triangular_inverse::make(int order,
                                                  bool lower,
                                                  bool unit_diagonal,
                                                  const std::string& type,
                                                  const std::string& length_tag_key,
                                                  const std::string& backend,
                                                  int device,
                                                  int max_batch,
                                                  double max_latency)
{
    return gnuradio::make_block_sptr<triangular_inverse_impl>(
        order,
        lower,
        unit_diagonal,
        type,
        batch_options{ length_tag_key, backend, device, max_batch, max_latency });
}

triangular_inverse_impl::triangular_inverse_impl(int order,
                                                 bool lower,
                                                 bool unit_diagonal,
                                                 const std::string& type,
                                                 const batch_options& options)
    : gr::block("triangular_inverse",
                gr::io_signature::make(1, 1, matrix_bytes(order, most_rows, type)),
                gr::io_signature::make(1, 1, matrix_bytes(order, most_rows, type))),
      batch_block(options,
                  { { matrix_bytes(order, most_rows, type), 1 } },
                  { { matrix_bytes(order, most_rows, type), 1 } },
                  1),
      d_order(order), d_lower(lower), d_unit_diagonal(unit_diagonal),
      d_complex(is_complex(type))
{
    make_jobs();
}

std::unique_ptr<batch_job> triangular_inverse_impl::make_job(queue& work_queue)
{
    return make_matrix_job<kernels::triangular_inverse>(
        d_complex, work_queue, d_order, d_lower, d_unit_diagonal);
}

void triangular_inverse_impl::report(const batch_status& status, int frame, uint64_t item)
{
    const int row = status.words[frame];
    if (row != 0) {
        ++d_failures;
        add_item_tag(0, item, pmt::mp("singular"), pmt::from_long(row), alias_pmt());
        warn_sometimes("matrix " + std::to_string(item) +
                       (row < 0
                            ? " or its inverse is not finite"
                            : " is singular (zero in row " + std::to_string(row) + ")"));
    }
}

} // namespace gr::cudaphy
