/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_solver.cuh"
#include "kernels/symmetric/symmetric_blocked.cuh"
#include "kernels/symmetric/symmetric_butterfly_tables.cuh"
#include "kernels/symmetric/symmetric_probe.cuh"
#include "kernels/symmetric/symmetric_steps.cuh"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

constexpr int draws = 2;
constexpr int newton_steps = 2;
constexpr int many_order = 1024; //!< to this one, a batch is inverted side by side

//! Page-locked items, for what the host must know.
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
 * T in arithmetic of W's precision: of float32 that is float64's where the device
 * multiplies as fast in it. An H200's tensor cores do: 60 TFLOP/s measured, against 48 in
 * float32 itself, so that float64 is the faster way to float32's results, and one that
 * leaves nothing to refine. (Three TF32 products of split numbers would be faster still,
 * but their sums are truncated: at a condition of 1e6 they lose what float32 keeps.)
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
          d_small(n <= most_small_order<E>), d_many(p.batch > 1 && n <= many_order),
          d_at_once(d_small || d_many ? int(std::min<size_t>(p.batch, 65535)) : 1),
          d_own(std::make_unique<owned>(device, d_small || d_many, d_positive, d_at_once))
    {
        if (!d_small) {
            d_own->blas = cuda_blas::make();
        }
        if (!d_small && !d_positive) {
            for (int draw = 0; draw < draws; ++draw) {
                d_own->butterflies[draw] = std::make_unique<butterfly_tables>(m, draw);
            }
            d_own->solver = cuda_solver::make();
            d_solver_elements = d_own->solver->template workspace<W>(m, m);
        }
        expect_memory_for(workspace_bytes(),
                          "symmetric_inverse of order " + std::to_string(n));
    }
    ~symmetric_blocked_cuda() override
    {
        cuda_device_scope scope(d_device);
        d_own.reset();
    }

    size_t workspace_bytes() const override
    {
        workspace_pieces pieces;
        const_cast<symmetric_blocked_cuda*>(this)->deal(pieces);
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
        deal(pieces);
        if (d_own->blas) {
            d_own->blas->begin(d_stream, d_blas_space);
        }
        const size_t elements = size_t(n) * n;
        for (size_t first = 0; first < batch; first += d_at_once) {
            const size_t count = std::min<size_t>(d_at_once, batch - first);
            d_told = double(first) / batch;
            d_share = double(count) / batch;
            invert(reinterpret_cast<const E*>(a.data()) + first * elements,
                   reinterpret_cast<E*>(out.x.data()) + first * elements,
                   int(count),
                   out.status.data() + first,
                   out.residual.empty() ? nullptr : out.residual.data() + first,
                   out.refinements.empty() ? nullptr : out.refinements.data() + first);
            if (d_parameters.progress) {
                d_parameters.progress(double(first + count) / batch);
            }
        }
    }

