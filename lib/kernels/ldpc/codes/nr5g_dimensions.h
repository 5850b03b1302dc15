/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/codes/tables.h"

// Shared by the codes of 5G NR and their rate matching (3GPP TS 38.212, section 5.3.2).

namespace gr::cudaphy::kernels::nr5g {

constexpr int core_rows = 4;         // of a base graph: the first and densest ones
constexpr int punctured_columns = 2; // block columns

//! The set that a lifting size belongs to, 0..7, or -1 for another number.
inline int lifting_set(int lifting_size)
{
    using graph = ldpc_tables::nr5g_graph;
    for (int set = 0; set < 8; ++set) {
        for (int size = graph::bases[set]; size <= graph::max_lifting_size; size *= 2) {
            if (size == lifting_size) {
                return set;
            }
        }
    }
    return -1;
}

} // namespace gr::cudaphy::kernels::nr5g
