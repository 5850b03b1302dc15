/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/parallel.h"
#include "kernels/ldpc/decoder/makers.h"
#include "kernels/ldpc/decoder_cpu_int8/tile.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <gnuradio/cudaphy/kernels/interruption.h>
#include <map>
#include <numeric>
#include <tbb/enumerable_thread_specific.h>

namespace gr::cudaphy::kernels {
namespace {

constexpr int most_lanes = 64;

//! A set of codewords: one byte for each lane, -1 for members.
struct lane_set {
    alignas(64) int8_t member[most_lanes] = {};

    bool has(int word) const { return member[word] != 0; }
    bool is_empty() const
    {
        uint64_t parts[most_lanes / 8];
        std::memcpy(parts, member, sizeof parts);
        return std::accumulate(
                   std::begin(parts), std::end(parts), uint64_t{ 0 }, std::bit_or<>()) ==
               0;
    }
    //! Makes all lanes of a word members if one of them is.
    void spread(int words)
    {
        constexpr int count = most_lanes / 8;
        uint64_t parts[count];
        std::memcpy(parts, member, sizeof parts);
        const int period = std::max(words / 8, 1);
        for (int i = period; i < count; ++i) {
            parts[i % period] |= parts[i];
        }
        for (int bytes = 4; bytes >= words; bytes /= 2) {
            parts[0] |= parts[0] << (8 * bytes) | parts[0] >> (64 - 8 * bytes);
        }
        for (int i = period; i < count; ++i) {
            parts[i] = parts[i % period];
        }
        std::memcpy(member, parts, sizeof parts);
    }
};

//! The remainder of polynomials over two elements, 64 coefficients at a time.
class crc_remainder
{
public:
    explicit crc_remainder(const ldpc_decoder::crc& crc) : d_crc(crc)
    {
        uint32_t power = 1; // of x, modulo the polynomial
        for (int i = 0; i < 64; ++i) {
            power = bit_on(power, 0);
        }
        for (auto& table : d_tables) {
            for (int bit = 0; bit < 8; ++bit) {
                for (int byte = 0; byte < 1 << bit; ++byte) {
                    table[byte + (1 << bit)] = table[byte] ^ power;
                }
                power = bit_on(power, 0);
            }
        }
    }

    //! Whether the polynomial divides `bytes`. Their number is a multiple of 8, and the
    //! first bit is the highest coefficient.
    bool divides(const uint8_t* bytes, size_t count) const
    {
        uint64_t sum = 0; // congruent to the bits so far, of up to 64 bits
        for (size_t i = 0; i < count; i += 8) {
            uint64_t next = 0;
            for (int byte = 0; byte < 8; ++byte) {
                next ^= uint64_t{ bytes[i + byte] } << (56 - 8 * byte);
                next ^= d_tables[byte][sum >> (8 * byte) & 255];
            }
            sum = next;
        }
        uint32_t remainder = 0;
        for (int bit = 63; bit >= 0; --bit) {
            remainder = bit_on(remainder, sum >> bit & 1);
        }
        return remainder == 0;
    }

private:
    uint32_t bit_on(uint32_t remainder, uint32_t bit) const
    {
        const uint32_t mask = d_crc.bits == 32 ? ~0u : (1u << d_crc.bits) - 1;
        const bool out = d_crc.bits > 0 && (remainder >> (d_crc.bits - 1) & 1);
        return ((remainder << 1 | bit) ^ (out ? d_crc.polynomial : 0)) & mask;
    }

