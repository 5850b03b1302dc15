/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/stepper/partition.h"
#include <algorithm>
#include <cstdint>
#include <tuple>

namespace gr::cudaphy::kernels {
namespace {

class bisection
{
public:
    template <typename T>
    bisection(const fdtd_system<T>& system, const std::vector<char>& changing)
        : part(size_t(system.size), -1), d_start(size_t(system.size) + 1),
          d_from_one(part.size()), d_from_other(part.size())
    {
        // The graph: elements of one row are neighbours of the row's element, both ways.
        const auto for_edges = [&](const auto& visit) {
            for (const auto& [first, a] : system.updates) {
                for (int64_t row = 0; row < a.rows; ++row) {
                    for (auto e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
                        const auto one = int32_t(first + row), other = a.column[e];
                        if (one != other && changing[one] && changing[other]) {
                            visit(one, other), visit(other, one);
                        }
                    }
                }
            }
        };
        for_edges([&](int32_t from, int32_t) { ++d_start[from + 1]; });
        for (size_t i = 1; i < d_start.size(); ++i) {
            d_start[i] += d_start[i - 1];
        }
        d_next.resize(size_t(d_start.back()));
        auto place = d_start;
        for_edges([&](int32_t from, int32_t to) { d_next[place[from]++] = to; });
        // Two rows that read each other make the same edge twice.
        int64_t kept = 0;
        for (size_t i = 0; i + 1 < d_start.size(); ++i) {
            const auto begin = d_next.begin() + d_start[i],
                       end = d_next.begin() + d_start[i + 1];
            std::sort(begin, end);
            d_start[i] = kept;
            kept = std::unique_copy(begin, end, d_next.begin() + kept) - d_next.begin();
        }
        d_start.back() = kept;
    }

    std::vector<int32_t> share_out(const std::vector<char>& changing, int32_t parts)
    {
        std::vector<int32_t> linked, lone;
        for (int32_t e = 0; e < int32_t(part.size()); ++e) {
            if (changing[e]) {
                (d_start[e + 1] > d_start[e] ? linked : lone).push_back(e);
            }
        }
        cut(linked.data(), linked.data() + linked.size(), 0, parts);
        std::vector<size_t> taken(parts);
        for (const auto e : linked) {
            ++taken[part[e]];
        }
        const auto each = (linked.size() + lone.size() + parts - 1) / parts;
        int32_t to = 0;
        for (const auto e : lone) {
            while (taken[to] >= each) {
                ++to;
            }
            part[e] = to;
            ++taken[to];
        }
        return std::move(part);
    }

private:
    //! Shares the elements of part `first` among parts `first` ... `first + parts - 1`.
    void cut(int32_t* begin, int32_t* end, int32_t first, int32_t parts)
    {
        if (parts == 1 || begin == end) {
            std::for_each(begin, end, [&](int32_t e) { part[e] = first; });
            return;
        }
        // Cuts across the way between two ends. Elements that no way reaches stay
        // together.
        const auto one = end_of_largest_piece(begin, end);
        fill(begin, end, d_from_one, -1);
        const auto other = walk(one, d_from_one);
        fill(begin, end, d_from_other, -1);
        walk(other, d_from_other);
        const auto half = parts / 2;
        const auto middle = begin + (end - begin) * half / parts;
        // Sorted by the way between the ends, then by the way aside: so a cut leaves one
        // stretch.
        const auto key = [&](int32_t e) {
            return d_from_one[e] < 0 ? std::make_tuple(INT32_MAX, 0, e)
                                     : std::make_tuple(d_from_one[e] - d_from_other[e],
                                                       d_from_one[e] + d_from_other[e],
                                                       e);
        };
        std::nth_element(
            begin, middle, end, [&](int32_t a, int32_t b) { return key(a) < key(b); });
        fill(begin, end, d_from_one, 0);
        fill(begin, end, d_from_other, 0);
        cut(begin, middle, first, half);
        cut(middle, end, first + half, parts - half);
    }

    static void fill(const int32_t* begin,
                     const int32_t* end,
                     std::vector<int32_t>& distance,
                     int32_t value)
    {
        std::for_each(begin, end, [&](int32_t e) { distance[e] = value; });
    }

    int32_t end_of_largest_piece(const int32_t* begin, const int32_t* end)
    {
        fill(begin, end, d_from_one, -1);
        auto found = *begin;
        size_t largest = 0, left = size_t(end - begin);
        for (auto e = begin; largest < left; ++e) {
            if (d_from_one[*e] < 0) {
                const auto last = walk(*e, d_from_one);
                left -= d_queue.size();
                if (d_queue.size() > largest) {
                    largest = d_queue.size();
                    found = last;
                }
            }
        }
        return found;
    }

    //! Finds the number of rows between `from` and each element of its part that a way
    //! reaches. Before, distances are -1 in the part, and afterwards nowhere else.
    //! \returns the farthest element
    int32_t walk(int32_t from, std::vector<int32_t>& distance)
    {
        d_queue.clear();
        const auto see = [&](int32_t e, int32_t at) {
            distance[e] = at;
            d_queue.push_back(e);
        };
        see(from, 0);
        for (size_t done = 0; done < d_queue.size(); ++done) {
            const auto here = d_queue[done];
            for (auto e = d_start[here]; e < d_start[here + 1]; ++e) {
                const auto next = d_next[e];
                if (distance[next] < 0) {
                    see(next, distance[here] + 1);
                }
            }
        }
        return d_queue.back();
    }

    std::vector<int32_t> part;
    std::vector<int64_t> d_start;
    std::vector<int32_t> d_next, d_from_one, d_from_other, d_queue;
};

} // namespace

template <typename T>
std::vector<int32_t> fdtd_partition(const fdtd_system<T>& system,
                                    const std::vector<char>& changing,
                                    int32_t parts)
{
    return bisection(system, changing).share_out(changing, parts);
}

template std::vector<int32_t>
fdtd_partition<float>(const fdtd_system<float>&, const std::vector<char>&, int32_t);
template std::vector<int32_t>
fdtd_partition<double>(const fdtd_system<double>&, const std::vector<char>&, int32_t);

} // namespace gr::cudaphy::kernels
