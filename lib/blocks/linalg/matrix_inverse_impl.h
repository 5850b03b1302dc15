/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_block.h"
#include <gnuradio/cudaphy/kernels/inverse.h>
#include <gnuradio/cudaphy/matrix_inverse.h>

namespace gr::cudaphy {

class matrix_inverse_impl : public matrix_inverse, public batch_block
{
public:
    matrix_inverse_impl(int order,
                        const std::string& pivoting,
                        const std::string& type,
                        const batch_options& options);

    std::string backend() const override { return used_backend(); }
    uint64_t failures() const override { return d_failures; }

private:
    std::unique_ptr<batch_job> make_job(queue& work_queue) override;
    void report(const batch_status& status, int frame, uint64_t item) override;
    bool reports_zeros() const override { return false; }
    bool passes_once() const override { return true; }

    const int d_order;
    const kernels::pivoting d_pivoting;
    const bool d_complex;
    std::atomic<uint64_t> d_failures{ 0 };
};

} // namespace gr::cudaphy
