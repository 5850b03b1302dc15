/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/mimo/soft_demapper_makers.h"
#include "kernels/mimo/soft_demapper_tables.h"
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <limits>
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
LANE_FUNCTION bool AnyTrue(one_lane, bool a) { return a; }

LANE_FUNCTION float Sqrt(float a) { return __fsqrt_rn(a); }
LANE_FUNCTION float MulAdd(float a, float b, float c) { return __fmaf_rn(a, b, c); }
LANE_FUNCTION float NegMulAdd(float a, float b, float c) { return __fmaf_rn(-a, b, c); }

constexpr int least_shared_bits = 2;

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

LANE_FUNCTION float NotSubnormal(one_lane, float x) { return x; }

[[maybe_unused]] LANE_FUNCTION float LogarithmOfOneAnd(one_lane d, float e)
{
    return Logarithm(d, 1.0f + e);
}

template <typename Other>
LANE_FUNCTION float WhereNot(bool yes, float a, const Other& other)
{
    return yes ? a : other();
}

#include "kernels/mimo/soft_demapper_lanes-inl.h"

//! A multiple of 32 and of the bits of a symbol.
template <int Bits>
constexpr int block_symbols = Bits % 3 == 0   ? 192
                              : Bits % 5 == 0 ? 320
                              : Bits % 7 == 0 ? 224
                                              : 256;

// 8 + 4 bytes in and 4 a bit out, 44 for 256-QAM. At 4.2 TB/s a quarter of a
// multiprocessor has 310 cycles for a warp's symbols, in which it can issue 310
// operations, but only 155 that compare, select or compute addresses (of these the axes
// take about 50 where they fold), and only 39 powers and logarithms. A thread asks for
// the symbols of its tiles before it works on the first: with one alone, too little is on
// its way from memory. The points are a kernel parameter, so that each
// stands in the instruction as a constant operand. LLRs go through shared memory, whose
// rows hold one bit, so that whole warps write whole lines; `row` puts the bits of the
// symbols that a warp reads into different banks.
struct as_float32 {
    using type = float;
};
struct as_float16 {
    using type = __half;
    static __device__ __half of(float llr, float)
    {
        return __float2half_rn(fminf(fmaxf(llr, -65504.0f), 65504.0f));
    }
};
struct as_int8 {
    using type = signed char;
    static __device__ signed char of(float llr, float steps)
    {
        return static_cast<signed char>(
            __float2int_rn(fminf(fmaxf(llr * steps, -127.0f), 127.0f)));
    }
};

