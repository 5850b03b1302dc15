/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/stepper/march.h"
#include "kernels/common/parallel.h"
#include "kernels/fdtd/stepper/numbering.h"
#include <algorithm>
#include <atomic>
#include <map>

namespace gr::cudaphy::kernels {
namespace {

template <typename T>
class march_maker
{
    using row_type = fdtd_march_row<T>;
    using update = typename fdtd_system<T>::update;

public:
    explicit march_maker(const fdtd_system<T>& system) : d_system(system) {}

    std::optional<fdtd_march_plan<T>> make()
    {
        if (find_updates() && find_shape() && find_classes() && find_common() &&
            find_places() && find_forms() && find_marks()) {
            return std::move(d_plan);
        }
        return {};
    }

private:
    struct at {
        int32_t place[3];
    };

    bool find_updates()
    {
        const auto& updates = d_system.updates;
        if (updates.size() < 2 || updates.size() > 4) {
            return false;
        }
        const auto rows = updates[0].matrix.rows;
        size_t u = 0;
        for (int h = 0; h < 2; ++h) {
            if (u >= updates.size() || updates[u].first != h * rows ||
                updates[u].matrix.rows != rows) {
                return false;
            }
            d_field[h] = u++;
            if (u < updates.size() && updates[u].first >= 2 * rows) {
                d_memory[h] = int(u++);
            }
        }
        d_points = rows / 3;
        d_plan.layers = d_memory[0] >= 0 || d_memory[1] >= 0;
        return u == updates.size() && rows % 3 == 0 && rows > 0;
    }

    //! How far back a row of E reads in a component of H, at most.
    int64_t reach(int component, int other) const
    {
        const auto& a = d_system.updates[d_field[0]].matrix;
        for (auto row = component * d_points; row < (component + 1) * d_points; ++row) {
            for (auto e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
                const auto column = a.column[e] - (3 + other) * d_points;
                const auto back = row - component * d_points - column;
                if (column >= 0 && column < d_points && back > 0) {
                    return back;
                }
            }
        }
        return 0;
    }

    bool find_shape()
    {
        auto& g = d_plan.grid;
        const auto nz = reach(0, 2), plane = reach(1, 2);
        if (nz < 2 || plane < 2 * nz || plane % nz || d_points % plane) {
            return false;
        }
        g.nz = int32_t(nz);
        g.ny = int32_t(plane / nz);
        g.nx = int32_t(d_points / plane);
        g.points = int32_t(d_points);
        return true;
    }

    at place_of(int64_t cell) const
    {
        const auto& g = d_plan.grid;
        return { { int32_t(cell / g.nz / g.ny),
                   int32_t(cell / g.nz % g.ny),
                   int32_t(cell % g.nz) } };
    }
    int32_t length(int axis) const
    {
        const auto& g = d_plan.grid;
        return axis == 0 ? g.nx : axis == 1 ? g.ny : g.nz;
    }
    int64_t stride(int axis) const
    {
        const auto& g = d_plan.grid;
        return axis == 0 ? int64_t(g.ny) * g.nz : axis == 1 ? g.nz : 1;
    }

    //! Which of the four entries a column of the fields is; -1: none.
    int entry_of(int component, const at& here, int64_t cell, int64_t column) const
    {
        const bool electric = component < 3;
        const int axis = component % 3;
        const int other = int(column / d_points) - (electric ? 3 : 0);
        if (other < 0 || other > 2 || other == axis) {
            return -1;
        }
        const int along = 3 - axis - other;
        const int pair = other > along ? 1 : 0;
        const auto distance = column % d_points - cell;
        if (distance == 0) {
            return 2 * pair + (electric ? 1 : 0);
        }
        const bool inside =
            electric ? here.place[along] > 0 : here.place[along] + 1 < length(along);
        const auto step = electric ? -stride(along) : stride(along);
        return inside && distance == step ? 2 * pair + (electric ? 0 : 1) : -1;
    }

