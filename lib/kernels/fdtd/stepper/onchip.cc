/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/stepper/onchip.h"
#include "kernels/fdtd/stepper/onchip_order.h"
#include "kernels/fdtd/stepper/partition.h"
#include <algorithm>
#include <map>
#include <tuple>

namespace gr::cudaphy::kernels {
namespace {

//! A row of a phase: its element, its entries in a matrix, and its mark.
struct row_of_phase {
    int32_t element;
    int64_t entries, entries_end;
    int32_t mark;
    bool changes; //!< whether it changes its element: it has entries or a source
};

//! The version of an element that phase `changed` makes.
struct version {
    int32_t element, changed;
    bool operator<(const version& other) const
    {
        return std::tie(element, changed) < std::tie(other.element, other.changed);
    }
    bool operator==(const version& other) const
    {
        return element == other.element && changed == other.changed;
    }
};

template <typename T>
class onchip_maker
{
public:
    onchip_maker(const fdtd_system<T>& system, const fdtd_plan<T>& plan, int32_t blocks)
        : d_system(system), d_marks(plan.tables.marks), d_changes(size_t(system.size)),
          d_own(blocks), d_place(d_changes.size()), d_constants(blocks),
          d_imports(blocks), d_word(d_changes.size(), -1)
    {
        d_plan.blocks = blocks;
        d_plan.phases = int32_t(plan.tables.phases.size());
        d_plan.tables.marks = plan.tables.marks;
        d_plan.tables.sources = plan.tables.sources;
        d_plan.tables.probes = plan.tables.probes;
        size_t update = 0;
        for (const auto& phase : plan.tables.phases) {
            add_phase(phase, phase.between ? nullptr : &system.updates[update++].matrix);
        }
    }

    std::optional<fdtd_onchip_plan<T>> make(const fdtd_onchip_limits& limits)
    {
        if (d_plan.phases != limits.phases) {
            return {};
        }
        const auto room = int64_t(d_plan.blocks) * limits.threads * limits.rows;
        for (const auto& rows : d_rows) {
            if (int64_t(rows.size()) > room) {
                return {};
            }
        }
        own();
        find_imports();
        number_words();
        add_waits();
        if (!place(limits)) {
            return {};
        }
        add_rows();
        return std::move(d_plan);
    }

private:
    void add_phase(const fdtd_phase& phase, const sparse_matrix<T>* a)
    {
        const auto number = int32_t(d_rows.size());
        auto& rows = d_rows.emplace_back();
        d_matrices.push_back(a);
        auto mark = phase.marks;
        const auto add = [&](int32_t element, int64_t begin, int64_t end) {
            const bool marked =
                mark < phase.marks_end && d_marks[mark].element == element;
            if (begin == end && !marked) {
                return;
            }
            const bool changes =
                begin != end || d_marks[mark].what & fdtd_mark::has_source;
            rows.push_back({ element, begin, end, marked ? mark++ : -1, changes });
            if (changes) {
                d_changes[element].push_back(number);
            }
        };
        if (!a) {
            while (mark < phase.marks_end) {
                add(d_marks[mark].element, 0, 0);
            }
        }
        for (int64_t i = 0; a && i < a->rows; ++i) {
            add(int32_t(phase.first + i), a->row_start[i], a->row_start[i + 1]);
        }
    }

    bool constant(int32_t element) const { return d_changes[element].empty(); }

    //! The block that updates an element.
    int32_t owner(int32_t element) const { return std::max(0, d_owner[element]); }

    void own()
    {
        std::vector<char> changing(d_changes.size());
        for (size_t e = 0; e < changing.size(); ++e) {
            changing[e] = !d_changes[e].empty();
        }
        d_owner = fdtd_partition(d_system, changing, d_plan.blocks);
        for (int32_t e = 0; e < int32_t(d_owner.size()); ++e) {
            if (d_owner[e] >= 0) {
                d_place[e] = uint16_t(d_own[d_owner[e]].size());
                d_own[d_owner[e]].push_back(e);
            }
        }
    }

