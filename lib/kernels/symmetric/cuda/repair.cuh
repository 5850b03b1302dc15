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
 * \brief What is done where a large matrix's first inverse is not good enough, for one
 * item of a batch at a time. `E` is the matrices' type, `W` that of the arithmetic.
 *
 * Each of these returns the last verdict, and counts what it took in `taken`.
 */
template <typename E, typename W>
struct symmetric_repair {
    const int n;
    symmetric_judge<E, W>& judge;
    symmetric_factors<E, W>& factors;
    const device_matrix<E> all_kept; //!< the given matrices
    int* const exponents;
    unsigned long long* const largest;
    const cudaStream_t stream;

    /*!
     * Newton steps where they converge; then, of the equilibrated matrix, another draw,
     * which is draw_again(item), and at last factorisations, which alone tell that a
     * matrix is singular: of a sparse one, a butterfly's leading minors may vanish draw
     * after draw.
     */
    template <typename DrawAgain>
    void improve(int item,
                 device_matrix<E> x,
                 probe_verdict v,
                 int& taken,
                 const DrawAgain& draw_again) const
    {
        if (judge.is_good(v)) { // but nearly singular
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

    //! Of a badly conditioned definite matrix, by Cholesky's factors, which alone tell
    //! that it is not definite.
    void replace(int item, device_matrix<E> x, int& taken) const
    {
        judge.set(item, good_state);
        const int failed =
            factors.definite(kept(item), item_of(x, item), judge.states(item));
        if (failed) {
            judge.set(item, failed);
        }
        judged(item, x);
        ++taken;
    }

private:
    //! By LU factors, and where one triangle of what they give is not enough, by
    //! eigenvectors.
    probe_verdict by_factors(int item, device_matrix<E> x, int& taken) const
    {
        judge.set(item, good_state);
        const bool factored =
            factors.general(kept(item), item_of(x, item), judge.states(item));
        ++taken;
        auto v = judged(item, x);
        if (factored && !judge.is_good(v) && factors.has_eigenvectors()) {
            judge.set(item, good_state);
            factors.by_eigenvectors(kept(item), item_of(x, item), judge.states(item));
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
                    kept(item), single(item_of(x, item)), judge.states(item));
                ++taken;
                v = judged(item, x);
            }
        }
        return v;
    }

    //! The kept matrix becomes D A D.
    void equilibrate(int item) const
    {
        find_exponents(kept(item), n, exponents, stream);
        times_exponents<E><<<tiles_of(n, n), tile_block(), 0, stream>>>(
            single(item_of(all_kept, item)), n, exponents, 1, nullptr);
        set_to_one<<<1, 1, 0, stream>>>(largest + item);
        cuda_check_launch("symmetric_inverse: times_exponents");
    }

    //! Of D A D and its inverse A and its inverse, judged, where there is one.
    void scale_back(int item, device_matrix<E> x, const probe_verdict& v) const
    {
        times_exponents<E><<<tiles_of(n, n), tile_block(), 0, stream>>>(
            single(item_of(all_kept, item)), n, exponents, -1, nullptr);
        times_exponents<E><<<tiles_of(n, n), tile_block(), 0, stream>>>(
            single(item_of(x, item)), n, exponents, 1, judge.states(item));
        cuda_check_launch("symmetric_inverse: times_exponents");
        if (v.state == good_state) {
            judged(item, x);
        }
    }

    probe_verdict judged(int item, device_matrix<E> x) const
    {
        judge.judge(kept(item), constant(single(item_of(x, item))), item, 1);
        return *judge.read(item, 1);
    }

    device_matrix<const E> kept(int item) const
    {
        return constant(single(item_of(all_kept, item)));
    }
};

} // namespace
} // namespace gr::cudaphy::kernels
