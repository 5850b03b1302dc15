/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder/reference_steps.h"
#include "kernels/ldpc/decoder_cuda_int8/row_pairs.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/interruption.h>
#include <numeric>

namespace gr::cudaphy::kernels {
namespace {

//! One codeword after the other, in whole steps, as the header's rules read.
class ldpc_fixed_decoder_reference : public ldpc_decoder
{
public:
    ldpc_fixed_decoder_reference(const ldpc_decoding& decoding,
                                 const ldpc_fixed_limits& limits)
        : d_decoding(decoding), d_code(*decoding.code), d_limits(limits),
          d_corrects(decoding.corrects()), d_damps(decoding.damps()),
          d_schedule(*decoding.code), d_positions(decoding.output_positions())
    {
        for (const float scale : decoding.scales) {
            const int parts = d_corrects ? 4 : 1;
            d_messages.push_back(ldpc_fixed_messages(scale, limits, parts));
            d_damped.push_back(
                ldpc_fixed_damped_messages(scale, decoding.damping(), limits, parts));
        }
        if (limits.pairs_rows && d_code.circulants().lifting_size > 0) {
            d_order =
                ldpc_row_order(ldpc_row_pairs(d_code), d_code.circulants().block_rows);
        } else {
            d_order.resize(d_schedule.group_start.size() - 1);
            std::iota(d_order.begin(), d_order.end(), 0);
        }
    }

    arithmetic calculation() const override { return arithmetic::int8; }

    void run(const received& llr, const results& to, queue&) override
    {
        const size_t words = d_decoding.batch(llr, to);
        for (size_t word = 0; word < words; ++word) {
            d_llr_steps = steps_of(llr, word);
            load(llr, word);
            to.iterations[word] = decode();
            to.ok[word] = is_decoded(d_decoding, d_l);
            put_word(d_decoding, d_positions, d_l, to, word, [&](int l) {
                return l / d_llr_steps;
            });
        }
    }

private:
    float value_at(const received& llr, size_t at) const
    {
        return llr.type == number::int8
                   ? std::max<int>(-127, static_cast<const int8_t*>(llr.data)[at])
               : llr.type == number::float32
                   ? static_cast<const float*>(llr.data)[at]
                   : from_float16(static_cast<const float16*>(llr.data)[at].bits);
    }

    //! The steps of a word in a unit of LLR.
    float steps_of(const received& llr, size_t word) const
    {
        const auto of = d_decoding.word_steps();
        if (of.typical == 0) {
            return of.steps;
        }
        const int n = d_code.n();
        return of.of_word([&](float least) {
            int found = 0;
            for (int i = 0; i < n; ++i) {
                const bool looks = i / of.group % of.spacing(n) == 0;
                found += looks && std::abs(value_at(llr, word * n + i)) >= least;
            }
            return found;
        });
    }

    void load(const received& llr, size_t word)
    {
        const auto& p = d_decoding.parameters;
        d_l.assign(d_code.variables(), 0);
        d_r.assign(d_schedule.edges.size(), 0);
        for (int i = 0; i < d_code.n(); ++i) {
            const size_t at = word * d_code.n() + i;
            const int column = d_code.transmitted().empty() ? i : d_code.transmitted()[i];
            const int steps = ldpc_fixed_steps(value_at(llr, at), d_llr_steps, p);
            d_l[column] =
                std::clamp(steps, -d_limits.greatest_llr, d_limits.greatest_llr);
        }
    }

    int decode()
    {
        const auto& p = d_decoding.parameters;
        for (int iteration = 0; iteration < p.max_iterations; ++iteration) {
            interruption::check_current();
            for (const int column : d_code.shortened()) {
                d_l[column] = d_limits.greatest_l;
            }
            bool even = true;
            for (const int group : d_order) {
                even &= update(group, iteration);
            }
            const bool counts = d_limits.watches_visits && p.stop_crc.bits == 0;
            if (p.early_stop && (even || !counts) && is_decoded(d_decoding, d_l)) {
                return iteration + 1;
            }
        }
        return p.max_iterations;
    }

    //! Updates the checks of a group. True if each of them then had even parity.
    bool update(size_t group, int iteration)
    {
        const int first = d_schedule.group_start[group];
        const int last = d_schedule.group_start[group + 1];
        const int base = d_schedule.check_start[first];
        const int end = d_schedule.check_start[last];
        const std::vector<int> old_r(d_r.begin() + base, d_r.begin() + end);
        std::vector<int> q(end - base);
        for (int e = base; e < end; ++e) {
            q[e - base] = d_l[d_schedule.edges[e].column] - d_r[e];
        }
        for (int c = first; c < last; ++c) {
            give_messages(c, q.data() + (d_schedule.check_start[c] - base), iteration);
        }
        std::vector<char> odd(last - first);
        for (int round = 0; round < d_schedule.rounds; ++round) {
            for (int c = first; c < last; ++c) {
                for (int e = d_schedule.check_start[c]; e < d_schedule.check_start[c + 1];
                     ++e) {
                    if (d_schedule.edges[e].round == round) {
                        int& l = d_l[d_schedule.edges[e].column];
                        const int rest = l - old_r[e - base];
                        l = std::clamp(
                            rest + d_r[e], d_limits.least_l, d_limits.greatest_l);
                        if (d_limits.keeps_change) {
                            d_r[e] = l - rest;
                        }
                        odd[c - first] ^= d_schedule.telling[c] && l < 0;
                    }
                }
            }
        }
        return std::none_of(odd.begin(), odd.end(), [](char x) { return x; });
    }

    //! \param q  of the check's edges
    void give_messages(int check, const int* q, int iteration)
    {
        const int begin = d_schedule.check_start[check];
        const int end = d_schedule.check_start[check + 1];
        const int8_t* const messages[]{ d_messages[iteration].data(),
                                        d_damped[iteration].data() };
        min_sum_of_others(q, end - begin, ldpc_fixed_greatest_message, d_others);
        for (int e = begin; e < end; ++e) {
            const auto& [least, negative, second] = d_others[e - begin];
            const int magnitude =
                d_corrects ? ldpc_fixed_corrected(least, second, d_limits) : least;
            const int sign = 1 - 2 * negative; // without branches, which would be guesses
            const bool damps = d_damps & (sign * d_r[e] < 0);
            d_r[e] = sign * messages[damps][magnitude];
        }
    }

    const ldpc_decoding d_decoding;
    const ldpc_code& d_code;
    const ldpc_fixed_limits d_limits;
    const bool d_corrects, d_damps;
    const ldpc_fixed_schedule d_schedule;
    const std::vector<int> d_positions;
    std::vector<int> d_order;                    //!< of groups
    std::vector<std::vector<int8_t>> d_messages; //!< of each iteration
    std::vector<std::vector<int8_t>> d_damped;   //!< the same
    std::vector<int> d_l, d_r;
    float d_llr_steps = 0; //!< of the word that is decoded, in a unit of LLR
    std::vector<min_sum_message<int>> d_others; //!< of one check
};

} // namespace

std::unique_ptr<ldpc_decoder>
make_ldpc_fixed_decoder_reference(const ldpc_decoding& decoding,
                                  const ldpc_fixed_limits& limits)
{
    return std::make_unique<ldpc_fixed_decoder_reference>(decoding, limits);
}

} // namespace gr::cudaphy::kernels
