/* SPDX-License-Identifier: GPL-3.0-or-later */
// One chain of the kernels for all backends. Backends differ in how they move arrays
// between the kernels, and in how they submit the whole (mimo_receiver_makers.h).
#include "kernels/common/dispatch.h"
#include "kernels/common/run_checks.h"
#include "kernels/receiver/mimo_receiver_makers.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

size_t bytes_of(mimo_receiver::number type)
{
    return type == mimo_receiver::number::int8      ? sizeof(int8_t)
           : type == mimo_receiver::number::float16 ? sizeof(float16)
                                                    : sizeof(float);
}

//! Hands out memory piece by piece; without memory it only counts bytes.
class carver
{
public:
    explicit carver(unsigned char* memory) : d_memory(memory) {}

    template <typename T>
    T* take(size_t items)
    {
        const size_t at = d_used;
        d_used += (items * sizeof(T) + alignment - 1) / alignment * alignment;
        return d_memory ? reinterpret_cast<T*>(d_memory + at) : nullptr;
    }
    size_t used() const { return d_used; }

private:
    static constexpr size_t alignment = 256;
    unsigned char* d_memory;
    size_t d_used = 0;
};

//! The intermediate results of some slots.
struct receiver_memory {
    complex64 *pilots, *data, *h, *grid_x, *x;
    float *n0, *grid_noise, *noise;
    unsigned char *demapped, *llr;
    int* tones;
};

class mimo_receiver_chain : public mimo_receiver
{
public:
    mimo_receiver_chain(const parameters& p, const resolved_backend& where)
        : d_layout(p), d_where(where.where), d_llr(p.decoding.llr),
          d_llr_bytes(bytes_of(p.decoding.llr)),
          d_steps_a_unit(demapper_of(p, where.where).llr_steps),
          d_estimator(
              channel_estimator::make(estimator_of(p), where.where, where.device)),
          d_equalizer(
              equalizer::make(equalizer_of(p, d_layout), where.where, where.device)),
          d_demapper(soft_demapper::make(
              demapper_of(p, where.where), where.where, where.device)),
          d_decoder(ldpc_decoder::make(
              p.code, decoder_of(p, where.where), where.where, where.device)),
          d_steps(dispatch(
              where.where,
              where.device,
              [&] { return make_receiver_steps_cpu(d_layout); },
              [&] { return make_receiver_steps_cpu(d_layout); },
              [&](int index) {
                  // The route `inverse` allocates when it sees a larger batch: it can't
                  // be recorded.
                  const bool recorded = p.route == equalizer_route::solve;
                  return make_receiver_steps_cuda(d_layout, recorded, index);
              })),
          d_at_once(d_steps->slots_at_once(lay_out(1, nullptr).second))
    {
    }

    const sizes& slot() const override { return d_layout.slot; }
    float llr_steps() const override { return d_steps_a_unit; }

    size_t workspace_bytes(size_t slots) const override
    {
        return slots ? lay_out(std::min(slots, d_at_once), nullptr).second : 0;
    }