    //! The row of a field.
    bool read(int component, const at& here, int64_t cell, row_type& row) const
    {
        row = {};
        const int kind = component / 3;
        const auto& [first, a] = d_system.updates[d_field[kind]];
        const auto number = component % 3 * d_points + cell;
        int last_pair = 2;
        for (auto e = a.row_start[number]; e < a.row_start[number + 1]; ++e) {
            const int64_t column = a.column[e];
            const T value = a.value[e];
            if (value == 0) {
                return false;
            }
            if (column >= 6 * d_points) {
                const int pair = read_psi(component, here, cell, column, row);
                if (pair < 0 || pair >= last_pair) {
                    return false; // psi of the higher pair comes first
                }
                last_pair = pair;
                row.psi[pair] = value;
                row.has_psi |= 1u << pair;
            } else if (column == first + number) {
                if (kind == 1) {
                    return false;
                }
                row.own = value;
            } else {
                const int entry = entry_of(component, here, cell, column);
                if (entry < 0) {
                    return false;
                }
                row.curl[entry] = value;
            }
        }
        fill_edges(component, here, row);
        return true;
    }

    //! Beyond the grid all is 0, so that entries there do no harm: rows at its edges
    //! become like others.
    void fill_edges(int component, const at& here, row_type& row) const
    {
        const bool electric = component < 3;
        for (int pair = 0; pair < 2; ++pair) {
            const int axis = axis_of(component, pair);
            const bool edge =
                electric ? here.place[axis] == 0 : here.place[axis] + 1 == length(axis);
            const int away = electric ? 0 : 1;
            if (edge && row.curl[2 * pair + 1 - away] != 0) {
                row.curl[2 * pair + away] = -row.curl[2 * pair + 1 - away];
            }
            if (edge && row.memory[pair][1 - away] != 0) {
                row.memory[pair][away] = -row.memory[pair][1 - away];
            }
        }
    }

    //! The axis along which a pair is a derivative.
    static int axis_of(int component, int pair)
    {
        const int c = component % 3;
        const int low = c == 0 ? 1 : 0, high = c == 2 ? 1 : 2;
        return 3 - c - (pair ? high : low);
    }

    //! The row of a psi. \returns its pair, -1 if it is none
    int read_psi(
        int component, const at& here, int64_t cell, int64_t element, row_type& row) const
    {
        const int which = d_memory[component / 3];
        if (which < 0) {
            return -1;
        }
        const auto& [first, a] = d_system.updates[size_t(which)];
        const auto number = element - first;
        if (number < 0 || number >= a.rows) {
            return -1;
        }
        int pair = -1;
        T own = 0;
        for (auto e = a.row_start[number]; e < a.row_start[number + 1]; ++e) {
            const int64_t column = a.column[e];
            if (a.value[e] == 0) {
                return -1;
            }
            if (column == element) {
                own = a.value[e];
                continue;
            }
            const int entry =
                column < 6 * d_points ? entry_of(component, here, cell, column) : -1;
            if (entry < 0 || (pair >= 0 && entry / 2 != pair)) {
                return -1;
            }
            pair = entry / 2;
            row.memory[pair][entry % 2] = a.value[e];
        }
        if (pair >= 0) {
            row.memory[pair][2] = own;
        }
        return pair;
    }

    bool find_classes()
    {
        auto& t = d_plan.tables;
        t.classes.resize(size_t(d_points));
        fdtd_numbering<row_type> rows;
        fdtd_numbering<fdtd_march_class> kinds;
        rows.of(row_type{});
        kinds.of(fdtd_march_class{}); // fdtd_march_outside
        // A cell without any entry is one of another class than what is no cell.
        std::atomic<bool> good{ true };
        for_each_part(size_t(d_points), 1 << 16, [&](size_t begin, size_t end) {
            using known_rows = fdtd_known_numbers<row_type>;
            known_rows known[6]{ known_rows(rows), known_rows(rows), known_rows(rows),
                                 known_rows(rows), known_rows(rows), known_rows(rows) };
            fdtd_known_numbers known_kinds(kinds);
            for (auto cell = begin; good && cell < end; ++cell) {
                const auto here = place_of(int64_t(cell));
                fdtd_march_class kind{};
                kind.unused = 1;
                for (int c = 0; c < 6; ++c) {
                    row_type row;
                    const int number =
                        read(c, here, int64_t(cell), row) ? known[c].of(row) : -1;
                    if (number < 0) {
                        good = false;
                        return;
                    }
                    kind.row[c] = uint16_t(number);
                    kind.has_psi |= uint16_t(row.has_psi << 2 * c);
                }
                const int number = known_kinds.of(kind);
                if (number < 0) {
                    good = false;
                    return;
                }
                t.classes[cell] = uint32_t(number) | uint32_t(kind.has_psi)
                                                         << fdtd_march_psi_shift;
            }
        });
        t.rows = std::move(rows.keys());
        t.kinds = std::move(kinds.keys());
        return good;
    }

