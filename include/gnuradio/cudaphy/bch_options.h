/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/bch_code.h>
#include <utility>

namespace gr::cudaphy {

//! Codes beside a block's first one, each with the name that packets call it by.
using bch_codes = std::vector<std::pair<std::string, kernels::bch_code::sptr>>;

//! What a BCH block lets its user set beside the code and how bits lie in bytes.
struct CUDAPHY_API bch_block_options {
    //! Names the tag with a packet's length in items; empty: a plain stream.
    std::string length_tag_key = "";
    std::string backend = "auto"; //!< "auto", "cuda", "cpu" or "reference"
    int device = 0;               //!< index of the GPU
    int max_batch = 0;            //!< words in one launch at most; 0: automatic
    double max_latency = 0;       //!< seconds that a word may wait for a fuller batch
    //! Further codes. Each packet says which code is its own by the tag code_tag_key, as
    //! ldpc_block_options describes it. A tag for the LDPC blocks also serves here if the
    //! codes have the same names or numbers.
    bch_codes codes = {};
    std::string code_tag_key = "bch_code";
};

} // namespace gr::cudaphy
