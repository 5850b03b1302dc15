/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE sparse_product
#include "kernels/common/fused_testing.h"
#include "kernels/fdtd/sparse/qa_sparse_examples.h"

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

//! Whether the tested backend promises the very bits of a chain of fused multiply-adds.
bool is_exact(sparse_format format)
{
    switch (tested_backend()) {
    case backend::reference:
        return false;
    case backend::cuda:
        return format != sparse_format::ccs;
    default:
        return cpu_fuses_multiply_adds();
    }
}

template <typename Real>
bool same_real(Real one, Real other)
{
    return std::isnan(one) ? std::isnan(other)
                           : one == other && std::signbit(one) == std::signbit(other);
}

template <typename T>
bool same(T one, T other)
{
    return same_real(std::real(one), std::real(other)) &&
           same_real(std::imag(one), std::imag(other));
}

template <typename T>
bool near(T one, T other, double magnitude)
{
    if (!std::isfinite(std::abs(other))) {
        return !std::isfinite(std::abs(one));
    }
    constexpr double eps = std::numeric_limits<real_of<T>>::epsilon();
    const double least = std::numeric_limits<real_of<T>>::min();
    return double(std::abs(one - other)) <= eps * magnitude + least;
}

//! y = A x and y += A x, several vectors, in one format.
template <typename T>
void check(const sparse_matrix<T>& a,
           sparse_format format,
           const std::vector<T>& x,
           size_t batch,
           int block = 2)
{
    for (const bool accumulate : { false, true }) {
        auto y = normals<T>(batch * a.rows);
        if (!accumulate) {
            std::fill(y.begin(), y.end(), T(0));
        }
        const auto result = multiply<T>(a, { format, accumulate, block }, x, y);
        const auto expected = chained<T>(a, x, y);
        const auto magnitude = magnitudes<T>(a, x, y);
        BOOST_REQUIRE_EQUAL(result.size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i) {
            const auto row = int64_t(i) % a.rows;
            const auto count = a.row_start[row + 1] - a.row_start[row];
            BOOST_REQUIRE_MESSAGE(
                is_exact(format) ? same(result[i], expected[i])
                                 : near(result[i],
                                        expected[i],
                                        magnitude[i] * (1 + std::sqrt(double(count)))),
                name_of(format) << ", " << a.rows << " x " << a.columns << ", block "
                                << block << (accumulate ? ", y += A x" : ", y = A x")
                                << ", row " << row << " of " << count << " entries: "
                                << result[i] << " instead of " << expected[i]);
        }
    }
}