    bool find_common()
    {
        auto& t = d_plan.tables;
        auto& g = d_plan.grid;
        std::vector<int64_t> count(t.kinds.size());
        for (const auto word : t.classes) {
            ++count[word & fdtd_march_kind];
        }
        int64_t most = 0;
        for (size_t k = 0; k < t.kinds.size(); ++k) {
            bool full = t.kinds[k].has_psi == 0;
            for (int c = 0; c < 6; ++c) {
                for (const auto value : t.rows[t.kinds[k].row[c]].curl) {
                    full = full && value != 0;
                }
            }
            if (full && count[k] > most) {
                most = count[k];
                g.common = int32_t(k);
            }
        }
        if (most == 0) {
            return false;
        }
        d_plan.share = double(most) / double(d_points);
        for (int c = 0; c < 6; ++c) {
            const auto& row = t.rows[t.kinds[g.common].row[c]];
            std::copy_n(row.curl, 4, g.curl[c]);
            if (c < 3) {
                g.own[c] = row.own;
            }
        }
        return true;
    }

    //! The form of each class of cells that has one.
    bool find_forms()
    {
        auto& t = d_plan.tables;
        if (!d_plan.layers) {
            return true;
        }
        t.forms.resize(t.kinds.size());
        std::vector<char> formed(t.kinds.size());
        for (size_t k = 0; k < t.kinds.size(); ++k) {
            bool good = true;
            for (int c = 0; c < 6; ++c) {
                good = add_form(t.rows[t.kinds[k].row[c]], c, t.forms[k]) && good;
            }
            formed[k] = good;
        }
        for (auto& word : t.classes) {
            if (formed[word & fdtd_march_kind]) {
                word |= fdtd_march_formed;
            }
        }
        return true;
    }

    //! \returns false if a form can't say the row
    static bool add_form(const row_type& row, int component, fdtd_march_form<T>& form)
    {
        const int field = component / 3;
        const int here = field == 0 ? 1 : 0, away = 1 - here;
        bool good = row.own == 0 && (row.curl[0] == 0) == (row.curl[2] == 0);
        for (int pair = 0; pair < 2; ++pair) {
            const int p = component % 3 * 2 + pair;
            const T* const curl = row.curl + 2 * pair;
            good = good && curl[away] == -curl[here];
            form.curl[field][p] = curl[here];
            if (row.has_psi >> pair & 1) {
                const T* const memory = row.memory[pair];
                good = good && memory[away] == -memory[here] && memory[here] != 0 &&
                       memory[2] != 0 && curl[here] != 0;
                T* const psi = form.psi[field][p];
                psi[0] = row.psi[pair];
                psi[1] = memory[here];
                psi[2] = memory[2];
            }
        }
        return good;
    }

    //! The elements of a row's psi, as read() has found that it has them.
    void find_psi(int component, int64_t cell, unsigned has, int64_t* psi) const
    {
        if (!has) {
            return;
        }
        const auto& a = d_system.updates[d_field[component / 3]].matrix;
        const auto number = component % 3 * d_points + cell;
        int pair = has & 2 ? 1 : 0; // the higher pair's comes first
        for (auto e = a.row_start[number]; e < a.row_start[number + 1]; ++e) {
            if (a.column[e] >= 6 * d_points) {
                psi[pair--] = a.column[e];
            }
        }
    }

