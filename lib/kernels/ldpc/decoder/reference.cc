/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder/reference_steps.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/interruption.h>

namespace gr::cudaphy::kernels {
namespace {

constexpr double limit = ldpc_decoding::clamp;

//! The message of a check of three bits to one of them, from the LLRs a and b of the
//! others: 2 artanh(tanh(a / 2) tanh(b / 2)). Right also where tanh is 1 in double
//! precision.
double box_plus(double a, double b)
{
    const double sign = (a < 0) == (b < 0) ? 1 : -1;
    const double x = std::min(std::abs(a), std::abs(b));
    const double y = std::max(std::abs(a), std::abs(b));
    return sign * (x + std::log1p(std::exp(-x - y)) - std::log1p(std::exp(x - y)));
}

//! One codeword after the other, in double precision, as the header's formulas read.
class ldpc_decoder_reference : public ldpc_decoder
{
public:
    explicit ldpc_decoder_reference(const ldpc_decoding& decoding)
        : d_decoding(decoding), d_code(*decoding.code),
          d_positions(decoding.output_positions())
    {
    }

    void run(const received& llr, const results& to, queue&) override
    {
        const size_t words = d_decoding.batch(llr, to);
        for (size_t word = 0; word < words; ++word) {
            load(llr, word);
            to.iterations[word] = decode();
            to.ok[word] = is_decoded(d_decoding, d_l);
            put_word(d_decoding, d_positions, d_l, to, word, [&](double l) {
                return static_cast<float>(l / d_decoding.parameters.llr_scale);
            });
        }
    }

    arithmetic calculation() const override { return arithmetic::float32; }

private:
    static double value_of(const received& llr, size_t i)
    {
        switch (llr.type) {
        case number::int8:
            return static_cast<const int8_t*>(llr.data)[i];
        case number::float16:
            return from_float16(static_cast<const float16*>(llr.data)[i].bits);
        default:
            return static_cast<const float*>(llr.data)[i];
        }
    }

    void load(const received& llr, size_t word)
    {
        d_received.assign(d_code.variables(), 0);
        for (const int column : d_code.shortened()) {
            d_received[column] = limit;
        }
        for (int i = 0; i < d_code.n(); ++i) {
            const int column = d_code.transmitted().empty() ? i : d_code.transmitted()[i];
            const double given =
                value_of(llr, word * d_code.n() + i) * d_decoding.parameters.llr_scale;
            const double value = std::isnan(given) ? 0 : std::clamp(given, -limit, limit);
            d_received[column] = d_decoding.parameters.llr_positive == 1 ? -value : value;
        }
        d_l = d_received;
        d_r.assign(d_code.edges(), 0);
    }

    //! The number of iterations.
    int decode()
    {
        const auto& p = d_decoding.parameters;
        for (int iteration = 0; iteration < p.max_iterations; ++iteration) {
            interruption::check_current();
            if (p.early_stop && is_decoded(d_decoding, d_l)) {
                return iteration;
            }
            auto sums = d_received;
            auto& to = d_decoding.flooding() ? sums : d_l;
            for (const auto& layer : d_code.layers()) {
                for (const int check : layer) {
                    update(check, d_decoding.scales[iteration], to);
                }
            }
            d_l = to;
        }
        return p.max_iterations;
    }

    //! Updates the messages of one check. `to` takes their sums: L itself, or with
    //! flooding the L of the next iteration.
    void update(int check, double scale, std::vector<double>& to)
    {
        const int first = d_code.row_start()[check];
        const int degree = d_code.row_start()[check + 1] - first;
        const int* bit = d_code.columns().data() + first;
        double* r = d_r.data() + first;

        std::vector<double> q(degree);
        for (int i = 0; i < degree; ++i) {
            q[i] = d_l[bit[i]] - r[i];
        }
        if (d_decoding.sum_product()) {
            for (int i = 0; i < degree; ++i) {
                r[i] = sum_product(q, i);
            }
        } else {
            min_sum_of_others(q.data(), q.size(), limit, d_others);
            for (int i = 0; i < degree; ++i) {
                const auto& of = d_others[i];
                const double size = std::max(0.0, scale * of.least - d_decoding.offset());
                r[i] = (of.negative ? -1 : 1) * size;
            }
        }
        for (int i = 0; i < degree; ++i) {
            to[bit[i]] = (d_decoding.flooding() ? to[bit[i]] : q[i]) + r[i];
        }
    }

    static double sum_product(const std::vector<double>& q, int i)
    {
        double known = 1e30; // far beyond the limit: no bit so far, the sum is even
        for (int other = 0; other < static_cast<int>(q.size()); ++other) {
            if (other != i) {
                known = box_plus(known, q[other]);
            }
        }
        return std::clamp(known, -limit, limit);
    }

    const ldpc_decoding d_decoding;
    const ldpc_code& d_code;
    const std::vector<int> d_positions;
    std::vector<double> d_received; //!< of each column of H, (variables)
    std::vector<double> d_l;        //!< log-likelihood ratios so far, (variables)
    std::vector<double> d_r;        //!< messages from checks to bits, (edges)
    std::vector<min_sum_message<double>> d_others; //!< of one check
};

} // namespace

std::unique_ptr<ldpc_decoder> make_ldpc_decoder_reference(const ldpc_decoding& decoding)
{
    return std::make_unique<ldpc_decoder_reference>(decoding);
}

} // namespace gr::cudaphy::kernels
