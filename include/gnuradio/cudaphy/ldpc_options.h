/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>
#include <string>
#include <utility>
#include <vector>

namespace gr::cudaphy {

/*!
 * \brief How an LDPC decoder decodes: the options that the blocks, the FECAPI objects and
 * the numpy functions share. kernels/ldpc_decoder.h says what each does.
 */
struct CUDAPHY_API ldpc_decoder_options {
    int max_iterations = 20; //!< 1..1000
    float scale = 0;         //!< fixed factor of min-sum; 0: rising about the code's own
    bool early_stop = true;  //!< stop each codeword as soon as it is decoded
    std::string output = "info"; //!< "info": the k information bits; "codeword": all n
    int llr_positive = 0;        //!< the bit that a positive LLR means
    std::string type = "float";  //!< of the LLRs: "float", "float16" or "int8"
    //! "normalized_min_sum", "offset_min_sum" or "sum_product"
    std::string algorithm = "normalized_min_sum";
    float offset = 0.5f;              //!< of offset_min_sum
    std::string schedule = "layered"; //!< or "flooding"
    //! "float32", "int8" (layered normalised min-sum only) or "auto": int8 if it can be.
    std::string arithmetic = "auto";
    //! Steps of int8 arithmetic in a unit of floating-point LLR; 0: each word's own.
    float llr_steps = 0;
    float llr_scale = 1; //!< factor that turns LLRs into natural units
    bool packed = false; //!< put out eight bits a byte, the first one highest
    //! Stop when the information bits pass this check of 3GPP TS 38.212, 5.1: "24A",
    //! "24B", "24C", "16", "11" or "6"; empty: when the telling parity checks hold.
    std::string stop_crc = "";

    //! \throws std::invalid_argument for a name that is none of these.
    kernels::ldpc_decoder::parameters parameters() const;
};

//! What a decoder puts out for a codeword.
struct ldpc_output_options {
    //! "mark": hard decisions even if decoding failed, with the tag ldpc_ok false.
    //! "drop": nothing then, and each word that is put out is a packet of its own.
    std::string on_failure = "mark";
    bool soft = false; //!< a second output with LLRs
    //! Words that have the tags iterations and ldpc_ok: "all"; or "failed": words that
    //! are not decoded, and words with LLRs that were NaN. Two tags a word take 0.6 us of
    //! a core, which limits short codes on a GPU.
    std::string word_tags = "all";
};

//! Codes beside a block's first one, each with the name that packets call it by.
using ldpc_codes = std::vector<std::pair<std::string, kernels::ldpc_code::sptr>>;

//! What an LDPC block lets its user set beside the coding itself.
struct ldpc_block_options {
    //! Names the tag with a packet's length in items; empty: a plain stream.
    std::string length_tag_key = "";
    std::string backend = "auto"; //!< "auto", "cuda", "cpu" or "reference"
    int device = 0;               //!< index of the GPU
    int max_batch = 0;            //!< codewords in one launch at most; 0: automatic
    double max_latency = 0;       //!< seconds that a word may wait for a fuller batch
    //! Further codes. Each packet, or PDU, says which code is its own by the tag, or
    //! metadata key, code_tag_key: a symbol, the code's name; or a long, 0 for the
    //! block's first code, 1 for the first of these, and so on. The first code's name is
    //! its name(); packets without the tag have this code.
    ldpc_codes codes = {};
    std::string code_tag_key = "ldpc_code";
};

} // namespace gr::cudaphy
