/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder_cpu_int8/plan.h"
#include <algorithm>
#include <hwy/aligned_allocator.h>
#include <new>

namespace gr::cudaphy::kernels {

//! The bytes that represent L = 0 and r = 0. With them a sum of unsigned bytes, which
//! saturates at 255, saturates where L does, and a difference of bytes is right as well.
constexpr int8_t fixed_zero = -64;
//! Set where L >= 0.
constexpr int8_t fixed_sign = 64;

//! Bytes that are aligned for vectors.
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
    fixed_bytes q;           //!< q and |q| of a vector of checks
    fixed_bytes news;        //!< new messages of a row's late edges
    fixed_bytes parity;      //!< signs of a row's checks
    fixed_bytes lines;       //!< `words` codewords, one after the other
    fixed_bytes interleaved; //!< the same, bit by bit
    fixed_bytes decided;     //!< L of the output's bits, bit by bit
    std::vector<uint8_t> packed;
    std::vector<float> steps; //!< of each codeword in a unit of LLR
    static constexpr int line_of_cache = 64;
    //! The received values of the next codewords, and the number of cache lines to
    //! prefetch with each vector of checks.
    const char *ahead = nullptr, *end_ahead = nullptr;
    int lines_ahead = 0;

    //! Bytes of a codeword's line, and what vectors may touch behind it. An odd number of
    //! cache lines. Otherwise the same bit of many codewords would share a few cache
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
        interleaved.resize(bytes);
        decided.resize(bytes);
        packed.resize(line_stride(decoding));
        steps.resize(plan.words);
    }
};

//! The message for each least magnitude 0 ... 127, as the byte of r; aligned for vectors.
struct alignas(64) fixed_messages {
    int8_t message[128];
    bool damps;    //!< whether a message whose sign changes is damped
    bool corrects; //!< ldpc_decoding::corrects()
    //! Such a message becomes the mean of itself and its half, as bytes of r, but not of
    //! more than this: of 0, so that it is halved, or of no limit.
    uint8_t most_of_half;
};

// Kernels, compiled for several instruction sets and chosen at run time. A set of
// codewords is `lanes` bytes, -1 for members.

//! Bytes of a vector.
int fixed_lanes();
//! One iteration. \param first  whether it is the first. \param[out] odd  the words in
//! which a telling check was odd right after its visit; null: not wanted
void fixed_sweep(const ldpc_fixed_plan&,
                 const ldpc_fixed_plan::iteration&,
                 const fixed_messages&,
                 bool first,
                 fixed_tile&,
                 int8_t* odd);
//! Its kinds: the first one, later ones without and with damped messages, and any with
//! corrected messages.
void fixed_sweep_first(const ldpc_fixed_plan&,
                       const ldpc_fixed_plan::iteration&,
                       const fixed_messages&,
                       fixed_tile&,
                       int8_t* odd);
void fixed_sweep_later(const ldpc_fixed_plan&,
                       const ldpc_fixed_plan::iteration&,
                       const fixed_messages&,
                       fixed_tile&,
                       int8_t* odd);
void fixed_sweep_damped(const ldpc_fixed_plan&,
                        const ldpc_fixed_plan::iteration&,
                        const fixed_messages&,
                        fixed_tile&,
                        int8_t* odd);
//! tile.r must hold messages, r = 0 at first.
void fixed_sweep_corrected(const ldpc_fixed_plan&,
                           const ldpc_fixed_plan::iteration&,
                           const fixed_messages&,
                           fixed_tile&,
                           int8_t* odd);
//! The words whose hard decisions fail a check, after `just_done`.
void fixed_failures(const ldpc_fixed_plan&,
                    const ldpc_fixed_plan::iteration& just_done,
                    fixed_tile&,
                    int8_t* failed);

//! The least L of the bits of `runs` in each lane. The lanes of a word may differ.
void fixed_least(const ldpc_fixed_plan&,
                 const std::vector<ldpc_fixed_plan::run>&,
                 const fixed_tile&,
                 int8_t* least);

//! `words` received codewords from `first` on in steps, into tile.lines and tile.steps.
void fixed_convert(const ldpc_decoding&,
                   const ldpc_decoder::received&,
                   size_t first,
                   size_t words,
                   fixed_tile&);
//! Copies tile.lines bit by bit to `out`, up to 15 bits beyond the end. With one word it
//! copies nothing and returns the line itself. \param words  a power of two
const int8_t*
fixed_interleave(fixed_tile&, size_t stride, size_t bits, int words, int8_t* out);
//! Copies the words of `set` from tile.interleaved to tile.decided.
void fixed_keep(fixed_tile&, size_t bytes, const int8_t* set);
//! Copies `from`, which is ordered bit by bit, to tile.lines.
const int8_t*
fixed_separate(fixed_tile&, const int8_t* from, size_t stride, size_t bits, int words);

//! Hard decisions of a line of L, one byte for each bit.
void fixed_bits(const int8_t* l, size_t bits, uint8_t* to);
//! The same, eight bits in a byte, the first one highest.
void fixed_packed_bits(const int8_t* l, size_t bits, uint8_t* to);
//! The same of the first `count` of as many words as a vector has bytes, more than one,
//! from their L bit by bit; a word's bits every `stride` bytes.
void fixed_packed_words(
    const int8_t* from, size_t bits, size_t count, uint8_t* to, size_t stride);
void fixed_soft(const int8_t* l, size_t bits, float steps, bool negated, float* to);

} // namespace gr::cudaphy::kernels
