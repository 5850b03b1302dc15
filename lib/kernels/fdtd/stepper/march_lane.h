/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/stepper/lane.h"
#include "kernels/fdtd/stepper/march.h"

// Two time steps in one pass over the state of a grid; plain C++, too.
//
// A block has a tile of Height x Width columns of cells across x, and marches along x.
// Each thread has one column. What it needs of neighbours goes through shared memory,
// plane by plane; what it needs along x it keeps. At plane k it has
//   first:  E of step 1 at k, from H at k and k - 1; then H of step 1 at k - 1
//   second: E of step 2 at k - 1, from H of step 1; then H of step 2 at k - 2
// so that a plane of E and H comes from memory and goes to memory once for two steps.
// (Wavefronts in time: Wellein et al., COMPSAC 2009, for a Jacobi solver.)
//
// A step reads one element back in H and one ahead in E, two steps two. So a tile's two
// outer columns on each side, and two planes before and after its part of x, are computed
// for its own cells' sake only; their own tiles compute them, too, and to the same bits.
// They read the state of before the pass: a pass goes from one copy of the state to
// another.

namespace gr::cudaphy::kernels {

//! What a pass works on.
template <typename T>
struct fdtd_march_pass {
    fdtd_march_grid<T> grid;
    fdtd_march_tables<T, fdtd_pointer> tables;
    const T* from;
    T* to;
    fdtd_step<T> step; //!< the first of the two
};

template <typename T, bool Layers, int Height, int Width>
class fdtd_march_lane
{
public:
    static constexpr int halo = fdtd_march_shares::halo, cells = Height * Width;
    //! Elements of shared memory: E and H of each step, three components each, and a row
    //! around each four of them that outer columns read.
    static constexpr int field = 3 * cells + 2 * Width, shared = 4 * field;

    //! \param y, z  of the tile's first cell
    //! \param x, x_end  the block's part
    CUDAPHY_LANE fdtd_march_lane(const fdtd_march_pass<T>& pass,
                                 int thread,
                                 int y,
                                 int z,
                                 int x,
                                 int x_end,
                                 T* shared)
        : d_pass(pass), d_here(shared + Width + thread), d_x(x), d_x_end(x_end)
    {
        const int row = thread / Width, in_row = thread % Width;
        d_y = y - halo + row;
        d_z = z - halo + in_row;
        const auto& g = pass.grid;
        const bool exists = d_y >= 0 && d_y < g.ny && d_z >= 0 && d_z < g.nz;
        d_column = exists ? d_y * g.nz + d_z : -1;
        d_owns = exists && row >= halo && row < Height - halo && in_row >= halo &&
                 in_row < Width - halo;
    }

    //! The planes that a block takes one after another: for each first(), a barrier,
    //! second(), a barrier.
    CUDAPHY_LANE int begin() const { return d_x - halo; }
    CUDAPHY_LANE int end() const { return d_x_end + halo; }

    //! Before the first plane, and a barrier thereafter.
    CUDAPHY_LANE void start()
    {
        d_next_kind = kind_at(begin());
        d_ahead_kind = kind_at(begin() + 1);
        load(begin());
        put(in_h, d_coming_h);
    }

    template <typename Report>
    CUDAPHY_LANE void first(int k, const Report& not_finite)
    {
        T e[3], h[3];
        CUDAPHY_UNROLL
        for (int c = 0; c < 3; ++c) {
            e[c] = d_coming_e[c];
            h[c] = d_coming_h[c];
            d_in_h[c] = h[c];
        }
        d_kind = d_next_kind;
        d_next_kind = d_ahead_kind;
        T psi_e[6], psi_h[6];
        if constexpr (Layers) {
            CUDAPHY_UNROLL
            for (int p = 0; p < 6; ++p) {
                psi_e[p] = d_coming_psi_e[p];
                psi_h[p] = d_coming_psi_h[p];
            }
        }
        if (k + 1 < end()) {
            load(k + 1);
            d_ahead_kind = kind_at(k + 2);
        }
        put(out_e, d_e2);
        update<true>(d_kind, e, h, d_h, in_h, psi_e);
        visit_marks(0, k, 0, e, not_finite);
        T next_h[3]{ d_h[0], d_h[1], d_h[2] };
        update<false>(d_kind_1, next_h, d_e1, e, mid_e, psi_h);
        visit_marks(1, k - 1, 0, next_h, not_finite);
        put(mid_h, next_h);
        CUDAPHY_UNROLL
        for (int c = 0; c < 3; ++c) {
            d_next_e[c] = e[c];
            d_next_h[c] = next_h[c];
        }
        if constexpr (Layers) {
            CUDAPHY_UNROLL
            for (int p = 0; p < 6; ++p) {
                d_next_psi_e[p] = psi_e[p];
                d_next_psi_h[p] = psi_h[p];
            }
        }
    }

