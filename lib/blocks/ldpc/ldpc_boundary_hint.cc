/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ldpc/ldpc_boundary_hint.h"
#include "kernels/ldpc/decoder/fixed_point.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy {
namespace {

using number = kernels::ldpc_decoder::number;

constexpr unsigned words_a_verdict = 100, failed_of_them = 90;
constexpr size_t most_looked_at = 256; // LLRs of a batch: a few microseconds

//! The information that an LLR carries of its bit, 0 to 1; 0 for NaN.
double information(double llr)
{
    const double certain = std::min(std::abs(llr), 50.0); // NaN stays
    const double wrong = 1 / (1 + std::exp(certain));
    if (!(wrong > 0)) {
        return 0;
    }
    return 1 + wrong * std::log2(wrong) + (1 - wrong) * std::log2(1 - wrong);
}

} // namespace

ldpc_boundary_hint::ldpc_boundary_hint(const kernels::ldpc_decoder::parameters& p)
    // int8 LLRs are in steps that nobody names unless llr_scale does: Soft Demapper's.
    : d_scale(p.llr == number::int8 && p.llr_scale == 1 ? 1 / 12.f : p.llr_scale),
      d_type(p.llr)
{
}

void ldpc_boundary_hint::look(const kernels::ldpc_decoder::received& llr,
                              const kernels::ldpc_code& code)
{
    const size_t n = code.n();
    if (llr.size < n) {
        return;
    }
    const size_t looked_at = std::min(n, most_looked_at);
    double sum = 0;
    for (size_t i = 0; i < looked_at; ++i) {
        const size_t at = i * n / looked_at;
        const float value =
            d_type == number::float32 ? static_cast<const float*>(llr.data)[at]
            : d_type == number::float16
                ? kernels::from_float16(static_cast<const float16*>(llr.data)[at].bits)
                : static_cast<const int8_t*>(llr.data)[at];
        sum += information(static_cast<double>(value) * d_scale);
    }
    ++d_looks;
    d_certain += sum > looked_at * (1 + code.rate()) / 2;
}

bool ldpc_boundary_hint::due(bool ok)
{
    if (d_told) {
        return false;
    }
    d_failed += !ok;
    if (++d_words < words_a_verdict) {
        return false;
    }
    const unsigned looks = d_looks.exchange(0), certain = d_certain.exchange(0);
    d_told = d_failed > failed_of_them && 2 * certain > looks;
    d_words = d_failed = 0;
    return d_told;
}

const char* ldpc_boundary_hint::text()
{
    return "nearly all words fail, with LLRs as large as those of a working link: word "
           "boundaries may be off, because something before this block delays or drops "
           "bits (Channel Model delays samples, for one); or the code, the order of bits "
           "or llr_positive are not the sender's";
}

} // namespace gr::cudaphy
