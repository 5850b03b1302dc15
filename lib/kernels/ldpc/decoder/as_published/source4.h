/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Source 4's decoder as printed (Lu Zouchen, CETC 20th institute, 2018): flooding scaled
// min-sum. Check nodes and bit nodes are separate calls, so that each can run on the CPU
// or on the GPU. The library does not use it; bench_ldpc_source4 compares it with the
// library's decoder.
//
// The frame is the fastest index: the message of edge e and frame f stands at
// [e * frames + f], bit n at [n * frames + f]. Edge c * row_weight + j is the j-th edge
// of check c.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#ifdef __CUDACC__
#define SOURCE4_BOTH __host__ __device__
#else
#define SOURCE4_BOTH
#endif

namespace gr::cudaphy::kernels::source4 {

//! A circulant of H: 4 bytes in the GPU's constant memory. The source's fourth field
//! marks zero blocks. Here zero blocks are left out, and the field is the edge's number
//! within its check.
struct entry {
    uint8_t row, column, shift, place;
};

constexpr int most_entries = 1024;

//! The sizes of a regular quasi-cyclic code; kernels take them as a parameter.
struct shape {
    int bits, checks, lifting_size, row_weight, column_weight;
    float factor; //!< of scaled min-sum
    SOURCE4_BOTH int edges() const { return checks * row_weight; }
};

struct code {
    shape sizes;
    std::vector<entry> by_row;    //!< row_weight of each block row
    std::vector<entry> by_column; //!< column_weight of each block column
};

//! The bit of check c's edge j.
SOURCE4_BOTH inline int bit_of(const shape& s, const entry* by_row, int check, int j)
{
    const int z = s.lifting_size;
    const entry& e = by_row[check / z * s.row_weight + j];
    int within = check % z + e.shift;
    within = within < z ? within : within - z;
    return e.column * z + within;
}

//! The i-th edge of a bit.
SOURCE4_BOTH inline int edge_of(const shape& s, const entry* by_column, int bit, int i)
{
    const int z = s.lifting_size;
    const entry& e = by_column[bit / z * s.column_weight + i];
    int check = bit % z - e.shift;
    check = check < 0 ? check + z : check;
    return (e.row * z + check) * s.row_weight + e.place;
}

//! Lr_mn: the message of a check to its j-th bit, from the Lq of its other bits.
SOURCE4_BOTH inline float check_message(
    const shape& s, const float* q, size_t frames, int check, int j, size_t frame)
{
    const float* of_check = q + size_t(check) * s.row_weight * frames + frame;
    float least = 1e30f;
    bool negative = false;
    for (int other = 0; other < s.row_weight; ++other) {
        if (other != j) {
            const float value = of_check[other * frames];
            least = fminf(least, fabsf(value));
            negative ^= value < 0;
        }
    }
    least *= s.factor;
    return negative ? -least : least;
}

//! Writes Lq_nm to each of the bit's checks and returns LQ_n. Sums run over the checks in
//! order.
SOURCE4_BOTH inline float update_bit(const shape& s,
                                     const entry* by_column,
                                     const float* llr,
                                     const float* r,
                                     float* q,
                                     size_t frames,
                                     int bit,
                                     size_t frame)
{
    float total = llr[bit * frames + frame];
    for (int i = 0; i < s.column_weight; ++i) {
        total += r[edge_of(s, by_column, bit, i) * frames + frame];
    }
    for (int i = 0; i < s.column_weight; ++i) {
        const size_t at = edge_of(s, by_column, bit, i) * frames + frame;
        q[at] = total - r[at];
    }
    return total;
}

//! Check nodes and bit nodes on a GPU, for one batch of frames. Calls are synchronous.
class gpu
{
public:
    //! \param threads  of a block, at least the row weight
    //! \param blocks   limit of the grid; 0: no limit
    static std::unique_ptr<gpu>
    make(const code&, size_t frames, int threads, int blocks = 0);
    virtual ~gpu() = default;

    //! Copies the channel's values, (bits, frames), and sets Lq = Ln and no frame done.
    virtual void begin(const float* llr) = 0;
    virtual void check_nodes() = 0;
    //! Updates bits, hard decisions and parity. A frame whose checks all hold is done and
    //! does not change any more.
    //! \param[out] done  for each frame, 1 or 0
    virtual void bit_nodes(uint8_t* done) = 0;
    virtual void put_q(const float* q) = 0; //!< (edges, frames) from the host
    virtual void get_q(float* q) = 0;
    virtual void put_r(const float* r) = 0;
    virtual void get_r(float* r) = 0;
    virtual void get_hard(uint8_t* bits) = 0; //!< (bits, frames)
};

} // namespace gr::cudaphy::kernels::source4