template <typename Number, bool MaxLog, int Bits, bool Turns, int Tiles, typename Table>
__global__ void __launch_bounds__(block_symbols<Bits>)
    soft_demapper_kernel(const __grid_constant__ Table table,
                         const float2* __restrict__ x,
                         const float* __restrict__ noise,
                         int noise_step,
                         typename Number::type* __restrict__ llr,
                         size_t symbols,
                         float sign,
                         float steps)
{
    using number = typename Number::type;
    constexpr int threads = block_symbols<Bits>;
    constexpr int row = threads + (32 + Bits - 1) / Bits;
    // Short numbers stand here as they will there, to leave by words.
    constexpr bool is_short = sizeof(number) < sizeof(float);
    constexpr int words = threads * Bits * int(sizeof(number)) / 4;
    __shared__ unsigned kept[is_short ? words : Bits * row];
    float* const by_bit = reinterpret_cast<float*>(kept);
    number* const by_symbol = reinterpret_cast<number*>(kept);

    const size_t begin = size_t{ blockIdx.x } * (threads * Tiles);
    float2 symbol[Tiles];
    float variance[Tiles];
    LANE_UNROLL
    for (int tile = 0; tile < Tiles; ++tile) {
        const size_t i = begin + tile * threads + threadIdx.x;
        if (i < symbols) {
            symbol[tile] = x[i];
            variance[tile] = noise[i * noise_step];
        }
    }
    LANE_UNROLL
    for (int tile = 0; tile < Tiles; ++tile) {
        const size_t first = begin + tile * threads;
        if (first >= symbols) {
            return;
        }
        if (tile > 0) {
            __syncthreads();
        }
        if (first + threadIdx.x < symbols) {
            float of_bit[Bits];
            demap<MaxLog, Bits>(one_lane{},
                                table,
                                symbol[tile].x,
                                symbol[tile].y,
                                variance[tile],
                                sign,
                                of_bit);
            LANE_UNROLL
            for (int bit = 0; bit < Bits; ++bit) {
                int place = bit;
                if constexpr (Turns) {
                    place = bit % (Bits / 2) * 2 + bit / (Bits / 2);
                } else if constexpr (std::is_same_v<Table, square_table>) {
                    place = table.place[bit];
                }
                if constexpr (is_short) {
                    by_symbol[threadIdx.x * Bits + place] =
                        Number::of(of_bit[bit], steps);
                } else {
                    by_bit[place * row + threadIdx.x] = of_bit[bit];
                }
            }
        }
        __syncthreads();

        const size_t left = symbols - first;
        number* const to = llr + first * Bits;
        if constexpr (is_short) {
            if (left >= threads && reinterpret_cast<uintptr_t>(to) % 4 == 0) {
                LANE_UNROLL
                for (int at = threadIdx.x; at < words; at += threads) {
                    reinterpret_cast<unsigned*>(to)[at] = kept[at];
                }
            } else {
                const int count = Bits * int(left < threads ? left : threads);
                LANE_ROLLED
                for (int at = threadIdx.x; at < count; at += threads) {
                    to[at] = by_symbol[at];
                }
            }
        } else {
            // From one pass to the next the bit stays the same, and the symbol moves on
            // by so many.
            constexpr int step = threads / Bits;
            const float* const from =
                by_bit + threadIdx.x % Bits * row + threadIdx.x / Bits;
            number* const out = to + threadIdx.x;
            if (left >= threads) {
                LANE_UNROLL
                for (int pass = 0; pass < Bits; ++pass) {
                    out[pass * threads] = from[pass * step];
                }
            } else {
                const int count = Bits * int(left) - int(threadIdx.x);
                LANE_ROLLED
                for (int pass = 0; pass * threads < count; ++pass) {
                    out[pass * threads] = from[pass * step];
                }
            }
        }
    }
}

#include "kernels/mimo/soft_demapper_short.cuh"

struct run_arguments {
    const float2* x;
    const float* noise;
    int noise_step; //!< 0 where one serves all
    void* llr;
    size_t symbols;
    float sign, steps;
    cudaStream_t stream;
};

//! Turns: bits of I and Q stand in turns in a label.
template <typename Number, bool MaxLog, int Bits, bool Turns, typename Table>
void launch_long(const Table& table, const run_arguments& run)
{
    constexpr int threads = block_symbols<Bits>;
    constexpr int tiles = MaxLog || Bits <= 4 ? 2 : 1;
    const size_t blocks = (run.symbols + threads * tiles - 1) / (threads * tiles);
    soft_demapper_kernel<Number, MaxLog, Bits, Turns, tiles>
        <<<unsigned(blocks), threads, 0, run.stream>>>(
            table,
            run.x,
            run.noise,
            run.noise_step,
            static_cast<typename Number::type*>(run.llr),
            run.symbols,
            run.sign,
            run.steps);
    cuda_check_launch("soft_demapper_kernel");
}

