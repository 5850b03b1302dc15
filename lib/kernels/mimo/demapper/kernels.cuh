/* SPDX-License-Identifier: GPL-3.0-or-later */
// The demapper's kernels for every type of LLR. Each cuda_<type>.cu compiles one type, so
// that no object takes minutes.
#pragma once

#include "kernels/common/cuda_check.cuh"
#include "kernels/mimo/demapper/cuda_job.cuh"
#include "kernels/mimo/demapper/makers.h"
#include "kernels/mimo/tuning.cuh"
#include <algorithm>
#include <cuda_fp16.h>
#include <type_traits>

#define LANE_FUNCTION __device__ __forceinline__
#define LANE_UNROLL _Pragma("unroll 16")
#define LANE_ROLLED _Pragma("unroll 1")
#define LANE_LAMBDA
#define LANE_RARE_FUNCTION LANE_FUNCTION

namespace gr::cudaphy::kernels {
namespace {

//! A thread is a vector of one lane.
struct one_lane {
};

LANE_FUNCTION float Set(one_lane, float value) { return value; }
LANE_FUNCTION float Abs(float a) { return fabsf(a); }
LANE_FUNCTION float Min(float a, float b) { return fminf(a, b); }
LANE_FUNCTION float Max(float a, float b) { return fmaxf(a, b); }
LANE_FUNCTION float CopySign(float size, float sign) { return copysignf(size, sign); }
LANE_FUNCTION bool Lt(float a, float b) { return a < b; }
LANE_FUNCTION bool Gt(float a, float b) { return a > b; }
LANE_FUNCTION bool And(bool a, bool b) { return a && b; }
LANE_FUNCTION float IfThenElseZero(bool yes, float a) { return yes ? a : 0.0f; }
LANE_FUNCTION float IfThenElse(bool yes, float a, float b) { return yes ? a : b; }
LANE_FUNCTION bool AllTrue(one_lane, bool a) { return a; }

LANE_FUNCTION float Sqrt(float a) { return __fsqrt_rn(a); }
LANE_FUNCTION float MulAdd(float a, float b, float c) { return __fmaf_rn(a, b, c); }
LANE_FUNCTION float NegMulAdd(float a, float b, float c) { return __fmaf_rn(-a, b, c); }

constexpr int least_shared_bits = 2;
constexpr bool lone_levels_pay = false;

// Single instructions, off by 2^-22, which flush subnormal numbers.
LANE_FUNCTION float Power(one_lane, float x)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}
LANE_FUNCTION float Reciprocal(one_lane, float x)
{
    float reciprocal;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(x));
    return reciprocal;
}
LANE_FUNCTION float Logarithm(one_lane, float x)
{
    float log;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log) : "f"(x));
    return log;
}

LANE_FUNCTION float NotTiny(one_lane, float x) { return x; }

[[maybe_unused]] LANE_FUNCTION float LogarithmOfOneAnd(one_lane d, float e)
{
    return Logarithm(d, 1.0f + e);
}

template <typename Other>
LANE_FUNCTION float WhereNot(bool yes, float a, const Other& other)
{
    return yes ? a : other();
}

#include "kernels/mimo/demapper/lanes-inl.h"

using tuning = mimo_tuning::demapper;

template <int Bits>
constexpr int block_symbols = tuning::any_threads(Bits);

LANE_FUNCTION float held(float llr, float largest)
{
    return fminf(fmaxf(llr, -largest), largest);
}

// How LLRs leave: of `llr`, within `largest` already, times `steps`.
struct as_float32 {
    using type = float;
    static float largest(float) { return largest_llr; }
    static __device__ float of(float llr, float) { return llr; }
};
struct as_float16 {
    using type = __half;
    static float largest(float) { return 65504.0f; }
    static __device__ __half of(float llr, float) { return __float2half_rn(llr); }
};
struct as_int8 {
    using type = signed char;
    // Times `steps` it is 127 but for its rounding.
    static float largest(float steps) { return std::min(127.0f / steps, largest_llr); }
    static __device__ signed char of(float llr, float steps)
    {
        return static_cast<signed char>(__float2int_rn(llr * steps));
    }
};

//! Writes the LLRs of a frame's symbol to the frame's columns. Neighbours in a warp write
//! neighbours.
template <typename Number, int Bits>
__device__ __forceinline__ void to_columns(const float* by_place,
                                           size_t frame,
                                           unsigned row,
                                           const demapper_cuda_job& run)
{
    auto* const to =
        static_cast<typename Number::type*>(run.llr) + frame * run.frame_bits;
    LANE_UNROLL
    for (int bit = 0; bit < Bits; ++bit) {
        const unsigned place = run.column[bit] * run.rows + row;
        if (place < run.frame_bits) {
            to[place] = Number::of(held(by_place[bit], run.largest), run.steps);
        }
    }
}

