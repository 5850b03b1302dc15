/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/kernel_entry.h"
#include "kernels/symbol_sync/makers.h"

namespace gr::cudaphy::kernels {
namespace {

template <typename Number>
void check(const char* name, Number value, bool good, const std::string& rule)
{
    if (!good) {
        throw std::invalid_argument("symbol_sync: " + std::string(name) + " is " +
                                    std::to_string(value) + ", must be " + rule);
    }
}

} // namespace

std::unique_ptr<symbol_sync>
symbol_sync::make(const parameters& p, backend where, int device)
{
    const double rate = p.samples_per_symbol, a = p.roll_off;
    check("samples_per_symbol", rate, rate >= 1.5 && rate <= 16, "1.5..16");
    check("roll_off", a, a >= 0.02 && a <= 1, "0.02..1");
    check("roll_off",
          a,
          a <= rate - 1,
          "at most samples_per_symbol - 1 = " + std::to_string(rate - 1) +
              ", because the band would not fit into the sample rate");
    check_enum("symbol_sync: format",
               "sample_format",
               p.format,
               sample_format::complex64,
               sample_format::sc8);
    check("span", p.span, p.span >= 0 && p.span <= 128, "1..128, or 0: automatic");
    check("averaging",
          p.averaging,
          p.averaging >= 0 && p.averaging <= 131072,
          "1..131072, or 0: automatic");
    check("most_samples",
          p.most_samples,
          p.most_samples >= 1 && p.most_samples <= size_t(1) << 26,
          "1..2^26");
    return dispatch(
        where,
        device,
        [&] { return make_symbol_sync_reference(p); },
        [&] { return make_symbol_sync_cpu(p); },
        [&](int index) { return make_symbol_sync_cuda(p, index); });
}

} // namespace gr::cudaphy::kernels
