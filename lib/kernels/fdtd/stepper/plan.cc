/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/sparse/row_patterns.h"
#include "kernels/fdtd/stepper/pieces.h"
#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

//! The sources and probes of each element in a phase.
struct events {
    struct event {
        std::vector<int32_t> sources, probes;
    };
    std::map<int32_t, event> at;
};

template <typename T>
class plan_maker
{
public:
    plan_maker(const fdtd_system<T>& system,
               sparse_format format,
               int32_t tile_rows,
               fdtd_units units)
        : d_system(system), d_format(format), d_units(units)
    {
        d_plan.tile_rows = tile_rows;
    }

    fdtd_plan<T> make()
    {
        const auto within_and_between = place_events();
        auto& t = d_plan.tables;
        for (size_t u = 0; 2 * u < within_and_between.size(); ++u) {
            if (u < d_system.updates.size()) {
                add_update(d_system.updates[u], within_and_between[2 * u]);
            }
            const auto& between = within_and_between[2 * u + 1];
            if (!between.at.empty()) {
                fdtd_phase phase = begin_phase();
                phase.between = 1;
                end_phase(phase, between);
            }
        }
        t.tiles.push_back({ 0, 0, next_word(), int32_t(t.blocks.size()) });
        t.marks.push_back({ 0, int32_t(t.sources.size()), int32_t(t.probes.size()), 0 });
        const auto add_bytes = [&](const auto& table) {
            d_plan.matrix_bytes += table.size() * sizeof table[0];
        };
        add_bytes(t.tiles), add_bytes(t.words), add_bytes(t.runs), add_bytes(t.numbers);
        add_bytes(t.pieces), add_bytes(t.singles);
        add_bytes(t.codes), add_bytes(t.pattern_entries), add_bytes(t.blocks);
        add_bytes(t.block_rows), add_bytes(t.columns), add_bytes(t.values);
        add_bytes(t.row_start), add_bytes(t.diagonals);
        return std::move(d_plan);
    }

private:
    bool changes(size_t update, int64_t element) const
    {
        const auto& [first, matrix] = d_system.updates[update];
        return element >= first && element < first + matrix.rows;
    }

    //! Place 2 u: on a row of update u, by the lane that changes the row. Place 2 u + 1:
    //! after the update. A probe reads where its element changes for the last time in a
    //! time step.
    std::vector<events> place_events() const
    {
        const auto updates = d_system.updates.size();
        std::vector<events> placed(2 * std::max<size_t>(updates, 1));
        for (size_t i = 0; i < d_system.sources.size(); ++i) {
            const auto& source = d_system.sources[i];
            const auto where = 2 * source.after + !changes(source.after, source.element);
            placed[where].at[int32_t(source.element)].sources.push_back(int32_t(i));
        }
        for (size_t i = 0; i < d_system.probes.size(); ++i) {
            const auto element = int32_t(d_system.probes[i].element);
            auto where = placed.size() - 1;
            for (auto u = updates; u-- > 0;) {
                if (placed[2 * u + 1].at.count(element)) {
                    where = 2 * u + 1;
                    break;
                }
                if (changes(u, element)) {
                    where = 2 * u;
                    break;
                }
            }
            placed[where].at[element].probes.push_back(int32_t(i));
        }
        return placed;
    }

    fdtd_phase begin_phase() const
    {
        const auto& t = d_plan.tables;
        fdtd_phase phase{};
        phase.tiles = phase.tiles_end = int32_t(t.tiles.size());
        phase.marks = phase.marks_end = int32_t(t.marks.size());
        phase.diagonals = phase.diagonals_end = int32_t(t.diagonals.size());
        phase.codes = int32_t(t.codes.size());
        return phase;
    }

