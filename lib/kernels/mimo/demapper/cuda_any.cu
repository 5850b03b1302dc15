/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/mimo/demapper/kernels.cuh"

// Every table and every number of bits, max-log and exact, for all types of LLR: only the
// last lines of a kernel know the type.

namespace gr::cudaphy::kernels {
namespace {

template <int Bits>
constexpr int block_symbols = tuning::any_threads(Bits);

template <typename Use>
__device__ __forceinline__ void with_type(llr_type type, const Use& use)
{
    switch (type) {
    case llr_type::float32:
        return use(as_float32());
    case llr_type::float16:
        return use(as_float16());
    case llr_type::int8:
        return use(as_int8());
    }
}

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
template <bool MaxLog, int Bits, typename Table>
__global__ void __launch_bounds__(block_symbols<Bits>)
    demapper_of_any(const __grid_constant__ Table table, const demapper_cuda_job run)
{
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
            with_type(run.type, [&](auto number) {
                to_columns<decltype(number), Bits>(
                    by_place, frame, unsigned(first_row) + threadIdx.x, run);
            });
        }
        return;
    }
    __syncthreads();

    // From one pass to the next the bit stays the same, and the symbol moves on by so
    // many.
    constexpr int step = threads / Bits;
    const float* const from = by_bit + threadIdx.x % Bits * row + threadIdx.x / Bits;
    const int count =
        Bits * int(left < threads ? left : size_t{ threads }) - int(threadIdx.x);
    with_type(run.type, [&](auto number) {
        using Number = decltype(number);
        auto* const to =
            static_cast<typename Number::type*>(run.llr) + first * Bits + threadIdx.x;
        LANE_UNROLL
        for (int pass = 0; pass < Bits; ++pass) {
            if (pass * threads < count) {
                to[pass * threads] =
                    Number::of(held(from[pass * step], run.largest), run.steps);
            }
        }
    });
}

template <bool MaxLog>
void launch(const demapper_points& from,
            const demapper_cuda_job& run,
            cudaStream_t stream)
{
    with_table<MaxLog>(from, run.sign, [&](auto bits, const auto& table) {
        constexpr size_t threads = block_symbols<decltype(bits)::value>;
        const size_t rows = run.rows ? run.rows : run.symbols;
        const size_t blocks = (rows + threads - 1) / threads * (run.symbols / rows);
        demapper_of_any<MaxLog, decltype(bits)::value>
            <<<unsigned(blocks), unsigned(threads), 0, stream>>>(table, run);
        cuda_check_launch("demapper_of_any");
    });
}

} // namespace

void launch_demapper_any(const demapper_points& from,
                         const demapper_cuda_job& job,
                         cudaStream_t stream)
{
    if (from.max_log) {
        launch<true>(from, job, stream);
    } else {
        launch<false>(from, job, stream);
    }
}

} // namespace gr::cudaphy::kernels
