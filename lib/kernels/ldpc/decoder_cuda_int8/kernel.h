/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/schedule.h"
#include <string>
#include <vector>

namespace gr::cudaphy::kernels {

class ldpc_cuda_source;

//! The CUDA kernel of int8 arithmetic for one code, in whichever form suits it, and what
//! it takes to start it.
struct ldpc_cuda_kernel {
    enum class form {
        chosen,
        pairs, //!< of codewords, in the halves of registers: ldpc_cuda_plan
        folded //!< one codeword a block: ldpc_cuda_folded_plan
    };

    //! \throws std::invalid_argument where the code does not fit a block.
    ldpc_cuda_kernel(const ldpc_decoding&, int shared_bytes_a_block, form = form::chosen);

    //! Whether there is a form for it.
    static bool is_for(const ldpc_decoding&, int shared_bytes_a_block);
    //! Whether the chosen form is form::folded.
    static bool is_one_a_block(const ldpc_decoding&, int shared_bytes_a_block);
    //! Whether form::folded, which takes half as long for one codeword, serves besides
    //! the chosen one: for batches that leave multiprocessors idle.
    static bool folds_few(const ldpc_decoding&, int shared_bytes_a_block);

    std::string source; //!< empty for a part of a kernel for several codes
    int codewords;      //!< a block
    int threads;
    int registers; //!< of a thread
    int shared_bytes;
    int workspace_words; //!< a thread, in device memory
    //! What ldpc_cuda_arguments asks for under these names.
    std::vector<int> sources, outputs, info;

private:
    friend struct ldpc_cuda_mixed_kernel;
    ldpc_cuda_kernel(const ldpc_decoding&,
                     int shared_bytes_a_block,
                     form,
                     ldpc_cuda_source&);
};

//! One kernel for several codes, whose blocks are alike.
struct ldpc_cuda_mixed_kernel {
    //! Codes that fit into one, as numbers of `decodings`, two or more a kernel; each has
    //! a form of its own. Blocks must have as many threads, which divide a
    //! multiprocessor's registers, and the program must not grow so long that its
    //! translation takes seconds and multiprocessors wait for its instructions.
    static std::vector<std::vector<int>>
    groups(const std::vector<ldpc_decoding>& decodings, int shared_bytes_a_block);

    explicit ldpc_cuda_mixed_kernel(const std::vector<ldpc_decoding>&,
                                    int shared_bytes_a_block);

    std::string source;
    int threads = 0;
    int shared_bytes = 0;
    std::vector<ldpc_cuda_kernel> codes;
};

} // namespace gr::cudaphy::kernels