// One number at a time, at any address and in any order of bits. LLRs go through shared
// memory, whose rows hold one bit, so that whole warps write whole lines; `row` puts the
// bits of the symbols that a warp reads into different banks. With an interleaver a block
// has symbols of one frame, whose LLRs the shared memory only puts in order.
template <typename Number, bool MaxLog, int Bits, typename Table>
__global__ void __launch_bounds__(block_symbols<Bits>)
    demapper_of_any(const __grid_constant__ Table table, const demapper_cuda_job run)
{
    using number = typename Number::type;
    constexpr int threads = block_symbols<Bits>;
    constexpr int row = threads + (32 + Bits - 1) / Bits;
    __shared__ float by_bit[Bits * row];

    const unsigned blocks_a_frame =
        run.rows ? (run.rows + threads - 1) / threads : gridDim.x;
    const unsigned frame = blockIdx.x / blocks_a_frame;
    const size_t first_row = size_t{ blockIdx.x % blocks_a_frame } * threads;
    const size_t first = size_t{ frame } * run.rows + first_row;
    const size_t left = (run.rows ? run.rows : run.symbols) - first_row;
    const size_t i = first + threadIdx.x;
    if (threadIdx.x < left) {
        float of_bit[Bits];
        const float2 symbol = run.x[i];
        demap<MaxLog, Bits>(one_lane{},
                            table,
                            symbol.x,
                            symbol.y,
                            run.noise_step ? run.noise[i] : variance_of_all(run),
                            run.sign,
                            run.largest,
                            of_bit);
        LANE_UNROLL
        for (int bit = 0; bit < Bits; ++bit) {
            int place = bit;
            if constexpr (std::is_base_of_v<placed_table, Table>) {
                place = table.place[bit];
            }
            by_bit[place * row + threadIdx.x] = of_bit[bit];
        }
    }
    if (run.rows) {
        if (threadIdx.x < left) {
            float by_place[Bits];
            LANE_UNROLL
            for (int bit = 0; bit < Bits; ++bit) {
                by_place[bit] = by_bit[bit * row + threadIdx.x]; // its own
            }
            to_columns<Number, Bits>(
                by_place, frame, unsigned(first_row) + threadIdx.x, run);
        }
        return;
    }
    __syncthreads();

    // From one pass to the next the bit stays the same, and the symbol moves on by so
    // many.
    constexpr int step = threads / Bits;
    const float* const from = by_bit + threadIdx.x % Bits * row + threadIdx.x / Bits;
    number* const to = static_cast<number*>(run.llr) + first * Bits + threadIdx.x;
    const int count =
        Bits * int(left < threads ? left : size_t{ threads }) - int(threadIdx.x);
    LANE_UNROLL
    for (int pass = 0; pass < Bits; ++pass) {
        if (pass * threads < count) {
            to[pass * threads] =
                Number::of(held(from[pass * step], run.largest), run.steps);
        }
    }
}

#include "kernels/mimo/demapper/runs.cuh"

template <typename Number, bool MaxLog, int Bits, typename Table>
void launch_any(const Table& table, const demapper_cuda_job& run, cudaStream_t stream)
{
    constexpr size_t threads = block_symbols<Bits>;
    const size_t rows = run.rows ? run.rows : run.symbols;
    const size_t blocks = (rows + threads - 1) / threads * (run.symbols / rows);
    demapper_of_any<Number, MaxLog, Bits>
        <<<unsigned(blocks), unsigned(threads), 0, stream>>>(table, run);
    cuda_check_launch("demapper_of_any");
}

