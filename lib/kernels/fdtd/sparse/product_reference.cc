/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/sparse/product_makers.h"
#include <algorithm>

// Each format, read as in a textbook, in at least twice the digits.

namespace gr::cudaphy::kernels {
namespace {

template <typename T>
struct wider_type {
    using type = std::conditional_t<std::is_same_v<T, float>, double, long double>;
};
template <>
struct wider_type<complex64> {
    using type = complex128;
};
template <typename T>
using wide = typename wider_type<T>::type;

template <typename T>
void add_product(wide<T>& sum, const T& a, const T& x)
{
    if constexpr (std::is_same_v<T, complex64>) {
        // The product of std::complex checks for infinities and repairs NaNs.
        const complex128 b(a), y(x);
        sum += complex128(b.real() * y.real() - b.imag() * y.imag(),
                          b.real() * y.imag() + b.imag() * y.real());
    } else {
        sum += wide<T>(a) * wide<T>(x);
    }
}

// visit(layout, f) calls f(row, column, value) for each entry.

template <typename T, typename Function>
void visit(const compressed_layout<T>& a, Function&& f)
{
    int64_t e = 0;
    for (size_t row = 0; row + 1 < a.start.size(); ++row) {
        for (uint32_t left = a.start[row + 1] - a.start[row]; left > 0; --left, ++e) {
            f(int64_t(row), int64_t(a.column[e]), a.value[e]);
        }
    }
}

template <typename T, typename Function>
void visit(const crs_layout<T>& a, Function&& f)
{
    visit(static_cast<const compressed_layout<T>&>(a), f);
}

template <typename T, typename Function>
void visit(const ccs_layout<T>& a, Function&& f)
{
    visit(static_cast<const compressed_layout<T>&>(a),
          [&](int64_t column, int64_t row, const T& value) { f(row, column, value); });
}

template <typename T, typename Function>
void visit(const bcrs_layout<T>& a, Function&& f)
{
    for (size_t top = 0; top + 1 < a.start.size(); ++top) {
        for (auto b = a.start[top]; b < a.start[top + 1]; ++b) {
            for (int bit = 0; bit < a.block * a.block; ++bit) {
                if (a.mask[b * a.mask_bytes + bit / 8] >> bit % 8 & 1) {
                    f(int64_t(top) * a.block + bit % a.block,
                      int64_t(a.column[b]) * a.block + bit / a.block,
                      a.value[b * a.block * a.block + bit]);
                }
            }
        }
    }
}

template <typename T, typename Function>
void visit(const subdivided_layout<T>& a, Function&& f)
{
    for (const auto& chunk : a.chunks) {
        auto e = chunk.entry;
        for (int j = 0; j < chunk.entries(); ++j) {
            for (int i = 0; i < chunk.rows(); ++i, ++e) {
                const int64_t row =
                    chunk.row < 0 ? a.row_list[~chunk.row + i] : chunk.row + i;
                f(row, int64_t(a.column[e]), a.value[e]);
            }
        }
    }
    for (const auto& row : a.long_rows) {
        for (auto e = row.entry; e < row.entry + row.entries; ++e) {
            f(int64_t(row.row), int64_t(a.column[e]), a.value[e]);
        }
    }
}

template <typename T, typename Function>
void visit(const dictionary_layout<T>& a, Function&& f)
{
    const auto& known = a.patterns;
    for (const auto& run : known.runs) {
        if (run.pattern == known.none) {
            continue;
        }
        for (int64_t row = run.first; row < int64_t(run.first) + run.count; ++row) {
            for (auto e = known.start[run.pattern]; e < known.start[run.pattern + 1];
                 ++e) {
                f(row, row + known.offset[e], known.value[e]);
            }
        }
    }
    visit(a.others, f);
}

template <typename T, typename Function>
void visit(const diagonal_layout<T>& a, Function&& f)
{
    for (size_t d = 0; d < a.diagonals.size(); ++d) {
        const auto& one = a.diagonals[d];
        for (int64_t row = one.first; row < one.end; ++row) {
            if (one.holes < 0 ||
                a.present[one.holes * a.words() + row / 32] >> row % 32 & 1) {
                f(row, row + one.offset, a.value[d * a.rows + row]);
            }
        }
    }
}

template <typename T>
class sparse_product_reference : public sparse_product<T>
{
public:
    sparse_product_reference(const sparse_matrix<T>& a,
                             const typename sparse_product<T>::parameters& p)
        : d_rows(a.rows), d_columns(a.columns), d_accumulate(p.accumulate),
          d_layout(make_sparse_layout(a, p))
    {
    }

    int64_t rows() const override { return d_rows; }
    int64_t columns() const override { return d_columns; }
    size_t matrix_bytes() const override
    {
        return std::visit([](const auto& layout) { return layout.bytes(); }, d_layout);
    }

    void run(view<const T> x, view<T> y, queue& queue) override
    {
        const auto batch =
            sparse_product_batch<T>(*this, x, y, queue, backend::reference);
        for (size_t item = 0; item < batch; ++item) {
            multiply(x.part(item * d_columns, d_columns), y.part(item * d_rows, d_rows));
        }
    }

private:
    void multiply(view<const T> x, view<T> y) const
    {
        std::vector<wide<T>> sum(d_rows);
        if (d_accumulate) {
            std::copy(y.begin(), y.end(), sum.begin());
        }
        std::visit(
            [&](const auto& layout) {
                visit(layout, [&](int64_t row, int64_t column, const T& value) {
                    add_product<T>(sum[row], value, x[column]);
                });
            },
            d_layout);
        std::transform(
            sum.begin(), sum.end(), y.begin(), [](const wide<T>& s) { return T(s); });
    }

    const int64_t d_rows, d_columns;
    const bool d_accumulate;
    const sparse_layout<T> d_layout;
};

} // namespace

CUDAPHY_SPARSE_PRODUCT_MAKERS(reference)

} // namespace gr::cudaphy::kernels
