/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE sparse_matrix
#include "kernels/common/testing.h"
#include "kernels/fdtd/sparse/row_patterns.h"
#include <boost/mpl/list.hpp>
#include <cstring>
#include <limits>
#include <map>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

using number_types = boost::mpl::list<float, double, complex64>;
using indices = std::vector<int64_t>;

template <typename T>
sparse_matrix<T> from_triplets(
    int64_t rows, int64_t columns, indices row, indices column, std::vector<T> value)
{
    return sparse_matrix<T>::from_triplets(rows, columns, row, column, value);
}

template <typename T>
sparse_matrix<T> from_crs(
    int64_t rows, int64_t columns, indices start, indices column, std::vector<T> value)
{
    return sparse_matrix<T>::from_crs(rows, columns, start, column, value);
}

int64_t below(int64_t limit) { return int64_t(generator()() % uint64_t(limit)); }

template <typename Call>
void check_refused(const Call& call, const std::string& why)
{
    BOOST_CHECK_EXCEPTION(
        call(), std::invalid_argument, [&](const std::invalid_argument& problem) {
            BOOST_TEST_MESSAGE(problem.what());
            return std::string(problem.what()).find(why) != std::string::npos;
        });
}

template <typename T>
bool well_formed(const sparse_matrix<T>& a)
{
    bool good = a.row_start.size() == size_t(a.rows) + 1 && a.row_start[0] == 0 &&
                size_t(a.entries()) == a.column.size() &&
                a.column.size() == a.value.size();
    for (int64_t row = 0; good && row < a.rows; ++row) {
        for (auto e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
            good = good && a.column[e] >= 0 && a.column[e] < a.columns &&
                   (e == a.row_start[row] || a.column[e - 1] < a.column[e]);
        }
    }
    return good;
}

//! The pattern of row `row`, as plain numbers.
template <typename T>
std::pair<indices, std::string> pattern(const sparse_matrix<T>& a, int64_t row)
{
    indices offsets;
    const auto start = a.row_start[row], end = a.row_start[row + 1];
    for (auto e = start; e < end; ++e) {
        offsets.push_back(a.column[e] - row);
    }
    return { offsets,
             { reinterpret_cast<const char*>(a.value.data() + start),
               (end - start) * sizeof(T) } };
}