    template <typename Report>
    CUDAPHY_LANE void second(int k, const Report& not_finite)
    {
        T e[3]{ d_e1[0], d_e1[1], d_e1[2] }, h[3]{ d_h1[0], d_h1[1], d_h1[2] };
        update<true>(d_kind_1, e, d_next_h, d_h1, mid_h, d_psi_e);
        visit_marks(0, k - 1, 1, e, not_finite);
        store(0, k - 1, d_kind_1, e, d_psi_e);
        update<false>(d_kind_2, h, d_e2, e, out_e, d_psi_h);
        visit_marks(1, k - 2, 1, h, not_finite);
        store(1, k - 2, d_kind_2, h, d_psi_h);
        put(mid_e, d_next_e);
        put(in_h, d_coming_h);
        CUDAPHY_UNROLL
        for (int c = 0; c < 3; ++c) {
            d_e1[c] = d_next_e[c];
            d_h[c] = d_in_h[c];
            d_h1[c] = d_next_h[c];
            d_e2[c] = e[c];
        }
        if constexpr (Layers) {
            CUDAPHY_UNROLL
            for (int p = 0; p < 6; ++p) {
                d_psi_e[p] = d_next_psi_e[p];
                d_psi_h[p] = d_next_psi_h[p];
            }
        }
        d_kind_2 = d_kind_1;
        d_kind_1 = d_kind;
    }

private:
    //! Places in shared memory: H before the pass, E and H of the first step, E of the
    //! second.
    static constexpr int in_h = 0, mid_e = field, mid_h = 2 * field, out_e = 3 * field;

    CUDAPHY_LANE int64_t element(int component, int x) const
    {
        const auto& g = d_pass.grid;
        return int64_t(component) * g.points + (x * g.ny * g.nz + d_column);
    }

    //! Asks for a plane; zeros where there is none.
    CUDAPHY_LANE void load(int x)
    {
        CUDAPHY_UNROLL
        for (int c = 0; c < 3; ++c) {
            d_coming_e[c] = d_coming_h[c] = 0;
        }
        if (d_column >= 0 && x >= 0 && x < d_pass.grid.nx) {
            CUDAPHY_UNROLL
            for (int c = 0; c < 3; ++c) {
                d_coming_e[c] = d_pass.from[element(c, x)];
                d_coming_h[c] = d_pass.from[element(3 + c, x)];
            }
        }
        if constexpr (Layers) {
            load_psi(0, x, d_next_kind, d_coming_psi_e);
            load_psi(1, x - 1, d_kind, d_coming_psi_h);
        }
    }

    CUDAPHY_LANE uint32_t kind_at(int x) const
    {
        return d_column >= 0 && x >= 0 && x < d_pass.grid.nx
                   ? d_pass.tables.classes[element(0, x)]
                   : fdtd_march_outside;
    }

    CUDAPHY_LANE void put(int where, const T (&values)[3])
    {
        CUDAPHY_UNROLL
        for (int c = 0; c < 3; ++c) {
            d_here[where + c * cells] = values[c];
        }
    }

    CUDAPHY_LANE int64_t psi_element(int p, int x) const
    {
        const auto& g = d_pass.grid;
        const auto* places = d_pass.tables.places;
        return int64_t(places[p * g.nx + x]) + places[12 * g.nx + p * g.ny + d_y] +
               places[12 * (g.nx + g.ny) + p * g.nz + d_z];
    }

