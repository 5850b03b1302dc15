/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/encoder/accumulator_lane.cuh"
#include "kernels/ldpc/encoder/device_words.cuh"

// Encodes a code whose parity bits are a running sum: whole circulants for the checks'
// sums, prefix sums for the parity bits.

namespace gr::cudaphy::kernels {
namespace {

template <int Threads>
__global__ void __launch_bounds__(Threads, threads_at_once / Threads)
    ldpc_encode_accumulator(const __grid_constant__ accumulator_plan plan,
                            const uint8_t* info,
                            uint8_t* words,
                            size_t batch)
{
    extern __shared__ uint32_t accumulator_shared[];
    const accumulator_lane<Threads> lane(plan, accumulator_shared, threadIdx.x);
    for (size_t w = blockIdx.x; w < batch; w += gridDim.x) {
        lane.encode(info + w * plan.info.bytes, words + w * plan.word.bytes);
    }
}

class accumulator_encoder : public planned_words_encoder<accumulator_plan>
{
public:
    //! Nothing if the code is none of those.
    static std::unique_ptr<device_words_encoder>
    make(const ldpc_code& code, const ldpc_encoder::parameters& p, int device)
    {
        auto tables = ldpc_accumulator_tables::make(code);
        if (!tables) {
            return {};
        }
        std::unique_ptr<accumulator_encoder> made(
            new accumulator_encoder(std::move(*tables), code, p));
        return made->d_launch.fits(device) ? std::move(made) : nullptr;
    }

private:
    accumulator_encoder(ldpc_accumulator_tables t,
                        const ldpc_code& code,
                        const ldpc_encoder::parameters& p)
        : planned_words_encoder(plan_of(t, code, p)), d_starts(t.starts),
          d_terms(placed(t))
    {
        d_plan.start = d_starts.data();
        d_plan.term = d_terms.data();
        const bool is_long = t.n > 32768; // short frames leave 256 threads without work
        d_launch.kernel =
            is_long ? ldpc_encode_accumulator<256> : ldpc_encode_accumulator<128>;
        d_launch.threads = is_long ? 256 : 128;
        d_launch.shared = size_t(d_plan.shared) * sizeof(uint32_t);
    }

    static accumulator_plan plan_of(const ldpc_accumulator_tables& t,
                                    const ldpc_code& code,
                                    const ldpc_encoder::parameters& p)
    {
        const ldpc_encoder_bytes bytes(code, p);
        accumulator_plan plan{};
        plan.info = { bytes.info, t.k, p.packed_input, 1 };
        plan.word = { bytes.word, t.n, p.packed_output, 1 };
        plan.z = t.z;
        plan.k = t.k;
        plan.inputs = t.inputs;
        plan.rows = t.rows;
        plan.word_words = (t.n + 31) / 32;
        const int words = (t.z + 31) / 32;
        plan.strings_at = plan.word_words + 1;
        plan.sums_at = plan.strings_at + t.inputs * (2 * words + 2);
        plan.row_stride = t.rows | 1; // of the words of a row, each in another bank
        plan.total_at = plan.sums_at + words * plan.row_stride;
        plan.shared = plan.total_at + words;
        return plan;
    }

    //! Terms with the words where their strings begin.
    std::vector<ldpc_accumulator_tables::term>
    placed(const ldpc_accumulator_tables& t) const
    {
        auto terms = t.terms;
        for (auto& term : terms) {
            term.string = d_plan.strings_at + term.string * (2 * ((t.z + 31) / 32) + 2);
        }
        return terms;
    }

    device_memory<int32_t> d_starts;
    device_memory<ldpc_accumulator_tables::term> d_terms;
};

} // namespace
} // namespace gr::cudaphy::kernels
