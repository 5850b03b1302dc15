/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/schedule.h"
#include <memory>
#include <string>
#include <vector>

namespace gr::cudaphy::kernels {

struct ldpc_cuda_plan;
struct ldpc_cuda_folded_plan;
class ldpc_cuda_source;

/*!
 * \brief The CUDA kernel of int8 arithmetic for one code, and what it takes to start it.
 *
 * The kernel is a PTX program that is written for the code. It is made in this order:
 *
 * 1. Plan (plan.h for pairs of codewords, folded_plan.h for one codeword a block): which
 *    thread takes which checks, and where every value lies. row_pairs.h orders the rows
 * of long codes; store.h shares a thread's words out to registers, shared memory and
 *    device memory; tuning.h holds the measured numbers.
 * 2. Writer (writer.h and folded_writer.h on base_writer.h on ptx_writer.h): turns the
 * plan into text. source.cc and folded_source.cc put its parts together.
 * 3. Receive (receive.cc, folded_source.cc): loads the LLRs and makes them L.
 * 4. Visit (visit.cc, folded_visit.cc): one iteration over all rows.
 * 5. Vote (vote.cc, folded_output.cc): the threads find out which codewords are decoded.
 * 6. Output (output.cc, folded_output.cc): decoded codewords leave the block.
 * 7. Launch (cuda.cu): the driver translates the text, and the decoder starts it.
 *
 * qa_ldpc_cuda_program runs the programs on a machine for PTX in C++, without a GPU.
 */
class ldpc_cuda_kernel
{
public:
    enum class form {
        chosen,
        pairs, //!< two codewords in the halves of a register: ldpc_cuda_plan
        folded //!< one codeword a block: ldpc_cuda_folded_plan
    };
    using sptr = std::shared_ptr<const ldpc_cuda_kernel>;

    //! Makes the plan. \throws std::invalid_argument if the code does not fit into a
    //! block.
    ldpc_cuda_kernel(const ldpc_decoding&, int shared_bytes_a_block, form = form::chosen);

    //! Whether a block decodes one codeword.
    bool is_folded() const { return d_folded != nullptr; }
    //! Whether form::folded serves small batches if it fits, while this kernel serves all
    //! others. form::folded takes half as long for a single codeword, which pays if a
    //! batch leaves multiprocessors idle.
    bool folds_few() const;

    //! Writes the program.
    std::string source() const;
    //! Writes the program's part for this code.
    void add_to(ldpc_cuda_source&) const;

    int codewords;       //!< of a block
    int threads;         //!< of a block
    int registers;       //!< of a thread
    int shared_bytes;    //!< of a block
    int workspace_words; //!< of a thread, in device memory
    //! The tables of ldpc_cuda_arguments with the same names.
    const std::vector<int>& sources() const;
    const std::vector<int>& outputs() const;
    const std::vector<int>& info() const;

    const ldpc_decoding& decoding() const { return d_decoding; }
    form wanted() const { return d_wanted; }

private:
    const ldpc_decoding d_decoding;
    const form d_wanted;
    //! One of these is null.
    std::shared_ptr<const ldpc_cuda_plan> d_pairs;
    std::shared_ptr<const ldpc_cuda_folded_plan> d_folded;
};

//! One kernel for several codes whose blocks have as many threads and registers.
struct ldpc_cuda_mixed_kernel {
    //! Groups of two or more codes that share a kernel, as indices of `all`. The number
    //! of circulants is limited because a long program takes seconds to translate, and
    //! multiprocessors wait for its instructions. A code of which one codeword fills a
    //! block shares none, because it would gain nothing.
    static std::vector<std::vector<int>>
    groups(const std::vector<ldpc_cuda_kernel::sptr>& all);

    explicit ldpc_cuda_mixed_kernel(const std::vector<ldpc_cuda_kernel::sptr>& codes);

    //! Writes the program.
    std::string source() const;

    const std::vector<ldpc_cuda_kernel::sptr> codes;
    int threads = 0;
    int shared_bytes = 0;
};

} // namespace gr::cudaphy::kernels