    //! The bits of a class for E's (field 0) or H's psi.
    static CUDAPHY_LANE unsigned which_psi(int field, uint32_t kind)
    {
        return kind >> (fdtd_march_psi_shift + 6 * field) & 63u;
    }

    CUDAPHY_LANE void load_psi(int field, int x, uint32_t kind, T (&psi)[6]) const
    {
        const unsigned has = which_psi(field, kind);
        CUDAPHY_UNROLL
        for (int p = 0; p < 6; ++p) {
            psi[p] = 0;
        }
        // Along one axis: the pairs of two components.
        load_psi_of<3, 5>(field, x, has, psi);
        load_psi_of<1, 4>(field, x, has, psi);
        load_psi_of<0, 2>(field, x, has, psi);
    }
    template <int One, int Other>
    CUDAPHY_LANE void load_psi_of(int field, int x, unsigned has, T (&psi)[6]) const
    {
        if (has & (1u << One | 1u << Other)) {
            const auto one = psi_element(6 * field + One, x),
                       other = psi_element(6 * field + Other, x);
            if (has >> One & 1) {
                psi[One] = d_pass.from[one];
            }
            if (has >> Other & 1) {
                psi[Other] = d_pass.from[other];
            }
        }
    }

    CUDAPHY_LANE void
    store(int field, int x, uint32_t kind, const T (&values)[3], const T (&psi)[6]) const
    {
        if (!d_owns || x < d_x || x >= d_x_end) {
            return;
        }
        CUDAPHY_UNROLL
        for (int c = 0; c < 3; ++c) {
            d_pass.to[element(3 * field + c, x)] = values[c];
        }
        if constexpr (Layers) {
            const unsigned has = which_psi(field, kind);
            store_psi_of<3, 5>(field, x, has, psi);
            store_psi_of<1, 4>(field, x, has, psi);
            store_psi_of<0, 2>(field, x, has, psi);
        }
    }
    template <int One, int Other>
    CUDAPHY_LANE void
    store_psi_of(int field, int x, unsigned has, const T (&psi)[6]) const
    {
        if (has & (1u << One | 1u << Other)) {
            const auto one = psi_element(6 * field + One, x),
                       other = psi_element(6 * field + Other, x);
            if (has >> One & 1) {
                d_pass.to[one] = psi[One];
            }
            if (has >> Other & 1) {
                d_pass.to[other] = psi[Other];
            }
        }
    }

    //! The entries of a row of component C in the order of the matrix, from the lane's
    //! own values, those of the plane before (E) or after (H), and shared memory.
    template <bool Electric, int C>
    CUDAPHY_LANE void
    gather(const T (&own)[3], const T (&along_x)[3], int where, T (&x)[4]) const
    {
        CUDAPHY_UNROLL
        for (int pair = 0; pair < 2; ++pair) {
            const int low = C == 0 ? 1 : 0, high = C == 2 ? 1 : 2;
            const int other = pair ? high : low, axis = 3 - C - other;
            const int step = (axis == 1 ? Width : 1) * (Electric ? -1 : 1);
            const T there =
                axis == 0 ? along_x[other] : d_here[where + other * cells + step];
            x[2 * pair] = Electric ? there : own[other];
            x[2 * pair + 1] = Electric ? own[other] : there;
        }
    }

    static CUDAPHY_LANE T added(T value, T x, T sum)
    {
        return value != 0 ? fdtd_fused(value, x, sum) : sum; // no entry, even if x is NaN
    }

    template <bool Electric, int C>
    CUDAPHY_LANE void update_usual(T& value, const T (&x)[4]) const
    {
        const auto& g = d_pass.grid;
        T sum = value;
        if (Electric) {
            sum = fdtd_fused(g.own[C], sum, sum);
        }
        CUDAPHY_UNROLL
        for (int j = 0; j < 4; ++j) {
            sum = fdtd_fused(g.curl[C + (Electric ? 0 : 3)][j], x[j], sum);
        }
        value = fdtd_settled(sum);
    }

