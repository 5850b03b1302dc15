/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/equilibrate.cuh"
#include "kernels/symmetric/cuda/probe.cuh"
#include "kernels/symmetric/symmetric_inverse_makers.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

//! A singular matrix with W's roundings has a condition above this. The least that was
//! seen in double precision is about 1e13, at order 128.
template <typename W>
constexpr double least_condition_of_rounding =
    std::is_same_v<real_of<W>, float> ? 0x1p27 : 2e13;

//! Page-locked items that the device writes and the host reads.
template <typename Item>
class host_memory
{
public:
    explicit host_memory(size_t count)
    {
        cuda_check(cudaMallocHost(&d_items, count * sizeof(Item)), "cudaMallocHost");
    }
    ~host_memory() { cudaFreeHost(d_items); }
    host_memory(const host_memory&) = delete;
    host_memory& operator=(const host_memory&) = delete;
    Item* data() const { return d_items; }

private:
    Item* d_items = nullptr;
};

__global__ void set_state(unsigned* state, unsigned value) { *state = value; }

/*!
 * \brief The states of a batch's matrices of order n, and the verdicts on their inverses,
 * which were computed in W's precision.
 */
template <typename E, typename W>
class symmetric_judge
{
public:
    symmetric_judge(int order, size_t at_once)
        : n(order),
          d_singular_condition(std::min(least_singular_condition<real_of<E>>(order),
                                        least_condition_of_rounding<W>)),
          d_verdicts(at_once)
    {
    }

    void take(workspace_pieces& pieces, size_t batch)
    {
        d_states = pieces.take<unsigned>(batch);
        d_probes.take(pieces, n, batch);
    }
    void begin(cudaStream_t stream) { d_stream = stream; }

    unsigned* states(int item = 0) const { return d_states + item; }
    void set(int item, unsigned state)
    {
        set_state<<<1, 1, 0, d_stream>>>(d_states + item, state);
        cuda_check_launch("symmetric_inverse: set_state");
    }

    //! Computes the verdicts on `count` inverses from item `item` on; a and x begin at
    //! that item.
    void judge(device_matrix<const E> a, device_matrix<const E> x, int item, int count)
    {
        d_probes.probe(a, x, n, item, count, d_states, d_stream);
    }
    //! Computes the verdicts on definite matrices from the diagonals.
    void look_at_diagonals(device_matrix<const E> x,
                           const unsigned long long* largest,
                           int count)
    {
        look_at_diagonal<E><<<count, probe_threads, 0, d_stream>>>(
            x, n, largest, d_states, d_probes.verdicts);
        cuda_check_launch("symmetric_inverse: look_at_diagonal");
    }
    //! The last verdicts, on the device.
    const probe_verdict* verdicts() const { return d_probes.verdicts; }
    //! The last verdicts from `item` on, on the host until the next read().
    const probe_verdict* read(int item, int count)
    {
        cuda_check(cudaMemcpyAsync(d_verdicts.data() + item,
                                   d_probes.verdicts + item,
                                   count * sizeof(probe_verdict),
                                   cudaMemcpyDeviceToHost,
                                   d_stream),
                   "cudaMemcpyAsync");
        cuda_check(cudaStreamSynchronize(d_stream), "symmetric_inverse");
        return d_verdicts.data() + item;
    }

    bool is_singular(const probe_verdict& v) const
    {
        return v.norm_a * v.norm_x > d_singular_condition;
    }
    //! The same with a margin. After shifts were removed, a singular matrix may seem to
    //! have a lower condition.
    bool may_be_singular(const probe_verdict& v) const
    {
        const double margin = std::is_same_v<real_of<W>, float> ? 8 : 100;
        return v.norm_a * v.norm_x >
               std::min(d_singular_condition, least_condition_of_rounding<W> / margin);
    }
    //! Good by LAPACK's measure, with a margin for an estimate that is too low.
    bool is_good(const probe_verdict& v) const
    {
        return v.state == good_state && !is_singular(v) &&
               v.defect <= 10 * n * v.norm_a * v.norm_x * unit_roundoff<real_of<E>>;
    }

    //! Writes the residuals and refinements of `count` matrices from `item` on, unless
    //! null.
    void write(int item, int count, real_of<E>* residual, int* refined, int taken)
    {
        report<E><<<(count + 127) / 128, 128, 0, d_stream>>>(
            d_probes.verdicts + item,
            n,
            count,
            d_states + item,
            residual ? residual + item : nullptr,
            refined ? refined + item : nullptr,
            taken);
        cuda_check_launch("symmetric_inverse: report");
    }

private:
    const int n;
    const double d_singular_condition;
    const host_memory<probe_verdict> d_verdicts;
    unsigned* d_states = nullptr;
    probe_space<E> d_probes = {};
    cudaStream_t d_stream = nullptr;
};

} // namespace
} // namespace gr::cudaphy::kernels