    //! The version of a changing element that phase `phase` reads.
    version found(int32_t element, int32_t phase) const
    {
        const auto& changed = d_changes[element];
        const auto next = std::lower_bound(changed.begin(), changed.end(), phase);
        return { element, next == changed.begin() ? changed.back() : next[-1] };
    }

    void find_imports()
    {
        for (int32_t p = 0; p < d_plan.phases; ++p) {
            for (const auto& row : d_rows[p]) {
                const auto here = owner(row.element);
                if (constant(row.element)) {
                    d_constants[here].push_back(row.element);
                }
                for (auto e = row.entries; e < row.entries_end; ++e) {
                    const auto column = d_matrices[p]->column[e];
                    if (constant(column)) {
                        d_constants[here].push_back(column);
                    } else if (owner(column) != here) {
                        const auto v = found(column, p);
                        d_imports[here][v] = 0;
                        d_readers.push_back({ v.element, here });
                        d_published.push_back(v);
                    }
                }
            }
        }
        for (auto& constants : d_constants) {
            sort(constants);
        }
        sort(d_readers);
        sort(d_published);
    }

    //! Removes repetitions.
    template <typename Item>
    static void sort(std::vector<Item>& items)
    {
        std::sort(items.begin(), items.end());
        items.erase(std::unique(items.begin(), items.end()), items.end());
    }

    //! Numbers the words. Words that the same blocks read are neighbours.
    void number_words()
    {
        std::vector<std::tuple<int32_t, std::vector<int32_t>, int32_t, int32_t>> order;
        for (auto reader = d_readers.begin(); reader != d_readers.end();) {
            const auto element = reader->first;
            std::vector<int32_t> readers;
            for (; reader != d_readers.end() && reader->first == element; ++reader) {
                readers.push_back(reader->second);
            }
            order.push_back(
                { owner(element), readers, d_changes[element].front(), element });
        }
        std::sort(order.begin(), order.end());
        for (const auto& each : order) {
            d_word[std::get<3>(each)] = d_plan.words++;
        }
    }

    //! If a might overwrite a word before b has taken it: gives a one of b's words to
    //! take.
    void add_waits()
    {
        const auto phases = d_plan.phases;
        fdtd_onchip_order order(d_plan.blocks, phases);
        for (int32_t b = 0; b < d_plan.blocks; ++b) {
            for (const auto& [v, place] : d_imports[b]) {
                order.add(owner(v.element), b, (v.changed + 1) % phases);
            }
        }
        for (int32_t b = 0; b < d_plan.blocks; ++b) {
            for (const auto& [v, place] : d_imports[b]) {
                const auto a = owner(v.element);
                const auto taken = v.changed + 1, again = published_next(v);
                if (!order.holds(b, taken, a, again)) {
                    d_waits.push_back({ b, taken % phases, a, d_plan.words++ });
                    order.add(b, a, (taken + 1) % phases);
                }
            }
        }
    }

    //! The phase in which a version's word is written again.
    int32_t published_next(const version& v) const
    {
        auto next = std::upper_bound(d_published.begin(), d_published.end(), v);
        if (next != d_published.end() && next->element == v.element) {
            return next->changed;
        }
        next = std::lower_bound(
            d_published.begin(), d_published.end(), version{ v.element, 0 });
        return next->changed + d_plan.phases;
    }

