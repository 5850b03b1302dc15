/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder_cpu_int8/plan.h"
#include <algorithm>
#include <hwy/aligned_allocator.h>
#include <new>

namespace gr::cudaphy::kernels {

//! What L = 0 and r = 0 stand as: so a sum of bytes without sign, which saturates at 255,
//! saturates where L does, and the difference of two of them is that of their values.
constexpr int8_t fixed_zero = -64;
//! Set where L >= 0.
constexpr int8_t fixed_sign = 64;

//! Bytes that begin where a vector may.
class fixed_bytes
{
public:
    void resize(size_t count)
    {
        if (count > d_size) {
            d_data = hwy::AllocateAligned<int8_t>(count);
            if (!d_data) {
                d_size = 0;
                throw std::bad_alloc();
            }
            d_size = count;
            std::fill_n(d_data.get(), count, int8_t{ 0 });
        }
    }
    int8_t* get() { return d_data.get(); }
    const int8_t* get() const { return d_data.get(); }

private:
    hwy::AlignedFreeUniquePtr<int8_t[]> d_data;
    size_t d_size = 0;
};

//! The state of the codewords that are decoded side by side.
struct fixed_tile {
    fixed_bytes l, r;
    fixed_bytes q;       //!< q and |q| of a vector of checks
    fixed_bytes news;    //!< new messages of a row's late edges
    fixed_bytes parity;  //!< signs of a row's checks
    fixed_bytes lines;   //!< `words` codewords, one after the other
    fixed_bytes line;    //!< the same, bit by bit
    fixed_bytes decided; //!< L of the output's bits, bit by bit
    std::vector<uint8_t> packed;
    static constexpr int line_of_cache = 64;
    //! Where the next codewords' received values are, and how many lines to fetch of them
    //! with each vector of checks.
    const char *ahead = nullptr, *end_ahead = nullptr;
    int lines_ahead = 0;

    //! Longest line of a codeword, and what vectors may touch behind it. An odd number of
    //! lines of cache, or the same places of many codewords would share a few of its
    //! sets.
    static size_t line_stride(const ldpc_decoding& decoding)
    {
        return ((decoding.code->n() + 127) / line_of_cache | 1) * line_of_cache;
    }

    void fit(const ldpc_fixed_plan& plan, const ldpc_decoding& decoding)
    {
        l.resize(plan.l_bytes + size_t{ 15 } * plan.words); // fixed_interleave()
        r.resize(plan.edge_vectors * plan.lanes);
        q.resize(size_t{ 2 } * plan.max_degree * plan.lanes);
        news.resize(plan.news_bytes);
        parity.resize(size_t(plan.max_vectors) * plan.lanes);
        const size_t bytes = line_stride(decoding) * plan.words;
        lines.resize(bytes);
        line.resize(bytes);
        decided.resize(bytes);
        packed.resize(line_stride(decoding));
    }
};

//! The message of each least magnitude 0..127, as r stands in memory; aligned for
//! vectors.
struct alignas(64) fixed_messages {
    int8_t of[128];
};

// Kernels, chosen at run time by the processor. Sets of codewords are a byte each lane,
// -1 for those that belong to it; `lanes` bytes.

//! Bytes of a vector.
int fixed_lanes();
//! One iteration, the `first` of all or another; `odd` becomes the words of which a check
//! left its bits with odd parity, unless it is null.
void fixed_sweep(const ldpc_fixed_plan&,
                 const ldpc_fixed_plan::iteration&,
                 const fixed_messages&,
                 bool first,
                 fixed_tile&,
                 int8_t* odd);
//! The words whose hard decisions fail a check, after `just_done`.
void fixed_failures(const ldpc_fixed_plan&,
                    const ldpc_fixed_plan::iteration& just_done,
                    fixed_tile&,
                    int8_t* failed);

//! The least L of the bits of `runs` in each lane; a word's lanes may differ.
void fixed_least(const ldpc_fixed_plan&,
                 const std::vector<ldpc_fixed_plan::run>&,
                 const fixed_tile&,
                 int8_t* least);

//! `words` received codewords from `first` on in steps, into tile.lines.
void fixed_convert(const ldpc_decoding&,
                   const ldpc_decoder::received&,
                   size_t first,
                   size_t words,
                   fixed_tile&);
//! tile.lines bit by bit to `out`, up to 15 bits more than there are (or nowhere: the
//! lines themselves, if there is one word): `words` a power of two.
const int8_t*
fixed_interleave(fixed_tile&, size_t stride, size_t bits, int words, int8_t* out);
//! The words of tile.line that `set` names, into tile.decided.
void fixed_keep(fixed_tile&, size_t bytes, const int8_t* set);
//! `from`, bit by bit, to tile.lines.
const int8_t*
fixed_separate(fixed_tile&, const int8_t* from, size_t stride, size_t bits, int words);

//! Hard decisions of a line of L, a byte each.
void fixed_bits(const int8_t* l, size_t bits, uint8_t* to);
//! Eight a byte, the first one highest.
void fixed_packed_bits(const int8_t* l, size_t bits, uint8_t* to);
//! The same of the first `count` of as many words as a vector has bytes, more than one,
//! from their L bit by bit; a word's bits every `stride` bytes.
void fixed_packed_words(
    const int8_t* from, size_t bits, size_t count, uint8_t* to, size_t stride);
void fixed_soft(const int8_t* l, size_t bits, float steps, bool negated, float* to);

} // namespace gr::cudaphy::kernels
