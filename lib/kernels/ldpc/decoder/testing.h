/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// For tests of the decoder: received words, a call of the decoder, and an oracle of
// float32.

#include "kernels/common/testing.h"
#include "kernels/ldpc/codes/words_testing.h"
#include "kernels/ldpc/decoder/fixed_point.h"
#include <limits>
#include <type_traits>

namespace gr::cudaphy::testing {

using rules = ldpc_decoder::check_rule;
using schedules = ldpc_decoder::message_schedule;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

struct decoded {
    std::vector<uint8_t> bits;
    std::vector<int> iterations, ok;
    std::vector<float> soft = {}; //!< empty: not wanted, not compared
};

inline float value_of(float llr) { return llr; }
inline float value_of(int8_t llr) { return llr; }
inline float value_of(float16 llr)
{
    const int exponent = llr.bits >> 10 & 31;
    const float fraction = (llr.bits & 0x3ff) / 1024.0f;
    const float magnitude = exponent == 31  ? (fraction ? not_a_number : infinity)
                            : exponent == 0 ? std::ldexp(fraction, -14)
                                            : std::ldexp(1 + fraction, exponent - 15);
    return llr.bits >> 15 ? -magnitude : magnitude;
}

inline ldpc_decoder::parameters whole_words(int max_iterations = 20, float scale = 0)
{
    ldpc_decoder::parameters p;
    p.max_iterations = max_iterations;
    p.scale = scale;
    p.whole_words = true;
    return p;
}

//! Random words, received over BPSK and white noise. \param factor  of the LLRs
inline std::vector<float>
noisy(const ldpc_code::sptr& code, size_t words, double eb_n0, double factor = 1)
{
    auto llr = received_llrs(
        random_codewords(code, words, generator()), code->rate(), eb_n0, generator());
    for (auto& value : llr) {
        value *= static_cast<float>(factor);
    }
    return llr;
}

//! LLRs in steps of a quarter.
inline std::vector<int8_t> in_steps(const std::vector<float>& llr)
{
    std::vector<int8_t> out;
    for (const float value : llr) {
        out.push_back(static_cast<int8_t>(ldpc_fixed_steps(value, 4, {})));
    }
    return out;
}

template <typename Llr>
constexpr ldpc_decoder::number number_of =
    std::is_same_v<Llr, int8_t>    ? ldpc_decoder::number::int8
    : std::is_same_v<Llr, float16> ? ldpc_decoder::number::float16
                                   : ldpc_decoder::number::float32;

//! As parameters::llr says, with arithmetic in float32 in any case.
template <typename Llr>
ldpc_decoder::parameters of_type(ldpc_decoder::parameters p)
{
    p.llr = number_of<Llr>;
    p.calculation = ldpc_decoder::arithmetic::float32;
    return p;
}

//! \param p  which `decoder` has been made with
template <typename Llr>
decoded decode(ldpc_decoder& decoder,
               const ldpc_code& code,
               const ldpc_decoder::parameters& p,
               const std::vector<Llr>& llr,
               backend where,
               bool with_soft = true)
{
    auto q = queue::make(where);
    const size_t words = llr.size() / code.n();
    const size_t items = p.whole_words ? code.n() : code.k();
    const size_t bytes = p.packed ? (items + 7) / 8 : items;
    const array<Llr> from(*q, view<const Llr>(llr));
    auto bits = poisoned<uint8_t>(*q, words * bytes);
    auto iterations = poisoned<int>(*q, words);
    auto ok = poisoned<int>(*q, words);
    auto soft = poisoned<float>(*q, with_soft ? words * items : 0);
    decoder.run(view<const Llr>(from), { bits, iterations, ok, soft }, *q);
    return { bits.to_host(), iterations.to_host(), ok.to_host(), soft.to_host() };
}

//! In float32.
template <typename Llr = float>
decoded decode(const ldpc_code::sptr& code,
               const ldpc_decoder::parameters& wanted,
               const std::vector<Llr>& llr,
               backend where = tested_backend(),
               bool soft = false)
{
    const auto p = of_type<Llr>(wanted);
    const auto decoder = ldpc_decoder::make(code, p, where);
    BOOST_TEST((decoder->calculation() == ldpc_decoder::arithmetic::float32));
    return decode(*decoder, *code, p, llr, where, soft);
}

inline void check_equal(const decoded& a, const decoded& b)
{
    BOOST_TEST(a.bits == b.bits, boost::test_tools::per_element());
    BOOST_TEST(a.iterations == b.iterations, boost::test_tools::per_element());
    BOOST_TEST(a.ok == b.ok, boost::test_tools::per_element());
    if (!a.soft.empty() || !b.soft.empty()) {
        BOOST_TEST((a.soft == b.soft));
    }
}

/*!
 * \brief The header's formulas a word and a bit at a time, in arithmetic of `Real`.
 *
 * With min-sum, CPU and CUDA must give exactly its results in float, and the reference
 * exactly those in double. Sum-product is the product of hyperbolic tangents, which is
 * right only if LLRs are not large.
 */
template <typename Real>
class plain_decoder
{
public:
    plain_decoder(const ldpc_code& code, const ldpc_decoder::parameters& p)
        : d_code(code), d_p(p)
    {
    }