    //! Places everything in the blocks' memory. \returns false if there is no room
    bool place(const fdtd_onchip_limits& limits)
    {
        const auto blocks = d_plan.blocks, phases = d_plan.phases;
        auto& t = d_plan.tables;
        t.parts.resize(size_t(blocks) * phases);
        d_idle.resize(blocks);
        std::vector<std::vector<fdtd_onchip_import>> waits(t.parts.size());
        std::vector<int64_t> rows(t.parts.size());
        std::vector<int32_t> drives(blocks);
        for (const auto& each : d_waits) {
            waits[size_t((each.phase + 1) % phases) * blocks + each.to].push_back(
                { each.word, -1 });
            ++rows[size_t(each.phase) * blocks + each.from];
        }
        for (int32_t p = 0; p < phases; ++p) {
            for (const auto& row : d_rows[p]) {
                ++rows[size_t(p) * blocks + owner(row.element)];
                drives[owner(row.element)] += has_source(row);
            }
        }
        int64_t most_rows = 1, most_imports = 1;
        for (int32_t b = 0; b < blocks; ++b) {
            int32_t places = int32_t(d_own[b].size() + d_constants[b].size());
            t.blocks.push_back(
                { int32_t(t.elements.size()), int32_t(d_own[b].size()), places + 1 });
            t.elements.insert(t.elements.end(), d_own[b].begin(), d_own[b].end());
            t.elements.insert(
                t.elements.end(), d_constants[b].begin(), d_constants[b].end());
            t.elements.push_back(-1); // for words without a value of interest
            d_idle[b] = places++;
            for (int32_t p = 0; p < phases; ++p) {
                auto& part = t.parts[size_t(p) * blocks + b];
                part.imports = int32_t(t.imports.size());
                part.place = places;
                std::vector<std::pair<int32_t, version>> taken;
                for (const auto& [v, unused] : d_imports[b]) {
                    if ((v.changed + 1) % phases == p) {
                        taken.push_back({ d_word[v.element], v });
                    }
                }
                std::sort(taken.begin(), taken.end());
                for (const auto& [word, v] : taken) {
                    d_imports[b][v] = places++;
                    t.imports.push_back({ word, v.element });
                }
                const auto& more = waits[size_t(p) * blocks + b];
                t.imports.insert(t.imports.end(), more.begin(), more.end());
                places += int32_t(more.size());
                part.imports_end = int32_t(t.imports.size());
                most_imports =
                    std::max<int64_t>(most_imports, part.imports_end - part.imports);
                most_rows = std::max(most_rows, rows[size_t(p) * blocks + b]);
            }
            d_plan.places = std::max(d_plan.places, places);
            d_plan.drives = std::max(d_plan.drives, drives[b]);
        }
        const auto shared_out = [&](int64_t items, int64_t each) {
            return (items + each - 1) / each;
        };
        // A thread a row, unless so many threads would make the block's barriers slow.
        const auto each = most_rows > 512 ? limits.rows : 1;
        const auto threads = std::max(shared_out(most_rows, each),
                                      shared_out(most_imports, limits.imports));
        d_plan.threads =
            int32_t(std::min<int64_t>(shared_out(threads, 32) * 32, INT32_MAX));
        return d_plan.threads <= limits.threads && d_plan.places <= UINT16_MAX &&
               int64_t(d_plan.shared_bytes()) <= limits.bytes;
    }

    bool has_source(const row_of_phase& row) const
    {
        return row.mark >= 0 && d_marks[row.mark].what & fdtd_mark::has_source;
    }

    //! The place of an element that phase `phase` reads.
    uint16_t place_of(int32_t block, int32_t element, int32_t phase) const
    {
        if (constant(element)) {
            const auto& all = d_constants[block];
            const auto at = std::lower_bound(all.begin(), all.end(), element);
            return uint16_t(d_own[block].size() + size_t(at - all.begin()));
        }
        return owner(element) == block
                   ? d_place[element]
                   : uint16_t(d_imports[block].at(found(element, phase)));
    }

