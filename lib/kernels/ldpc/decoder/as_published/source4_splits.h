/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Source 4's decoder on the CPU, and its three splits between CPU and GPU.

#include "kernels/ldpc/decoder/as_published/source4_cpu.h"
#include <algorithm>
#include <vector>

namespace gr::cudaphy::kernels::source4 {

//! The arrays of a batch on the host.
struct host_arrays {
    host_arrays(const shape& s, size_t frames)
        : q(s.edges() * frames), r(s.edges() * frames), hard(s.bits * frames),
          done(frames)
    {
    }
    std::vector<float> q, r;
    std::vector<uint8_t> hard, done;
};

//! Iterates until all frames are done. Returns the sum of the frames' iterations.
template <typename Check, typename Bit>
size_t iterate(std::vector<uint8_t>& done,
               int most_iterations,
               const Check& check_nodes,
               const Bit& bit_nodes)
{
    size_t sum = 0;
    for (int i = 0; i < most_iterations; ++i) {
        const auto ended = std::count(done.begin(), done.end(), 1);
        if (ended == static_cast<long>(done.size())) {
            break;
        }
        sum += done.size() - ended;
        check_nodes();
        bit_nodes();
    }
    return sum;
}

//! The serial program: decodes a batch, (bits, frames), into h.hard. Returns the sum of
//! the frames' iterations.
inline size_t
decode_on_cpu(const cpu& here, const float* llr, host_arrays& h, int most_iterations)
{
    std::fill(h.done.begin(), h.done.end(), 0);
    here.begin(llr, h.q.data());
    return iterate(
        h.done,
        most_iterations,
        [&] { here.check_nodes(h.q.data(), h.r.data()); },
        [&] {
            here.bit_nodes(llr, h.r.data(), h.q.data(), h.hard.data(), h.done.data());
        });
}

//! Which nodes the GPU updates.
enum class split { checks_on_gpu, bits_on_gpu, all_on_gpu };

//! As decode_on_cpu(), with a part of the work on the GPU. Messages are copied in every
//! iteration if the two kinds of nodes are apart.
inline size_t decode_split(split way,
                           const cpu& here,
                           const float* llr,
                           gpu& there,
                           host_arrays& h,
                           int most_iterations)
{
    std::fill(h.done.begin(), h.done.end(), 0);
    size_t sum = 0;
    if (way == split::checks_on_gpu) {
        here.begin(llr, h.q.data());
        sum = iterate(
            h.done,
            most_iterations,
            [&] {
                there.put_q(h.q.data());
                there.check_nodes();
                there.get_r(h.r.data());
            },
            [&] {
                here.bit_nodes(llr, h.r.data(), h.q.data(), h.hard.data(), h.done.data());
            });
    } else if (way == split::bits_on_gpu) {
        there.begin(llr);
        there.get_q(h.q.data());
        sum = iterate(
            h.done,
            most_iterations,
            [&] {
                here.check_nodes(h.q.data(), h.r.data());
                there.put_r(h.r.data());
            },
            [&] {
                there.bit_nodes(h.done.data());
                there.get_q(h.q.data());
            });
        there.get_hard(h.hard.data());
    } else {
        there.begin(llr);
        sum = iterate(
            h.done,
            most_iterations,
            [&] { there.check_nodes(); },
            [&] { there.bit_nodes(h.done.data()); });
        there.get_hard(h.hard.data());
    }
    return sum;
}

} // namespace gr::cudaphy::kernels::source4