private:
    using schedule = symmetric_schedule<cuda_steps<W>>;
    static constexpr int order_multiple = cuda_steps<W>::order_multiple;

    //! What the plan holds on the device, which is current where that is made and dies.
    struct owned {
        owned(int device, bool many, bool positive, int at_once)
            : steps(device, many, positive), verdicts(at_once)
        {
        }
        cuda_steps<W> steps;
        host_memory<probe_verdict> verdicts;
        std::unique_ptr<cuda_blas> blas;
        std::unique_ptr<cuda_solver> solver;
        std::unique_ptr<butterfly_tables> butterflies[draws];
    };

    void deal(workspace_pieces& pieces)
    {
        const size_t batch = d_at_once;
        d_states = pieces.take<unsigned>(batch);
        d_largest = pieces.take<unsigned long long>(batch);
        d_probes.take(pieces, n, batch);
        d_kept = { pieces.take<E>(batch * n * n), n, size_t(n) * n };
        const size_t work =
            d_small ? size_t(m) * m * sizeof(E) / sizeof(W) + 1 : size_t(m) * m;
        d_work = { pieces.take<W>(batch * work), m, work };
        if (d_small) {
            return;
        }
        d_blas_space = pieces.take<unsigned char>(cuda_blas::workspace_bytes);
        d_own->steps.take(pieces, m);
        if (!d_positive) {
            d_spare = { pieces.take<W>(size_t(m) * m), m };
            d_pivots = pieces.take<int>(m);
            d_info = pieces.take<int>(2);
            d_solver_space = pieces.take<W>(d_solver_elements);
        }
    }

    void
    invert(const E* from, E* to, int count, int* status, real* residual, int* refined)
    {
        const device_matrix<const E> a{ from, n, size_t(n) * n };
        const device_matrix<E> x{ to, n, size_t(n) * n };
        const bool judged = !d_positive || residual;
        cuda_check(cudaMemsetAsync(d_states, 0xff, count * sizeof(*d_states), d_stream),
                   "cudaMemsetAsync");
        cuda_check(cudaMemsetAsync(d_largest, 0, count * sizeof(*d_largest), d_stream),
                   "cudaMemsetAsync");
        examine_symmetric<E><<<row_groups(n, count), examine_threads, 0, d_stream>>>(
            a, n, d_states, d_largest);
        cuda_check_launch("symmetric_inverse: examine_symmetric");
        if (judged) {
            both<E, E>(a, n, d_kept, 1, false, nullptr, count);
        }
        if (d_small) {
            invert_by_leaves(a, x, count);
        } else if (d_positive) {
            load_triangle<E, W><<<tiles_of(m, m, count), tile_block(), 0, d_stream>>>(
                a, n, d_work, m, d_largest);
            cuda_check_launch("symmetric_inverse: load_triangle");
            const int sign = eliminate(0, count);
            both<W, E>(constant(d_work), n, x, sign, true, d_states, count);
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
            tell(0, count, residual, nullptr, 0, d_small && !d_positive);
        }
        if (!d_small && !d_positive) {
            const auto verdicts = read_verdicts(0, count);
            for (int item = 0; item < count; ++item) {
                if (verdicts[item].state != input_not_finite &&
                    !is_good(verdicts[item])) {
                    improve(item, x, verdicts[item], residual, refined);
                }
            }
        }
        finish_symmetric<E><<<row_groups(n, count), examine_threads, 0, d_stream>>>(
            x, n, d_states, status);
        cuda_check_launch("symmetric_inverse: finish_symmetric");
    }

    void invert_by_leaves(device_matrix<const E> a, device_matrix<E> x, int count)
    {
        const device_matrix<E> work{ reinterpret_cast<E*>(d_work.data),
                                     m,
                                     d_work.to_next * sizeof(W) / sizeof(E) };
        const auto launch = [&](auto kernel) {
            kernel<<<dim3(1, 1, count), small_threads, 0, d_stream>>>(
                a, work, n, d_positive ? 0 : n, d_largest, d_states);
        };
        const auto with_parts = [&](auto parts) {
            constexpr int p = decltype(parts)::value;
            d_positive ? launch(invert_small<E, E, p, true>)
                       : launch(invert_small<E, E, p, false>);
        };
        if (n <= 2 * small_side) {
            with_parts(std::integral_constant<int, 2>());
        } else if (n <= 4 * small_side) {
            with_parts(std::integral_constant<int, 4>());
        } else if constexpr (most_small_parts<E> > 4) {
            with_parts(std::integral_constant<int, most_small_parts<E>>());
        }
        cuda_check_launch("symmetric_inverse: invert_small");
        both<E, E>(
            { work.data, work.stride, work.to_next }, n, x, 1, true, d_states, count);
    }

    //! The lower triangle of work, item on, becomes its inverse times what is returned.
    int eliminate(int item, int count)
    {
        const double total = 1. * m * m * m;
        double done = 0, told = 0;
        d_own->steps.begin(
            *d_own->blas,
            d_stream,
            item_of(d_work, item),
            count,
            d_states + item,
            n,
            [&](double flops) {
                done += flops;
                if (d_parameters.progress && done - told > 0.05 * total && total > 1e11) {
                    // What was submitted would tell nothing.
                    cuda_check(cudaStreamSynchronize(d_stream), "symmetric_inverse");
                    told = done;
                    d_parameters.progress(std::min(1.0, d_told + d_share * done / total));
                }
            });
        return schedule(d_own->steps).invert(0, m);
    }

    //! x = U (U^T A U)^-1 U^T of the kept matrices.
    void invert_mixed(int item, device_matrix<E> x, int draw, int count)
    {
        const auto u = d_own->butterflies[draw]->get();
        const auto work = item_of(d_work, item);
        scramble<E, W><<<tiles_of(m / 4, m / 4, count), tile_block(), 0, d_stream>>>(
            constant(item_of(d_kept, item)), n, work, u, d_largest + item);
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
                   d_states + item,
                   count);
    }

    //! The verdicts on the inverses of kept matrices, on the device.
    void judge_inverse(int item, device_matrix<E> all, int count)
    {
        d_probes.probe(constant(item_of(d_kept, item)),
                       constant(item_of(all, item)),
                       n,
                       item,
                       count,
                       d_states,
                       d_stream);
    }

    void tell(int item, int count, real* residual, int* refined, int taken, bool mark)
    {
        report<E><<<(count + 127) / 128, 128, 0, d_stream>>>(
            d_probes.verdicts + item,
            n,
            count,
            d_states + item,
            residual ? residual + item : nullptr,
            refined ? refined + item : nullptr,
            taken,
            mark);
        cuda_check_launch("symmetric_inverse: report");
    }

    const probe_verdict* read_verdicts(int item, int count)
    {
        cuda_check(cudaMemcpyAsync(d_own->verdicts.data() + item,
                                   d_probes.verdicts + item,
                                   count * sizeof(probe_verdict),
                                   cudaMemcpyDeviceToHost,
                                   d_stream),
                   "cudaMemcpyAsync");
        cuda_check(cudaStreamSynchronize(d_stream), "symmetric_inverse");
        return d_own->verdicts.data();
    }

    static constexpr double eps = unit_roundoff<real_of<E>>;

    static bool is_singular(const probe_verdict& v)
    {
        return v.norm_a * v.norm_x * eps > 1;
    }
    //! Good by LAPACK's measure, of which an estimate is seldom more than 3 times too
    //! low.
    bool is_good(const probe_verdict& v) const
    {
        return v.state == good_state && !is_singular(v) &&
               v.defect <= 10 * n * v.norm_a * v.norm_x * eps;
    }

    /*!
     * What is done where a first inverse is not good enough: Newton steps where they
     * converge, another draw, and at last LU factors, which alone tell that a matrix is
     * singular: of a sparse one, a butterfly's leading minors may vanish draw after draw.
     */
    void
    improve(int item, device_matrix<E> x, probe_verdict v, real* residual, int* refined)
    {
        int taken = refine(item, x, v);
        if (!is_good(v) && v.state == good_state && !is_singular(v)) {
            invert_mixed(item, x, 1, 1);
            v = judged_again(item, x);
            taken = refine(item, x, v);
        }
        if (!is_good(v)) {
            set(item, good_state);
            const bool factored = invert_by_factors(item, x);
            v = judged_again(item, x);
            taken = 0;
            if (!factored || is_singular(v)) {
                set(item, n);
            }
        }
        tell(item, 1, residual, refined, taken, false);
    }

    //! Returns how many Newton steps it took.
    int refine(int item, device_matrix<E> x, probe_verdict& v)
    {
        int taken = 0;
        if constexpr (std::is_same_v<E, W>) {
            while (taken < newton_steps && v.state == good_state && !is_good(v) &&
                   v.defect < 0.5) {
                take_newton_step(item, x);
                v = judged_again(item, x);
                ++taken;
            }
        }
        return taken;
    }

    probe_verdict judged_again(int item, device_matrix<E> x)
    {
        judge_inverse(item, x, 1);
        return read_verdicts(item, 1)[item];
    }

    void set(int item, unsigned state)
    {
        set_state<<<1, 1, 0, d_stream>>>(d_states + item, state);
        cuda_check_launch("symmetric_inverse: set_state");
    }

    //! X <- X + X (I - A X), the lower triangle.
    void take_newton_step(int item, device_matrix<E> all)
    {
        if constexpr (std::is_same_v<E, W>) {
            const auto x = single(item_of(all, item));
            const auto r = single(item_of(d_work, item));
            d_own->steps.begin(
                *d_own->blas, d_stream, r, 1, d_states + item, n, [](double) {});
            set_identity<W><<<tiles_of(n, n), tile_block(), 0, d_stream>>>(r, n);
            cuda_check_launch("symmetric_inverse: set_identity");
            using as = cuda_blas::as;
            d_own->steps.multiply(-1,
                                  single(item_of(d_kept, item)),
                                  as::stored,
                                  x,
                                  as::stored,
                                  1,
                                  r,
                                  n,
                                  n,
                                  n);
            copy_matrix<E, W>
                <<<tiles_of(n, n), tile_block(), 0, d_stream>>>(constant(x), n, d_spare);
            cuda_check_launch("symmetric_inverse: copy_matrix");
            d_own->steps.multiply(1, d_spare, as::stored, r, as::stored, 1, x, n, n, n);
            both<E, E>(constant(x), n, x, 1, false, d_states + item, 1);
        }
    }

    //! By LU factors with partial pivoting; false where a pivot is zero.
    bool invert_by_factors(int item, device_matrix<E> all)
    {
        const auto x = single(item_of(all, item));
        const auto factors = single(item_of(d_work, item));
        copy_matrix<E, W><<<tiles_of(n, n), tile_block(), 0, d_stream>>>(
            constant(single(item_of(d_kept, item))), n, factors);
        cuda_check_launch("symmetric_inverse: copy_matrix");
        set_identity<W><<<tiles_of(n, n), tile_block(), 0, d_stream>>>(d_spare, n);
        cuda_check_launch("symmetric_inverse: set_identity");
        d_own->solver->template invert<W>(
            factors.data, n, m, d_spare.data, d_solver_space, d_pivots, d_info, d_stream);
        both<W, E>(constant(d_spare), n, x, 1, false, d_states + item, 1);
        int info = 0;
        cuda_check(
            cudaMemcpyAsync(&info, d_info, sizeof info, cudaMemcpyDeviceToHost, d_stream),
            "cudaMemcpyAsync");
        cuda_check(cudaStreamSynchronize(d_stream), "symmetric_inverse: getrf");
        return info == 0;
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

    template <typename Item>
    static device_matrix<const Item> constant(device_matrix<Item> a)
    {
        return { a.data, a.stride, a.to_next };
    }
    template <typename Item>
    static device_matrix<Item> item_of(device_matrix<Item> a, int item)
    {
        return { a.data + item * a.to_next, a.stride, a.to_next };
    }
    template <typename Item>
    static device_matrix<Item> single(device_matrix<Item> a)
    {
        return { a.data, a.stride, 0 };
    }

    const parameters d_parameters;
    const int d_device;
    const int n;
    const int m; //!< n, rounded up
    const bool d_positive;
    const bool d_small;  //!< a thread block a matrix
    const bool d_many;   //!< one launch for all matrices of a batch
    const int d_at_once; //!< matrices of a batch
    std::unique_ptr<owned> d_own;
    size_t d_solver_elements = 0;

    cudaStream_t d_stream = nullptr;
    double d_told = 0, d_share = 1;

    unsigned* d_states = nullptr;
    unsigned long long* d_largest = nullptr;
    probe_space<E> d_probes = {};
    device_matrix<E> d_kept = {};
    device_matrix<W> d_work = {};
    device_matrix<W> d_spare = {};
    unsigned char* d_blas_space = nullptr;
    int* d_pivots = nullptr;
    int* d_info = nullptr;
    W* d_solver_space = nullptr;
};

} // namespace

template <typename T>
std::unique_ptr<symmetric_inverse<T>>
make_symmetric_blocked_cuda(const typename symmetric_inverse<T>::parameters& p,
                            int device)
{
    using E = typename device_element<T>::type;
    cuda_device_scope scope(device);
    if constexpr (!std::is_same_v<E, wide_of<E>>) {
        int ratio = 0;
        cuda_check(cudaDeviceGetAttribute(
                       &ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, device),
                   "cudaDeviceGetAttribute");
        if (ratio <= 2) {
            return std::make_unique<symmetric_blocked_cuda<T, wide_of<E>>>(p, device);
        }
    }
    return std::make_unique<symmetric_blocked_cuda<T, E>>(p, device);
}

#define CUDAPHY_INSTANTIATE(T)                                                     \
    template std::unique_ptr<symmetric_inverse<T>> make_symmetric_blocked_cuda<T>( \
        const typename symmetric_inverse<T>::parameters&, int);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
CUDAPHY_INSTANTIATE(complex64)
CUDAPHY_INSTANTIATE(complex128)

} // namespace gr::cudaphy::kernels