    // A psi's element is a sum of three numbers, of x, y and z: whatever the run's shape,
    // and also where several planes share a line. Two known numbers give the third.
    bool find_places()
    {
        const auto& g = d_plan.grid;
        auto& t = d_plan.tables;
        const int32_t lengths[3]{ g.nx, g.ny, g.nz };
        constexpr int32_t unknown = INT32_MIN;
        if (!d_plan.layers) {
            return true;
        }
        t.places.assign(12 * size_t(g.nx + g.ny + g.nz), unknown);
        std::vector<bool> taken(size_t(d_system.size - 6 * d_points));
        bool begun[12]{};
        int64_t claimed = 0, open = 0, before = -1;
        const auto place = [&](int p, int axis, int32_t i) -> int32_t& {
            size_t from = 0;
            for (int a = 0; a < axis; ++a) {
                from += 12 * size_t(lengths[a]);
            }
            return t.places[from + size_t(p) * size_t(lengths[axis]) + size_t(i)];
        };
        do {
            before = open;
            claimed = open = 0;
            std::fill(taken.begin(), taken.end(), false);
            for (int64_t cell = 0; cell < d_points; ++cell) {
                const auto has = t.classes[size_t(cell)] >> fdtd_march_psi_shift;
                if (!has) {
                    continue;
                }
                const auto here = place_of(cell);
                int64_t psi[12]{};
                for (int c = 0; c < 6; ++c) {
                    find_psi(c, cell, has >> 2 * c & 3u, psi + 2 * c);
                }
                for (int p = 0; p < 12; ++p) {
                    if (!(has >> p & 1)) {
                        continue;
                    }
                    const auto element = psi[p];
                    const auto number = size_t(element - 6 * d_points);
                    if (taken[number]) {
                        return false; // two fields take it
                    }
                    taken[number] = true;
                    ++claimed;
                    int32_t* parts[3];
                    int known = 0, missing = 0;
                    int64_t sum = 0;
                    for (int a = 0; a < 3; ++a) {
                        parts[a] = &place(p, a, here.place[a]);
                        if (*parts[a] == unknown) {
                            missing = a;
                        } else {
                            ++known;
                            sum += *parts[a];
                        }
                    }
                    if (!begun[p]) {
                        begun[p] = true;
                        *parts[0] = int32_t(element);
                        *parts[1] = *parts[2] = 0;
                    } else if (known == 3) {
                        if (sum != element) {
                            return false;
                        }
                    } else if (known == 2) {
                        *parts[missing] = int32_t(element - sum);
                    } else {
                        ++open;
                    }
                }
            }
        } while (open && open != before);
        int64_t rows = 0;
        for (const int which : d_memory) {
            if (which >= 0) {
                const auto& a = d_system.updates[size_t(which)].matrix;
                for (int64_t row = 0; row < a.rows; ++row) {
                    rows += a.row_start[row + 1] > a.row_start[row];
                }
            }
        }
        std::replace(t.places.begin(), t.places.end(), unknown, 0);
        return open == 0 && rows == claimed;
    }

    bool find_marks()
    {
        const auto& g = d_plan.grid;
        auto& t = d_plan.tables;
        struct acts {
            std::vector<size_t> sources, probes;
        };
        std::map<int64_t, acts> elements;
        for (size_t i = 0; i < d_system.sources.size(); ++i) {
            const auto& source = d_system.sources[i];
            if (source.element >= 6 * d_points ||
                source.after != d_field[source.element / (3 * d_points)]) {
                return false;
            }
            elements[source.element].sources.push_back(i);
        }
        for (size_t i = 0; i < d_system.probes.size(); ++i) {
            if (d_system.probes[i].element >= 6 * d_points) {
                return false;
            }
            elements[d_system.probes[i].element].probes.push_back(i);
        }
        const int64_t plane = stride(0);
        std::vector<std::vector<fdtd_march_mark>> planes(2 * size_t(g.nx + 1));
        for (const auto& [element, what] : elements) {
            const int component = int(element / d_points);
            const auto cell = element % d_points;
            fdtd_march_mark mark{ int32_t(cell % plane), component, 0, 0, 0, 0 };
            mark.sources = int32_t(t.sources.size());
            for (const auto i : what.sources) {
                const auto& source = d_system.sources[i];
                t.sources.push_back({ source.coefficient, int32_t(i), source.hard });
            }
            mark.sources_end = int32_t(t.sources.size());
            mark.probes = int32_t(t.probes.size());
            for (const auto i : what.probes) {
                t.probes.push_back({ d_system.probes[i].coefficient, int32_t(i) });
            }
            mark.probes_end = int32_t(t.probes.size());
            planes[size_t(component / 3 * (g.nx + 1) + cell / plane)].push_back(mark);
        }
        for (const auto& marks : planes) {
            t.starts.push_back(int32_t(t.marks.size()));
            t.marks.insert(t.marks.end(), marks.begin(), marks.end());
        }
        return true;
    }

    const fdtd_system<T>& d_system;
    fdtd_march_plan<T> d_plan;
    size_t d_field[2]{};
    int d_memory[2]{ -1, -1 };
    int64_t d_points = 0;
};

} // namespace

template <typename T>
std::optional<fdtd_march_plan<T>> fdtd_march_plan<T>::make(const fdtd_system<T>& system)
{
    return march_maker<T>(system).make();
}

template struct fdtd_march_plan<float>;
template struct fdtd_march_plan<double>;

} // namespace gr::cudaphy::kernels
