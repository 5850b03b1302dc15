/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/stepper/plan.h"
#include <optional>

// A small FDTD system, shared out among CUDA's blocks. Each block keeps its part of the
// state in shared memory and its rows in registers, for all time steps of a call. No
// barrier spans the grid.
//
// A block publishes the elements that other blocks read, as words {value, stamp} of 64
// bits in device memory. Words are written and read whole (a double takes two); any
// pattern of bits is a valid value. The stamp counts phases: an element that changes in
// phase g of a call has stamp base + g + 1. A block begins phase g by taking the elements
// that changed in phase g - 1 and that it reads later: it waits until their stamps are
// base + g. After a barrier of its own it updates its rows.
//
// A word has room for one value. Why nobody overwrites a word too early: let N(b, g) be
// block b's barrier in phase g. Whatever b takes in phase g, it has before N(b, g);
// whatever it publishes in phase g, it publishes after. So if b takes in phase g + 1 what
// a published in phase g, N(a, g) is before N(b, g + 1). And N(b, g) is before N(b, g +
// 1). Let a publish a word in phase h and next in phase h', and let b take it in phase h
// + 1. The word is safe if such steps lead from N(b, h + 1) to N(a, h'). With two curls
// they do, because neighbours take from each other. Elsewhere they may not: rows without
// entries, matrices that are not each other's transposes, absorbing layers. There b
// publishes one more word, only so that a waits for it. proved() checks the finished
// tables, not the way in which they were made. Blocks never wait for each other in a
// circle: every wait is for an earlier phase, and all blocks are resident at once
// (cooperative launch).

namespace gr::cudaphy::kernels {

//! One element's update in a phase, by one thread of a block.
template <typename T>
struct alignas(16) fdtd_onchip_row {
    static constexpr int entries = 4; //!< at most; a row with more is special
    static constexpr uint16_t exists = 16, special = 8, count = 7; //!< bits of `shape`

    T value[entries];
    uint16_t index[entries]; //!< places in the block's memory
    uint16_t own;
    uint16_t shape;
    int32_t word; //!< where it is published, -1: nowhere. Of a special row: its number
};

//! A row with more entries, or with sources or probes.
struct fdtd_onchip_special {
    int32_t word;           //!< where it is published, -1: nowhere
    int32_t mark;           //!< -1: none
    int32_t rest, rest_end; //!< further entries
    int32_t drive;          //!< the place of its first source's excitation, -1: no source
};

template <typename T>
struct fdtd_onchip_entry {
    T value;
    int32_t index;
};

//! A block: it changes elements[elements ... + owned) and reads elements[elements ... +
//! all). They have places 0, 1, ... of its memory; imports follow.
struct fdtd_onchip_block {
    int32_t elements, owned, all;
};

//! A block in a phase; its imports have places from `place` on.
struct fdtd_onchip_part {
    int32_t rows, rows_end, imports, imports_end, place;
};

struct fdtd_onchip_import {
    int32_t word;
    int32_t element; //!< whose value it has at the beginning of a call; -1: any value
};

//! All tables, in vectors of the host or as pointers.
template <typename T, template <typename> class Storage>
struct fdtd_onchip_tables {
    Storage<fdtd_onchip_block> blocks;
    Storage<fdtd_onchip_part>
        parts;                 //!< of block b in phase p: [p * number of blocks + b]
    Storage<int32_t> elements; //!< -1: a place without an element
    Storage<fdtd_onchip_row<T>> rows;
    Storage<fdtd_onchip_import> imports;
    Storage<fdtd_onchip_special> specials;
    Storage<fdtd_onchip_entry<T>> rest;
    Storage<fdtd_mark> marks;
    Storage<fdtd_source<T>> sources;
    Storage<fdtd_probe<T>> probes;
};

//! The room of a kernel.
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

    //! \returns nothing if the system does not fit
    static std::optional<fdtd_onchip_plan> make(const fdtd_system<T>& system,
                                                const fdtd_plan<T>& plan,
                                                int32_t blocks,
                                                const fdtd_onchip_limits& limits);

    //! Whether no word is overwritten before all readers have taken it, every wait ends,
    //! and no thread of a block reads a place while another changes it.
    bool proved() const;
};

} // namespace gr::cudaphy::kernels