inline bool divides_16(const void* address)
{
    return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

template <typename Number, bool MaxLog, int Bits, bool Turns, typename Table>
void launch_short(const Table& table, const run_arguments& run)
{
    constexpr int together = short_run<Number, Bits>::symbols;
    constexpr int runs = short_symbols / together;
    const auto kernel = short_demapper_kernel<Number, MaxLog, Bits, Turns, runs, Table>;
    constexpr size_t symbols = size_t{ short_threads } * short_symbols;
    kernel<<<unsigned((run.symbols + symbols - 1) / symbols),
             short_threads,
             0,
             run.stream>>>(table,
                           run.x,
                           run.noise,
                           run.noise_step,
                           static_cast<typename Number::type*>(run.llr),
                           run.symbols,
                           run.sign,
                           run.steps);
    cuda_check_launch("short_demapper_kernel");
}

template <typename Table>
bool is_in_order(const Table& table)
{
    if constexpr (std::is_same_v<Table, square_table>) {
        return table.turns || table.halves;
    }
    return true;
}

template <typename Number, bool MaxLog, int Bits, typename Table>
void launch(const Table& table, const run_arguments& run)
{
    if constexpr (MaxLog && sizeof(typename Number::type) < sizeof(float)) {
        if (is_in_order(table) && divides_16(run.x) && divides_16(run.noise) &&
            divides_16(run.llr)) {
            if constexpr (std::is_same_v<Table, square_table>) {
                if (table.turns) {
                    return launch_short<Number, MaxLog, Bits, true>(table, run);
                }
            }
            return launch_short<Number, MaxLog, Bits, false>(table, run);
        }
    }
    if constexpr (sizeof(typename Number::type) == sizeof(float) &&
                  std::is_same_v<Table, square_table>) {
        if (table.turns) {
            return launch_long<Number, MaxLog, Bits, true>(table, run);
        }
    }
    launch_long<Number, MaxLog, Bits, false>(table, run);
}

template <typename Number, bool MaxLog>
void launch_square(int bits, const square_table& table, const run_arguments& run)
{
    switch (bits) {
    case 2:
        return launch<Number, MaxLog, 2>(table, run);
    case 4:
        return launch<Number, MaxLog, 4>(table, run);
    case 6:
        return launch<Number, MaxLog, 6>(table, run);
    case 8:
        return launch<Number, MaxLog, 8>(table, run);
    default:
        return launch<Number, MaxLog, 10>(table, run);
    }
}

template <typename Number, bool MaxLog>
void launch_plane(const constellation& c, const run_arguments& run)
{
    switch (c.bits) {
    case 1:
        return launch<Number, MaxLog, 1>(make_plane_table<2>(c), run);
    case 2:
        return launch<Number, MaxLog, 2>(make_plane_table<4>(c), run);
    case 3:
        return launch<Number, MaxLog, 3>(make_plane_table<8>(c), run);
    case 4:
        return launch<Number, MaxLog, 4>(make_plane_table<16>(c), run);
    case 5:
        return launch<Number, MaxLog, 5>(make_plane_table<32>(c), run);
    case 6:
        return launch<Number, MaxLog, 6>(make_plane_table<64>(c), run);
    case 7:
        return launch<Number, MaxLog, 7>(make_plane_table<128>(c), run);
    default:
        return launch<Number, MaxLog, 8>(make_plane_table<256>(c), run);
    }
}

class soft_demapper_cuda : public soft_demapper
{
public:
    soft_demapper_cuda(const parameters& p, int device)
        : d_p(p), d_square(make_square_table(p.points, p.llr_positive ? -1.0f : 1.0f)),
          d_device(device)
    {
    }

    void run(view<const complex64> x,
             view<const float> noise,
             view<float> llr,
             queue& queue) override
    {
        demap<as_float32>(x, noise, llr.data(), llr.size(), queue);
    }
    void run(view<const complex64> x,
             view<const float> noise,
             view<float16> llr,
             queue& queue) override
    {
        demap<as_float16>(x, noise, llr.data(), llr.size(), queue);
    }
    void run(view<const complex64> x,
             view<const float> noise,
             view<int8_t> llr,
             queue& queue) override
    {
        demap<as_int8>(x, noise, llr.data(), llr.size(), queue);
    }

private:
    template <typename Number>
    void demap(view<const complex64> x,
               view<const float> noise,
               void* llr,
               size_t llrs,
               queue& queue) const
    {
        check_soft_demapper_sizes(d_p.points.bits, x, noise, llrs);
        if (x.empty()) {
            return;
        }
        cuda_device_scope scope(d_device);
        const run_arguments arguments{ reinterpret_cast<const float2*>(x.data()),
                                       noise.data(),
                                       noise.size() == x.size() ? 1 : 0,
                                       llr,
                                       x.size(),
                                       d_p.llr_positive ? -1.0f : 1.0f,
                                       d_p.llr_steps,
                                       stream_of(queue) };
        if (d_square && d_p.max_log) {
            launch_square<Number, true>(d_p.points.bits, *d_square, arguments);
        } else if (d_square) {
            launch_square<Number, false>(d_p.points.bits, *d_square, arguments);
        } else if (d_p.max_log) {
            launch_plane<Number, true>(d_p.points, arguments);
        } else {
            launch_plane<Number, false>(d_p.points, arguments);
        }
    }

    const parameters d_p;
    const std::optional<square_table> d_square;
    const int d_device;
};

} // namespace

std::unique_ptr<soft_demapper> make_soft_demapper_cuda(const soft_demapper::parameters& p,
                                                       int device)
{
    return std::make_unique<soft_demapper_cuda>(p, device);
}

} // namespace gr::cudaphy::kernels
