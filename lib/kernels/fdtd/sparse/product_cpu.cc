/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/sparse/product_cpu.h"
#include "kernels/common/parallel.h"

namespace gr::cudaphy::kernels {
namespace {

template <typename T>
class sparse_product_cpu : public sparse_product<T>
{
public:
    sparse_product_cpu(const sparse_matrix<T>& a,
                       const typename sparse_product<T>::parameters& p)
        : d_rows(a.rows), d_columns(a.columns), d_accumulate(p.accumulate),
          d_layout(make_sparse_layout(a, p, true)),
          d_pieces(std::visit(
              [&](const auto& layout) { return sparse_pieces(layout, a.rows); },
              d_layout))
    {
        // A piece is tens of microseconds; smaller matrices go several vectors a task.
        const auto work = a.rows + a.entries();
        d_grain = work < sparse_piece::work ? sparse_piece::work / (work + 64) + 1 : 1;
    }

    int64_t rows() const override { return d_rows; }
    int64_t columns() const override { return d_columns; }
    size_t matrix_bytes() const override
    {
        return std::visit([](const auto& layout) { return layout.bytes(); }, d_layout);
    }

    void run(view<const T> x, view<T> y, queue& queue) override
    {
        const auto batch = sparse_product_batch<T>(*this, x, y, queue, backend::cpu);
        for_each_part(batch * d_pieces.size(), d_grain, [&](size_t first, size_t last) {
            for (; first < last; ++first) {
                const auto item = first / d_pieces.size();
                const sparse_job<T> job{ d_layout,
                                         x.data() + item * d_columns,
                                         y.data() + item * d_rows,
                                         d_rows,
                                         d_columns,
                                         d_accumulate };
                multiply_sparse_piece(job, d_pieces[first % d_pieces.size()]);
            }
        });
    }

private:
    const int64_t d_rows, d_columns;
    const bool d_accumulate;
    const sparse_layout<T> d_layout;
    const std::vector<sparse_piece> d_pieces;
    size_t d_grain;
};

} // namespace

CUDAPHY_SPARSE_PRODUCT_MAKERS(cpu)

} // namespace gr::cudaphy::kernels