    template <typename Llr>
    decoded decode(const std::vector<Llr>& llr)
    {
        decoded out;
        for (size_t start = 0; start < llr.size(); start += d_code.n()) {
            load(&llr[start]);
            int iteration = 0;
            while (iteration < d_p.max_iterations && !(d_p.early_stop && is_done())) {
                iterate(iteration++);
            }
            out.iterations.push_back(iteration);
            out.ok.push_back(is_done());
            put(out);
        }
        return out;
    }

private:
    int column(int i) const
    {
        return d_code.transmitted().empty() ? i : d_code.transmitted()[i];
    }

    template <typename Llr>
    void load(const Llr* llr)
    {
        d_l.assign(d_code.variables(), 0);
        d_r.assign(d_code.edges(), 0);
        for (int i = 0; i < d_code.n(); ++i) {
            const float value = d_p.llr_positive ? -value_of(llr[i]) : value_of(llr[i]);
            d_l[column(i)] =
                std::isnan(value) ? 0 : std::max(-1e4f, std::min(1e4f, value));
        }
        for (const int i : d_code.shortened()) {
            d_l[i] = 1e4f;
        }
        d_received = d_l;
    }

    void iterate(int iteration)
    {
        float scale = d_p.scale;
        if (scale == 0) {
            const double own = d_code.default_scale();
            const double w = std::min(1., 2 * (1 - d_code.rate()));
            const double b = std::min(1., own + 1.6 * w / d_p.max_iterations);
            const double below = (b - own + .15 * w) / std::pow(2., iteration / 3.);
            const int halvings = d_code.default_scale_closes() ? iteration / 15 : 0;
            scale = 1 - (1 - b + below) / std::pow(2., halvings);
        }
        const bool flooding = d_p.schedule == schedules::flooding;
        auto sums = d_received;
        for (const auto& layer : d_code.layers()) {
            for (const int check : layer) {
                const int first = d_code.row_start()[check];
                std::vector<Real> q(d_code.row_start()[check + 1] - first);
                for (size_t i = 0; i < q.size(); ++i) {
                    q[i] = d_l[d_code.columns()[first + i]] - d_r[first + i];
                }
                const auto messages = messages_of(q, scale);
                for (size_t i = 0; i < q.size(); ++i) {
                    const int bit = d_code.columns()[first + i];
                    d_r[first + i] = messages[i];
                    if (flooding) {
                        sums[bit] += d_r[first + i];
                    } else {
                        d_l[bit] = q[i] + d_r[first + i];
                    }
                }
            }
        }
        if (flooding) {
            d_l = sums;
        }
    }

    //! The least |q|, the product of the tangents and the sign of some of a check's bits.
    struct combined {
        Real least = 1e4f, product = 1;
        bool negative = false;
        void operator+=(const combined& other)
        {
            least = std::min(least, other.least);
            product *= other.product;
            negative ^= other.negative;
        }
    };

