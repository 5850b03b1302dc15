/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"
#include "kernels/linalg/inverse_makers.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linalg/inverse_cpu.cc"
#include <hwy/foreach_target.h>

#include "kernels/linalg/inverse_lanes-inl.h"
#include <algorithm>
#include <hwy/aligned_allocator.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

//! The inverse of the permuted matrix, unpermuted by the place to which an element goes:
//! (P A Q)^-1 = Q^-1 A^-1 P^-1, so rows go where A's columns came from, and columns where
//! its rows came from.
template <typename T>
void store_unpermuted(const T* from, T* to, int n, const int32_t* pivots, size_t lanes)
{
    int32_t row_of[inverse<T>::max_order];
    int32_t column_of[inverse<T>::max_order];
    for (int k = 0; k < n; ++k) {
        row_of[k] = column_of[k] = k;
    }
    for (int k = 0; k < n; ++k) {
        const int32_t pivot = pivots[k * lanes];
        std::swap(row_of[k], row_of[pivot >> inverse_pivot_old::column_bits]);
        std::swap(column_of[k], column_of[pivot & inverse_pivot_old::column_mask]);
    }
    for (int r = 0; r < n; ++r) {
        T* row = to + column_of[r] * n;
        for (int c = 0; c < n; ++c) {
            row[row_of[c]] = from[r * n + c];
        }
    }
}

template <typename T>
void invert_part(const T* a, T* x, int* status, size_t batch, int n, bool partial)
{
    constexpr int parts = sizeof(T) / sizeof(float);
    const df d;
    const size_t lanes = hn::Lanes(d);
    const size_t elements = size_t(n) * n;
    const size_t floats = parts * elements;
    const size_t row = parts * n;
    const size_t row_in_tile = row_floats<parts>(n);

    // The matrices with the lane as the last index, and after that as they came.
    thread_local hwy::AlignedFreeUniquePtr<float[]> memory;
    thread_local size_t allocated = 0;
    if (allocated < (n * row_in_tile + floats) * lanes) {
        allocated = (n * row_in_tile + floats) * lanes;
        memory = hwy::AllocateAligned<float>(allocated);
    }
    float* tile = memory.get();
    float* rows = tile + n * row_in_tile * lanes;
    HWY_ALIGN int32_t pivots[inverse<T>::max_order * max_lanes];
    HWY_ALIGN int32_t states[max_lanes];
    const float* sources[max_lanes];
    float* targets[max_lanes];
    for (size_t lane = 0; lane < lanes; ++lane) {
        targets[lane] = rows + lane * floats;
    }

    for (size_t first = 0; first < batch; first += lanes) {
        const size_t count = std::min(lanes, batch - first);
        for (size_t lane = 0; lane < lanes; ++lane) {
            // Lanes beyond the batch repeat its last matrix.
            sources[lane] = reinterpret_cast<const float*>(
                a + (first + std::min(lane, count - 1)) * elements);
        }
        load_lanes(sources, n, row, row_in_tile, tile);
        invert_tile<parts>(tile, n, partial, pivots, states);
        store_lanes(tile, n, row, row_in_tile, targets);
        for (size_t lane = 0; lane < count; ++lane) {
            T* to = x + (first + lane) * elements;
            status[first + lane] = states[lane];
            if (states[lane] == 0) {
                store_unpermuted(reinterpret_cast<const T*>(targets[lane]),
                                 to,
                                 n,
                                 pivots + lane,
                                 lanes);
            } else {
                std::fill_n(to, elements, T(0));
            }
        }
    }
}

} // namespace

void invert_float(
    const float* a, float* x, int* status, size_t batch, int n, bool partial)
{
    invert_part(a, x, status, batch, n, partial);
}

void invert_complex(
    const complex64* a, complex64* x, int* status, size_t batch, int n, bool partial)
{
    invert_part(a, x, status, batch, n, partial);
}

} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(invert_float);
HWY_EXPORT(invert_complex);

void invert(const float* a, float* x, int* status, size_t batch, int n, bool partial)
{
    HWY_DYNAMIC_DISPATCH(invert_float)(a, x, status, batch, n, partial);
}

void invert(
    const complex64* a, complex64* x, int* status, size_t batch, int n, bool partial)
{
    HWY_DYNAMIC_DISPATCH(invert_complex)(a, x, status, batch, n, partial);
}

template <typename T>
class inverse_cpu : public inverse<T>
{
public:
    explicit inverse_cpu(const typename inverse<T>::parameters& p) : d_parameters(p) {}

    using inverse<T>::run;
    size_t workspace_bytes(size_t) const override { return 0; }
    void run(view<const T> a, const typename inverse<T>::results& out, view<unsigned char> workspace, queue& queue) override
    {
        const view<T> x = out.x;
        const view<int> status = out.status;
        const int n = d_parameters.order;
        const bool partial = d_parameters.pivot == pivoting::partial;
        const size_t batch =
            inverse_batch(*this, n, a, out, workspace, queue, backend::cpu);

        const size_t elements = size_t(n) * n;
        // Some 32 KB a piece, in whole vectors of the widest instruction set.
        constexpr size_t widest = 16;
        const size_t grain = widest * std::max<size_t>(1, 256 / elements);
        if constexpr (std::is_same_v<typename inverse<T>::real, float>) for_each_part(batch, grain, [&](size_t first, size_t last) {
            invert(a.data() + first * elements,
                   x.data() + first * elements,
                   status.data() + first,
                   last - first,
                   n,
                   partial);
        });
    }

private:
    typename inverse<T>::parameters d_parameters;
};

} // namespace

template <typename T>
std::unique_ptr<inverse<T>> make_inverse_cpu(const typename inverse<T>::parameters& p)
{
    return std::make_unique<inverse_cpu<T>>(p);
}

template std::unique_ptr<inverse<double>>
make_inverse_cpu<double>(const inverse<double>::parameters&);
template std::unique_ptr<inverse<complex128>>
make_inverse_cpu<complex128>(const inverse<complex128>::parameters&);
template std::unique_ptr<inverse<float>>
make_inverse_cpu<float>(const inverse<float>::parameters&);
template std::unique_ptr<inverse<complex64>>
make_inverse_cpu<complex64>(const inverse<complex64>::parameters&);

} // namespace gr::cudaphy::kernels
#endif