    void end_phase(fdtd_phase& phase, const events& within)
    {
        auto& t = d_plan.tables;
        for (const auto& [element, event] : within.at) {
            int32_t what = 0;
            if (!event.sources.empty()) {
                what |= fdtd_mark::has_source;
                what |= d_system.sources[event.sources[0]].hard ? fdtd_mark::hard : 0;
                what |= event.sources.size() > 1 ? fdtd_mark::more_sources : 0;
            }
            what |= event.probes.empty() ? 0 : fdtd_mark::has_probes;
            t.marks.push_back(
                { element, int32_t(t.sources.size()), int32_t(t.probes.size()), what });
            for (const auto i : event.sources) {
                const auto& source = d_system.sources[i];
                t.sources.push_back({ source.coefficient, i, source.hard });
            }
            for (const auto i : event.probes) {
                t.probes.push_back({ d_system.probes[i].coefficient, i });
            }
        }
        phase.tiles_end = int32_t(t.tiles.size());
        phase.marks_end = int32_t(t.marks.size());
        d_plan.most_tiles = std::max(d_plan.most_tiles, phase.tiles_end - phase.tiles);
        t.phases.push_back(phase);
    }

    int32_t next_word() const
    {
        const auto& t = d_plan.tables;
        return int32_t(d_units == fdtd_units::runs     ? t.runs.size()
                       : d_units == fdtd_units::pieces ? t.pieces.size()
                                                       : t.words.size());
    }

    void add_update(const typename fdtd_system<T>::update& update, const events& within)
    {
        auto& t = d_plan.tables;
        const auto& a = update.matrix;
        fdtd_phase phase = begin_phase();
        phase.first = int32_t(update.first);
        phase.rows = int32_t(a.rows);
        row_patterns<T> patterns;
        std::vector<uint16_t> number; // the pattern's plus 1; 0 for other rows
        if (d_format == sparse_format::dictionary) {
            // 0 and `none` are both 0.
            patterns = row_patterns<T>::find(a, 32, row_patterns<T>::none - 1);
            number = patterns.of_rows();
            add_codes(patterns, int32_t(update.first));
            for (auto& each : number) {
                each = uint16_t(each + 1);
                each = t.codes[phase.codes + each] ? each : 0;
            }
            if (d_units == fdtd_units::runs) {
                leave_out_short_runs(number);
            } else if (d_units == fdtd_units::pieces) {
                d_pieces.find_sequences(number, t.codes.data() + phase.codes);
            }
        } else if (d_format == sparse_format::subdivided_crs) {
            if (d_units == fdtd_units::pieces) {
                number.resize(size_t(a.rows));
            }
        } else if (d_format == sparse_format::crs) {
            phase.entries = int64_t(t.row_start.size());
            for (const auto start : a.row_start) {
                t.row_start.push_back(int64_t(t.columns.size()) + start);
            }
            t.columns.insert(t.columns.end(), a.column.begin(), a.column.end());
            t.values.insert(t.values.end(), a.value.begin(), a.value.end());
        } else if (d_format == sparse_format::diagonal) {
            phase.entries = int64_t(t.values.size());
            add_diagonals(update);
            phase.diagonals_end = int32_t(t.diagonals.size());
        }
        for (const auto tile : fdtd_tile_order(a, d_plan.tile_rows)) {
            const int64_t begin = int64_t(tile) * d_plan.tile_rows;
            const auto end = std::min(a.rows, begin + d_plan.tile_rows);
            const auto marked = within.at.lower_bound(int32_t(phase.first + begin));
            const bool any =
                marked != within.at.end() && marked->first < phase.first + end;
            t.tiles.push_back({ int32_t(phase.first + begin),
                                uint32_t(end - begin) | (any ? fdtd_marked : 0u),
                                next_word(),
                                int32_t(t.blocks.size()) });
            if (d_format == sparse_format::dictionary) {
                if (d_units == fdtd_units::words) {
                    add_words(phase, number, begin, end);
                } else if (d_units == fdtd_units::runs) {
                    add_runs(phase, number, begin, end);
                } else {
                    d_pieces.add_runs(phase.first, begin, end);
                }
            } else if (d_units == fdtd_units::pieces) {
                d_pieces.add(update, number, begin, end);
            }
            if (d_format == sparse_format::dictionary ||
                d_format == sparse_format::subdivided_crs) {
                add_blocks(update, number, begin, end, within);
            }
        }
        end_phase(phase, within);
    }