    void add_rows()
    {
        const auto blocks = d_plan.blocks;
        auto& t = d_plan.tables;
        std::vector<int32_t> drives(blocks);
        for (int32_t p = 0; p < d_plan.phases; ++p) {
            std::vector<std::vector<fdtd_onchip_row<T>>> rows(blocks);
            for (const auto& row : d_rows[p]) {
                const auto b = owner(row.element);
                rows[b].push_back(made(row, p, b, drives[b]));
            }
            for (const auto& wait : d_waits) {
                if (wait.phase == p) {
                    fdtd_onchip_row<T> row{};
                    row.own = uint16_t(d_idle[wait.from]);
                    row.shape = fdtd_onchip_row<T>::exists;
                    row.word = wait.word;
                    rows[wait.from].push_back(row);
                }
            }
            for (int32_t b = 0; b < blocks; ++b) {
                auto& part = t.parts[size_t(p) * blocks + b];
                // Rows that other blocks wait for come first.
                std::stable_partition(
                    rows[b].begin(), rows[b].end(), [&](const auto& row) {
                        return (row.shape & fdtd_onchip_row<T>::special
                                    ? t.specials[row.word].word
                                    : row.word) >= 0;
                    });
                part.rows = int32_t(t.rows.size());
                t.rows.insert(t.rows.end(), rows[b].begin(), rows[b].end());
                part.rows_end = int32_t(t.rows.size());
            }
        }
    }

    fdtd_onchip_row<T>
    made(const row_of_phase& row, int32_t phase, int32_t block, int32_t& drives)
    {
        using onchip_row = fdtd_onchip_row<T>;
        auto& t = d_plan.tables;
        const auto* const a = d_matrices[phase];
        onchip_row out{};
        out.own = place_of(block, row.element, phase);
        const auto count = row.entries_end - row.entries;
        const auto few = int32_t(std::min<int64_t>(count, onchip_row::entries));
        for (int32_t j = 0; j < few; ++j) {
            out.value[j] = a->value[row.entries + j];
            out.index[j] = place_of(block, a->column[row.entries + j], phase);
        }
        out.shape = uint16_t(onchip_row::exists | few);
        const bool published =
            d_word[row.element] >= 0 && std::binary_search(d_published.begin(),
                                                           d_published.end(),
                                                           version{ row.element, phase });
        out.word = published ? d_word[row.element] : -1;
        if (count > few || row.mark >= 0) {
            fdtd_onchip_special special{
                out.word, row.mark, int32_t(t.rest.size()), 0, -1
            };
            for (auto e = row.entries + few; e < row.entries_end; ++e) {
                t.rest.push_back({ a->value[e], place_of(block, a->column[e], phase) });
            }
            special.rest_end = int32_t(t.rest.size());
            special.drive = has_source(row) ? drives++ : -1;
            out.shape |= onchip_row::special;
            out.word = int32_t(t.specials.size());
            t.specials.push_back(special);
        }
        return out;
    }

    struct wait {
        int32_t from, phase, to, word; //!< `to` takes it a phase later
    };

    const fdtd_system<T>& d_system;
    const std::vector<fdtd_mark>& d_marks;
    fdtd_onchip_plan<T> d_plan;
    std::vector<std::vector<row_of_phase>> d_rows; //!< of each phase
    std::vector<const sparse_matrix<T>*> d_matrices;
    std::vector<std::vector<int32_t>> d_changes; //!< the phases that change each element
    std::vector<int32_t> d_owner;
    std::vector<std::vector<int32_t>> d_own;       //!< elements of each block
    std::vector<uint16_t> d_place;                 //!< of each element in its block's own
    std::vector<std::vector<int32_t>> d_constants; //!< that each block reads
    std::vector<std::map<version, int32_t>> d_imports;  //!< and their places
    std::vector<std::pair<int32_t, int32_t>> d_readers; //!< elements and blocks
    std::vector<version> d_published;
    std::vector<int32_t> d_word; //!< of each element, -1: none
    std::vector<wait> d_waits;
    std::vector<int32_t> d_idle; //!< each block's place without an element
};

} // namespace

template <typename T>
std::optional<fdtd_onchip_plan<T>>
fdtd_onchip_plan<T>::make(const fdtd_system<T>& system,
                          const fdtd_plan<T>& plan,
                          int32_t blocks,
                          const fdtd_onchip_limits& limits)
{
    return onchip_maker<T>(system, plan, blocks).make(limits);
}

template struct fdtd_onchip_plan<float>;
template struct fdtd_onchip_plan<double>;

} // namespace gr::cudaphy::kernels
