/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Real and complex types have a source file each, because one for all takes more than 500
// MB to compile.

#include "kernels/symmetric/cuda/blocked.cuh"
#include "kernels/symmetric/cuda/butterfly_tables.cuh"
#include "kernels/symmetric/cuda/condition.cuh"
#include "kernels/symmetric/cuda/repair.cuh"
#include "kernels/symmetric/cuda/unshift.cuh"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

constexpr int draws = 2; //!< butterflies that are tried, one after the other

//! The inverse of a definite matrix has enough digits if the largest element of the
//! matrix times that of the inverse is below this.
constexpr double well_conditioned = 100;

//! Whether GPUs of an architecture multiply in float64 half as often as in float32, or
//! more: CUDA C++ Programming Guide, "Arithmetic Instructions".
constexpr bool has_fast_float64(int architecture)
{
    for (const int fast : { 600, 700, 800, 900, 1000 }) {
        if (architecture == fast) {
            return true;
        }
    }
    return false;
}

//! Whether some architecture that this is compiled for has fast float64, or has not.
constexpr bool is_compiled_for(bool fast_float64)
{
    for (const int architecture : { __CUDA_ARCH_LIST__ }) {
        if (has_fast_float64(architecture) == fast_float64) {
            return true;
        }
    }
    return false;
}

/*!
 * Inverts matrices of T in W's precision. For float32, W is float64 if the device
 * multiplies about as fast in float64. An H200 reaches 60 TFLOP/s in float64 by its
 * tensor cores, and 48 in float32. So float64 is faster, and leaves nothing to refine.
 * Three TF32 products of split numbers would be faster still, but tensor cores truncate
 * their sums: at a condition of 1e6 that loses digits that float32 keeps.
 */
template <typename T, typename W>
class symmetric_blocked_cuda : public symmetric_inverse<T>
{
public:
    using E = typename device_element<T>::type;
    using real = typename symmetric_inverse<T>::real;
    using results = typename symmetric_inverse<T>::results;
    using parameters = typename symmetric_inverse<T>::parameters;

    symmetric_blocked_cuda(const parameters& p, int device)
        : d_parameters(p), d_device(device), n(p.order),
          m((p.order + order_multiple - 1) / order_multiple * order_multiple),
          d_positive(p.definite == definiteness::positive),
          d_small(n <= most_small_order<E>),
          d_many(p.batch > 1 && n <= symmetric_tuning::steps::many_order),
          d_at_once(d_small || d_many ? int(std::min<size_t>(p.batch, 65535)) : 1),
          d_own(std::make_unique<owned>(
              device, n, d_small || d_many, d_positive, d_shifts, d_at_once))
    {
        if (!d_small) {
            d_own->blas = cuda_blas::make();
        }
        if (!d_small && !d_positive) {
            for (int draw = 0; draw < draws; ++draw) {
                d_own->butterflies[draw] = std::make_unique<butterfly_tables>(m, draw);
            }
        }
        if (!d_small && (!d_positive || std::is_same_v<E, W>)) {
            make_factors();
        }
        expect_memory_for(workspace_bytes(),
                          "symmetric_inverse of order " + std::to_string(n));
    }
    ~symmetric_blocked_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_own.reset();
    }

    size_t workspace_bytes() const override
    {
        workspace_pieces pieces;
        const_cast<symmetric_blocked_cuda*>(this)->take_memory(pieces);
        return pieces.bytes();
    }

    void run(view<const T> a,
             const results& out,
             view<unsigned char> workspace,
             queue& queue) override
    {
        const size_t batch = symmetric_inverse_batch(
            *this, d_parameters, a, out, workspace, queue, backend::cuda);
        cuda_device_scope scope(d_device);
        d_stream = stream_of(queue);
        workspace_pieces pieces(workspace.data());
        take_memory(pieces);
        d_own->judge.begin(d_stream);
        if (d_own->blas) {
            d_own->blas->begin(d_stream, d_blas_space);
        }
        if (d_own->factors) {
            d_own->factors->begin(*d_own->blas, d_stream);
        }
        if (d_shifts) {
            d_own->shifting.begin(
                *d_own->blas, d_stream, d_own->steps, d_own->factors->spare());
        }
        const size_t elements = size_t(n) * n;
        for (size_t first = 0; first < batch; first += d_at_once) {
            const size_t count = std::min<size_t>(d_at_once, batch - first);
            d_done_before = double(first) / batch;
            d_share = double(count) / batch;
            invert(reinterpret_cast<const E*>(a.data()) + first * elements,
                   reinterpret_cast<E*>(out.x.data()) + first * elements,
                   int(count),
                   out.status.data() + first,
                   out.residual.empty() ? nullptr : out.residual.data() + first,
                   out.refinements.empty() ? nullptr : out.refinements.data() + first,
                   out.rcond.empty() ? nullptr : out.rcond.data() + first);
            if (d_parameters.progress) {
                d_parameters.progress(double(first + count) / batch);
            }
        }
    }