    void add_codes(const row_patterns<T>& patterns, int32_t first)
    {
        auto& t = d_plan.tables;
        t.codes.push_back(0);
        for (size_t p = 0; p < patterns.size(); ++p) {
            const auto count = patterns.start[p + 1] - patterns.start[p];
            // Places count pairs of entries; place 0 is no pattern's.
            if (t.pattern_entries.empty() || t.pattern_entries.size() % 2) {
                t.pattern_entries.resize((t.pattern_entries.size() + 2) / 2 * 2);
            }
            const auto place = t.pattern_entries.size() / 2;
            if (count > fdtd_pattern_entries || place >= fdtd_most_patterns) {
                t.codes.push_back(0);
                continue;
            }
            t.codes.push_back(count ? uint32_t(place << 8) | count : fdtd_code_empty);
            for (auto e = patterns.start[p]; e < patterns.start[p + 1]; ++e) {
                t.pattern_entries.push_back(
                    { patterns.offset[e] - first, patterns.value[e] });
            }
        }
        t.pattern_entries.resize((t.pattern_entries.size() + 1) / 2 * 2);
    }

    //! Short runs go to blocks: a CPU's vectors are faster with these.
    static void leave_out_short_runs(std::vector<uint16_t>& number)
    {
        for (auto from = number.begin(); from != number.end();) {
            const auto to = std::find_if(
                from, number.end(), [&](uint16_t each) { return each != *from; });
            if (to - from < fdtd_least_cpu_run_rows) {
                std::fill(from, to, uint16_t(0));
            }
            from = to;
        }
    }

    void add_words(const fdtd_phase& phase,
                   const std::vector<uint16_t>& number,
                   int64_t begin,
                   int64_t end)
    {
        auto& t = d_plan.tables;
        for (; begin < end; begin += fdtd_slice) {
            const auto stop = std::min(end, begin + fdtd_slice);
            const auto from = number.begin() + begin, to = number.begin() + stop;
            if (std::all_of(from, to, [&](uint16_t each) { return each == *from; })) {
                t.words.push_back(t.codes[phase.codes + *from]);
            } else {
                t.words.push_back(fdtd_mixed | uint32_t(t.numbers.size() / fdtd_slice));
                t.numbers.insert(t.numbers.end(), from, to);
                t.numbers.resize(t.numbers.size() + fdtd_slice - (stop - begin));
            }
        }
    }

    void add_runs(const fdtd_phase& phase,
                  const std::vector<uint16_t>& number,
                  int64_t begin,
                  int64_t end)
    {
        auto& t = d_plan.tables;
        for (auto row = begin; row < end;) {
            const auto from = row;
            for (; row < end && number[row] == number[from]; ++row) {
            }
            const auto code = t.codes[phase.codes + number[from]];
            if (code <= fdtd_code_empty) {
                continue;
            }
            const auto first = int32_t(phase.first + from),
                       last = int32_t(phase.first + row);
            t.runs.push_back({ first, last - first, code });
        }
    }