    template <bool Electric, int C>
    CUDAPHY_LANE void
    update_any(const fdtd_march_class& kind, T& value, const T (&x)[4], T (&psi)[6]) const
    {
        const auto& row = d_pass.tables.rows[kind.row[C + (Electric ? 0 : 3)]];
        T sum = value;
        if (Electric) {
            sum = added(row.own, sum, sum);
        }
        CUDAPHY_UNROLL
        for (int j = 0; j < 4; ++j) {
            sum = added(row.curl[j], x[j], sum);
        }
        if constexpr (Layers) {
            CUDAPHY_UNROLL
            for (int pair = 1; pair >= 0; --pair) {
                if (row.has_psi >> pair & 1) {
                    T& memory = psi[2 * C + pair];
                    sum = added(row.psi[pair], memory, sum);
                    T next = added(row.memory[pair][0], x[2 * pair], memory);
                    next = added(row.memory[pair][1], x[2 * pair + 1], next);
                    memory = fdtd_settled(added(row.memory[pair][2], memory, next));
                }
            }
        }
        value = fdtd_settled(sum);
    }

    //! Updates a row of which a form says all.
    template <bool Electric, int C>
    CUDAPHY_LANE void update_formed(const T (&curl)[8],
                                    const T (*form_psi)[4],
                                    unsigned has,
                                    T& value,
                                    const T (&x)[4],
                                    T (&psi)[6]) const
    {
        constexpr int first = 2 * C;
        T sum = value;
        CUDAPHY_UNROLL
        for (int pair = 0; pair < 2; ++pair) {
            const T v = curl[first + pair];
            sum = fdtd_fused(Electric ? -v : v, x[2 * pair], sum);
            sum = fdtd_fused(Electric ? v : -v, x[2 * pair + 1], sum);
        }
        if (has >> first & 3u) {
            CUDAPHY_UNROLL
            for (int pair = 1; pair >= 0; --pair) {
                if (has >> (first + pair) & 1u) {
                    struct alignas(16) numbers {
                        T of[4];
                    };
                    const auto n =
                        *reinterpret_cast<const numbers*>(form_psi[first + pair]);
                    T& memory = psi[first + pair];
                    sum = fdtd_fused(n.of[0], memory, sum);
                    T next =
                        fdtd_fused(Electric ? -n.of[1] : n.of[1], x[2 * pair], memory);
                    next =
                        fdtd_fused(Electric ? n.of[1] : -n.of[1], x[2 * pair + 1], next);
                    memory = fdtd_settled(fdtd_fused(n.of[2], memory, next));
                }
            }
        }
        value = curl[first] != 0 ? fdtd_settled(sum) : value; // a row, even if x is NaN
    }

    //! Updates E or H of one cell, and their psi.
    //! \param own  the other field here
    //! \param along_x  the other field at x - 1 (E) or x + 1 (H)
    template <bool Electric>
    CUDAPHY_LANE void update(uint32_t word,
                             T (&value)[3],
                             const T (&own)[3],
                             const T (&along_x)[3],
                             int where,
                             T (&psi)[6]) const
    {
        T x[3][4];
        gather<Electric, 0>(own, along_x, where, x[0]);
        gather<Electric, 1>(own, along_x, where, x[1]);
        gather<Electric, 2>(own, along_x, where, x[2]);
        const uint32_t kind = word & fdtd_march_kind;
        const auto& g = d_pass.grid;
        if (Layers && word & fdtd_march_formed) {
            constexpr int field = Electric ? 0 : 1;
            struct alignas(16) numbers {
                T of[8];
            };
            numbers curl;
            if (kind == uint32_t(g.common)) {
                CUDAPHY_UNROLL
                for (int i = 0; i < 6; ++i) {
                    curl.of[i] = g.curl[i / 2 + 3 * field][i % 2 * 2 + 1 - field];
                }
            } else {
                curl = *reinterpret_cast<const numbers*>(
                    d_pass.tables.forms[kind].curl[field]);
            }
            const unsigned has = which_psi(field, word);
            const auto* of_psi = d_pass.tables.forms[kind].psi[field];
            update_formed<Electric, 0>(curl.of, of_psi, has, value[0], x[0], psi);
            update_formed<Electric, 1>(curl.of, of_psi, has, value[1], x[1], psi);
            update_formed<Electric, 2>(curl.of, of_psi, has, value[2], x[2], psi);
        } else if (kind == uint32_t(g.common)) {
            update_usual<Electric, 0>(value[0], x[0]);
            update_usual<Electric, 1>(value[1], x[1]);
            update_usual<Electric, 2>(value[2], x[2]);
        } else if (kind != fdtd_march_outside) {
            const auto rows = fdtd_load_16<fdtd_march_class>(d_pass.tables.kinds + kind);
            update_any<Electric, 0>(rows, value[0], x[0], psi);
            update_any<Electric, 1>(rows, value[1], x[1], psi);
            update_any<Electric, 2>(rows, value[2], x[2], psi);
        }
    }

