/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/codes/default_factors.h"
#include <gnuradio/cudaphy/kernels/ldpc_code.h>

namespace gr::cudaphy::kernels {

//! The description of a code, from which ldpc_code_builder makes it.
struct ldpc_code_description {
    std::string name;
    int n = 0; //!< columns of H, transmitted or not
    //! As ldpc_code's own, each row's columns ascending.
    std::vector<int> row_start{ 0 }, columns;
    //! Groups of checks that belong together by the code's structure; every check is in
    //! one group. Empty: no structure.
    std::vector<std::vector<int>> groups;
    //! True: the first k bits carry the information, and H has full rank. False:
    //! elimination finds them.
    bool systematic = false;
    ldpc_default_factor factor = default_factor("file");
    //! Columns that are not transmitted, ascending, and not all of them. Shortened ones
    //! carry no information.
    std::vector<int> punctured, shortened;
    //! ldpc_code::layers(); empty: they are formed from the groups.
    std::vector<std::vector<int>> layers;
    //! Of a quasi-cyclic code; they describe the same H as the rows.
    ldpc_circulants circulants;

    static constexpr int64_t eliminated_at_all = int64_t{ 1 } << 31; // 256 MiB
    //! Limit of the dense matrix with which the rank is found, in bits.
    int64_t most_eliminated = eliminated_at_all;

    //! Appends a check; sorts its columns.
    void add_row(std::vector<int> row);

    //! Makes the rows, and a group for each block row, from `circulants`. Their checks
    //! must be in H's order (`checks` empty). Two circulants of a block that share a one
    //! make the description invalid.
    void add_rows_of_circulants();

    //! Makes decoders visit the block rows in this order, (block_rows); H stays as it is.
    //! After add_rows_of_circulants.
    void visit_block_rows(const std::vector<int>& order);
};

//! Makes codes; nothing else does.
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

//! Layers of checks without a common bit, by first fit: a check joins the first layer
//! that has none of its bits. A layer has checks of one group only.
std::vector<std::vector<int>>
independent_layers(const ldpc_code_description&,
                   const std::vector<std::vector<int>>& groups);

//! The information's columns: all but the shortened columns and the rightmost independent
//! columns of the rest. \throws std::invalid_argument if the matrix that substitution
//! does not solve exceeds most_eliminated bits.
std::vector<int> free_columns(const ldpc_code_description&);

} // namespace gr::cudaphy::kernels