    const ldpc_decoder::crc d_crc;
    std::array<std::array<uint32_t, 256>, 8> d_tables{};
};

//! Copies `count` bits of `words` bytes each, with strides.
void copy_apart(const int8_t* from,
                ptrdiff_t from_step,
                int8_t* to,
                ptrdiff_t to_step,
                size_t count,
                size_t words)
{
    if (words == 1) { // frequent, and a call for each byte would be slow
        for (size_t i = 0; i < count; ++i, from += from_step, to += to_step) {
            *to = *from;
        }
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        std::memcpy(to, from, words);
        from += from_step * static_cast<ptrdiff_t>(words);
        to += to_step * static_cast<ptrdiff_t>(words);
    }
}

//! Copies runs of bits from a line to L.
void scatter(const std::vector<ldpc_fixed_plan::run>& runs,
             const int8_t* bits,
             size_t words,
             int8_t* l)
{
    for (const auto& run : runs) {
        if (run.step == 1) {
            std::memcpy(l + run.at, bits + run.bit * words, run.count * words);
            continue;
        }
        copy_apart(bits + run.bit * words, run.step, l + run.at, 1, run.count, words);
    }
}

//! Copies runs of bits from L to a line.
void gather(const std::vector<ldpc_fixed_plan::run>& runs,
            const int8_t* l,
            size_t words,
            int8_t* bits)
{
    for (const auto& run : runs) {
        if (run.step == 1) {
            std::memcpy(bits + run.bit * words, l + run.at, run.count * words);
            continue;
        }
        copy_apart(l + run.at, 1, bits + run.bit * words, run.step, run.count, words);
    }
}

//! A vector costs far_cost times as much if its data exceeds far_bytes, a core's L2
//! cache.
constexpr double far_bytes = 1 << 20;
constexpr double far_cost = 1.25;

class ldpc_fixed_decoder_cpu : public ldpc_decoder
{
public:
    ldpc_fixed_decoder_cpu(const ldpc_decoding& decoding, int side_by_side)
        : d_decoding(decoding), d_lanes(fixed_lanes()),
          d_side_by_side(std::min(side_by_side, d_lanes)),
          d_crc(decoding.parameters.stop_crc)
    {
        for (const float scale : decoding.scales) {
            const auto table = ldpc_fixed_messages(scale, ldpc_fixed_limits::cpu());
            auto& messages = d_messages.emplace_back();
            messages.damps = decoding.damps();
            messages.corrects = decoding.corrects();
            messages.most_of_half =
                ldpc_fixed_halves(decoding.damping()) ? uint8_t(fixed_zero) : 255;
            std::transform(table.begin(), table.end(), messages.message, [](int r) {
                return int8_t(r + fixed_zero);
            });
        }
    }

    arithmetic calculation() const override { return arithmetic::int8; }

    void run(const received& llr, const results& to, queue&) override
    {
        const size_t words = d_decoding.batch(llr, to);
        if (words == 0) {
            return;
        }
        const auto& plan = plan_of(side_by_side(words));
        const size_t group = plan.words;
        for_each_part(words, group, [&](size_t first, size_t last) {
            auto& tile = d_tiles.local();
            tile.fit(plan, d_decoding);
            for (; first < last; first += group) {
                decode(plan, tile, llr, to, first, std::min(group, last - first));
            }
        });
    }

private:
    int side_by_side(size_t words) const
    {
        if (d_side_by_side > 0) {
            return d_side_by_side;
        }
        const auto& blocks = d_decoding.code->circulants();
        if (blocks.lifting_size == 0) {
            return d_lanes;
        }
        // Vectors that the busiest core decodes, times the cost of one.
        const size_t at_once = cores();
        int best = 1;
        double least = 0;
        for (int candidate = 1; candidate <= d_lanes; candidate *= 2) {
            const size_t groups = (words + candidate - 1) / candidate;
            const size_t vectors =
                (size_t(blocks.lifting_size) * candidate + d_lanes - 1) / d_lanes;
            const double bytes =
                double(vectors) * d_lanes * (blocks.all.size() + blocks.block_columns);
            const double cost = (groups + at_once - 1) / at_once * double(vectors) *
                                (bytes > far_bytes ? far_cost : 1);
            if (candidate == 1 || cost < least) {
                least = cost;
                best = candidate;
            }
        }
        return best;
    }

    const ldpc_fixed_plan& plan_of(int words)
    {
        auto& plan = d_plans[words];
        if (!plan) {
            plan = std::make_unique<ldpc_fixed_plan>(d_decoding, words, d_lanes);
        }
        return *plan;
    }

    //! Decodes `count` words side by side, from word `first` of the batch on.
    void decode(const ldpc_fixed_plan& plan,
                fixed_tile& tile,
                const received& llr,
                const results& to,
                size_t first,
                size_t count)
    {
        const auto& p = d_decoding.parameters;
        load(plan, tile, llr, first, count);
        look_ahead(plan, tile, llr, first + count);
        lane_set running;
        std::fill_n(running.member, count, int8_t{ -1 });
        running.spread(plan.words);
        bool has_output = false;
        const int8_t* decided = nullptr; // L of the output's bits, bit by bit
        for (int t = 0; t < p.max_iterations; ++t) {
            interruption::check_current();
            const auto& order = plan.iterations[t % 2];
            for (const auto& run : plan.before[t % 2].shortened) {
                std::fill_n(tile.l.get() + run.at,
                            size_t{ run.count } * plan.words,
                            int8_t(fixed_zero + ldpc_fixed_limits::cpu().greatest_l));
            }
            lane_set odd;
            const bool last = t + 1 == p.max_iterations;
            const bool must_be_even = p.early_stop && !last && p.stop_crc.bits == 0;
            fixed_sweep(plan,
                        order,
                        d_messages[t],
                        t == 0,
                        tile,
                        must_be_even ? odd.member : nullptr);
            if (!p.early_stop && !last) {
                continue;
            }
            odd.spread(plan.words);
            lane_set candidates = running;
            for (int lane = 0; lane < most_lanes; ++lane) {
                candidates.member[lane] &= ~odd.member[lane];
            }
            if (candidates.is_empty()) {
                continue;
            }
            lane_set done = decoded_words(plan, t, tile, candidates);
            for (size_t word = 0; word < count; ++word) {
                if (running.has(word) && (done.has(word) || last)) {
                    to.iterations[first + word] = t + 1;
                    to.ok[first + word] = done.has(word);
                }
            }
            const auto& where = plan.before[(t + 1) % 2];
            const auto stops = last ? running : done;
            for (int lane = 0; lane < most_lanes; ++lane) {
                running.member[lane] &= ~stops.member[lane];
            }
            const bool ends = running.is_empty();
            if (ends && !has_output) {
                decided = output_of(plan, where, tile);
            } else if (!stops.is_empty()) {
                keep(plan, where, tile, stops, has_output);
                has_output = true;
                decided = tile.decided.get();
            }
            if (ends) {
                break;
            }
        }
        put(plan, tile, decided, to, first, count);
    }

