/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/factors.cuh"
#include "kernels/symmetric/cuda/judge.cuh"

namespace gr::cudaphy::kernels {
namespace {

constexpr int newton_steps = 2;

__global__ void set_to_one(unsigned long long* size)
{
    *size = static_cast<unsigned long long>(__double_as_longlong(1.0));
}

/*!
 * \brief Improves the inverse of a large matrix if the first one is not good enough.
 * Each call is for one item of a batch. `E` is the type of the matrices, `W` that of the
 * arithmetic.
 *
 * Methods return the last verdict, and add the number of their attempts to `taken`.
 */
template <typename E, typename W>
struct symmetric_repair {
    const int n;
    symmetric_judge<E, W>& judge;
    symmetric_factors<E, W>& factors;
    const device_matrix<E> all_copies; //!< of the given matrices
    int* const exponents;
    unsigned long long* const largest;
    const cudaStream_t stream;

    /*!
     * Improves an inverse of unknown definiteness:
     * - Newton steps, if they converge.
     * - For the equilibrated matrix: draw_again(item), which takes another butterfly.
     * - Factorisations. Only they show that a matrix is singular: the leading minors of a
     *   sparse matrix may vanish with one butterfly after the other.
     */
    template <typename DrawAgain>
    void improve(int item,
                 device_matrix<E> x,
                 probe_verdict v,
                 int& taken,
                 const DrawAgain& draw_again) const
    {
        if (judge.is_good(v)) { // but the matrix is nearly singular
            v = by_factors(item, x, taken);
        } else {
            v = by_newton(item, x, v, taken);
        }
        if (!judge.is_good(v) && v.state != unsigned(n)) {
            equilibrate(item);
            judge.set(item, good_state);
            draw_again(item);
            ++taken;
            v = by_newton(item, x, judged(item, x), taken);
            if (!judge.is_good(v)) {
                v = by_factors(item, x, taken);
            }
            scale_back(item, x, v);
        }
    }

    //! Inverts a badly conditioned definite matrix by Cholesky factors. Only they show
    //! that it is not definite.
    void replace(int item, device_matrix<E> x, int& taken) const
    {
        judge.set(item, good_state);
        const int failed =
            factors.definite(copy_of(item), item_of(x, item), judge.states(item));
        if (failed) {
            judge.set(item, failed);
        }
        judged(item, x);
        ++taken;
    }

private:
    //! Inverts by LU factors, or by eigenvectors if one triangle of the LU result is not
    //! good enough.
    probe_verdict by_factors(int item, device_matrix<E> x, int& taken) const
    {
        judge.set(item, good_state);
        const bool factored =
            factors.general(copy_of(item), item_of(x, item), judge.states(item));
        ++taken;
        auto v = judged(item, x);
        if (factored && !judge.is_good(v) && factors.has_eigenvectors()) {
            judge.set(item, good_state);
            factors.by_eigenvectors(copy_of(item), item_of(x, item), judge.states(item));
            ++taken;
            v = judged(item, x);
        }
        if (!factored || judge.is_singular(v)) {
            judge.set(item, n);
            v.state = n;
        }
        return v;
    }

    probe_verdict
    by_newton(int item, device_matrix<E> x, probe_verdict v, int& taken) const
    {
        if constexpr (std::is_same_v<E, W>) {
            for (int step = 0; step < newton_steps && v.state == good_state &&
                               !judge.is_good(v) && v.defect < 0.5;
                 ++step) {
                factors.take_newton_step(
                    copy_of(item), single(item_of(x, item)), judge.states(item));
                ++taken;
                v = judged(item, x);
            }
        }
        return v;
    }

    //! The copied matrix becomes D A D.
    void equilibrate(int item) const
    {
        find_exponents(copy_of(item), n, exponents, stream);
        times_exponents<E><<<tiles_of(n, n), tile_block(), 0, stream>>>(
            single(item_of(all_copies, item)), n, exponents, 1, nullptr);
        set_to_one<<<1, 1, 0, stream>>>(largest + item);
        cuda_check_launch("symmetric_inverse: times_exponents");
    }

    //! Scales D A D and its inverse back to A and its inverse, and judges the latter if
    //! it is good.
    void scale_back(int item, device_matrix<E> x, const probe_verdict& v) const
    {
        times_exponents<E><<<tiles_of(n, n), tile_block(), 0, stream>>>(
            single(item_of(all_copies, item)), n, exponents, -1, nullptr);
        times_exponents<E><<<tiles_of(n, n), tile_block(), 0, stream>>>(
            single(item_of(x, item)), n, exponents, 1, judge.states(item));
        cuda_check_launch("symmetric_inverse: times_exponents");
        if (v.state == good_state) {
            judged(item, x);
        }
    }

    probe_verdict judged(int item, device_matrix<E> x) const
    {
        judge.judge(copy_of(item), constant(single(item_of(x, item))), item, 1);
        return *judge.read(item, 1);
    }

    device_matrix<const E> copy_of(int item) const
    {
        return constant(single(item_of(all_copies, item)));
    }
};

} // namespace
} // namespace gr::cudaphy::kernels
