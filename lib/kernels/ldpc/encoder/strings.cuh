/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/encoder/device_words.cuh"
#include "kernels/ldpc/encoder/strings_lane.cuh"

// Encodes words of a quasi-cyclic code one by one, by whole circulants, as the CPU does
// (circulant_encoder_cpu.cc): 32 bits of a string are one instruction. A word takes few
// KB of shared memory, so that many are under way on a multiprocessor.

namespace gr::cudaphy::kernels {
namespace {

constexpr int strings_threads = 128; //!< of a block

template <int Threads, int Group>
__global__ void __launch_bounds__(strings_threads, threads_at_once / strings_threads)
    ldpc_encode_strings(const __grid_constant__ strings_plan plan,
                        const uint8_t* info,
                        uint8_t* words,
                        size_t batch)
{
    extern __shared__ uint32_t strings_shared[];
    constexpr int a_block = strings_threads / Threads;
    const int number = threadIdx.x / Threads;
    const strings_lane<Threads, Group> lane(
        plan, strings_shared + number * plan.shared, threadIdx.x % Threads);
    for (size_t w = size_t(blockIdx.x) * a_block + number; w < batch;
         w += size_t(gridDim.x) * a_block) {
        lane.encode(info + w * plan.info.bytes, words + w * plan.word.bytes);
    }
}

class strings_encoder : public planned_words_encoder<strings_plan>
{
public:
    //! Whether this is the fastest way (H200): if 32 words side by side leave room for
    //! one block on a multiprocessor. Packed bits move little, and to turn them into
    //! words side by side takes longer than the sums of long strings.
    static bool suits(const ldpc_circulant_tables& t, const ldpc_encoder::parameters& p)
    {
        return p.packed_input && p.packed_output ? t.z >= 128 : t.strings * t.z > 22500;
    }

    //! Nothing if strings are too short or too long, or too many.
    static std::unique_ptr<device_words_encoder> make(const ldpc_circulant_tables& tables,
                                                      const ldpc_encoder_bytes& bytes,
                                                      const ldpc_encoder::parameters& p,
                                                      int device)
    {
        const auto placed = ldpc_placed_strings::make(tables);
        if (!placed) {
            return {};
        }
        std::unique_ptr<strings_encoder> made(
            new strings_encoder(tables, *placed, bytes, p));
        return made->d_launch.fits(device) ? std::move(made) : nullptr;
    }

private:
    strings_encoder(const ldpc_circulant_tables& t,
                    const ldpc_placed_strings& placed,
                    const ldpc_encoder_bytes& bytes,
                    const ldpc_encoder::parameters& p)
        : planned_words_encoder(strings_plan{}), d_inputs(placed.inputs),
          d_phases(t.phases), d_sums(placed.sums), d_terms(placed.terms),
          d_outputs(placed.outputs)
    {
        d_plan.info = { bytes.info, t.k, p.packed_input, 1 };
        d_plan.word = { bytes.word, t.n, p.packed_output, 1 };
        d_plan.z = t.z;
        d_plan.inputs = int(t.inputs.size());
        d_plan.phases = int(t.phases.size());
        d_plan.outputs = int(placed.outputs.size());
        const int words = (t.z + 31) / 32;
        d_plan.info_at = placed.words;
        d_plan.word_at = placed.words + (t.k + 31) / 32 + words + 2;
        d_plan.shared = d_plan.word_at + int(placed.outputs.size());
        d_plan.input = d_inputs.data();
        d_plan.phase = d_phases.data();
        d_plan.sum = d_sums.data();
        d_plan.term = d_terms.data();
        d_plan.output = d_outputs.data();
        // Short and few strings leave most threads of a block without work.
        const bool by_warps = words <= 8 || t.strings * t.z < 16000;
        if (words <= 4) {
            d_launch.kernel = ldpc_encode_strings<32, 4>;
        } else if (words <= 8) {
            d_launch.kernel = ldpc_encode_strings<32, 8>;
        } else if (by_warps) {
            d_launch.kernel = ldpc_encode_strings<32, 16>;
        } else {
            d_launch.kernel = ldpc_encode_strings<strings_threads, 16>;
        }
        d_launch.words = by_warps ? strings_threads / 32 : 1;
        d_launch.threads = strings_threads;
        d_launch.shared =
            size_t(d_plan.shared) * sizeof(uint32_t) * size_t(d_launch.words);
    }

    device_memory<ldpc_placed_strings::input> d_inputs;
    device_memory<ldpc_circulant_tables::phase> d_phases;
    device_memory<ldpc_placed_strings::sum> d_sums;
    device_memory<uint32_t> d_terms;
    device_memory<ldpc_placed_strings::place> d_outputs;
};

} // namespace
} // namespace gr::cudaphy::kernels