    //! Lets the iterations prefetch the received values of word `next` and its
    //! neighbours.
    void look_ahead(const ldpc_fixed_plan& plan,
                    fixed_tile& tile,
                    const received& llr,
                    size_t next) const
    {
        const auto& p = d_decoding.parameters;
        const size_t n = d_decoding.code->n();
        const size_t size = llr.type == number::float32   ? sizeof(float)
                            : llr.type == number::float16 ? sizeof(float16)
                                                          : sizeof(int8_t);
        const size_t bytes = std::min(plan.words * n, llr.size - next * n) * size;
        tile.ahead = static_cast<const char*>(llr.data) + next * n * size;
        tile.end_ahead = tile.ahead + bytes;
        const size_t vectors = plan.iterations[0].rows.size() * plan.max_vectors *
                               (p.early_stop ? 3 : p.max_iterations);
        tile.lines_ahead =
            static_cast<int>(bytes / fixed_tile::line_of_cache / vectors + 1);
    }

    void load(const ldpc_fixed_plan& plan,
              fixed_tile& tile,
              const received& llr,
              size_t first,
              size_t count)
    {
        const size_t stride = fixed_tile::line_stride(d_decoding);
        fixed_convert(d_decoding, llr, first, count, tile);
        for (int word = static_cast<int>(count); word < plan.words; ++word) {
            std::fill_n(tile.lines.get() + word * stride, stride, fixed_zero);
        }
        int8_t* l = tile.l.get();
        const size_t n = d_decoding.code->n();
        const auto& received = plan.before[0].received;
        const bool as_they_come =
            received.size() == 1 && received[0].bit == 0 && received[0].step == 1 &&
            size_t{ received[0].count } * plan.words == plan.l_bytes;
        if (as_they_come && plan.words > 1) {
            fixed_interleave(tile, stride, n, plan.words, l);
            return;
        }
        const int8_t* bits =
            fixed_interleave(tile, stride, n, plan.words, tile.interleaved.get());
        std::fill_n(l, plan.l_bytes, fixed_zero);
        scatter(plan.before[0].received, bits, plan.words, l);
        for (const uint32_t column : plan.first_copies) {
            std::memmove(l + column + plan.column_bytes, l + column, d_lanes);
        }
    }

    //! The words that decide only zeros and have a bit with L = 0.
    lane_set unknown(const ldpc_fixed_plan& plan,
                     const ldpc_fixed_plan::bit_layout& where,
                     const fixed_tile& tile) const
    {
        lane_set least, zero, negative;
        fixed_least(plan, where.info, tile, least.member);
        for (int lane = 0; lane < d_lanes; ++lane) {
            zero.member[lane] = -(least.member[lane] == fixed_zero);
            negative.member[lane] = -(least.member[lane] < fixed_zero);
        }
        zero.spread(plan.words);
        negative.spread(plan.words);
        for (int lane = 0; lane < most_lanes; ++lane) {
            zero.member[lane] &= ~negative.member[lane];
        }
        return zero;
    }