//! Checks all formats. The diagonal format only if `diagonals`: a matrix may have too
//! many.
template <typename T>
void check_all(const sparse_matrix<T>& a, bool diagonals, size_t batch = 1)
{
    const auto x = normals<T>(batch * a.columns);
    for (const auto format : all_formats) {
        if (format != sparse_format::diagonal || diagonals) {
            check<T>(a, format, x, batch);
        }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(scattered_matrices, T, number_types)
{
    for (const int64_t rows : { 1, 2, 31, 32, 33, 257, 3000 }) {
        for (const int64_t columns : { 1, 40, 2000 }) {
            check_all<T>(scattered<T>(rows, columns, 6 * rows), false, 2);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(more_rows_than_sixteen_bits_count, T, number_types)
{
    check_all<T>(scattered<T>(70000, 66000, 150000), false);
    check_all<T>(banded<T>(70000, 70000, { -300, -1, 0, 1, 300 }), true);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(so_many_rows_that_a_warp_takes_several_chunks,
                              T,
                              number_types)
{
    // Groups of consecutive rows and of scattered rows. The last chunk of a group is not
    // full.
    const int64_t rows = 300001;
    for (const int holes : { 0, 10 }) {
        check<T>(banded<T>(rows, rows, { -400, -1, 0, 1 }, holes),
                 sparse_format::subdivided_crs,
                 normals<T>(rows),
                 1);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(one_long_row, T, number_types)
{
    // One row longer than any tile, and rows around the lengths that count as long.
    check_all<T>(with_long_rows<T>(500, 60000, 1, 60000), false);
    check_all<T>(with_long_rows<T>(50, 40000, 7, 1500), false, 2);
    for (const int64_t count : { 127, 128, 129, 1023, 1024, 1025 }) {
        check_all<T>(with_long_rows<T>(70, 1100, 33, count), false);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(banded_matrices, T, number_types)
{
    for (const int64_t rows : { 1, 2, 16, 63, 64, 65, 1000 }) {
        for (const int64_t columns : { rows, rows + 3, rows / 2 + 1, 5 * rows }) {
            check_all<T>(banded<T>(rows, columns, { -1, 0, 1 }), true, 3);
            check_all<T>(banded<T>(rows, columns, { -70, -5, 2, 64 }), true);
            check_all<T>(banded<T>(rows, columns, { -31, -1, 0, 17 }, 10), true, 2);
            check_all<T>(banded<T>(rows, columns, { -2, 0, 1, 2 }, 50), true);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_that_repeat, T, number_types)
{
    for (const int64_t run : { 1, 5, 40, 1000 }) {
        check_all<T>(repeating<T>(3000, 3000, run), true, 2);
        check_all<T>(repeating<T>(900, 1200, run), true);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(neighbours_with_as_many_entries_anywhere, T, number_types)
{
    // The CPU takes a vector of rows at once. Runs have every length. Their entries are
    // side by side at some positions of a row and scattered at the others.
    for (const int64_t run : { 3, 4, 7, 8, 9, 12, 100 }) {
        const int64_t rows = 6 * run, columns = 400;
        entries<T> out(rows, columns);
        for (int64_t row = 0; row < rows; ++row) {
            for (int64_t j = 0; j < row / run; ++j) {
                const auto beside = 60 * j + row % 50;
                out.add(row, row % 3 || j % 2 ? beside : 60 * j + below(60), normal<T>());
            }
        }
        check_all<T>(out.matrix(), false, 2);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(blocks_of_every_size, T, number_types)
{
    for (int block = 1; block <= 8; ++block) {
        for (const int64_t size : { 1, 7, 8, 50 }) {
            const auto dense = scattered<T>(size, size + 2, 4 * size * size);
            check<T>(dense, sparse_format::bcrs, normals<T>(size + 2), 1, block);
            const auto wide = banded<T>(size, 2 * size, { 0, 1, 2, 3, 4, 5, 6, 7, 8 });
            check<T>(wide, sparse_format::bcrs, normals<T>(2 * size), 1, block);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(matrices_without_entries_rows_or_columns, T, number_types)
{
    for (const auto& [rows, columns] :
         { std::pair<int64_t, int64_t>{ 0, 0 }, { 0, 9 }, { 9, 0 }, { 9, 9 } }) {
        const auto none = entries<T>(rows, columns).matrix();
        check_all<T>(none, true, 3);
        check_all<T>(none, true, 0);
    }
    auto one = entries<T>(1, 1);
    one.add(0, 0, T(3));
    check_all<T>(one.matrix(), true, 4);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(elements_of_x_without_an_entry_have_no_part_in_y,
                              T,
                              number_types)
{
    using real = real_of<T>;
    const real inf = std::numeric_limits<real>::infinity();
    const real nan = std::numeric_limits<real>::quiet_NaN();
    for (const auto& a : { banded<T>(200, 190, { -9, -1, 0, 1, 3 }, 40),
                           banded<T>(200, 200, { -1, 0, 1 }),
                           repeating<T>(200, 230, 60) }) {
        auto x = normals<T>(a.columns);
        for (const int64_t i : { 0, 1, 50, 51, 130, 189 }) {
            x[i] = T(i % 2 ? nan : i % 3 ? inf : -inf);
        }
        for (const auto format : all_formats) {
            for (const int block : { 2, 5, 8 }) {
                check<T>(a, format, x, 1, block);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(zeros_keep_their_signs, T, number_types)
{
    // If a format adds 0 * x beside A's entries, -0 becomes 0.
    entries<T> some(70, 70);
    for (int64_t i = 0; i < 70; i += 3) {
        some.add(i, i, T(1));
    }
    const auto a = some.matrix();
    for (const auto format : all_formats) {
        const std::vector<T> x(70, T(0)), y(70, T(real_of<T>(-0.0)));
        const auto result = multiply<T>(a, { format, true, 4 }, x, y);
        for (size_t i = 0; i < 70; ++i) { // -0 + 1 * 0 is 0
            BOOST_TEST(std::signbit(std::real(result[i])) == (i % 3 != 0));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(formats_take_the_memory_that_they_should, T, number_types)
{
    const int64_t n = 10000;
    const auto bytes = [&](const sparse_matrix<T>& a, sparse_format format) {
        return double(
            sparse_product<T>::make(a, { format }, tested_backend())->matrix_bytes());
    };
    const auto random = banded<T>(n, n, { -1, 0, 1 });
    const double entry = sizeof(T) + 4;
    BOOST_TEST(bytes(random, sparse_format::crs) < n * (3 * entry + 4) * 1.03);
    BOOST_TEST(bytes(random, sparse_format::subdivided_crs) < n * 3 * entry * 1.03);
    BOOST_TEST(bytes(random, sparse_format::diagonal) < n * 3 * sizeof(T) * 1.01);
    entries<T> same(n, n);
    for (int64_t row = 0; row < n; ++row) {
        for (int64_t j = -1; j < 2; ++j) {
            same.add(row, row + j, T(float(j)));
        }
    }
    BOOST_TEST(bytes(same.matrix(), sparse_format::dictionary) < n * 1.1);
}

BOOST_AUTO_TEST_CASE(formats_have_names)
{
    for (const auto format : all_formats) {
        BOOST_TEST(int(sparse_format_from_name(name_of(format))) == int(format));
    }
    BOOST_CHECK_THROW(sparse_format_from_name("csr"), std::invalid_argument);
    BOOST_CHECK_THROW(name_of(sparse_format(6)), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused)
{
    const auto a = scattered<float>(300, 200, 900);
    const auto refuses = [&](sparse_product<float>::parameters p, const char* why) {
        BOOST_CHECK_EXCEPTION(sparse_product<float>::make(a, p, tested_backend()),
                              std::invalid_argument,
                              [&](const std::invalid_argument& problem) {
                                  return std::string(problem.what()).find(why) !=
                                         std::string::npos;
                              });
    };
    refuses({ sparse_format::bcrs, false, 0 }, "block is 0, allowed are 1 to 8");
    refuses({ sparse_format::bcrs, false, 9 }, "block is 9, allowed are 1 to 8");
    refuses({ sparse_format(-1) }, "sparse format -1");
    refuses({ sparse_format::diagonal }, "more than eight times");

    auto q = queue::make(tested_backend());
    const auto product = sparse_product<float>::make(a, {}, tested_backend());
    BOOST_TEST(product->rows() == 300);
    BOOST_TEST(product->columns() == 200);
    array<float> x(*q, 400), y(*q, 600);
    const auto refuses_views = [&](size_t in, size_t out) {
        BOOST_CHECK_THROW(
            product->run(view<float>(x).part(0, in), view<float>(y).part(0, out), *q),
            std::invalid_argument);
    };
    refuses_views(200, 600);
    refuses_views(400, 300);
    refuses_views(399, 600);
    refuses_views(0, 300);
    refuses_views(200, 0);
    if (tested_backend() == backend::cuda) {
        auto host = queue::make(backend::cpu);
        BOOST_CHECK_THROW(product->run(x, y, *host), std::invalid_argument);
    }
}
