/* SPDX-License-Identifier: GPL-3.0-or-later */

// Max-log LLRs as short numbers; included by soft_demapper_cuda.cu.

// Short numbers move fewer bytes out than symbols bring in, so that it is the number of
// bytes on their way from memory that counts. A thread asks for several runs of 2 symbols
// at once (4 where 2 do not fill a word) by 16 bytes. Where a run fills 4, 8 or 16 bytes
// they go out as they are; others move to whole lines through the warp's rows in shared
// memory.
template <typename Number, int Bits>
struct short_run {
    static constexpr int symbols = Bits * sizeof(typename Number::type) % 2 ? 4 : 2;
    static constexpr int words = symbols * Bits * int(sizeof(typename Number::type)) / 4;
    static constexpr bool is_whole = words == 1 || words == 2 || words == 4;
    static constexpr int pitch = words | 1;
    using bits = std::
        conditional_t<sizeof(typename Number::type) == 1, unsigned char, unsigned short>;
};

//! Four int8, or two float16, of one word.
__device__ __forceinline__ unsigned word_of(as_int8, const float* llr, float steps)
{
    unsigned of[4];
    LANE_UNROLL
    for (int i = 0; i < 4; ++i) {
        // Rounded to the nearest, in the lowest byte.
        of[i] =
            __float_as_uint(fminf(fmaxf(llr[i] * steps, -127.0f), 127.0f) + 0x1.8p23f);
    }
    return __byte_perm(
        __byte_perm(of[0], of[1], 0x0040), __byte_perm(of[2], of[3], 0x0040), 0x5410);
}
__device__ __forceinline__ unsigned word_of(as_float16, const float* llr, float)
{
    const auto of = [](float each) {
        return __float2half_rn(fminf(fmaxf(each, -65504.0f), 65504.0f));
    };
    const __half2 both{ of(llr[0]), of(llr[1]) };
    return reinterpret_cast<const unsigned&>(both);
}

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

constexpr int short_threads = 128;
constexpr int short_symbols = 8; // of a thread

//! x, noise and llr at addresses that 16 divides.
template <typename Number, bool MaxLog, int Bits, bool Turns, int Runs, typename Table>
__global__ void __launch_bounds__(short_threads)
    short_demapper_kernel(const __grid_constant__ Table table,
                          const float2* __restrict__ x,
                          const float* __restrict__ noise,
                          int noise_step,
                          typename Number::type* __restrict__ llr,
                          size_t symbols,
                          float sign,
                          float steps)
{
    using run = short_run<Number, Bits>;
    using number = typename Number::type;
    constexpr int together = run::symbols;
    constexpr int in_word = 4 / int(sizeof(number));
    __shared__ unsigned kept[run::is_whole ? 1 : short_threads * run::pitch];
    unsigned* const rows = kept + threadIdx.x / 32 * 32 * run::pitch;
    const int lane = threadIdx.x % 32;
    // The runs of a warp stand side by side.
    const size_t begin =
        ((size_t{ blockIdx.x } * short_threads + threadIdx.x - lane) * Runs + lane) *
        together;
    float2 symbol[Runs][together];
    float variance[Runs][together];
    LANE_UNROLL
    for (int i = 0; i < Runs; ++i) {
        const size_t first = begin + size_t(i * 32 * together);
        if (first + together <= symbols) {
            LANE_UNROLL
            for (int k = 0; k < together; k += 2) {
                const float4 pair = *reinterpret_cast<const float4*>(x + first + k);
                symbol[i][k] = make_float2(pair.x, pair.y);
                symbol[i][k + 1] = make_float2(pair.z, pair.w);
            }
            if (noise_step == 0) {
                LANE_UNROLL
                for (int k = 0; k < together; ++k) {
                    variance[i][k] = *noise;
                }
            } else if constexpr (together == 2) {
                const float2 pair = *reinterpret_cast<const float2*>(noise + first);
                variance[i][0] = pair.x;
                variance[i][1] = pair.y;
            } else {
                const float4 four = *reinterpret_cast<const float4*>(noise + first);
                variance[i][0] = four.x;
                variance[i][1] = four.y;
                variance[i][2] = four.z;
                variance[i][3] = four.w;
            }
        } else {
            LANE_UNROLL
            for (int k = 0; k < together; ++k) {
                const size_t at = min(first + k, symbols - 1);
                symbol[i][k] = x[at];
                variance[i][k] = noise[at * noise_step];
            }
        }
    }
    LANE_UNROLL
    for (int i = 0; i < Runs; ++i) {
        const size_t first = begin + size_t(i * 32 * together);
        const size_t of_warp = first - size_t(lane * together);
        if (of_warp >= symbols) {
            return;
        }
        float of_bit[together * Bits];
        LANE_UNROLL
        for (int k = 0; k < together; ++k) {
            float demapped[Bits];
            demap<MaxLog, Bits>(one_lane{},
                                table,
                                symbol[i][k].x,
                                symbol[i][k].y,
                                variance[i][k],
                                sign,
                                demapped);
            LANE_UNROLL
            for (int bit = 0; bit < Bits; ++bit) {
                of_bit[k * Bits + bit] =
                    demapped[Turns ? bit % 2 * (Bits / 2) + bit / 2 : bit];
            }
        }
        unsigned word[run::words];
        LANE_UNROLL
        for (int w = 0; w < run::words; ++w) {
            word[w] = word_of(Number{}, of_bit + w * in_word, steps);
        }
        const bool whole = of_warp + 32 * together <= symbols;
        number* const to = llr + of_warp * Bits;
        if constexpr (run::is_whole) {
            using words = typename words_type<run::words>::type;
            if (whole) {
                reinterpret_cast<words*>(to)[lane] = reinterpret_cast<words&>(word);
                continue;
            }
        } else if (whole) {
            __syncwarp();
            LANE_UNROLL
            for (int w = 0; w < run::words; ++w) {
                rows[lane * run::pitch + w] = word[w];
            }
            __syncwarp();
            LANE_UNROLL
            for (int pass = 0; pass < run::words; ++pass) {
                const int at = pass * 32 + lane;
                reinterpret_cast<unsigned*>(to)[at] =
                    rows[at / run::words * run::pitch + at % run::words];
            }
            continue;
        }
        LANE_UNROLL
        for (int at = 0; at < together * Bits; ++at) {
            if (first + at / Bits < symbols) {
                reinterpret_cast<typename run::bits*>(llr)[first * Bits + at] =
                    typename run::bits(word[at / in_word] >>
                                       (at % in_word * 8 * int(sizeof(number))));
            }
        }
    }
}