private:
    //! Definite matrices may do without cuSOLVER: only badly conditioned ones use it.
    void make_factors()
    {
        try {
            d_own->factors = std::make_unique<symmetric_factors<E, W>>(n, m);
        } catch (const backend_unavailable&) {
            if (!d_positive) {
                throw;
            }
        }
    }

    using schedule = symmetric_schedule<cuda_steps<W>>;
    static constexpr int order_multiple = cuda_steps<W>::order_multiple;

    //! The resources on the device, which must be current when they are made and
    //! destroyed.
    struct owned {
        owned(int device, int n, bool many, bool positive, bool shifts, int at_once)
            : steps(device, many, positive, shifts), judge(n, at_once)
        {
        }
        cuda_steps<W> steps;
        shifting_inverse<W> shifting;
        symmetric_judge<E, W> judge;
        std::unique_ptr<cuda_blas> blas;
        std::unique_ptr<symmetric_factors<E, W>> factors;
        std::unique_ptr<butterfly_tables> butterflies[draws];
    };

    void take_memory(workspace_pieces& pieces)
    {
        const size_t batch = d_at_once;
        d_own->judge.take(pieces, batch);
        d_condition.take(pieces, n, batch);
        d_largest = pieces.take<unsigned long long>(batch);
        d_copies = { pieces.take<E>(batch * n * n), n, size_t(n) * n };
        const size_t work =
            d_small ? size_t(m) * m * sizeof(E) / sizeof(W) + 1 : size_t(m) * m;
        d_work = { pieces.take<W>(batch * work), m, work };
        if (d_small) {
            return;
        }
        d_blas_space = pieces.take<unsigned char>(cuda_blas::workspace_bytes);
        d_own->steps.take(pieces, m);
        if (d_own->factors) {
            d_own->factors->take(pieces, d_work);
            d_exponents = pieces.take<int>(2 * size_t(n));
        }
        if (d_shifts) {
            d_own->shifting.take(pieces, m);
        }
    }

    void invert(const E* from,
                E* to,
                int count,
                int* status,
                real* residual,
                int* refined,
                real* rcond)
    {
        const device_matrix<const E> a{ from, n, size_t(n) * n };
        const device_matrix<E> x{ to, n, size_t(n) * n };
        const bool improves = !d_small && d_own->factors;
        const bool judged = residual || (improves && !d_positive);
        cuda_check(cudaMemsetAsync(
                       d_own->judge.states(), 0xff, count * sizeof(unsigned), d_stream),
                   "cudaMemsetAsync");
        cuda_check(cudaMemsetAsync(d_largest, 0, count * sizeof(*d_largest), d_stream),
                   "cudaMemsetAsync");
        examine_symmetric<E><<<row_groups(n, count), examine_threads, 0, d_stream>>>(
            a, n, d_own->judge.states(), d_largest);
        cuda_check_launch("symmetric_inverse: examine_symmetric");
        // Later steps need the given matrix, but the inverse may take its place.
        const bool copied = judged || from == to;
        if (copied) {
            both<E, E>(a, n, d_copies, 1, false, nullptr, count);
        }
        d_condition.begin(count, d_stream);
        if (rcond) {
            d_condition.measure(a);
        }
        if (d_small) {
            invert_by_leaves(a, x, count);
        } else if (d_positive) {
            load_triangle<E, W><<<tiles_of(m, m, count), tile_block(), 0, d_stream>>>(
                a, n, d_work, m, d_largest);
            cuda_check_launch("symmetric_inverse: load_triangle");
            const int sign = eliminate(0, count);
            both<W, E>(constant(d_work), n, x, sign, true, d_own->judge.states(), count);
        } else {
            invert_mixed(0, x, 0, count);
        }
        if (judged) {
            judge_inverse(0, x, count);
        }
        if (refined) {
            cuda_check(cudaMemsetAsync(refined, 0, count * sizeof(*refined), d_stream),
                       "cudaMemsetAsync");
        }
        if (judged) {
            d_own->judge.write(0, count, residual, nullptr, 0);
        }
        if (improves && !judged && any_ill_conditioned(x, count)) {
            if (!copied) {
                both<E, E>(a, n, d_copies, 1, false, nullptr, count);
            }
            judge_inverse(0, x, count);
            improve_all(x, count, residual, refined);
        } else if (improves && judged) {
            improve_all(x, count, residual, refined);
        }
        const auto given = from == to ? constant(d_copies) : a;
        if (d_positive) {
            d_own->judge.look_at_diagonals(constant(x), d_largest, count);
            const auto verdicts = d_own->judge.verdicts();
            d_condition.look_at_definite(given, verdicts);
            d_condition.judge(
                given, constant(x), verdicts, d_own->judge.states(), residual);
        } else if (d_small) { // improve_all() judges larger ones
            d_condition.mark_lost_inverses(
                given, constant(x), d_own->judge.states(), residual);
        }
        if (rcond) {
            d_condition.write(constant(x), d_own->judge.states(), rcond);
        }
        finish_symmetric<E><<<row_groups(n, count), examine_threads, 0, d_stream>>>(
            x, n, d_own->judge.states(), status);
        cuda_check_launch("symmetric_inverse: finish_symmetric");
    }

    //! Whether the inverse of a definite matrix may lack digits. The largest elements of
    //! a definite matrix are on the diagonal, so it bounds both norms to a factor n.
    bool any_ill_conditioned(device_matrix<E> x, int count)
    {
        d_own->judge.look_at_diagonals(constant(x), d_largest, count);
        const auto verdicts = d_own->judge.read(0, count);
        return std::any_of(verdicts, verdicts + count, [](const probe_verdict& v) {
            return v.state != input_not_finite &&
                   !(v.state == good_state && v.norm_a * v.norm_x < well_conditioned);
        });
    }

    void improve_all(device_matrix<E> x, int count, real* residual, int* refined)
    {
        const auto verdicts = d_own->judge.read(0, count);
        const symmetric_repair<E, W> repair{ n,        d_own->judge, *d_own->factors,
                                             d_copies, d_exponents,  d_largest,
                                             d_stream };
        for (int item = 0; item < count; ++item) {
            const auto& verdict = verdicts[item];
            const bool sure = !d_shifts || !d_own->judge.may_be_singular(verdict);
            if (verdict.state == input_not_finite ||
                (d_own->judge.is_good(verdict) && sure)) {
                continue;
            }
            int taken = 0;
            if (d_positive) {
                repair.replace(item, x, taken);
            } else {
                repair.improve(item, x, verdict, taken, [&](int again) {
                    invert_mixed(again, x, 1, 1);
                });
            }
            d_own->judge.write(item, 1, residual, refined, taken);
        }
    }

    void invert_by_leaves(device_matrix<const E> a, device_matrix<E> x, int count)
    {
        const device_matrix<E> work{ reinterpret_cast<E*>(d_work.data),
                                     m,
                                     d_work.to_next * sizeof(W) / sizeof(E) };
        invert_small<E>(a,
                        work,
                        n,
                        d_positive,
                        d_largest,
                        d_own->judge.states(),
                        count,
                        d_stream,
                        // The size of a complex element is 4 / pi times its modulus on
                        // average.
                        least_singular_condition<real>(n) *
                            (is_complex<E> ? 16 / M_PI / M_PI : 1),
                        d_condition.norms());
        both<E, E>({ work.data, work.stride, work.to_next },
                   n,
                   x,
                   1,
                   d_positive,
                   d_own->judge.states(),
                   count);
    }

    //! The lower triangle of d_work, from `item` on, becomes that of its inverse times
    //! the sign that is returned.
    int eliminate(int item, int count)
    {
        const double total = 1. * m * m * m;
        double done = 0, reported = 0;
        const auto report = [&](double flops) {
            done += flops;
            if (d_parameters.progress && done - reported > 0.05 * total && total > 1e11) {
                // Submitted work may not have begun: progress counts work that is done.
                cuda_check(cudaStreamSynchronize(d_stream), "symmetric_inverse");
                reported = done;
                d_parameters.progress(
                    std::min(1.0, d_done_before + d_share * done / total));
            }
        };
        const auto work = item_of(d_work, item);
        if (d_shifts) {
            return d_own->shifting.invert(single(work), m, report);
        }
        d_own->steps.begin(
            *d_own->blas, d_stream, work, count, d_own->judge.states(item), n, report);
        return schedule(d_own->steps).invert(0, m);
    }

    //! x = U (U^T A U)^-1 U^T of the copied matrices.
    void invert_mixed(int item, device_matrix<E> x, int draw, int count)
    {
        const auto u = d_own->butterflies[draw]->get();
        const auto work = item_of(d_work, item);
        scramble<E, W><<<tiles_of(m / 4, m / 4, count), tile_block(), 0, d_stream>>>(
            constant(item_of(d_copies, item)), n, work, u, d_largest + item);
        cuda_check_launch("symmetric_inverse: scramble");
        const int sign = eliminate(item, count);
        both<W, W>(constant(work), m, work, sign, false, nullptr, count);
        unscramble<W, E><<<tiles_of(m / 4, m / 4, count), tile_block(), 0, d_stream>>>(
            constant(work), n, item_of(x, item), u, d_largest + item);
        cuda_check_launch("symmetric_inverse: unscramble");
        both<E, E>(constant(item_of(x, item)),
                   n,
                   item_of(x, item),
                   1,
                   false,
                   d_own->judge.states(item),
                   count);
    }

    //! Computes the verdicts on the inverses of the copied matrices, on the device.
    void judge_inverse(int item, device_matrix<E> all, int count)
    {
        d_own->judge.judge(
            constant(item_of(d_copies, item)), constant(item_of(all, item)), item, count);
    }

    template <typename From, typename To>
    void both(device_matrix<const From> from,
              int order,
              device_matrix<To> to,
              double factor,
              bool scaled,
              unsigned* states,
              int count)
    {
        write_both<From, To>
            <<<tiles_of(order, order, count), tile_block(), 0, d_stream>>>(
                from, order, to, factor, scaled ? d_largest : nullptr, states);
        cuda_check_launch("symmetric_inverse: write_both");
    }

    const parameters d_parameters;
    const int d_device;
    const int n;
    const int m; //!< n, rounded up
    const bool d_positive;
    const bool d_small;  //!< one thread block for each matrix
    const bool d_many;   //!< one launch for all matrices of a batch
    const int d_at_once; //!< matrices of a batch
    //! Small pivots are shifted if W has no digits to spare. They cost complex matrices
    //! more digits than W has to spare.
    const bool d_shifts =
        !d_positive && !d_small && !d_many && (std::is_same_v<E, W> || is_complex<E>);
    std::unique_ptr<owned> d_own;
    symmetric_condition<E> d_condition;

    cudaStream_t d_stream = nullptr;
    double d_done_before = 0, d_share = 1;

    unsigned long long* d_largest = nullptr;
    device_matrix<E> d_copies = {};
    device_matrix<W> d_work = {};
    unsigned char* d_blas_space = nullptr;
    int* d_exponents = nullptr;
};

} // namespace