    //! The words of `candidates` that are decoded after iteration t.
    lane_set decoded_words(const ldpc_fixed_plan& plan,
                           int t,
                           fixed_tile& tile,
                           lane_set candidates) const
    {
        const auto not_known = unknown(plan, plan.before[(t + 1) % 2], tile);
        for (int lane = 0; lane < most_lanes; ++lane) {
            candidates.member[lane] &= ~not_known.member[lane];
        }
        lane_set out;
        if (d_decoding.parameters.stop_crc.bits == 0) {
            lane_set failed;
            fixed_failures(plan, plan.iterations[t % 2], tile, failed.member);
            failed.spread(plan.words);
            for (int lane = 0; lane < most_lanes; ++lane) {
                out.member[lane] = candidates.member[lane] & ~failed.member[lane];
            }
            return out;
        }
        // Zeros in front fill up the first eight bytes.
        const size_t k = d_decoding.code->k();
        const size_t zeros = (64 - k % 64) % 64;
        const size_t words = plan.words;
        std::fill_n(tile.interleaved.get(), zeros * words, fixed_zero);
        gather(plan.before[(t + 1) % 2].info,
               tile.l.get(),
               words,
               tile.interleaved.get() + zeros * words);
        const size_t stride = fixed_tile::line_stride(d_decoding);
        const int8_t* lines =
            fixed_separate(tile, tile.interleaved.get(), stride, zeros + k, plan.words);
        for (int word = 0; word < plan.words; ++word) {
            if (candidates.has(word)) {
                fixed_packed_bits(lines + word * stride, zeros + k, tile.packed.data());
                out.member[word] = -d_crc.divides(tile.packed.data(), (zeros + k) / 8);
            }
        }
        out.spread(plan.words);
        return out;
    }

    //! L of the output's bits, bit by bit: in tile.l if they stand there in this order,
    //! else copied to tile.interleaved.
    const int8_t* output_of(const ldpc_fixed_plan& plan,
                            const ldpc_fixed_plan::bit_layout& where,
                            fixed_tile& tile) const
    {
        const auto& run = where.output[0];
        if (where.output.size() == 1 && run.bit == 0 && run.step == 1) {
            return tile.l.get() + run.at;
        }
        gather(where.output, tile.l.get(), plan.words, tile.interleaved.get());
        return tile.interleaved.get();
    }

    //! Copies the output of the words of `which` to tile.decided. \param has_output
    //! tile.decided already has the output of other words
    void keep(const ldpc_fixed_plan& plan,
              const ldpc_fixed_plan::bit_layout& where,
              fixed_tile& tile,
              const lane_set& which,
              bool has_output) const
    {
        const size_t words = plan.words;
        gather(where.output, tile.l.get(), words, tile.interleaved.get());
        if (!has_output) {
            std::swap(tile.interleaved, tile.decided);
        } else {
            fixed_keep(tile, d_decoding.output_bits() * words, which.member);
        }
    }

    void put(const ldpc_fixed_plan& plan,
             fixed_tile& tile,
             const int8_t* decided,
             const results& to,
             size_t first,
             size_t count) const
    {
        const auto& p = d_decoding.parameters;
        const size_t bits = d_decoding.output_bits();
        const size_t bytes = d_decoding.output_bytes();
        if (p.packed && to.soft.empty() && plan.words == d_lanes && d_lanes > 1) {
            uint8_t* out = to.bits.data() + first * bytes;
            fixed_packed_words(decided, bits, count, out, bytes);
            return;
        }
        const size_t stride = fixed_tile::line_stride(d_decoding);
        const int8_t* lines = fixed_separate(tile, decided, stride, bits, plan.words);
        for (size_t word = 0; word < count; ++word, lines += stride) {
            uint8_t* out = to.bits.data() + (first + word) * bytes;
            p.packed ? fixed_packed_bits(lines, bits, out) : fixed_bits(lines, bits, out);
            if (!to.soft.empty()) {
                fixed_soft(lines,
                           bits,
                           tile.steps[word],
                           p.llr_positive == 1,
                           to.soft.data() + (first + word) * bits);
            }
        }
    }

    const ldpc_decoding d_decoding;
    const int d_lanes;
    const int d_side_by_side; //!< 0: chosen by the batch
    const crc_remainder d_crc;
    std::vector<fixed_messages> d_messages;                  //!< of each iteration
    std::map<int, std::unique_ptr<ldpc_fixed_plan>> d_plans; //!< by words side by side
    tbb::enumerable_thread_specific<fixed_tile> d_tiles;     //!< one for each core
};

} // namespace

std::unique_ptr<ldpc_decoder> make_ldpc_fixed_decoder_cpu(const ldpc_decoding& decoding,
                                                          int side_by_side)
{
    if (!ldpc_fixed_plan::can_serve(*decoding.code)) {
        return make_ldpc_fixed_decoder_reference(decoding, ldpc_fixed_limits::cpu());
    }
    return std::make_unique<ldpc_fixed_decoder_cpu>(decoding, side_by_side);
}

} // namespace gr::cudaphy::kernels
