/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/as_published/source4.h"
#include <algorithm>

namespace gr::cudaphy::kernels::source4 {

//! Check nodes and bit nodes on one core, on arrays as source4.h describes them.
class cpu
{
public:
    cpu(const code& c, size_t frames) : d_sizes(c.sizes), d_frames(frames)
    {
        for (int edge = 0; edge < d_sizes.edges(); ++edge) {
            d_bit_of.push_back(bit_of(d_sizes,
                                      c.by_row.data(),
                                      edge / d_sizes.row_weight,
                                      edge % d_sizes.row_weight));
        }
        for (int bit = 0; bit < d_sizes.bits; ++bit) {
            for (int i = 0; i < d_sizes.column_weight; ++i) {
                d_edge_of.push_back(edge_of(d_sizes, c.by_column.data(), bit, i));
            }
        }
    }

    //! Lq_nm = L_n.
    void begin(const float* llr, float* q) const
    {
        for (size_t edge = 0; edge < d_bit_of.size(); ++edge) {
            std::copy_n(llr + d_bit_of[edge] * d_frames, d_frames, q + edge * d_frames);
        }
    }

    void check_nodes(const float* q, float* r) const
    {
        const int weight = d_sizes.row_weight;
        for (int check = 0; check < d_sizes.checks; ++check) {
            for (size_t f = 0; f < d_frames; ++f) {
                const size_t first = size_t(check) * weight * d_frames + f;
                float least = 1e30f, second = 1e30f;
                int where = 0;
                bool negative = false;
                for (int j = 0; j < weight; ++j) {
                    const float value = q[first + j * d_frames];
                    const float size = std::fabs(value);
                    negative ^= value < 0;
                    if (size < least) {
                        second = least;
                        least = size;
                        where = j;
                    } else if (size < second) {
                        second = size;
                    }
                }
                for (int j = 0; j < weight; ++j) {
                    const float size = (j == where ? second : least) * d_sizes.factor;
                    const bool minus = negative != (q[first + j * d_frames] < 0);
                    r[first + j * d_frames] = minus ? -size : size;
                }
            }
        }
    }

    //! As gpu::bit_nodes().
    void bit_nodes(
        const float* llr, const float* r, float* q, uint8_t* hard, uint8_t* done) const
    {
        const int weight = d_sizes.column_weight;
        for (int bit = 0; bit < d_sizes.bits; ++bit) {
            const int* edges = &d_edge_of[size_t(bit) * weight];
            for (size_t f = 0; f < d_frames; ++f) {
                if (done[f]) {
                    continue;
                }
                float total = llr[bit * d_frames + f];
                for (int i = 0; i < weight; ++i) {
                    total += r[edges[i] * d_frames + f];
                }
                for (int i = 0; i < weight; ++i) {
                    const size_t at = edges[i] * d_frames + f;
                    q[at] = total - r[at];
                }
                hard[bit * d_frames + f] = total < 0;
            }
        }
        std::fill_n(done, d_frames, uint8_t{ 1 });
        for (int check = 0; check < d_sizes.checks; ++check) {
            const int* bits = &d_bit_of[size_t(check) * d_sizes.row_weight];
            for (size_t f = 0; f < d_frames; ++f) {
                int sum = 0;
                for (int j = 0; j < d_sizes.row_weight; ++j) {
                    sum ^= hard[bits[j] * d_frames + f];
                }
                done[f] &= !sum;
            }
        }
    }

private:
    const shape d_sizes;
    size_t d_frames;
    std::vector<int> d_bit_of;  //!< of each edge
    std::vector<int> d_edge_of; //!< column_weight of each bit
};

} // namespace gr::cudaphy::kernels::source4
