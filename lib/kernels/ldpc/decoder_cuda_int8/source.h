/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder_cuda_int8/folded_plan.h"
#include "kernels/ldpc/decoder_cuda_int8/plan.h"
#include "kernels/ldpc/decoder_cuda_int8/ptx_writer.h"
#include <string>

namespace gr::cudaphy::kernels {

//! The kernel's parameters for one code, in the layout in which PTX reads them.
struct ldpc_cuda_arguments {
    const void* llr;        //!< (batch, n)
    uint8_t* bits;          //!< as ldpc_decoder::results
    int* iterations;        //!< (batch); if words have steps of their own, these before
    int* ok;                //!< (batch)
    float* soft;            //!< null: not wanted
    const uint32_t* scales; //!< ldpc_cuda_source::factors()
    const int* sources;     //!< the plan's `sources`
    const int* outputs;     //!< the plan's `outputs`
    const uint32_t* info;   //!< of each information bit its place and what a one adds to
                            //!< stop_crc's remainder, (k, 2)
    uint32_t batch;
    float steps; //!< a unit of LLR; 1 if words have steps of their own
    uint32_t iteration_count;
    uint32_t slot_count; //!< blocks that have room in `workspace` at the same time
    uint32_t* workspace; //!< (slot_count, workspace_words, threads)
    uint32_t* slots;     //!< of each slot whether a block uses it; 0 before and after
};

/*!
 * \brief The kernel `ldpc_decode` for a code and set of parameters, or for several, in
 * PTX.
 *
 * Each circulant becomes a few instructions with its column and shift as constants, and
 * the messages, a byte each, stay in registers. Therefore the kernel is written at run
 * time for each code, and translated by the driver.
 *
 * With several codes, each code has its part of the program and its run of the launch's
 * blocks. The parameters are the ldpc_cuda_arguments of each code, then each code's first
 * block as a 32-bit number, ascending.
 */
class ldpc_cuda_source
{
public:
    explicit ldpc_cuda_source(int codes = 1) : d_codes(codes) {}

    //! Writes the next code's part.
    void add(const ldpc_decoding&, const ldpc_cuda_plan&);
    void add(const ldpc_decoding&, const ldpc_cuda_folded_plan&);
    //! The program. Call it after all codes are added.
    std::string text() const;

    static int first_block_at(int codes, int code);
    //! What ldpc_cuda_arguments::scales points to, each as two equal binary16 numbers or
    //! four equal bytes: the upper byte of messages, minus the share that a damped
    //! message loses, each iteration's factor, and a word that is read ahead.
    static std::vector<uint32_t> factors(const ldpc_decoding&);
    //! Limited by the size of a launch's parameters, 4096 bytes.
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
