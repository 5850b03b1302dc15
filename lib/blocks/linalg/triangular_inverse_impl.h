/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_block.h"
#include <gnuradio/cudaphy/triangular_inverse.h>

namespace gr::cudaphy {

class triangular_inverse_impl : public triangular_inverse, public batch_block
{
public:
    triangular_inverse_impl(int order,
                            bool lower,
                            bool unit_diagonal,
                            const std::string& type,
                            const batch_options& options);

    std::string backend() const override { return used_backend(); }
    uint64_t failures() const override { return d_failures; }

private:
    std::unique_ptr<batch_job> make_job(queue& work_queue) override;
    void report(const batch_status& status, int frame, uint64_t item) override;
    bool reports_zeros() const override { return false; }
    bool passes_once() const override { return d_order <= 32; } // one kernel

    const int d_order;
    const bool d_lower;
    const bool d_unit_diagonal;
    const bool d_complex;
    std::atomic<uint64_t> d_failures{ 0 };
};

} // namespace gr::cudaphy