template <typename T>
std::unique_ptr<symmetric_inverse<T>>
make_symmetric_blocked_cuda(const typename symmetric_inverse<T>::parameters& p,
                            int device)
{
    using E = typename device_element<T>::type;
    cuda_device_scope scope(device);
    // Code for one GPU alone has one W. Another GPU, for which the driver translates that
    // code, has the same W, which may be the slower one there.
    if constexpr (std::is_same_v<E, wide_of<E>> || !is_compiled_for(true)) {
        return std::make_unique<symmetric_blocked_cuda<T, E>>(p, device);
    } else if constexpr (!is_compiled_for(false)) {
        return std::make_unique<symmetric_blocked_cuda<T, wide_of<E>>>(p, device);
    } else {
        int ratio = 0;
        cuda_check(cudaDeviceGetAttribute(
                       &ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, device),
                   "cudaDeviceGetAttribute");
        if (ratio <= 2) {
            return std::make_unique<symmetric_blocked_cuda<T, wide_of<E>>>(p, device);
        }
        return std::make_unique<symmetric_blocked_cuda<T, E>>(p, device);
    }
}

#define CUDAPHY_INSTANTIATE(T)                                                     \
    template std::unique_ptr<symmetric_inverse<T>> make_symmetric_blocked_cuda<T>( \
        const typename symmetric_inverse<T>::parameters&, int);

} // namespace gr::cudaphy::kernels