//! Every property of row_patterns that its header promises, by brute force.
template <typename T>
void check_patterns(const sparse_matrix<T>& a, int64_t least_rows, size_t most)
{
    const auto found = row_patterns<T>::find(a, least_rows, most);
    std::map<std::pair<indices, std::string>, int64_t> rows_of;
    for (int64_t row = 0; row < a.rows; ++row) {
        ++rows_of[pattern(a, row)];
    }
    std::vector<int64_t> counts;
    for (const auto& each : rows_of) {
        if (each.second >= least_rows) {
            counts.push_back(each.second);
        }
    }
    std::sort(counts.rbegin(), counts.rend());
    counts.resize(std::min(counts.size(), most));
    BOOST_REQUIRE_EQUAL(found.size(), counts.size());

    const auto numbers = found.of_rows();
    BOOST_REQUIRE_EQUAL(int64_t(numbers.size()), a.rows);
    std::vector<int32_t> left_over;
    std::vector<int64_t> seen(found.size());
    for (int64_t row = 0; row < a.rows; ++row) {
        const auto number = numbers[row];
        const auto expected = pattern(a, row);
        if (number == found.none) {
            left_over.push_back(int32_t(row));
            BOOST_REQUIRE(rows_of[expected] < least_rows || most == 0 ||
                          (counts.size() == most && rows_of[expected] <= counts.back()));
            continue;
        }
        ++seen[number];
        const auto start = found.start[number], end = found.start[number + 1];
        const indices offsets(found.offset.begin() + start, found.offset.begin() + end);
        BOOST_REQUIRE(offsets == expected.first);
        BOOST_REQUIRE(expected.second.empty() ||
                      std::memcmp(found.value.data() + start,
                                  expected.second.data(),
                                  expected.second.size()) == 0);
    }
    BOOST_TEST(seen == counts, boost::test_tools::per_element());
    BOOST_TEST(left_over == found.explicit_rows, boost::test_tools::per_element());
    int32_t next = 0;
    for (size_t i = 0; i < found.runs.size(); ++i) {
        BOOST_REQUIRE_EQUAL(found.runs[i].first, next);
        BOOST_REQUIRE_GT(found.runs[i].count, 0);
        BOOST_REQUIRE(i == 0 || found.runs[i].pattern != found.runs[i - 1].pattern);
        next += found.runs[i].count;
    }
    BOOST_TEST(next == a.rows);
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(triplets_in_any_order_become_rows, T, number_types)
{
    for (const int64_t rows : { 1, 7, 300, 70000 }) {
        const int64_t columns = 1 + below(90);
        indices row, column;
        std::vector<T> value;
        std::map<std::pair<int64_t, int64_t>, T> expected;
        for (int i = 0; i < 2000; ++i) {
            row.push_back(below(rows));
            column.push_back(below(columns));
            value.push_back(T(float(below(100)) - 50));
            expected[{ row.back(), column.back() }] += value.back(); // exact: integers
        }
        const auto a = from_triplets<T>(rows, columns, row, column, value);
        BOOST_REQUIRE(well_formed(a));
        BOOST_REQUIRE_EQUAL(size_t(a.entries()), expected.size());
        auto next = expected.begin();
        for (int64_t r = 0; r < rows; ++r) {
            for (auto e = a.row_start[r]; e < a.row_start[r + 1]; ++e, ++next) {
                BOOST_REQUIRE(next->first == std::make_pair(r, int64_t(a.column[e])));
                BOOST_REQUIRE(next->second == a.value[e]);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(duplicates_add_up_in_their_order, T, number_types)
{
    // Any other order would lose the small value.
    const T large(std::numeric_limits<float>::max()), small(1);
    const auto a = from_triplets<T>(
        2, 3, { 1, 0, 1, 1 }, { 2, 0, 2, 2 }, { large, T(5), -large, small });
    BOOST_TEST(a.row_start == (indices{ 0, 1, 2 }), boost::test_tools::per_element());
    BOOST_TEST((a.value == std::vector<T>{ T(5), small }));
    const auto b =
        from_crs<T>(2, 3, { 0, 1, 5 }, { 0, 2, 1, 2, 2 }, { 5, large, 7, -large, 1 });
    BOOST_TEST((b.column == std::vector<int32_t>{ 0, 1, 2 }));
    BOOST_TEST((b.value == std::vector<T>{ 5, 7, 1 }));
}

BOOST_AUTO_TEST_CASE(explicit_zeros_stay)
{
    const auto a = from_triplets<float>(2, 2, { 0, 1 }, { 1, 0 }, { 0.0f, -0.0f });
    BOOST_TEST(a.entries() == 2);
    BOOST_TEST(std::signbit(a.value[1]));
}

BOOST_AUTO_TEST_CASE(empty_matrices_are_matrices)
{
    for (const auto& [rows, columns] : { std::pair{ 0, 0 }, { 0, 5 }, { 5, 0 } }) {
        const auto a = from_triplets<double>(rows, columns, {}, {}, {});
        BOOST_TEST(well_formed(a));
        BOOST_TEST(a.rows == rows);
        BOOST_TEST(a.columns == columns);
        const auto b = from_crs<double>(rows, columns, indices(size_t(rows) + 1), {}, {});
        BOOST_TEST(well_formed(b));
        check_patterns(a, 1, 10);
    }
    BOOST_TEST(sparse_matrix<float>().entries() == 0);
}

BOOST_AUTO_TEST_CASE(indices_that_lie_are_refused_by_name)
{
    const auto least = std::numeric_limits<int64_t>::min();
    const auto most = std::numeric_limits<int64_t>::max();
    for (const int64_t bad : { int64_t(-1), int64_t(3), int64_t(1) << 32, least, most }) {
        const auto named = "entry 1 has row " + std::to_string(bad);
        check_refused(
            [&] {
                from_triplets<float>(3, 4, { 0, bad }, { 0, 0 }, { 1, 1 });
            },
            named);
    }
    for (const int64_t bad : { int64_t(-1), int64_t(4), int64_t(1) << 32, least, most }) {
        const auto named = "entry 1 has column " + std::to_string(bad);
        check_refused(
            [&] {
                from_triplets<float>(3, 4, { 0, 1 }, { 0, bad }, { 1, 1 });
            },
            named);
        check_refused(
            [&] {
                from_crs<float>(3, 4, { 0, 0, 1, 2 }, { 0, bad }, { 1, 1 });
            },
            named);
    }
    check_refused([&] { from_triplets<float>(0, 4, { 0 }, { 0 }, { 1 }); }, "row 0");
    check_refused([&] { from_triplets<float>(4, 0, { 0 }, { 0 }, { 1 }); }, "column 0");
    check_refused(
        [&] {
            from_triplets<float>(3, 4, { 0 }, { 0, 0 }, { 1, 1 });
        },
        "1 row indices for 2 values");
    check_refused(
        [&] {
            from_triplets<float>(3, 4, { 0, 0 }, { 0 }, { 1, 1 });
        },
        "1 column indices for 2 values");
    for (const int64_t size : { int64_t(-1), least, int64_t(1) << 31, most }) {
        check_refused([&] { from_triplets<float>(size, 4, {}, {}, {}); }, "rows");
        check_refused([&] { from_triplets<float>(4, size, {}, {}, {}); }, "columns");
        check_refused([&] { from_crs<float>(size, 4, { 0 }, {}, {}); }, "rows");
        check_refused([&] { from_crs<float>(0, size, { 0 }, {}, {}); }, "columns");
    }
}

BOOST_AUTO_TEST_CASE(row_starts_that_lie_are_refused)
{
    const auto most = std::numeric_limits<int64_t>::max();
    const auto refuses = [&](const indices& start, const char* why) {
        check_refused([&] { from_crs<float>(3, 4, start, { 0, 1 }, { 1, 1 }); }, why);
    };
    refuses({}, "row_start has 0 elements");
    refuses({ 0, 1, 2 }, "row_start has 3 elements");
    refuses({ 0, 1, 2, 2, 2 }, "row_start has 5 elements");
    refuses({ 1, 1, 2, 2 }, "begins with 1");
    refuses({ -1, 1, 2, 2 }, "begins with -1");
    refuses({ 0, 2, 1, 2 }, "descends at row 1");
    refuses({ 0, most, -most, 2 }, "descends at row 1");
    refuses({ 0, 1, 2, 3 }, "ends with 3");
    refuses({ 0, 0, 1, 1 }, "ends with 1");
    refuses({ 0, 0, 0, most }, "ends with");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(patterns_are_what_rows_have_in_common, T, number_types)
{
    for (const int64_t rows : { 1, 40, 2000 }) {
        const int64_t columns = rows + below(5);
        indices row, column;
        std::vector<T> value;
        for (int64_t r = 0; r < rows; ++r) {
            // Rows of a few patterns, in runs and alone. Entries beyond the matrix are
            // left out.
            const auto kind = below(4) ? (r / 16) % 3 : below(6);
            for (int64_t e = 0; e < kind; ++e) {
                const auto c = r + e * e - kind;
                if (c >= 0 && c < columns) {
                    row.push_back(r);
                    column.push_back(c);
                    value.push_back(T(kind == 4 ? float(below(1000)) : float(e)));
                }
            }
        }
        const auto a = from_triplets<T>(rows, columns, row, column, value);
        for (const int64_t least : { 1, 2, 10 }) {
            for (const size_t most : { 0, 1, 3, 65535 }) {
                check_patterns(a, least, most);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(minus_zero_is_another_value_than_zero)
{
    const auto a =
        from_triplets<float>(3, 3, { 0, 1, 2 }, { 0, 1, 2 }, { 0.0f, -0.0f, 0.0f });
    const auto found = row_patterns<float>::find(a, 1);
    BOOST_TEST(found.of_rows() == (std::vector<uint16_t>{ 0, 1, 0 }),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(more_patterns_than_numbers_leave_explicit_rows)
{
    const int64_t rows = 3 * 70000;
    indices diagonal(rows);
    std::vector<float> value(rows);
    for (int64_t r = 0; r < rows; ++r) {
        diagonal[r] = r;
        // The later 35,000 of the 70,000 values stand in two rows each.
        value[r] = float(r < 140000 ? r % 70000 : r % 35000 + 35000);
    }
    const auto a = from_triplets<float>(rows, rows, diagonal, diagonal, value);
    const auto found = row_patterns<float>::find(a, 1);
    BOOST_TEST(found.size() == 65535u);
    BOOST_TEST(found.value[0] == 35000.0f);
    BOOST_TEST(found.explicit_rows.size() == 2u * (70000 - 65535));
    BOOST_TEST(found.explicit_rows.front() == 65535 - 35000);
}