    //! Sources and probes of a plane.
    template <typename Report>
    CUDAPHY_LANE void
    visit_marks(int field, int x, int step, T (&value)[3], const Report& not_finite) const
    {
        const auto& g = d_pass.grid;
        if (x < 0 || x >= g.nx) {
            return;
        }
        const auto* starts = d_pass.tables.starts + (field * (g.nx + 1) + x);
        CUDAPHY_UNROLL_BY(1)
        for (auto m = starts[0]; m < starts[1]; ++m) {
            const auto mark = d_pass.tables.marks[m];
            if (mark.column == d_column) {
                visit(mark,
                      d_owns && x >= d_x && x < d_x_end,
                      d_pass.step.at(d_pass.step.number + unsigned(step)),
                      value,
                      not_finite);
            }
        }
    }

    template <typename Report>
    CUDAPHY_LANE void visit(const fdtd_march_mark& mark,
                            bool owns,
                            const fdtd_step<T>& step,
                            T (&value)[3],
                            const Report& not_finite) const
    {
        const int c = mark.component % 3;
        T here = c == 0 ? value[0] : c == 1 ? value[1] : value[2];
        CUDAPHY_UNROLL_BY(1)
        for (auto i = mark.sources; i < mark.sources_end; ++i) {
            const auto source = d_pass.tables.sources[i];
            here = fdtd_driven_by<T>(
                source.hard, source.coefficient, step.excitation(source.column), here);
        }
        value[0] = c == 0 ? here : value[0];
        value[1] = c == 1 ? here : value[1];
        value[2] = c == 2 ? here : value[2];
        CUDAPHY_UNROLL_BY(1)
        for (auto p = mark.probes; owns && p < mark.probes_end; ++p) {
            const auto probe = d_pass.tables.probes[p];
            const T read = probe.coefficient * here;
            step.probe(probe.column) = read;
            if (!fdtd_is_finite(read)) {
                not_finite(step.number);
            }
        }
    }

    const fdtd_march_pass<T>& d_pass;
    T* const d_here; //!< the lane's place in each component's plane
    int d_column, d_y, d_z;
    const int d_x, d_x_end;
    bool d_owns;
    // Of the next plane, as they come from memory (psi of H: of this one), its class and
    // that of the one after it.
    T d_coming_e[3], d_coming_h[3], d_coming_psi_e[6], d_coming_psi_h[6];
    uint32_t d_next_kind = fdtd_march_outside, d_ahead_kind = fdtd_march_outside;
    // At the beginning of first(k): E of step 1 at k - 1, E of step 2 at k - 2, H before
    // at k - 1, H of step 1 at k - 2; classes at k - 1, k - 2.
    T d_e1[3]{}, d_e2[3]{}, d_h[3]{}, d_h1[3]{};
    uint32_t d_kind_1 = fdtd_march_outside, d_kind_2 = fdtd_march_outside;
    // Psi of step 1, E's at k - 1 and H's at k - 2.
    T d_psi_e[6]{}, d_psi_h[6]{};
    // From first(k) to second(k).
    T d_next_e[3], d_next_h[3], d_in_h[3], d_next_psi_e[6], d_next_psi_h[6];
    uint32_t d_kind = fdtd_march_outside;
};

} // namespace gr::cudaphy::kernels
