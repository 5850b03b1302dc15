/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/codes/default_factors.h"
#include <gnuradio/cudaphy/kernels/ldpc_code.h>

namespace gr::cudaphy::kernels {

//! What is known of a code before it is made.
struct ldpc_code_description {
    std::string name;
    int n = 0; //!< columns of H, transmitted or not
    //! As ldpc_code's own, each row's columns ascending.
    std::vector<int> row_start{ 0 }, columns;
    //! Checks that belong together by the code's structure, every check in one group.
    //! Empty: there is no structure.
    std::vector<std::vector<int>> groups;
    //! The first k bits carry the information and H has full rank. False: found by
    //! elimination.
    bool systematic = false;
    ldpc_default_factor factor = default_factor("file");
    //! Columns that are not transmitted, ascending, and not all of them. Shortened ones
    //! carry no information.
    std::vector<int> punctured, shortened;
    //! As ldpc_code has them; empty: found in the groups.
    std::vector<std::vector<int>> layers;
    //! Where the code is quasi-cyclic; describes the same H as the rows.
    ldpc_circulants circulants;

    static constexpr int64_t eliminated_at_all = int64_t{ 1 } << 31; // 256 MiB
    //! Bits of the dense matrix that finding the rank may take.
    int64_t most_eliminated = eliminated_at_all;

    //! Appends a check; sorts its columns.
    void add_row(std::vector<int> row);

    //! Makes the rows and the groups, a block row each, from `circulants`, whose checks
    //! must be in H's order (`checks` empty); adds up no ones: two circulants of a block
    //! that share one make the description invalid.
    void add_rows_of_circulants();

    //! Makes decoders visit the block rows in this order, (block_rows); H stays as it is.
    //! After add_rows_of_circulants.
    void visit_block_rows(const std::vector<int>& order);
};

//! The only maker of codes.
class ldpc_code_builder
{
public:
    //! \throws std::invalid_argument for a description that is no code: no columns or
    //! checks, a check without bits, a column out of range or named twice in a check, no
    //! information bits, or a matrix too large for elimination (most_eliminated).
    static ldpc_code::sptr build(ldpc_code_description description);
};

//! \throws std::invalid_argument for no columns or checks, a check without bits, a column
//! out of range or named twice in a check.
void require_matrix(const std::string& name,
                    int n,
                    const std::vector<int>& row_start,
                    const std::vector<int>& columns);

//! Layers of mutually independent checks, first fit: a check takes the first layer that
//! shares none of its bits. Groups stay apart from one another.
std::vector<std::vector<int>>
independent_layers(const ldpc_code_description&,
                   const std::vector<std::vector<int>>& groups);

//! The columns that are neither shortened nor among the rightmost independent ones of the
//! others, as many as the rank of H without its shortened columns. \throws
//! std::invalid_argument where what no substitution solves exceeds most_eliminated bits.
std::vector<int> free_columns(const ldpc_code_description&);

} // namespace gr::cudaphy::kernels
