/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/ldpc_decoder_makers.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

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
        const size_t n = d_code.n();
        const size_t out = d_decoding.output_bits();
        for (size_t word = 0; word < words; ++word) {
            load({ static_cast<const float*>(llr.data) + word * n, n });
            to.iterations[word] = decode();
            to.ok[word] = d_code.is_codeword(d_hard.data());
            for (size_t i = 0; i < out; ++i) {
                to.bits[word * out + i] =
                    d_hard[d_positions.empty() ? i : d_positions[i]];
            }
        }
    }

    arithmetic calculation() const override { return arithmetic::float32; }

private:
    void load(view<const float> llr)
    {
        const double limit = ldpc_decoding::clamp;
        d_l.assign(d_code.variables(), 0);
        for (const int column : d_code.shortened()) {
            d_l[column] = limit;
        }
        d_r.assign(d_code.edges(), 0);
        for (int i = 0; i < d_code.n(); ++i) {
            const double value = std::isnan(llr[i]) ? 0 : llr[i];
            const int column = d_code.transmitted().empty() ? i : d_code.transmitted()[i];
            d_l[column] = std::clamp(value, -limit, limit);
            if (d_decoding.parameters.llr_positive == 1) {
                d_l[column] = -d_l[column];
            }
        }
        decide();
    }

    //! The number of iterations.
    int decode()
    {
        const auto& p = d_decoding.parameters;
        for (int iteration = 0; iteration < p.max_iterations; ++iteration) {
            if (p.early_stop && d_code.is_codeword(d_hard.data())) {
                return iteration;
            }
            for (const auto& layer : d_code.layers()) {
                for (const int check : layer) {
                    update(check, d_decoding.scales[iteration]);
                }
            }
            decide();
        }
        return p.max_iterations;
    }

    void update(int check, double scale)
    {
        const int first = d_code.row_start()[check];
        const int degree = d_code.row_start()[check + 1] - first;
        const int* bit = d_code.columns().data() + first;
        double* r = d_r.data() + first;

        std::vector<double> q(degree);
        for (int i = 0; i < degree; ++i) {
            q[i] = d_l[bit[i]] - r[i];
        }
        for (int i = 0; i < degree; ++i) {
            double sign = 1;
            double least = ldpc_decoding::clamp;
            for (int other = 0; other < degree; ++other) {
                if (other != i) {
                    sign *= q[other] < 0 ? -1 : 1;
                    least = std::min(least, std::abs(q[other]));
                }
            }
            r[i] = scale * sign * least;
            d_l[bit[i]] = q[i] + r[i];
        }
    }

    void decide()
    {
        d_hard.resize(d_code.variables());
        std::transform(d_l.begin(), d_l.end(), d_hard.begin(), [](double l) {
            return static_cast<uint8_t>(l < 0);
        });
    }

    ldpc_decoding d_decoding;
    const ldpc_code& d_code;
    const std::vector<int> d_positions;
    std::vector<double> d_l;     //!< a bit's log-likelihood ratio so far, (variables)
    std::vector<double> d_r;     //!< messages from checks to bits, (edges)
    std::vector<uint8_t> d_hard; //!< L < 0, (variables)
};

} // namespace

std::unique_ptr<ldpc_decoder> make_ldpc_decoder_reference(const ldpc_decoding& decoding)
{
    return std::make_unique<ldpc_decoder_reference>(decoding);
}

} // namespace gr::cudaphy::kernels
