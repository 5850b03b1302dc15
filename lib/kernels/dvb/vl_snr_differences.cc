/* SPDX-License-Identifier: GPL-3.0-or-later */
// Lanes are places where a header may begin.
#include "kernels/dvb/vl_snr_differences.h"
#include "kernels/common/highway_targets.h"
#include "kernels/dvb/vl_snr_search.h"
#include "kernels/dvb/vl_snr_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dvb/vl_snr_differences.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <array>
#include <hwy/highway.h>
#include <vector>

#ifndef CUDAPHY_VL_SNR_DIFFERENCES
#define CUDAPHY_VL_SNR_DIFFERENCES
namespace gr::cudaphy::kernels {

//! The sign of a difference that is known, and its first symbol behind the place.
struct vl_snr_difference {
    int at;
    float sign;
};

} // namespace gr::cudaphy::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::ScalableTag<float>;

} // namespace

//! `count` places, rounded up to whole runs: the products must reach as far.
void sum_signed(const std::vector<vl_snr_difference>& differences,
                const float* products_re,
                const float* products_im,
                size_t count,
                float* re,
                float* im)
{
    const tag d;
    const size_t lanes = hn::Lanes(d);
    for (size_t first = 0; first < count; first += 4 * lanes) {
        auto re0 = hn::Zero(d), re1 = re0, re2 = re0, re3 = re0;
        auto im0 = re0, im1 = re0, im2 = re0, im3 = re0;
        for (const auto& one : differences) {
            const auto sign = hn::Set(d, one.sign);
            const float* const a = products_re + first + one.at;
            const float* const b = products_im + first + one.at;
            re0 = hn::MulAdd(sign, hn::LoadU(d, a), re0);
            re1 = hn::MulAdd(sign, hn::LoadU(d, a + lanes), re1);
            re2 = hn::MulAdd(sign, hn::LoadU(d, a + 2 * lanes), re2);
            re3 = hn::MulAdd(sign, hn::LoadU(d, a + 3 * lanes), re3);
            im0 = hn::MulAdd(sign, hn::LoadU(d, b), im0);
            im1 = hn::MulAdd(sign, hn::LoadU(d, b + lanes), im1);
            im2 = hn::MulAdd(sign, hn::LoadU(d, b + 2 * lanes), im2);
            im3 = hn::MulAdd(sign, hn::LoadU(d, b + 3 * lanes), im3);
        }
        hn::StoreU(re0, d, re + first);
        hn::StoreU(re1, d, re + first + lanes);
        hn::StoreU(re2, d, re + first + 2 * lanes);
        hn::StoreU(re3, d, re + first + 3 * lanes);
        hn::StoreU(im0, d, im + first);
        hn::StoreU(im1, d, im + first + lanes);
        hn::StoreU(im2, d, im + first + 2 * lanes);
        hn::StoreU(im3, d, im + first + 3 * lanes);
    }
}

} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(sum_signed);

constexpr int row_bits = vl_snr_row_bits, rows = 16;

std::vector<vl_snr_difference> known_differences(int lag)
{
    const auto header = vl_snr_header(0);
    std::vector<vl_snr_difference> out;
    for (int row = 0; row < rows; ++row) {
        for (int bit = 0; bit + lag < row_bits; ++bit) {
            const int at = 2 + row * row_bits + bit;
            // Of pi/2-BPSK it is real for even lags, and imaginary for odd ones.
            const auto difference = header[at + lag] * std::conj(header[at]);
            const float sign = lag % 2 ? difference.imag() : difference.real();
            out.push_back({ pl_header_symbols + at, sign < 0 ? -1.0f : 1.0f });
        }
    }
    return out;
}

} // namespace

void sum_vl_snr_differences(
    const std::complex<float>* symbols, size_t places, int lag, float* re, float* im)
{
    static const auto known = [] {
        std::array<std::vector<vl_snr_difference>, most_vl_snr_lags + 1> all;
        for (int one = 1; one <= most_vl_snr_lags; ++one) {
            all[one] = known_differences(one);
        }
        return all;
    }();
    constexpr size_t block = 512, run = 256; // 4 vectors of 64 lanes at most
    constexpr size_t more = vl_snr_headers_symbols - 1;
    std::array<float, block + run + more> products_re{}, products_im{};
    std::array<float, block + run> sums_re, sums_im;
    for (size_t first = 0; first < places; first += block) {
        const size_t here = std::min(block, places - first);
        for (size_t i = 0; i + lag < here + more + 1; ++i) {
            const auto a = symbols[first + i], b = symbols[first + i + lag];
            products_re[i] = b.real() * a.real() + b.imag() * a.imag();
            products_im[i] = b.imag() * a.real() - b.real() * a.imag();
        }
        HWY_DYNAMIC_DISPATCH(sum_signed)
        (known[lag],
         products_re.data(),
         products_im.data(),
         here,
         sums_re.data(),
         sums_im.data());
        // Of odd lags, the known differences are j times as much.
        for (size_t i = 0; i < here; ++i) {
            re[first + i] = lag % 2 ? sums_im[i] : sums_re[i];
            im[first + i] = lag % 2 ? -sums_re[i] : sums_im[i];
        }
    }
}

} // namespace gr::cudaphy::kernels
#endif
