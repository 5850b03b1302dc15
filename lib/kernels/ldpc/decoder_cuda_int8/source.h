/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder_cuda_int8/folded_plan.h"
#include "kernels/ldpc/decoder_cuda_int8/plan.h"
#include "kernels/ldpc/decoder_cuda_int8/ptx_writer.h"
#include <string>

namespace gr::cudaphy::kernels {

//! What the kernel is given, in this order and layout.
struct ldpc_cuda_arguments {
    const void* llr;        //!< (batch, n)
    uint8_t* bits;          //!< as ldpc_decoder::results
    int* iterations;        //!< (batch)
    int* ok;                //!< (batch)
    float* soft;            //!< or null
    const uint32_t* scales; //!< 0x38383838, then a pair of equal binary16 an
                            //!< iteration
    const int* sources; //!< (variables): codeword bit of each column, -1, -2; by blocks;
                        //!< where folded, as ldpc_cuda_folded_plan::sources
    const int* outputs; //!< place among the blocks' columns of each bit that goes out
    const uint32_t* info; //!< of each information bit its place and what a one there
                          //!< adds to stop_crc's remainder, (k, 2)
    uint32_t batch;
    float steps; //!< a unit of LLR
    uint32_t iteration_count;
    uint32_t slot_count; //!< blocks that find room in `workspace`
    uint32_t* workspace; //!< (slot_count, workspace_words, threads)
    uint32_t* slots;     //!< of each, whether a block uses it; 0 before and after
};

/*!
 * \brief The kernel `ldpc_decode` for a code and set of parameters, or for several, in
 * PTX.
 *
 * The code's structure is the program: each circulant is a few instructions with its
 * column and shift as constants, and the messages, a byte each, stay in registers. This
 * is why the kernel is written at run time, for any code, and translated by the driver.
 *
 * Of several codes, each has its part of the program, and of the launch's blocks a run of
 * its own. The kernel is given the ldpc_cuda_arguments of each, then each one's first
 * block, a number of 32 bits, in ascending order.
 */
class ldpc_cuda_source
{
public:
    explicit ldpc_cuda_source(int codes = 1) : d_codes(codes) {}

    //! The next code's part.
    void add(const ldpc_decoding&, const ldpc_cuda_plan&);
    void add(const ldpc_decoding&, const ldpc_cuda_folded_plan&);
    //! Once all are there.
    std::string text() const;

    static int first_block_at(int codes, int code);
    //! What a launch's parameters have room for.
    static constexpr int most_codes = 32;

private:
    template <typename Writer, typename Plan>
    void add_part(const ldpc_decoding&, const Plan&, const ldpc_cuda_store&);

    const int d_codes;
    ptx_names d_names;
    std::string d_parts;
    int d_added = 0, d_threads = 0, d_registers = 0;
};

} // namespace gr::cudaphy::kernels