    void run(view<const complex64> received,
             const results& out,
             view<unsigned char> workspace,
             queue& queue) override
    {
        const size_t slots = checked(received, out);
        check_queue("mimo_receiver", queue, d_where);
        check_workspace(
            "mimo_receiver", "batch", workspace.size(), workspace_bytes(slots));
        if (slots == 0) {
            return;
        }
        d_steps->submit(key_of(received, out, workspace), queue, [&] {
            for (size_t first = 0; first < slots; first += d_at_once) {
                const size_t count = std::min(d_at_once, slots - first);
                receive(received.part(first * slot().received, count * slot().received),
                        out,
                        first,
                        lay_out(count, workspace.data()).first,
                        queue);
            }
        });
    }

private:
    //! The number of slots.
    size_t checked(view<const complex64> received, const results& out) const
    {
        const auto& s = slot();
        if (received.size() % s.received) {
            throw std::invalid_argument(
                "mimo_receiver: received has " + std::to_string(received.size()) +
                " items, allowed are multiples of " + std::to_string(s.received) +
                " (symbols * tones * Nr)");
        }
        const size_t slots = received.size() / s.received;
        const auto check = [&](const char* what, size_t size, size_t a_slot) {
            if (size != slots * a_slot) {
                throw std::invalid_argument(std::string("mimo_receiver: ") + what +
                                            " has " + std::to_string(size) + " items, " +
                                            std::to_string(slots) + " slots have " +
                                            std::to_string(slots * a_slot));
            }
        };
        const auto check_wanted = [&](const char* what, size_t size, size_t a_slot) {
            if (size) {
                check(what, size, a_slot);
            }
        };
        check("bits", out.bits.size(), s.words * s.word_bytes);
        check("iterations", out.iterations.size(), s.words);
        check("ok", out.ok.size(), s.words);
        check("status", out.status.size(), 1);
        check_wanted("h", out.h.size(), s.channel);
        check_wanted("n0", out.n0.size(), s.estimates);
        check_wanted("x", out.x.size(), s.layers);
        check_wanted("noise", out.noise.size(), s.layers);
        check_wanted("llr", out.llr.size, s.soft_bits);
        if (out.llr.size && out.llr.type != d_llr) {
            throw std::invalid_argument(
                "mimo_receiver: llr has another type than the parameters say");
        }
        return slots;
    }

    static std::vector<uint64_t> key_of(view<const complex64> received,
                                        const results& out,
                                        view<unsigned char> workspace)
    {
        std::vector<uint64_t> key{ received.size() };
        for (const void* memory :
             { static_cast<const void*>(received.data()),
               static_cast<const void*>(workspace.data()),
               static_cast<const void*>(out.bits.data()),
               static_cast<const void*>(out.iterations.data()),
               static_cast<const void*>(out.ok.data()),
               static_cast<const void*>(out.status.data()),
               static_cast<const void*>(out.h.empty() ? nullptr : out.h.data()),
               static_cast<const void*>(out.n0.empty() ? nullptr : out.n0.data()),
               static_cast<const void*>(out.x.empty() ? nullptr : out.x.data()),
               static_cast<const void*>(out.noise.empty() ? nullptr : out.noise.data()),
               static_cast<const void*>(out.llr.size ? out.llr.data : nullptr) }) {
            key.push_back(reinterpret_cast<uintptr_t>(memory));
        }
        return key;
    }

    //! The memory of `slots` slots, and its bytes.
    std::pair<receiver_memory, size_t> lay_out(size_t slots, unsigned char* memory) const
    {
        const auto& l = d_layout;
        carver from(memory);
        receiver_memory m{};
        m.pilots = from.take<complex64>(slots * l.pilot_rows * l.row_items());
        m.data = from.take<complex64>(slots * l.data_rows * l.row_items());
        m.h = from.take<complex64>(slots * l.slot.channel);
        m.n0 = from.take<float>(slots * l.times);
        m.tones = from.take<int>(slots * l.times * l.tones);
        m.x = from.take<complex64>(slots * l.slot.layers);
        m.noise = from.take<float>(slots * l.slot.layers);
        if (l.scattered()) {
            m.grid_x = from.take<complex64>(slots * l.grid_vectors() * l.layers);
            m.grid_noise = from.take<float>(slots * l.grid_vectors() * l.layers);
        }
        m.demapped = from.take<unsigned char>(slots * l.demapped_bits() * d_llr_bytes);
        if (!l.filled()) {
            m.llr = from.take<unsigned char>(slots * l.slot.soft_bits * d_llr_bytes);
        }
        return { m, from.used() };
    }

