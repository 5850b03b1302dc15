/* SPDX-License-Identifier: GPL-3.0-or-later */
// LLRs where symbols and LLRs lie at addresses that 16 divides. Each cuda_<type>.cu
// compiles one type.
#pragma once

#include "kernels/common/cuda_check.cuh"
#include "kernels/mimo/demapper/kernels.cuh"

namespace gr::cudaphy::kernels {
namespace {

// 8 + 4 bytes in and 4 a bit out, 44 for 256-QAM. At 4.2 TB/s a quarter of a
// multiprocessor has 330 cycles for a warp's symbols, in which it can issue 330
// operations, but only 165 that compare, select or compute addresses, and only 41 powers
// and logarithms. So what is not arithmetic is done for several symbols at once: a thread
// takes `together` neighbours, as many as fill 4, 8 or 16 bytes of LLRs, which go out as
// they are, or a number of 16 bytes or an odd number of words, which meet no bank of
// shared memory twice; from the warp's rows there whole lines leave by 16 bytes. A thread
// asks for all its symbols before it works on the first one: with fewer, too little is on
// its way from memory. Nothing waits for more than its warp.
template <typename Number, int Bits>
struct run_shape {
    static constexpr int bytes = Bits * int(sizeof(typename Number::type));
    static constexpr int together = bytes % 16 == 0                ? bytes / 16
                                    : bytes % 8 == 0 || bytes == 4 ? 2
                                    : bytes % 4 == 0               ? 4
                                    : bytes % 2 == 0               ? 2
                                                                   : 4;
    static constexpr int words = together * bytes / 4;
    static constexpr bool is_short = sizeof(typename Number::type) < sizeof(float);
    static constexpr bool is_whole = words == 1 || words == 2 || words == 4;
    //! Words that move at once.
    static constexpr int wide = words % 4 == 0 ? 4 : words % 2 == 0 ? 2 : 1;
    //! 16 bytes of a row that would meet in a bank of shared memory, 1 if none do.
    static constexpr int sixteens = words == 8 || words == 16 ? words / 4 : 1;
};

template <int Words>
struct words_type;
template <>
struct words_type<1> {
    using type = unsigned;
};
template <>
struct words_type<2> {
    using type = uint2;
};
template <>
struct words_type<4> {
    using type = uint4;
};

//! Whether the signs of the table hold the steps of int8, too.
template <typename Number, bool MaxLog, typename Table>
constexpr bool in_steps =
    MaxLog&& std::is_same_v<Number, as_int8>&& std::is_same_v<Table, gray_table>;

//! Four int8, two float16 or one float of one word.
__device__ __forceinline__ unsigned word_of(as_int8, const float* llr, float steps)
{
    unsigned of[4];
    LANE_UNROLL
    for (int i = 0; i < 4; ++i) {
        // Rounded to the nearest, in the lowest byte.
        of[i] = __float_as_uint(llr[i] * steps + 0x1.8p23f);
    }
    return __byte_perm(
        __byte_perm(of[0], of[1], 0x0040), __byte_perm(of[2], of[3], 0x0040), 0x5410);
}
__device__ __forceinline__ unsigned word_of(as_float16, const float* llr, float)
{
    const __half2 both = __floats2half2_rn(llr[0], llr[1]);
    return reinterpret_cast<const unsigned&>(both);
}
__device__ __forceinline__ unsigned word_of(as_float32, const float* llr, float)
{
    return __float_as_uint(llr[0]);
}

//! Where part `part` of a thread's 16 bytes stands among those of its row, so that
//! neither rows nor lines meet a bank of shared memory twice.
template <int Many>
__device__ __forceinline__ int place_of(int row, int part)
{
    return part ^ (row * Many / 8 % Many);
}

constexpr int run_threads = tuning::run_threads;

//! x, noise and llr at addresses that 16 divides.
template <typename Number, bool MaxLog, int Bits, bool Turns, int Runs, typename Table>
__global__ void __launch_bounds__(run_threads)
    demapper_of_runs(const __grid_constant__ Table table, const demapper_cuda_job run)
{
    using shape = run_shape<Number, Bits>;
    using number = typename Number::type;
    const float2* __restrict__ const x = run.x;
    const float* __restrict__ const noise = run.noise;
    number* const llr = static_cast<number*>(run.llr);
    using wide = typename words_type<shape::wide>::type;
    constexpr int together = shape::together;
    constexpr int words = shape::words;
    constexpr int in_word = 4 / int(sizeof(number));
    constexpr int sixteens = 8 * Runs * words; // bytes, of a warp
    __shared__ uint4 kept[run_threads / 32 * sixteens];
    uint4* const rows = kept + threadIdx.x / 32 * sixteens;
    const int lane = threadIdx.x % 32;
    // The runs of a warp stand side by side.
    const size_t of_warp =
        (size_t{ blockIdx.x } * run_threads + threadIdx.x - lane) * (Runs * together);
    if (of_warp >= run.symbols) {
        return;
    }
    const float for_all = run.noise_step ? 0.0f : variance_of_all(run);
    const bool whole = of_warp + 32 * Runs * together <= run.symbols;
    float2 symbol[Runs][together];
    float variance[Runs][together];
    if (whole) {
        const float2* const from = x + of_warp + lane * together;
        LANE_UNROLL
        for (int i = 0; i < Runs; ++i) {
            if constexpr (together == 1) {
                symbol[i][0] = from[i * 32];
            } else {
                LANE_UNROLL
                for (int k = 0; k < together; k += 2) {
                    const float4 pair =
                        *reinterpret_cast<const float4*>(from + i * 32 * together + k);
                    symbol[i][k] = make_float2(pair.x, pair.y);
                    symbol[i][k + 1] = make_float2(pair.z, pair.w);
                }
            }
        }
        if (run.noise_step == 0) {
            LANE_UNROLL
            for (int i = 0; i < Runs; ++i) {
                LANE_UNROLL
                for (int k = 0; k < together; ++k) {
                    variance[i][k] = for_all;
                }
            }
        } else {
            LANE_UNROLL
            for (int i = 0; i < Runs; ++i) {
                using wide_noise = typename words_type<together>::type;
                const wide_noise all = *reinterpret_cast<const wide_noise*>(
                    noise + of_warp + (i * 32 + lane) * together);
                LANE_UNROLL
                for (int k = 0; k < together; ++k) {
                    variance[i][k] = reinterpret_cast<const float*>(&all)[k];
                }
            }
        }
    } else {
        LANE_UNROLL
        for (int i = 0; i < Runs; ++i) {
            LANE_UNROLL
            for (int k = 0; k < together; ++k) {
                const size_t at =
                    min(of_warp + (i * 32 + lane) * together + k, run.symbols - 1);
                symbol[i][k] = x[at];
                variance[i][k] = run.noise_step ? noise[at] : for_all;
            }
        }
    }
    LANE_UNROLL
    for (int i = 0; i < Runs; ++i) {
        float of_bit[together * Bits];
        LANE_UNROLL
        for (int k = 0; k < together; ++k) {
            float demapped[Bits];
            demap<MaxLog, Bits>(one_lane{},
                                table,
                                symbol[i][k].x,
                                symbol[i][k].y,
                                variance[i][k],
                                run.sign,
                                run.largest,
                                demapped);
            if constexpr (!MaxLog && shape::is_short) {
                LANE_UNROLL
                for (float& llr : demapped) {
                    llr = held(llr, run.largest);
                }
            }
            LANE_UNROLL
            for (int bit = 0; bit < Bits; ++bit) {
                of_bit[k * Bits + bit] =
                    demapped[Turns ? bit % 2 * (Bits / 2) + bit / 2 : bit];
            }
        }
        alignas(16) unsigned word[words];
        _Pragma("unroll") for (int w = 0; w < words; ++w)
        {
            word[w] = word_of(Number{},
                              of_bit + w * in_word,
                              in_steps<Number, MaxLog, Table> ? 1.0f : run.steps);
        }
        if (shape::is_whole && whole) {
            reinterpret_cast<wide*>(llr + of_warp * Bits)[i * 32 + lane] =
                reinterpret_cast<wide&>(word);
        } else {
            wide* const row =
                reinterpret_cast<wide*>(rows) + (i * 32 + lane) * (words / shape::wide);
            _Pragma("unroll") for (int w = 0; w < words; w += shape::wide)
            {
                const int part = w / shape::wide;
                row[place_of<shape::sixteens>(lane, part)] =
                    reinterpret_cast<wide&>(word[w]);
            }
        }
    }
    if (shape::is_whole && whole) {
        return;
    }
    __syncwarp();
    constexpr int many = shape::sixteens;
    if (whole) {
        uint4* const to = reinterpret_cast<uint4*>(llr + of_warp * Bits) + lane;
        const uint4* const from =
            rows + lane / many * many + place_of<many>(lane / many, lane % many);
        LANE_UNROLL
        for (int first = 0; first < sixteens; first += 32) {
            if (first + 32 <= sixteens || first + lane < sixteens) {
                to[first] = from[first];
            }
        }
    } else {
        constexpr int in_sixteen = 16 / int(sizeof(number));
        const int left = int(run.symbols - of_warp) * Bits;
        LANE_ROLLED
        for (int at = lane; at < left; at += 32) {
            const int sixteen = at / in_sixteen;
            const int place =
                sixteen / many * many + place_of<many>(sixteen / many, sixteen % many);
            llr[of_warp * Bits + at] =
                reinterpret_cast<const number*>(rows + place)[at % in_sixteen];
        }
    }
}

//! Whether the points have such a kernel. Placed LLRs pass through shared memory
//! anyway. Exact LLRs of 64 points and more take many times as long as memory.
template <bool MaxLog, int Bits, typename Table>
constexpr bool has_runs = std::is_same_v<Table, gray_table> ||
                          (!std::is_base_of_v<placed_table, Table> &&
                           (MaxLog || Bits < 6));

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

template <typename Number, bool MaxLog>
bool launch_points(const demapper_points& from,
                   const demapper_cuda_job& run,
                   cudaStream_t stream)
{
    bool done = false;
    with_table<MaxLog>(from, run.sign, [&](auto bits_of, const auto& table) {
        constexpr int bits = decltype(bits_of)::value;
        using table_type = std::decay_t<decltype(table)>;
        if constexpr (has_runs<MaxLog, bits, table_type>) {
            done = true;
            if constexpr (std::is_same_v<table_type, gray_table>) {
                if (table.turns) {
                    return launch_runs<Number, MaxLog, bits, true>(table, run, stream);
                }
                done = table.halves;
            }
            // A bit of I and one of Q are in turns.
            if constexpr (!(std::is_same_v<table_type, gray_table> && bits == 2)) {
                if (done) {
                    launch_runs<Number, MaxLog, bits, false>(table, run, stream);
                }
            }
        }
    });
    return done;
}

template <typename Number>
bool launch_type(const demapper_points& from,
                 const demapper_cuda_job& run,
                 cudaStream_t stream)
{
    return from.max_log ? launch_points<Number, true>(from, run, stream)
                        : launch_points<Number, false>(from, run, stream);
}

} // namespace
} // namespace gr::cudaphy::kernels