inline bool divides_16(const void* address)
{
    return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

//! Turns: bits of I and Q stand in turns in a label.
template <typename Number, bool MaxLog, int Bits, bool Turns, typename Table>
void launch_runs(Table table, const demapper_cuda_job& run, cudaStream_t stream)
{
    constexpr int together = run_shape<Number, Bits>::together;
    constexpr int under_way =
        tuning::symbols_under_way(MaxLog, sizeof(typename Number::type));
    constexpr int runs = std::max(1, under_way / together);
    constexpr size_t symbols = size_t{ run_threads } * runs * together;
    if constexpr (in_steps<Number, MaxLog, Table>) {
        for (auto& axis : table.axis) {
            for (int bit = 0; bit < axis_table::most_bits; ++bit) {
                axis.above[bit] *= run.steps;
            }
        }
    }
    demapper_of_runs<Number, MaxLog, Bits, Turns, runs>
        <<<unsigned((run.symbols + symbols - 1) / symbols), run_threads, 0, stream>>>(
            table, run);
    cuda_check_launch("demapper_of_runs");
}

template <typename Number, bool MaxLog, int Bits, typename Table>
void launch(const Table& table, const demapper_cuda_job& run, cudaStream_t stream)
{
    const bool in_runs = run.rows == 0 && divides_16(run.x) && divides_16(run.llr) &&
                         (run.noise_step == 0 || divides_16(run.noise));
    if constexpr (std::is_same_v<Table, gray_table>) {
        if (in_runs && table.turns) {
            return launch_runs<Number, MaxLog, Bits, true>(table, run, stream);
        }
        if (in_runs && table.halves) {
            return launch_runs<Number, MaxLog, Bits, false>(table, run, stream);
        }
    } else if constexpr (!std::is_base_of_v<placed_table, Table>) {
        if (in_runs) {
            return launch_runs<Number, MaxLog, Bits, false>(table, run, stream);
        }
    }
    launch_any<Number, MaxLog, Bits>(table, run, stream);
}

template <typename Number, bool MaxLog, typename Table>
void launch_square(int bits,
                   const Table& table,
                   const demapper_cuda_job& run,
                   cudaStream_t stream)
{
    switch (bits) {
    case 2:
        return launch<Number, MaxLog, 2>(table, run, stream);
    case 4:
        return launch<Number, MaxLog, 4>(table, run, stream);
    case 6:
        return launch<Number, MaxLog, 6>(table, run, stream);
    case 8:
        return launch<Number, MaxLog, 8>(table, run, stream);
    default:
        return launch<Number, MaxLog, 10>(table, run, stream);
    }
}

template <typename Number, bool MaxLog>
void launch_plane(const constellation& c,
                  const demapper_cuda_job& run,
                  cudaStream_t stream)
{
    switch (c.bits) {
    case 1:
        return launch<Number, MaxLog, 1>(make_plane_table<2>(c), run, stream);
    case 2:
        return launch<Number, MaxLog, 2>(make_plane_table<4>(c), run, stream);
    case 3:
        if (const auto octant = make_octant_table(c, run.sign)) {
            return launch<Number, MaxLog, 3>(*octant, run, stream);
        }
        return launch<Number, MaxLog, 3>(make_plane_table<8>(c), run, stream);
    case 4:
        return launch<Number, MaxLog, 4>(make_plane_table<16>(c), run, stream);
    case 5:
        return launch<Number, MaxLog, 5>(make_plane_table<32>(c), run, stream);
    case 6:
        return launch<Number, MaxLog, 6>(make_plane_table<64>(c), run, stream);
    case 7:
        return launch<Number, MaxLog, 7>(make_plane_table<128>(c), run, stream);
    default:
        return launch<Number, MaxLog, 8>(make_plane_table<256>(c), run, stream);
    }
}

//! Max-log LLRs by a quarter of the points, or by rings and angles. Whether there was
//! such a structure.
template <typename Number>
bool launch_mirrored(const demapper_points& from,
                     const demapper_cuda_job& job,
                     cudaStream_t stream)
{
    const int bits = from.points.bits;
    if (from.rings && bits == 6) {
        launch<Number, true, 6>(*from.rings, job, stream);
    } else if (from.rings) {
        launch<Number, true, 8>(*from.rings, job, stream);
    } else if (from.mirror && bits == 6) {
        launch<Number, true, 6>(*from.mirror, job, stream);
    } else if (from.mirror && bits == 7) {
        launch<Number, true, 7>(*from.mirror, job, stream);
    } else if (from.mirror && bits == 8) {
        launch<Number, true, 8>(*from.mirror, job, stream);
    } else {
        return false;
    }
    return true;
}

template <typename Number, bool MaxLog>
void launch(const demapper_points& from,
            const demapper_cuda_job& job,
            cudaStream_t stream)
{
    const int bits = from.points.bits;
    if (from.square && from.square->gray) {
        launch_square<Number, MaxLog>(bits, gray_table{ *from.square }, job, stream);
    } else if (from.square) {
        launch_square<Number, MaxLog>(bits, *from.square, job, stream);
    } else if (!MaxLog || !launch_mirrored<Number>(from, job, stream)) {
        launch_plane<Number, MaxLog>(from.points, job, stream);
    }
}

//! One type's kernels: every table and every number of bits, max-log and exact.
template <typename Number>
void launch_type(const demapper_points& from, demapper_cuda_job job, cudaStream_t stream)
{
    job.largest = Number::largest(job.steps);
    if (from.max_log) {
        launch<Number, true>(from, job, stream);
    } else {
        launch<Number, false>(from, job, stream);
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
