/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/fixed_point.h"
#include "kernels/ldpc/decoder/schedule.h"
#include <gnuradio/cudaphy/kernels/ldpc_mixed_decoder.h>

namespace gr::cudaphy::kernels {

std::unique_ptr<ldpc_decoder> make_ldpc_decoder_reference(const ldpc_decoding&);
std::unique_ptr<ldpc_decoder> make_ldpc_decoder_cpu(const ldpc_decoding&);
std::unique_ptr<ldpc_decoder> make_ldpc_decoder_cuda(const ldpc_decoding&, int device);

// int8 arithmetic. The reference takes the limits of the backend whose oracle it is.
std::unique_ptr<ldpc_decoder>
make_ldpc_fixed_decoder_reference(const ldpc_decoding&,
                                  const ldpc_fixed_limits& = ldpc_fixed_limits::cpu());
//! \param side_by_side  codewords decoded together, a power of two; 0: the fastest choice
std::unique_ptr<ldpc_decoder> make_ldpc_fixed_decoder_cpu(const ldpc_decoding&,
                                                          int side_by_side = 0);
//! Whether a block decodes one codeword, and therefore has the limits
//! ldpc_fixed_limits::cuda(true).
bool is_one_a_block_on_cuda(const ldpc_decoding&, int device);
//! \throws std::invalid_argument if CUDA offers no int8 arithmetic for this code
std::unique_ptr<ldpc_decoder> make_ldpc_fixed_decoder_cuda(const ldpc_decoding&,
                                                           int device);
//! Programs for CUDA that this process has let the driver translate.
size_t ldpc_programs_translated();

//! Decodes words of several codes in one launch.
class ldpc_mixed_launch
{
public:
    explicit ldpc_mixed_launch(const std::vector<int>& codes) : d_codes(codes) {}
    virtual ~ldpc_mixed_launch() = default;

    //! The codes whose words it decodes, as indices of an ldpc_mixed_decoder's codes.
    const std::vector<int>& codes() const { return d_codes; }
    //! Whether run() need not wait for the program's translation. If not, the program is
    //! translated in the background from now on.
    virtual bool is_ready() = 0;
    //! Waits until is_ready().
    virtual void prepare() = 0;
    //! \param parts  the words of each of codes(), null: none; not all may be null
    virtual void run(const std::vector<const ldpc_mixed_decoder::part*>& parts,
                     queue& queue) = 0;

private:
    const std::vector<int> d_codes;
};

//! The launches for those of these codes that share a kernel in int8 arithmetic.
//! \param codes  the indices of `decodings` in the ldpc_mixed_decoder
std::vector<std::unique_ptr<ldpc_mixed_launch>>
make_ldpc_mixed_launches_cuda(const std::vector<ldpc_decoding>& decodings,
                              const std::vector<int>& codes,
                              int device);

} // namespace gr::cudaphy::kernels