    //! Receives some slots, from `first` on in the results.
    void receive(view<const complex64> received,
                 const results& out,
                 size_t first,
                 const receiver_memory& memory,
                 queue& queue)
    {
        const auto& l = d_layout;
        const auto& s = slot();
        const size_t slots = received.size() / s.received;
        const auto placed = [&](auto wanted, auto* own, size_t a_slot) {
            return wanted.empty() ? decltype(wanted)(own, slots * a_slot)
                                  : wanted.part(first * a_slot, slots * a_slot);
        };
        const auto h = placed(out.h, memory.h, s.channel);
        const auto n0 = placed(out.n0, memory.n0, s.estimates);
        const auto x = placed(out.x, memory.x, s.layers);
        const auto noise = placed(out.noise, memory.noise, s.layers);

        d_steps->split(received, memory.pilots, memory.data, queue);
        d_estimator->run(
            view<const complex64>(memory.pilots, slots * l.pilot_rows * l.row_items()),
            h,
            n0,
            out.status.part(first, slots),
            queue);
        const size_t grid = slots * l.grid_vectors() * l.layers;
        d_equalizer->run(
            view<const complex64>(memory.data, slots * l.data_rows * l.row_items()),
            h,
            n0,
            l.scattered() ? view<complex64>(memory.grid_x, grid) : x,
            l.scattered() ? view<float>(memory.grid_noise, grid) : noise,
            { memory.tones, slots * l.times * l.tones },
            queue);
        if (l.scattered()) {
            d_steps->select(
                slots, memory.grid_x, memory.grid_noise, x.data(), noise.data(), queue);
        }
        decode(x, noise, out, first, memory, queue);
    }

    void decode(view<const complex64> x,
                view<const float> noise,
                const results& out,
                size_t first,
                const receiver_memory& memory,
                queue& queue)
    {
        const auto& s = slot();
        const size_t slots = x.size() / s.layers;
        const size_t width = s.soft_bits * d_llr_bytes;
        auto* const wanted =
            out.llr.size ? static_cast<unsigned char*>(out.llr.data) + first * width
                         : nullptr;
        auto* const demapped = wanted && d_layout.filled() ? wanted : memory.demapped;
        demap(x, noise, demapped, queue);
        auto* codewords = demapped;
        if (!d_layout.filled() && (wanted || slots > 1)) {
            codewords = wanted ? wanted : memory.llr;
            d_steps->copy_rows({ demapped,
                                 codewords,
                                 d_layout.demapped_bits() * d_llr_bytes,
                                 width,
                                 width,
                                 slots },
                               queue);
        }
        const size_t words = slots * s.words;
        d_decoder->run(
            { codewords, slots * s.soft_bits, d_llr },
            { out.bits.part(first * s.words * s.word_bytes, words * s.word_bytes),
              out.iterations.part(first * s.words, words),
              out.ok.part(first * s.words, words) },
            queue);
    }

    void
    demap(view<const complex64> x, view<const float> noise, void* to, queue& queue) const
    {
        const size_t count = x.size() * d_layout.bits;
        if (d_llr == number::int8) {
            d_demapper->run(
                x, noise, view<int8_t>(static_cast<int8_t*>(to), count), queue);
        } else if (d_llr == number::float16) {
            d_demapper->run(
                x, noise, view<float16>(static_cast<float16*>(to), count), queue);
        } else {
            d_demapper->run(x, noise, view<float>(static_cast<float*>(to), count), queue);
        }
    }

    const receiver_layout d_layout;
    const backend d_where;
    const number d_llr;
    const size_t d_llr_bytes;
    const float d_steps_a_unit;
    std::unique_ptr<channel_estimator> d_estimator;
    std::unique_ptr<equalizer> d_equalizer;
    std::unique_ptr<soft_demapper> d_demapper;
    std::unique_ptr<ldpc_decoder> d_decoder;
    std::unique_ptr<receiver_steps> d_steps;
    const size_t d_at_once;
};

} // namespace

mimo_receiver::sizes mimo_receiver::slot_of(const parameters& p)
{
    return receiver_layout(p).slot;
}

std::unique_ptr<mimo_receiver>
mimo_receiver::make(const parameters& p, backend where, int device)
{
    return std::make_unique<mimo_receiver_chain>(p, resolve(where, device));
}

} // namespace gr::cudaphy::kernels
