/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_block.h"
#include <gnuradio/cudaphy/kernels/sparse_product.h>
#include <gnuradio/cudaphy/sparse_matvec.h>

namespace gr::cudaphy {

template <typename T>
class sparse_matvec_impl : public sparse_matvec, public batch_block
{
public:
    sparse_matvec_impl(const kernels::sparse_matrix<T>& a,
                       const std::string& format,
                       int block,
                       const batch_options& options);

    std::string backend() const override { return used_backend(); }
    uint64_t matrix_bytes() const override { return d_product->matrix_bytes(); }

private:
    using product = kernels::sparse_product<T>;

    std::unique_ptr<batch_job> make_job(queue& work_queue) override;
    void report(const batch_status&, int, uint64_t) override {} // nothing can fail

    const kernels::sparse_matrix<T>* d_matrix; //!< valid only while the jobs are made
    const typename product::parameters d_parameters;
    std::shared_ptr<product>
        d_product; //!< shared by all jobs, because it does not change
};

} // namespace gr::cudaphy
