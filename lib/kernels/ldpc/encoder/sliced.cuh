/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/encoder/device_words.cuh"
#include "kernels/ldpc/encoder/makers.h"
#include "kernels/ldpc/encoder/sliced_lane.cuh"

// Encodes words of a quasi-cyclic code side by side: a term of a sum is one place a bit
// of a string, without tables of bits.

namespace gr::cudaphy::kernels {
namespace {

template <typename Word, int Threads, bool Wide>
__global__ void __launch_bounds__(Threads, 1024 / Threads)
    ldpc_encode_sliced(const __grid_constant__ sliced_plan plan,
                       const uint8_t* info,
                       uint8_t* words,
                       size_t batch)
{
    extern __shared__ uint32_t sliced_shared[];
    using lane_type = sliced_lane<Word, Threads>;
    constexpr size_t codewords = lane_type::codewords;
    const lane_type lane(plan, sliced_shared, threadIdx.x);
    for (size_t first = blockIdx.x * codewords; first < batch;
         first += gridDim.x * codewords) {
        lane.template encode<Wide>(info + first * plan.info.bytes,
                                   words + first * plan.word.bytes,
                                   int(min(batch - first, codewords)));
    }
}

class sliced_encoder : public device_words_encoder
{
public:
    //! Nothing if a word takes more shared memory than there is.
    static std::unique_ptr<device_words_encoder> make(const ldpc_circulant_tables& tables,
                                                      const ldpc_encoder_bytes& bytes,
                                                      const ldpc_encoder::parameters& p,
                                                      int device)
    {
        std::unique_ptr<sliced_encoder> made(new sliced_encoder(tables, bytes, p));
        return made->choose(device) ? std::move(made) : nullptr;
    }

    void launch(const uint8_t* info,
                uint8_t* words,
                size_t batch,
                cudaStream_t stream) const override
    {
        const auto aligned = [](const void* data, const words_form& form) {
            return form.packed ||
                   (reinterpret_cast<uintptr_t>(data) | form.bytes) % 4 == 0;
        };
        const bool wide = aligned(info, d_plan.info) && aligned(words, d_plan.word);
        (wide ? d_wide : d_narrow).run(d_plan, info, words, batch, stream);
    }

private:
    sliced_encoder(const ldpc_circulant_tables& t,
                   const ldpc_encoder_bytes& bytes,
                   const ldpc_encoder::parameters& p)
        : d_phases(t.phases), d_sums(sums_of(t)), d_terms(terms_of(t)),
          d_info_place(info_places(t)), d_word_place(word_places(t))
    {
        d_plan.info = { bytes.info, t.k, p.packed_input };
        d_plan.word = { bytes.word, t.n, p.packed_output };
        d_plan.z = t.z;
        d_plan.places = t.strings * t.z;
        d_plan.phases = int(t.phases.size());
        d_plan.sums = int(t.sums.size());
        d_plan.terms = int(t.terms.size());
        d_plan.phase = d_phases.data();
        d_plan.sum = d_sums.data();
        d_plan.term = d_terms.data();
        d_plan.info_place = d_info_place.data();
        d_plan.word_place = d_word_place.data();
    }

    static std::vector<ldpc_circulant_tables::sum> sums_of(const ldpc_circulant_tables& t)
    {
        auto sums = t.sums;
        for (auto& sum : sums) {
            sum.to *= t.z;
        }
        return sums;
    }
    static std::vector<sliced_plan::term_places> terms_of(const ldpc_circulant_tables& t)
    {
        std::vector<sliced_plan::term_places> terms;
        for (const auto& term : t.terms) {
            terms.push_back(
                { term.string * t.z + term.rotation, term.string * t.z + t.z });
        }
        return terms;
    }
    static std::vector<int32_t> info_places(const ldpc_circulant_tables& t)
    {
        std::vector<int32_t> places(size_t(t.k));
        for (const auto& input : t.inputs) {
            for (int bit = input.first; bit < input.end; ++bit) {
                places[size_t(input.offset + bit)] = input.string * t.z + bit;
            }
        }
        return places;
    }
    static std::vector<int32_t> word_places(const ldpc_circulant_tables& t)
    {
        std::vector<int32_t> places;
        for (const auto& run : t.outputs) {
            for (int i = 0; i < run.bits; ++i) {
                places.push_back(run.string * t.z + run.first + i);
            }
        }
        return places;
    }

    //! The widest word with which a multiprocessor holds two blocks, else a narrower one;
    //! the fewest threads that the bits of a phase keep busy (H200).
    bool choose(int device)
    {
        constexpr size_t half = 113 << 10;
        if (bytes_for<uint32_t>() > half) {
            return bytes_for<uint16_t>() <= half ? set<uint16_t, 512>(device)
                                                 : set<uint8_t, 512>(device);
        }
        const int few = d_plan.info.packed && d_plan.word.packed ? 5000 : 1500;
        return d_plan.places < few    ? set<uint32_t, 128>(device)
               : d_plan.places < 9000 ? set<uint32_t, 256>(device)
                                      : set<uint32_t, 512>(device);
    }
    template <typename Word>
    size_t bytes_for() const
    {
        return sizeof(uint32_t) * size_t(d_plan.table_words()) +
               sizeof(Word) * size_t(d_plan.places);
    }
    template <typename Word, int Threads>
    bool set(int device)
    {
        d_wide.kernel = ldpc_encode_sliced<Word, Threads, true>;
        d_narrow.kernel = ldpc_encode_sliced<Word, Threads, false>;
        bool good = true;
        for (auto* one : { &d_wide, &d_narrow }) {
            one->threads = Threads;
            one->words = 8 * sizeof(Word);
            one->shared = bytes_for<Word>();
            good = one->fits(device) && good;
        }
        return good;
    }

    sliced_plan d_plan{};
    device_memory<ldpc_circulant_tables::phase> d_phases;
    device_memory<ldpc_circulant_tables::sum> d_sums;
    device_memory<sliced_plan::term_places> d_terms;
    device_memory<int32_t> d_info_place, d_word_place;
    device_words_launch<sliced_plan> d_wide, d_narrow;
};

} // namespace
} // namespace gr::cudaphy::kernels