    //! The check's message to each of its bits, from all bits before and behind it.
    std::vector<Real> messages_of(const std::vector<Real>& q, Real scale) const
    {
        std::vector<combined> own, others;
        combined before, behind;
        for (const Real value : q) {
            const bool tangents = d_p.rule == rules::sum_product;
            own.push_back({ std::abs(value),
                            tangents ? std::tanh(std::abs(value) / 2) : Real{ 1 },
                            value < 0 });
            others.push_back(before);
            before += own.back();
        }
        std::vector<Real> out(q.size());
        for (size_t i = q.size(); i-- > 0;) {
            others[i] += behind;
            behind += own[i];
            out[i] = message(others[i], scale);
        }
        return out;
    }

    Real message(const combined& others, Real scale) const
    {
        const Real magnitude = d_p.rule == rules::normalized_min_sum
                                   ? scale * others.least
                               : d_p.rule == rules::offset_min_sum
                                   ? std::max<Real>(0, others.least - Real(d_p.offset))
                                   : std::min<Real>(1e4f, 2 * std::atanh(others.product));
        return others.negative ? -magnitude : magnitude;
    }

    bool fulfils_telling_checks(const std::vector<uint8_t>& hard) const
    {
        for (int check = 0; check < d_code.checks(); ++check) {
            int ones = 0;
            for (int e = d_code.row_start()[check]; e < d_code.row_start()[check + 1];
                 ++e) {
                ones += hard[d_code.columns()[e]];
            }
            if (ones % 2 == 1 && d_code.telling()[check]) {
                return false;
            }
        }
        return true;
    }

    bool is_done() const
    {
        std::vector<uint8_t> hard(d_l.size());
        std::transform(
            d_l.begin(), d_l.end(), hard.begin(), [](Real l) { return l < 0; });
        // A word of zeros with an undecided bit is not decoded.
        bool one = false;
        bool unknown = false;
        for (const int i : d_code.info_positions()) {
            one |= d_l[i] < 0;
            unknown |= d_l[i] == 0;
        }
        if (unknown && !one) {
            return false;
        }
        const int width = d_p.stop_crc.bits;
        if (width == 0) {
            return fulfils_telling_checks(hard);
        }
        std::vector<uint8_t> rest; // long division
        for (const int i : d_code.info_positions()) {
            rest.push_back(hard[i]);
        }
        const size_t data = rest.size() - width;
        for (size_t i = 0; i < data; ++i) {
            for (int term = 0; rest[i] && term < width; ++term) {
                rest[i + 1 + term] ^= d_p.stop_crc.polynomial >> (width - 1 - term) & 1;
            }
        }
        return std::count(rest.begin() + data, rest.end(), 0) == width;
    }

    void put(decoded& out) const
    {
        const int items = d_p.whole_words ? d_code.n() : d_code.k();
        for (int i = 0; i < items; ++i) {
            const Real l = d_l[d_p.whole_words ? column(i) : d_code.info_positions()[i]];
            if (!d_p.packed || i % 8 == 0) {
                out.bits.push_back(0);
            }
            out.bits.back() |= (l < 0) << (d_p.packed ? 7 - i % 8 : 0);
            out.soft.push_back(static_cast<float>(d_p.llr_positive ? -l : l));
        }
    }

    const ldpc_code& d_code;
    const ldpc_decoder::parameters d_p;
    std::vector<Real> d_received, d_l, d_r;
};

//! Puts values into six words of n LLRs that arithmetic may get wrong: NaN, infinities,
//! -0, a subnormal number, and a word of integers, whose magnitudes are often equal.
inline void put_special_values(std::vector<float>& llr, int n)
{
    llr[3] = not_a_number;
    llr[n + 4] = infinity;
    llr[2 * n + 5] = -infinity;
    llr[3 * n + 6] = -0.0f;
    llr[4 * n + 1] = 1e-42f;
    for (int i = 5 * n; i < 6 * n; ++i) {
        llr[i] = std::rint(llr[i] / 4);
    }
}

//! What the tested backend must give to the last bit if the rule is min-sum.
template <typename Llr>
decoded decode_plainly(const ldpc_code::sptr& code,
                       const ldpc_decoder::parameters& p,
                       const std::vector<Llr>& llr)
{
    return tested_backend() == backend::reference
               ? plain_decoder<double>(*code, p).decode(llr)
               : plain_decoder<float>(*code, p).decode(llr);
}

} // namespace gr::cudaphy::testing