    //! The rows without a pattern, by their number of entries. Rows without entries are
    //! listed only because of a mark.
    void add_blocks(const typename fdtd_system<T>::update& update,
                    const std::vector<uint16_t>& number,
                    int64_t begin,
                    int64_t end,
                    const events& within)
    {
        auto& t = d_plan.tables;
        const auto& a = update.matrix;
        const auto entries_of = [&](int32_t row) {
            return a.row_start[row + 1] - a.row_start[row];
        };
        std::vector<int32_t> rows;
        for (auto row = begin; row < end; ++row) {
            if ((number.empty() || number[row] == 0) &&
                (entries_of(row) || within.at.count(int32_t(update.first + row)))) {
                rows.push_back(int32_t(row));
            }
        }
        // A CPU's vectors want consecutive rows: there, enough consecutive rows have a
        // block of their own.
        std::vector<char> alone(size_t(end - begin));
        for (size_t i = 0; d_units == fdtd_units::runs && i < rows.size();) {
            const auto from = i++;
            while (i < rows.size() && rows[i] == rows[i - 1] + 1 &&
                   entries_of(rows[i]) == entries_of(rows[from])) {
                ++i;
            }
            for (auto j = from; i - from >= fdtd_least_cpu_block_rows && j < i; ++j) {
                alone[size_t(rows[j] - begin)] = 1;
            }
        }
        const auto kind = [&](int32_t row) {
            return std::make_pair(entries_of(row), alone[size_t(row - begin)]);
        };
        std::stable_sort(rows.begin(), rows.end(), [&](int32_t one, int32_t other) {
            return kind(one) < kind(other);
        });
        for (size_t i = 0; i < rows.size();) {
            const auto from = i++;
            const auto entries = entries_of(rows[from]);
            while (i < rows.size() && i < from + fdtd_slice &&
                   kind(rows[i]) == kind(rows[from]) &&
                   (!alone[size_t(rows[from] - begin)] || rows[i] == rows[i - 1] + 1)) {
                ++i;
            }
            const auto count = int32_t(i - from);
            auto place = int32_t(update.first + rows[from]);
            if (rows[i - 1] - rows[from] != count - 1) {
                place = ~int32_t(t.block_rows.size() / fdtd_slice);
                for (size_t j = from; j < from + fdtd_slice; ++j) {
                    t.block_rows.push_back(j < i ? int32_t(update.first + rows[j]) : 0);
                }
            }
            if (entries > fdtd_block::most_entries) {
                throw std::invalid_argument("fdtd_stepper: a row has " +
                                            std::to_string(entries) +
                                            " entries, 2^19 - 1 at most");
            }
            const auto values = fdtd_align(t.values, fdtd_block::values_apart);
            const auto columns = fdtd_align(t.columns, fdtd_block::columns_apart);
            uint32_t distances = 0;
            for (int64_t e = 0; e < entries; ++e) {
                const auto column = [&](size_t j) {
                    return a.column[a.row_start[rows[j]] + e];
                };
                const auto distance = [&](size_t j) {
                    return int32_t(column(j) - (update.first + rows[j]));
                };
                bool same = e < 8;
                for (size_t j = from; j < i; ++j) {
                    same = same && distance(j) == distance(from);
                    t.values.push_back(a.value[a.row_start[rows[j]] + e]);
                }
                if (same) {
                    distances |= 1u << e;
                    t.columns.push_back(distance(from));
                }
                for (size_t j = from; !same && j < i; ++j) {
                    t.columns.push_back(column(j));
                }
            }
            t.blocks.push_back({ place,
                                 fdtd_block::shape_of(entries, distances, count),
                                 values,
                                 columns });
        }
    }

    //! Values diagonal by diagonal, NaN where the matrix has no entry.
    void add_diagonals(const typename fdtd_system<T>::update& update)
    {
        auto& t = d_plan.tables;
        const auto& a = update.matrix;
        std::map<int64_t, int64_t> place; // of the diagonals' values
        for (int64_t row = 0; row < a.rows; ++row) {
            for (auto e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
                place[a.column[e] - update.first - row] = 0;
            }
            const double crs = double(a.entries()) * (sizeof(T) + sizeof(int32_t)) +
                               double(a.row_start.size()) * sizeof(int64_t);
            if (double(place.size()) * a.rows * sizeof(T) > 8 * crs) {
                throw std::invalid_argument(
                    "fdtd_stepper: as diagonals a matrix would take more than eight "
                    "times the memory of compressed rows");
            }
        }
        for (auto& [offset, values] : place) {
            values = int64_t(t.values.size());
            t.diagonals.push_back(int32_t(offset));
            t.values.resize(values + a.rows, std::numeric_limits<T>::quiet_NaN());
        }
        for (int64_t row = 0; row < a.rows; ++row) {
            for (auto e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
                t.values[place[a.column[e] - update.first - row] + row] = a.value[e];
            }
        }
    }

    const fdtd_system<T>& d_system;
    const sparse_format d_format;
    const fdtd_units d_units;
    fdtd_plan<T> d_plan;
    fdtd_pieces<T> d_pieces{ d_plan };
};

} // namespace

template <typename T>
fdtd_plan<T> fdtd_plan<T>::make(const fdtd_system<T>& system,
                                sparse_format format,
                                int32_t tile_rows,
                                fdtd_units units)
{
    return plan_maker<T>(system, format, tile_rows, units).make();
}

template struct fdtd_plan<float>;
template struct fdtd_plan<double>;

} // namespace gr::cudaphy::kernels
