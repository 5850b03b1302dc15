/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/stepper/plan.h"
#include <optional>

// A small FDTD system as CUDA's blocks share it out: each keeps its part of the state in
// shared memory and its rows in registers for all time steps of a call, and no barrier
// goes over the grid.
//
// What others take of a block's elements it publishes, as words {value, stamp} of 64 bits
// in device memory, written and read whole (a double as two of them); any pattern of bits
// is a value. The stamp counts phases: an element that changes in phase g of a call has
// stamp base + g + 1. A block begins phase g by taking all that changed in phase g - 1
// and that it reads later: it waits until the stamps are base + g. After a barrier of its
// own it does its rows.
//
// A word has room for one value. That nobody overwrites it too early follows from who
// waits for whom: let N(b, g) be block b's barrier in phase g. All that b takes in phase
// g it has before N(b, g), all that it publishes in phase g it publishes after. So if b
// takes in phase g + 1 what a published in phase g, N(a, g) is before N(b, g + 1); and
// N(b, g) is before N(b, g + 1). A word that a publishes in phase h and, as the next
// time, in phase h', and that b takes in phase h + 1, is safe if such steps lead from
// N(b, h + 1) to N(a, h'). In two curls they do, for neighbours take from each other;
// where they don't (rows without entries, matrices that are not each other's transposes,
// absorbing layers), b publishes one word more, for nothing but a's waiting. proved()
// looks at the finished tables, not at how they were made. And since every wait is for an
// earlier phase, blocks that are all there at once (cooperative launch) never wait for
// each other in a circle.

namespace gr::cudaphy::kernels {

//! What a block's thread does with one element in a phase.
template <typename T>
struct alignas(16) fdtd_onchip_row {
    static constexpr int entries = 4; //!< at most; more are a special row's
    static constexpr uint16_t exists = 16, special = 8, count = 7; //!< bits of `shape`

    T value[entries];
    uint16_t index[entries]; //!< places in the block's memory, as all that follows
    uint16_t own;
    uint16_t shape;
    int32_t word; //!< where it is published, -1: nowhere; of a special row, which one
};

//! A row with more entries, sources or probes.
struct fdtd_onchip_special {
    int32_t word;           //!< as above
    int32_t mark;           //!< -1: none
    int32_t rest, rest_end; //!< further entries
    int32_t drive;          //!< the place of its first source's excitation, -1: no source
};

template <typename T>
struct fdtd_onchip_entry {
    T value;
    int32_t index;
};

//! Of a block: elements[elements ... + owned) it changes, [... + all) it reads. They have
//! places 0, 1, ... of its memory; imports follow.
struct fdtd_onchip_block {
    int32_t elements, owned, all;
};

//! Of a block in a phase; its imports have places from `place` on.
struct fdtd_onchip_part {
    int32_t rows, rows_end, imports, imports_end, place;
};

struct fdtd_onchip_import {
    int32_t word;
    int32_t element; //!< what it is at the beginning of a call; -1: of no interest
};

//! All tables, in one storage or another.
template <typename T, template <typename> class Storage>
struct fdtd_onchip_tables {
    Storage<fdtd_onchip_block> blocks;
    Storage<fdtd_onchip_part>
        parts;                 //!< of block b in phase p: [p * number of blocks + b]
    Storage<int32_t> elements; //!< -1: none, a place of its own
    Storage<fdtd_onchip_row<T>> rows;
    Storage<fdtd_onchip_import> imports;
    Storage<fdtd_onchip_special> specials;
    Storage<fdtd_onchip_entry<T>> rest;
    Storage<fdtd_mark> marks;
    Storage<fdtd_source<T>> sources;
    Storage<fdtd_probe<T>> probes;
};

//! What a kernel has room for.
struct fdtd_onchip_limits {
    int32_t threads;       //!< of a block
    int32_t rows, imports; //!< of a thread in a phase
    int32_t phases;        //!< exactly
    int64_t bytes;         //!< of a block's shared memory
};

template <typename T>
struct fdtd_onchip_plan {
    fdtd_onchip_tables<T, fdtd_on_host> tables;
    int32_t blocks = 0, phases = 0;
    int32_t threads = 0; //!< of a block, a multiple of 32
    int32_t words = 0;
    int32_t places = 0, drives = 0; //!< of a block, at most

    size_t shared_bytes() const { return (size_t(places) + size_t(drives)) * sizeof(T); }

    //! Nothing if the system does not fit.
    static std::optional<fdtd_onchip_plan> make(const fdtd_system<T>& system,
                                                const fdtd_plan<T>& plan,
                                                int32_t blocks,
                                                const fdtd_onchip_limits& limits);

    //! That no word is overwritten before all have taken it, that who waits for a word
    //! gets it, and that no thread of a block reads a place while another changes it.
    bool proved() const;
};

} // namespace gr::cudaphy::kernels
