/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_block.h"
#include <gnuradio/cudaphy/kernels/inverse.h>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {

//! Of each complex matrix, row by row, the reciprocal condition 1 / (|A|_1 |A^-1|_1).
//! A matrix without an inverse gives 0 and a tag `singular`.
class matrix_condition : public batch_block
{
    using inverse = kernels::inverse<complex64>;

public:
    matrix_condition(int order, const batch_options& options)
        : gr::block("matrix_condition",
                    gr::io_signature::make(1, 1, sizeof(complex64) * order * order),
                    gr::io_signature::make(1, 1, sizeof(float))),
          batch_block(options,
                      { { sizeof(complex64) * order * order, 1 } }, // item bytes, items
                      { { sizeof(float), 1 } },                     // a frame, of a port
                      1),                                           // status word a frame
          d_order(order)
    {
        make_jobs();
    }

private:
    class job : public batch_job
    {
    public:
        job(int order, const queue& where)
            : d_items(order * order),
              d_kernel(inverse::make({ order }, where.where(), where.device()))
        {
        }
        void run(const batch& work, queue& queue) override
        {
            const size_t frames = work.frames;
            const size_t bytes = d_kernel->workspace_bytes(frames);
            if (d_inverses.size() < frames * d_items || d_workspace.size() < bytes) {
                queue.synchronize(); // the last batch may still use the old arrays
                d_inverses = array<complex64>(queue, frames * d_items);
                d_workspace = array<unsigned char>(queue, bytes);
            }
            d_kernel->run(work.input<complex64>(0, d_items),
                          { { d_inverses.data(), frames * d_items },
                            { work.status, frames },
                            {},
                            work.output<float>(0, 1) },
                          d_workspace,
                          queue);
        }

    private:
        const size_t d_items;
        std::unique_ptr<inverse> d_kernel;
        array<complex64> d_inverses;
        array<unsigned char> d_workspace;
    };

    std::unique_ptr<batch_job> make_job(queue& queue) override
    {
        return std::make_unique<job>(d_order, queue);
    }
    void report(const batch_status& status, int frame, uint64_t item) override
    {
        if (status.words[frame] != 0) {
            const auto step = pmt::from_long(status.words[frame]);
            add_item_tag(0, item, pmt::intern("singular"), step, alias_pmt());
        }
    }
    bool reports_zeros() const override { return false; }

    const int d_order;
};

} // namespace gr::cudaphy
